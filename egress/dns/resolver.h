/*
 * Resolves real names by getaddrinfo(3), hence by the host's nsswitch.conf. That opens files and sockets, which the
 * egress process may not do. Therefore another process, the resolver, does it, with four threads.
 */
#ifndef CALLGATE_EGRESS_DNS_RESOLVER_H
#define CALLGATE_EGRESS_DNS_RESOLVER_H

#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "egress/conn/loop.h"
#include "policy/network/net.h"

#define RESOLVER_ADDRESSES_MAX 16

/* Most queries that may wait for the resolver process's reply. */
#define RESOLVER_QUERIES_MAX 256

/* Messages between egress and the resolver process on a SOCK_SEQPACKET pair. Each is one query or one reply. */
struct resolver_query {
	uint64_t number; /* the reply has the same number */
	char host[NET_HOST_SIZE];
};

/* The resolver process's answer to a query. */
struct resolver_reply {
	uint64_t number; /* of the query */
	int32_t error;   /* 0 or -errno */
	uint32_t address_count;
	struct {
		uint8_t family, byte[16];
	} address[RESOLVER_ADDRESSES_MAX];
};

/*
 * The main function of the resolver process: answers queries from fd until egress closes its end. lock_down: enters the
 * sandbox of the process, as in struct egress_options. Returns the exit status.
 */
int resolver_main(int fd, int (*lock_down)(void *ctx), void *lock_ctx);

struct resolver;
/* Creates egress' end of the connection to the resolver process. Takes fd, also on failure. 0 or -errno. */
int resolver_create(struct loop *loop, int fd, struct resolver **ret_resolver);
void resolver_free(struct resolver *resolver);

/* What a look-up of a name has found. */
struct resolver_answer {
	int error; /* 0; -ENOENT: no such name; -ETIMEDOUT; -EAGAIN: the servers failed; -EPIPE: the resolver is gone */
	size_t address_count;
	struct sockaddr_storage address[RESOLVER_ADDRESSES_MAX]; /* without ports, in order of preference */
};

/*
 * Resolves a name. `answer` is called once from the loop, within timeout_ms, unless resolver_cancel_question is called
 * before. Returns the number of the question, for resolver_cancel_question; 0: no memory or too many questions.
 */
uint64_t resolver_ask_name(struct resolver *resolver, const char *host, uint64_t timeout_ms,
			   void (*answer)(void *ctx, const struct resolver_answer *answer), void *ctx);
void resolver_cancel_question(struct resolver *resolver, uint64_t number);

#endif
