/*
 * Internet sockets of the run. The filter lets a target make them itself (exceptions: socket.c). The supervisor binds
 * and connects them through a duplicate, to where the policy allows. None reaches the real network: TCP is connected to
 * egress' listener, and egress knows the connection by its source port; datagrams go to UDP sockets of egress; all else
 * stays on the run's loopback. Called by the handlers, and at each turn of the loop; all in the supervisor thread.
 */
#ifndef CALLGATE_SYSCALLS_NET_INET_H
#define CALLGATE_SYSCALLS_NET_INET_H

#include "egress/conn/pool.h"
#include "egress/control.h"
#include "syscalls/call/call.h"
#include "syscalls/net/inet-address.h"

#define INET_CONNECT_CHECK_INTERVAL_MS 10 /* how late the end of a nonblocking connect is noticed */

struct inet;

/* What the run's internet sockets need from egress and policy. */
struct inet_options {
	const struct policy *policy;
	struct pool *pool;       /* borrowed */
	/* the run has its own network namespace: it is alone on its loopback, and the pool's addresses are local */
	bool has_own_netns;
	struct in_addr loopback; /* see struct egress_program_sockets */
	uint16_t listener_port, dns_port, sink_port;
	void *egress;                   /* the first argument of catch_up() */
	void (*catch_up)(void *egress); /* reads what egress has sent, so that `pool` is up to date; may be NULL */
	/* sends egress the socket of a UDP endpoint */
	int (*udp)(void *egress, const struct control_connect *endpoint, int fd);
	bool (*alive)(const void *egress); /* false: every call is refused with ENETDOWN, reason "egress_failed" */
};

/* 0 or -errno. The caller owns the result. */
int inet_create(const struct inet_options *options, struct inet **ret_inet);
void inet_free(struct inet *inet);

/*
 * The handler of connect(2) for AF_INET and AF_INET6. address: copied from target memory, `len` bytes. A TCP connect to
 * an approved endpoint ends as OUTCOME_CONNECT_BY_EGRESS: outcome.fd is the bound duplicate of the socket, and
 * outcome.egress_connect (owned) is the request for egress.
 */
void inet_connect(struct call *call, const struct sockaddr_storage *address, int len);
/* The handler of bind(2) for AF_INET and AF_INET6. address: copied from target memory, `len` bytes. */
void inet_bind(struct call *call, const struct sockaddr_storage *address, int len);
/* The handler of listen(2) for AF_INET and AF_INET6. copy: the supervisor's duplicate of the socket, borrowed. */
void inet_listen(struct call *call, int copy);
/* Whether the run has its own network namespace, so that the kernel keeps its sends inside. inet may be NULL. */
bool inet_has_own_netns(const struct inet *inet);
/*
 * Ends connects that are over, at each turn of the loop. True: call again within INET_CONNECT_CHECK_INTERVAL_MS. inet
 * may be NULL.
 */
bool inet_close_ended_connects(struct inet *inet, uint64_t now_ns);
/* Replaces a socket's name by the one that the target knows. peer: getpeername(2). True: it was replaced. */
bool inet_translate_name_for_target(const struct inet *inet, int socket_fd, bool peer, struct sockaddr_storage *address,
		    socklen_t *len);

/*
 * While set, TCP connections and destinations of datagrams are judged as if an answer had permitted them, for
 * supervisor/ask/. inet may be NULL.
 */
void inet_judge_as_answered(struct inet *inet, bool answered);

/* What a connect through egress needs (OUTCOME_CONNECT_BY_EGRESS). */
struct inet_egress_connect {
	struct control_connect request;
	struct inet_address
		egress_listener;      /* where the target's socket is connected to, once the upstream is connected */
	int domain;                   /* the domain of the target's socket */
	bool is_nonblocking;          /* the program's socket has O_NONBLOCK */
	char address[NET_ADDRESS_TEXT_SIZE]; /* the address in the target's call, for the record */
};

#endif
