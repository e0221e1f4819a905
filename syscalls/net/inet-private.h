/* What the files of the internet sockets share: the state of the run's network, and one section for each file. */
#ifndef CALLGATE_SYSCALLS_NET_INET_PRIVATE_H
#define CALLGATE_SYSCALLS_NET_INET_PRIVATE_H

#include "syscalls/net/inet-address.h"
#include "syscalls/net/inet-listeners.h"
#include "syscalls/net/inet-names.h"
#include "syscalls/net/inet.h"

#define INET_ENDPOINTS_MAX 256 /* UDP endpoints of a run; each costs one or two descriptors */

struct inet_endpoint {
	char host[NET_HOST_MAX];
	uint16_t port;
	int fd;                 /* owned; egress has a duplicate */
	/* owned; on a shared loopback: reserves the port at all other addresses (inet-fence.h) */
	int guard_fd;
	struct inet_address at; /* where datagrams for the endpoint are sent */
};

struct inet {
	struct inet_options options;
	struct in_addr loopback6; /* without a network namespace: stands for ::1, for IPV6_V6ONLY sockets */
	struct inet_names *names;
	struct inet_listeners *listeners;
	struct inet_endpoint endpoint[INET_ENDPOINTS_MAX];
	size_t endpoints;
};

/* ---- inet-socket.c: a duplicate of the target's socket ---- */

struct inet_socket {
	int fd;
	struct inet_kind kind;
};

/* False: not a TCP or UDP socket. */
bool inet_read_kind(int fd, struct inet_kind *ret_kind);
/* Duplicates argument 0. False: the outcome is set; `other`: -errno for sockets that are not TCP or UDP. */
bool inet_copy_socket(struct call *call, struct inet_socket *ret_socket, int other);

int inet_tcp_state(int socket_fd); /* TCP_*; 0: unknown */

/* Ends a TCP connect that is in progress, so that no more SYNs are sent. */
void inet_disconnect(int socket_fd);

/*
 * The address that the socket is bound to; port 0: it is not bound. The port of a TCP socket may be stale: the kernel
 * still reports it after a connect has failed or was undone (inet_put_port() leaves inet_sport). Only EINVAL from
 * bind(2) proves that a TCP socket is bound.
 */
int inet_bound(const struct inet_socket *socket, struct inet_address *ret_address);

/* bind(2). 0 or -errno. */
int inet_bind_to(const struct inet_socket *socket, const struct inet_address *address);

/* Binds to this address and a port that the kernel chooses. 0, also when it is bound already, or -errno. */
int inet_bind_any_port(const struct inet_socket *socket, const struct inet_address *address);

/*
 * Clears SO_REUSEADDR, so that no other socket can bind the port that this one has or is about to get. 0;
 * -EADDRNOTAVAIL: the option was set when the socket was bound, so the port may be shared; or another -errno.
 */
int inet_unshare(const struct inet_socket *socket);

/* ---- inet-route.c: where an address leads, and the decision of a call ---- */

enum inet_place {
	INET_ENDPOINT, /* `host` is a name, or an address that the policy lists */
	INET_PROXY,
	INET_DNS,
	INET_MEMBER,  /* a socket of the run, on its loopback */
	INET_NOWHERE, /* denied, or unknown to the policy */
};

struct inet_route {
	enum inet_place place;
	struct net_verdict verdict; /* INET_ENDPOINT, INET_NOWHERE */
	const char *host;           /* borrowed, or in `text` */
	char text[NET_ADDRESS_TEXT];
};

/* Judges an address. */
void inet_judge(struct inet *inet, const struct inet_address *address, bool udp, struct inet_route *ret_route);

/* Puts host, address and protocol into the call's audit record. To be called before the decision. */
void inet_record_endpoint(struct call *call, const struct inet_address *address, const char *host, bool udp);
/* Allows the call. verdict: the policy's; NULL: no rule is needed. */
void inet_allow(struct call *call, const struct net_verdict *verdict);
/* Refuses the call, and reports the denial for the result. error is -errno. */
void inet_refuse(struct call *call, int error, const char *rule, const char *reason);

/* The run's own address in the pool of synthetic addresses. */
struct inet_address inet_pool_address(const struct inet *inet, int family);
/* The run's loopback, as its sockets are really bound to it; v6: the address that stands for ::1. */
struct inet_address inet_loopback(const struct inet *inet, bool v6, uint16_t port);

/* ---- inet-names.c ---- */

/* Stores the names under which the target knows a bound socket. own, peer: NULL where the kernel's name is right. */
void inet_names_store(const struct inet *inet, const struct inet_socket *socket, const struct inet_address *own,
	       const struct inet_address *peer);

/* ---- inet-listeners.c ---- */

/* Whether the socket may stop listening: not while a thread's connect waits for a listener on a shared loopback. */
bool inet_listeners_may_stop(const struct inet *inet, int socket_fd);

/* ---- inet-datagram.c ---- */

void inet_connect_datagram(struct call *call, const struct inet_socket *socket, const struct inet_address *to);

/* Judges a datagram's destination. 0 with the address (*ret_len 0: the peer); -errno with the outcome set. */
int inet_route_datagram(struct call *call, const struct inet_socket *socket, const struct sockaddr_storage *address,
			int len, struct sockaddr_storage *ret_to, socklen_t *ret_len);

void inet_endpoint_done(struct inet_endpoint *endpoint);
/* Makes the endpoints of rules with exact names, where sends are native and cannot make them (descriptor.h). */
void inet_prepare_endpoints(struct inet *inet);

#endif
