/*
 * The run's listening sockets, for runs without a network namespace, which share the host's loopback. If a listener
 * were closed between the check and the connect, a socket of the host that listens at every address would get the
 * connection. So a duplicate of the listener is held while a connect to it is in progress.
 */
#ifndef CALLGATE_SYSCALLS_NET_INET_LISTENERS_H
#define CALLGATE_SYSCALLS_NET_INET_LISTENERS_H

#include "syscalls/call/call.h"
#include "syscalls/call/work.h"
#include "syscalls/net/inet-address.h"

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
 * After a nonblocking connect: takes the held listener, and keeps it while the connect is in progress. False: too many
 * are, and the caller must undo the connect.
 */
bool inet_listeners_keep(struct inet_listeners *listeners, int socket_fd, int held_fd);

/*
 * connect(2) for a thread. Takes held_fd (the listener that it must reach, or -1). NULL: no memory; held_fd is closed.
 */
struct call_work *inet_listeners_work(const struct sockaddr_storage *address, socklen_t len, int held_fd);

/*
 * Closes the duplicates of sockets whose connect is over: while they exist, the target's close(2) does not reach the
 * peer. Looks at most once in INET_TICK_MS. True: some connect is still in progress.
 */
bool inet_listeners_tick(struct inet_listeners *listeners, uint64_t now_ns);

#endif
