/*
 * Internet sockets of the program's: made by the program itself (but see inet-socket.c), and led by bind(2) and connect(2) on a duplicate to where
 * the policy says. Nothing of the real network is reachable with them: TCP goes to egress' listener, announced by its
 * source port; datagrams to sockets of egress; all else on the run's own loopback.
 */
#ifndef CALLGATE_SYSCALLS_NET_INET_H
#define CALLGATE_SYSCALLS_NET_INET_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

#include "egress/conn/pool.h"
#include "egress/control.h"
#include "syscalls/call/call.h"

#define INET_TICK_MS 10 /* so late is seen that a connect which did not wait is over */

struct inet;

struct inet_options {
	const struct policy *policy;
	struct pool *pool;       /* borrowed */
	bool own_netns;          /* nothing but the run is on its loopback; the pool is local there */
	struct in_addr loopback; /* see struct egress_guest */
	uint16_t listener_port, dns_port, sink_port;
	void *egress; /* for the calls below */
	void (*catch_up)(void *egress);
	int (*udp)(void *egress, const struct control_connect *endpoint, int fd);
	bool (*alive)(const void *egress); /* false: everything is refused, ENETDOWN "egress_failed" */
	/* For the result: what was refused here. Texts are copied; rule may be NULL */
	void (*refused)(void *egress, const char *host, unsigned port, const char *rule, const char *reason);
};

int inet_create(const struct inet_options *options, struct inet **ret_inet);
void inet_free(struct inet *inet);

/*
 * What sys_connect, sys_bind and others do for these families; the address is the copy. inet_connect ends a TCP connect to an
 * approved endpoint with OUTCOME_EGRESS: outcome.fd is the bound duplicate, outcome.egress (owned) tells what to do.
 */
void inet_connect(struct call *call, const struct sockaddr_storage *address, int len);
/* Whether this socket(2) is one that has to be made for the program; inet_make() makes it. */
bool inet_makes(const struct call *call);
void inet_make(struct call *call);
void inet_bind(struct call *call, const struct sockaddr_storage *address, int len);
void inet_listen(struct call *call, int copy);
/* Whether this setsockopt(2) is one that others could get in by; inet_setsockopt() decides. */
bool inet_judges_option(const struct call *call);
void inet_setsockopt(struct call *call);
void inet_shutdown(struct call *call, int copy);
/* Whether the kernel keeps whatever is sent within the run: a network namespace of its own. NULL: no. */
bool inet_bounded(const struct inet *inet);
/* At each turn of the supervisor's loop. True: to be called again within INET_TICK_MS. NULL: nothing to do. */
bool inet_tick(struct inet *inet, uint64_t now_ns);
/* Names as the program knows them. True when that changed the address. peer: getpeername(2). */
bool inet_translate(const struct inet *inet, int socket_fd, bool peer, struct sockaddr_storage *address,
		    socklen_t *len);

/* OUTCOME_EGRESS. */
struct inet_dial {
	struct control_connect request;
	struct sockaddr_in listener; /* where the program's socket is to be connected once the upstream is there */
	bool mapped;                 /* an AF_INET6 socket: to the IPv4-mapped form of it */
	bool nonblocking;
	char address[NET_ADDRESS_TEXT]; /* what the program named, for the record */
};

#endif
