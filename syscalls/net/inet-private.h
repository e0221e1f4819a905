/* Shared by the inet-*.c files only: the state of the run's network, and the functions of each file. */
#ifndef CALLGATE_SYSCALLS_NET_INET_PRIVATE_H
#define CALLGATE_SYSCALLS_NET_INET_PRIVATE_H

#include "syscalls/call/work.h"
#include "syscalls/net/inet.h"

#define INET_ENDPOINTS_MAX 256 /* UDP endpoints of a run; each costs one or two descriptors */

/* A UDP endpoint that the program has used, and the socket by which egress relays its datagrams. */
struct inet_endpoint {
	char host[NET_HOST_SIZE]; /* the name or address in the policy */
	uint16_t port;            /* the port in the policy, host order */
	int fd;                 /* the endpoint's UDP socket, owned; egress has a duplicate */
	/* reserves the port at all other addresses of a shared loopback (inet-fence.h); owned */
	int guard_fd;
	struct inet_address to; /* the address that the program sends to */
	struct inet_address at; /* where datagrams for the endpoint are sent */
};

/* The state of the run's internet sockets. */
struct inet {
	struct inet_options options;
	bool judges_as_answered; /* inet_judge_as_answered() */
	/* without a network namespace: the run's loopback address that stands for ::1 and serves IPV6_V6ONLY sockets */
	struct in_addr loopback_of_v6_sockets;
	struct inet_names *names;
	struct inet_listeners *listeners;
	struct inet_endpoint endpoint[INET_ENDPOINTS_MAX];
	size_t endpoint_count; /* used entries of endpoint[] */
};

/* ---- inet-socket.c: the duplicate of the target's socket ---- */

/* The supervisor's duplicate of a TCP or UDP socket of the program. */
struct inet_socket {
	int fd;
	struct inet_kind kind;
};

/* Reads a socket's domain and type. False: neither TCP nor UDP. */
bool inet_read_socket_kind(int fd, struct inet_kind *ret_kind);
/*
 * Duplicates the socket that is the call's argument 0. other: the -errno of the call for sockets that are neither TCP
 * nor UDP. False: the outcome is set.
 */
bool inet_copy_socket_of_call(struct call *call, struct inet_socket *ret_socket, int other);

int inet_get_tcp_state(int socket_fd); /* TCP_*; 0: unknown */

/* Ends a TCP connect that is in progress, so that the kernel sends no more SYNs. */
void inet_end_tcp_connect(int socket_fd);

/*
 * The address that the socket is bound to. Port 0: the socket is not bound. A TCP socket's port may be stale: the
 * kernel reports it even after a connect has failed or was undone (inet_put_port() leaves inet_sport). Only EINVAL from
 * bind(2) proves that a TCP socket is bound.
 */
int inet_read_bound(const struct inet_socket *socket, struct inet_address *ret_address);

/* bind(2). 0 or -errno. */
int inet_bind_to_address(const struct inet_socket *socket, const struct inet_address *address);

/* Binds the socket to this address and a port that the kernel chooses. 0, also for a bound socket, or -errno. */
int inet_bind_any_port(const struct inet_socket *socket, const struct inet_address *address);

/*
 * Clears SO_REUSEADDR and SO_REUSEPORT, so that no other socket can bind the port of this socket. 0; -EADDRNOTAVAIL:
 * the option was set when the socket was bound, so the port may be shared; or another -errno.
 */
int inet_forbid_port_reuse(const struct inet_socket *socket);

/* ---- inet-route.c: where an address leads, and the decision of a call ---- */

enum inet_destination {
	INET_TO_ENDPOINT,   /* an endpoint of the policy: `host` is a name, or an address that the policy lists */
	INET_TO_PROXY,      /* egress' HTTP or SOCKS proxy */
	INET_TO_DNS,        /* the run's name server, which egress is */
	INET_TO_RUN_SOCKET, /* a socket of the run, on the run's loopback */
	INET_TO_NOWHERE,    /* denied, or unknown to the policy */
};

/* Where an address leads by the policy. */
struct inet_route {
	enum inet_destination kind;
	struct net_verdict verdict; /* set for INET_TO_ENDPOINT and INET_TO_NOWHERE */
	const char *host;           /* borrowed, or points to host_text */
	char host_text[NET_ADDRESS_TEXT_SIZE]; /* an address as text, if no name belongs to it */
};

/* Judges where an address leads by the policy. */
void inet_judge_address(struct inet *inet, const struct inet_address *address, bool udp, struct inet_route *ret_route);

/* Puts host, address and protocol into the call's audit record. To be called before the call is allowed or refused. */
void inet_record_endpoint(struct call *call, const struct inet_address *address, const char *host, bool udp);
/* Allows the call. verdict: the policy's; NULL: the call needs no rule. */
void inet_allow_call(struct call *call, const struct net_verdict *verdict);

/* Refuses the call if an entry of after_read has closed the network. error is -errno. True: refused. */
bool inet_refuse_if_network_was_closed(struct call *call, int error);

/* The run's own address among the pool's synthetic addresses. */
struct inet_address inet_get_pool_address(const struct inet *inet, int family);
/* The loopback address to which the run's sockets are really bound. v6: the address that stands for ::1. */
struct inet_address inet_make_loopback(const struct inet *inet, bool v6, uint16_t port);

/* ---- inet-names.c: socket names as the program sees them ---- */

/*
 * The names of sockets as the target knows them, where the kernel's names differ: for a connection that was led to
 * egress, and for addresses that stand for the run's own. One entry for each local port. A socket cookie tells whether
 * an entry still belongs to the same socket.
 */
struct inet_names;

/*
 * NULL: no memory. The caller releases the result by free(3). It reserves megabytes of address space, of which only the
 * pages of used ports are touched.
 */
struct inet_names *inet_names_create(void);

/*
 * Stores the names of a bound socket. table (0-3) separates sockets that may have the same local port. own, peer: the
 * names to tell the target; NULL: the kernel's name is told. If `own` has port 0, local_port is stored in its place.
 */
void inet_names_set_entry(struct inet_names *names, unsigned table, uint16_t local_port, int socket_fd,
			  const struct inet_address *own, const struct inet_address *peer);

/* The stored name of this socket, borrowed. NULL: no name is stored for it. */
const struct inet_address *inet_names_find_name_of_socket(const struct inet_names *names, unsigned table,
							  uint16_t local_port, int socket_fd, bool peer);

/*
 * Stores the names to tell the target for a bound socket: its own and its peer's; NULL: the kernel's name is told.
 * Finds the table and the local port itself.
 */
void inet_names_set_of_socket(const struct inet *inet, const struct inet_socket *socket, const struct inet_address *own,
			      const struct inet_address *peer);

/* ---- inet-listeners.c: the run's listening sockets ---- */

/*
 * The listening sockets of a run without a network namespace, which shares the host's loopback. If a listener were
 * closed between the check and the connect, a socket of the host that listens at every address would get the
 * connection. So a duplicate of the listener is held while a connect to it is in progress.
 */
#define INET_LISTENERS_MAX 1024 /* listening sockets at a time */
/* most nonblocking connects in progress: a full backlog drops the SYN, and the kernel repeats it */
#define INET_PENDING_CONNECTS_MAX 256

struct inet_listeners;

/* Returns NULL when memory is short. */
struct inet_listeners *inet_listeners_create(void);
void inet_listeners_free(struct inet_listeners *listeners);

/* Adds socket_fd, the duplicate of argument 0, which listens at `at`. 0 or -ENOSPC. */
int inet_listeners_add(struct inet_listeners *listeners, const struct call *call, int socket_fd,
		       const struct inet_address *at);

/* A duplicate of the socket that listens at `at`, owned by the caller; or -ENOENT. */
int inet_listeners_duplicate_socket_at(struct inet_listeners *listeners, const struct call *call,
				       const struct inet_address *at);

/* Frees ports for EADDRINUSE: closes held listeners that no process of the run has any more. */
void inet_listeners_close_orphans(struct inet_listeners *listeners, const struct call *call);

/*
 * Called after a nonblocking connect. Takes the held listener, and keeps it while the connect is in progress. False:
 * too many connects are in progress, so the caller must undo this connect.
 */
bool inet_listeners_hold_until_connected(struct inet_listeners *listeners, int socket_fd, int held_fd);

/* connect(2) in a thread. Takes held_fd, the listener to reach, or -1. NULL: no memory; held_fd is closed. */
struct call_work *inet_listeners_make_connect_work(const struct sockaddr_storage *address, socklen_t len, int held_fd);

/*
 * Closes the duplicates of sockets whose connect has ended: while they exist, the target's close(2) does not reach the
 * peer. Looks at most once in INET_CONNECT_CHECK_INTERVAL_MS. True: some connect is still in progress.
 */
bool inet_listeners_close_ended_connects(struct inet_listeners *listeners, uint64_t now_ns);

/* Whether the socket may stop listening. It may not while a thread's connect waits for a shared loopback's listener. */
bool inet_listeners_socket_may_stop(const struct inet *inet, int socket_fd);

/* ---- inet-datagram.c: UDP sockets and datagrams ---- */

void inet_connect_datagram(struct call *call, const struct inet_socket *socket, const struct inet_address *to);

/* Judges a datagram's destination. 0 with the address (*ret_len 0: the connected peer); -errno: the outcome is set. */
int inet_route_datagram(struct call *call, const struct inet_socket *socket, const struct sockaddr_storage *address,
			int len, struct sockaddr_storage *ret_to, socklen_t *ret_len);

void inet_endpoint_release(struct inet_endpoint *endpoint);
/*
 * Makes the UDP endpoints of all rules with an exact host name at the start, for runs in which sends are native, so
 * that no notified send could make them (descriptor.h).
 */
void inet_make_endpoints_in_advance(struct inet *inet);

#endif
