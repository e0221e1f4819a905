/* What the files of the internet sockets share: the state of the run's network, and one section for each file. */
#ifndef CALLGATE_SYSCALLS_NET_INET_PRIVATE_H
#define CALLGATE_SYSCALLS_NET_INET_PRIVATE_H

#include "syscalls/call/work.h"
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

/* Reads a socket's kind. False: not a TCP or UDP socket. */
bool inet_read_kind(int fd, struct inet_kind *ret_kind);
/* Duplicates argument 0. False: the outcome is set; `other`: -errno for sockets that are not TCP or UDP. */
bool inet_copy_socket(struct call *call, struct inet_socket *ret_socket, int other);

int inet_get_tcp_state(int socket_fd); /* TCP_*; 0: unknown */

/* Ends a TCP connect that is in progress, so that no more SYNs are sent. */
void inet_end_tcp_connect(int socket_fd);

/*
 * The address that the socket is bound to; port 0: it is not bound. The port of a TCP socket may be stale: the kernel
 * still reports it after a connect has failed or was undone (inet_put_port() leaves inet_sport). Only EINVAL from
 * bind(2) proves that a TCP socket is bound.
 */
int inet_read_bound(const struct inet_socket *socket, struct inet_address *ret_address);

/* bind(2). 0 or -errno. */
int inet_bind_to_address(const struct inet_socket *socket, const struct inet_address *address);

/* Binds to this address and a port that the kernel chooses. 0, also when it is bound already, or -errno. */
int inet_bind_any_port(const struct inet_socket *socket, const struct inet_address *address);

/*
 * Clears SO_REUSEADDR and SO_REUSEPORT, so that no other socket can bind the port that this one has or is about to
 * get. 0;
 * -EADDRNOTAVAIL: the option was set when the socket was bound, so the port may be shared; or another -errno.
 */
int inet_forbid_reuse(const struct inet_socket *socket);

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
void inet_judge_address(struct inet *inet, const struct inet_address *address, bool udp, struct inet_route *ret_route);

/* Puts host, address and protocol into the call's audit record. To be called before the decision. */
void inet_record_endpoint(struct call *call, const struct inet_address *address, const char *host, bool udp);
/* Allows the call. verdict: the policy's; NULL: no rule is needed. */
void inet_allow_call(struct call *call, const struct net_verdict *verdict);
/* Refuses the call, and reports the denial for the result. error is -errno. */
void inet_refuse_call(struct call *call, int error, const char *rule, const char *reason);

/* The run's own address in the pool of synthetic addresses. */
struct inet_address inet_get_pool_address(const struct inet *inet, int family);
/* The run's loopback, as its sockets are really bound to it; v6: the address that stands for ::1. */
struct inet_address inet_make_loopback(const struct inet *inet, bool v6, uint16_t port);

/* ---- inet-names.c ---- */

/*
 * The names of sockets as the target knows them, where the kernel's differ: the peer of a connection that was led to
 * egress, or an address that stands for the run's own. One entry for each local port; a socket cookie tells whether it
 * is still about the same socket.
 */
struct inet_names;

/*
 * Owned by the caller, to be released by free(3); or NULL: no memory. Reserves megabytes of address space, of which
 * only pages of used ports are touched.
 */
struct inet_names *inet_names_create(void);

/*
 * Stores the names of a bound socket. table (0-3): keeps sockets apart that may have the same local port. own, peer:
 * NULL: the kernel's name; port 0 in own: local_port.
 */
void inet_names_set(struct inet_names *names, unsigned table, uint16_t local_port, int socket_fd,
		    const struct inet_address *own, const struct inet_address *peer);

/* The stored name of this very socket, borrowed; NULL: none. */
const struct inet_address *inet_names_get(const struct inet_names *names, unsigned table, uint16_t local_port,
					  int socket_fd, bool peer);

/* Stores the names under which the target knows a bound socket. own, peer: NULL where the kernel's name is right. */
void inet_names_store(const struct inet *inet, const struct inet_socket *socket, const struct inet_address *own,
	       const struct inet_address *peer);

/* ---- inet-listeners.c ---- */

/*
 * The run's listening sockets, for runs without a network namespace, which share the host's loopback. If a listener
 * were closed between the check and the connect, a socket of the host that listens at every address would get the
 * connection. So a duplicate of the listener is held while a connect to it is in progress.
 */
#define INET_LISTENERS_MAX 1024 /* at a time */
/* nonblocking connects whose SYN was dropped by a full backlog: the kernel repeats it */
#define INET_LINGER_MAX 256

struct inet_listeners;

/* NULL: no memory. */
struct inet_listeners *inet_listeners_create(void);
void inet_listeners_free(struct inet_listeners *listeners);

/* Adds socket_fd, the duplicate of argument 0, which listens at `at`. 0 or -ENOSPC. */
int inet_listeners_add(struct inet_listeners *listeners, const struct call *call, int socket_fd,
		       const struct inet_address *at);

/* A duplicate of the socket that listens at `at`, owned by the caller; or -ENOENT. */
int inet_listeners_hold(struct inet_listeners *listeners, const struct call *call, const struct inet_address *at);

/* Closes listeners that no process of the run has any more (held where pidfd_getfd is refused). For EADDRINUSE. */
void inet_listeners_prune(struct inet_listeners *listeners, const struct call *call);

/*
 * To be called after a nonblocking connect: takes the held listener, and keeps it while the connect is in progress.
 * False: too many are, and the caller must undo the connect.
 */
bool inet_listeners_keep_held(struct inet_listeners *listeners, int socket_fd, int held_fd);

/*
 * connect(2) for a thread. Takes held_fd (the listener that it must reach, or -1). NULL: no memory; held_fd is closed.
 */
struct call_work *inet_listeners_make_connect_work(const struct sockaddr_storage *address, socklen_t len, int held_fd);

/*
 * Closes the duplicates of sockets whose connect is over: while they exist, the target's close(2) does not reach the
 * peer. Looks at most once in INET_TICK_MS. True: some connect is still in progress.
 */
bool inet_listeners_end_connects(struct inet_listeners *listeners, uint64_t now_ns);

/* Whether the socket may stop listening: not while a thread's connect waits for a listener on a shared loopback. */
bool inet_listeners_may_stop(const struct inet *inet, int socket_fd);

/* ---- inet-datagram.c ---- */

void inet_connect_datagram(struct call *call, const struct inet_socket *socket, const struct inet_address *to);

/* Judges a datagram's destination. 0 with the address (*ret_len 0: the peer); -errno with the outcome set. */
int inet_route_datagram(struct call *call, const struct inet_socket *socket, const struct sockaddr_storage *address,
			int len, struct sockaddr_storage *ret_to, socklen_t *ret_len);

void inet_endpoint_release(struct inet_endpoint *endpoint);
/* Makes the endpoints of rules with exact names, where sends are native and cannot make them (descriptor.h). */
void inet_prepare_endpoints(struct inet *inet);

#endif
