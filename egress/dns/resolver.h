/*
 * Names of the real world, by getaddrinfo(3) and so by whatever the host's nsswitch.conf says. It opens files and talks to
 * sockets, which the egress process may not: it runs in a process of its own, with four threads, and knows nothing but names.
 */
#ifndef CALLGATE_EGRESS_DNS_RESOLVER_H
#define CALLGATE_EGRESS_DNS_RESOLVER_H

#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "egress/conn/loop.h"
#include "policy/network/net.h"

#define RESOLVER_ADDRESSES_MAX 16

/* The process: answers on fd until it closes. lock_down as in egress.h. Returns the exit status. */
int resolver_main(int fd, int (*lock_down)(void *ctx), void *lock_ctx);

/* The egress side. Takes fd. */
struct resolver;
int resolver_create(struct loop *loop, int fd, struct resolver **ret_resolver);
void resolver_free(struct resolver *resolver);

struct resolver_answer {
	int error; /* 0; -ENOENT: no such name; -ETIMEDOUT; -EAGAIN: the servers failed; -EPIPE: the process is gone */
	size_t count;
	struct sockaddr_storage address[RESOLVER_ADDRESSES_MAX]; /* without port, in the order to be tried */
};

/*
 * Calls answer once from the loop, within timeout_ms; not after resolver_cancel. Returns a number for that, or 0 when there
 * is no memory or too many wait.
 */
uint64_t resolver_ask(struct resolver *resolver, const char *host, uint64_t timeout_ms,
		      void (*answer)(void *ctx, const struct resolver_answer *answer), void *ctx);
void resolver_cancel(struct resolver *resolver, uint64_t number);

#endif
