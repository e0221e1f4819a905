/* What the files of inet.h share. */
#ifndef CALLGATE_SYSCALLS_NET_INET_PRIVATE_H
#define CALLGATE_SYSCALLS_NET_INET_PRIVATE_H

#include "syscalls/net/inet-address.h"
#include "syscalls/net/inet-listeners.h"
#include "syscalls/net/inet-names.h"
#include "syscalls/net/inet.h"

#define INET_ENDPOINTS_MAX 256 /* of UDP that a run uses: one descriptor of ours each */

struct inet_endpoint {
	char host[NET_HOST_MAX];
	uint16_t port;
	int fd;                 /* owned; egress has a duplicate */
	int guard_fd;           /* owned: has the port at other addresses, on a shared loopback (inet-fence.h) */
	struct inet_address at; /* where datagrams to it go */
};

struct inet {
	struct inet_options options;
	struct in_addr loopback6; /* of a run without a network namespace: where its sockets for IPv6 alone are */
	struct inet_names *names;
	struct inet_listeners *listeners;
	struct inet_endpoint endpoint[INET_ENDPOINTS_MAX];
	size_t endpoints;
};

/* A duplicate of the program's socket and what is known of it. */
struct inet_socket {
	int fd;
	struct inet_kind kind;
};

/* False: the outcome is set; `other`: for a socket of another kind than we offer. */
bool inet_read_kind(int fd, struct inet_kind *ret_kind);
bool inet_take_socket(struct call *call, struct inet_socket *ret_socket, int other);

int inet_tcp_state(int socket_fd);

/* Whether the socket may be made to listen no more; without a namespace not while a connect waits for a listener. */
bool inet_may_unlisten(const struct inet *inet, int socket_fd);

/*
 * The address the socket is bound to; port 0: it is not. Of TCP the port may be a former one: the kernel tells it still
 * when a connect has failed or was taken back (inet_put_port() leaves inet_sport). Only bind(2) tells, by EINVAL, that
 * it is bound.
 */
int inet_bound(const struct inet_socket *socket, struct inet_address *ret_address);

/* Binds a socket that is not bound yet so that nothing outside the run can reach it. 0 or -errno of bind(2). */
int inet_bind_own(const struct inet *inet, const struct inet_socket *socket);

/* The same at this address, and a port of the kernel's. */
int inet_bind_near(const struct inet_socket *socket, const struct inet_address *address);

/*
 * Nobody else may bind the port that the socket is about to get, or has. 0; -EADDRNOTAVAIL: it has been shared
 * (SO_REUSEADDR) since it was bound; or another -errno.
 */
int inet_unshare(const struct inet_socket *socket);

/* Notes what a bound socket is called in the program's eyes (inet-names.h). */
void inet_name(const struct inet *inet, const struct inet_socket *socket, const struct inet_address *own,
	       const struct inet_address *peer);

/* bind(2) of the duplicate to an address of the run's own. */
int inet_bind_to(const struct inet_socket *socket, const struct inet_address *address);

/* ---- judging ---- */

enum inet_place {
	INET_ENDPOINT, /* a name, or an address that the policy names: `host` */
	INET_PROXY,
	INET_DNS,
	INET_MEMBER,  /* the run's own loopback */
	INET_NOWHERE, /* what the policy, or nobody, knows */
};

struct inet_route {
	enum inet_place place;
	struct net_verdict verdict; /* INET_ENDPOINT, INET_NOWHERE */
	const char *host;           /* borrowed, or in `text` */
	char text[NET_ADDRESS_TEXT];
};

/* Where an address leads. */
void inet_judge(struct inet *inet, const struct inet_address *address, bool udp, struct inet_route *ret_route);

/* Says in the call's record what it is about: before anything is decided. */
void inet_note(struct call *call, const struct inet_address *address, const char *host, bool udp);
/* Allows by a verdict of the policy; NULL: no rule is needed. */
void inet_allow(struct call *call, const struct net_verdict *verdict);
/* Refuses, for the result as well. */
void inet_refuse(struct call *call, int error, const char *rule, const char *reason);

/* The synthetic address of the run itself. */
struct inet_address inet_pool_own(const struct inet *inet, int family);
/* Loopback of the run as its sockets know it; v6: what ::1 is. */
struct inet_address inet_own(const struct inet *inet, bool v6, uint16_t port);

/* ---- UDP ---- */

void inet_connect_datagram(struct call *call, const struct inet_socket *socket, const struct inet_address *to);

/*
 * Where a datagram to `address` has to go: judged, in the call's decision; the caller commits. 0 with the address to send
 * to (no length: to none); -errno with the outcome set.
 */
int inet_route_datagram(struct call *call, const struct inet_socket *socket, const struct sockaddr_storage *address,
			int len, struct sockaddr_storage *ret_to, socklen_t *ret_len);

/* Where datagrams for a judged endpoint go: made when it is asked for the first time. 0 or -errno. */
int inet_endpoint(struct inet *inet, const char *host, const struct inet_address *address, struct inet_address *ret_at);
void inet_endpoint_done(struct inet_endpoint *endpoint);
/*
 * Makes those that have exact names, for runs in whose own namespace messages are native (descriptor.h), so that nobody
 * would be asked for them later.
 */
void inet_prepare_endpoints(struct inet *inet);

#endif
