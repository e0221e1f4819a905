/*
 * The run's listening sockets, where it has no network namespace of its own. A connect that is meant for one must reach
 * that one or nobody: were it closed meanwhile, a socket of the host's that listens at every address would get it. So
 * the listener is held, by a duplicate, while a connect to it is under way.
 */
#ifndef CALLGATE_SYSCALLS_NET_INET_LISTENERS_H
#define CALLGATE_SYSCALLS_NET_INET_LISTENERS_H

#include <stdbool.h>
#include <stdint.h>

#include "syscalls/call/call.h"
#include "syscalls/net/inet-address.h"

#define INET_LISTENERS_MAX 1024 /* at a time */
#define INET_LINGER_MAX 256     /* connects whose SYN a full backlog has dropped: the kernel repeats it later */

struct inet_listeners;

int inet_listeners_create(struct inet_listeners **ret_listeners);
void inet_listeners_free(struct inet_listeners *listeners);

/*
 * socket_fd, the program's descriptor in the call's first register, listens at an address of the run's. 0 or -ENOSPC.
 */
int inet_listeners_add(struct inet_listeners *listeners, const struct call *call, int socket_fd,
		       const struct inet_address *at);

/* The socket that listens there, held by the caller's closing of it; -ENOENT: nobody does. */
int inet_listeners_hold(struct inet_listeners *listeners, const struct call *call, const struct inet_address *at);

/* Closes what only we still hold (held for want of pidfd_getfd): to be tried when an address is in use. */
void inet_listeners_prune(struct inet_listeners *listeners, const struct call *call);

/*
 * After a connect that does not wait: takes the held listener, and keeps it for as long as the connect is under way.
 * False: too many are, and the connect has to be undone.
 */
bool inet_listeners_linger(struct inet_listeners *listeners, int socket_fd, int held_fd);

/*
 * Closes our copies of the sockets whose connect is over: with them, the program's close(2) would not reach the peer.
 * To be called at each turn of the supervisor's loop; looks at most once in INET_TICK_MS. True: some connect is still
 * under way.
 */
bool inet_listeners_tick(struct inet_listeners *listeners, uint64_t now_ns);

/*
 * Before a listener is made to listen no more, which holding it cannot prevent: ends what lingers, whichever listener
 * it is meant for. False: a connect waits in a thread (inet-work.h), so the listener has to stay.
 */
bool inet_listeners_release(struct inet_listeners *listeners);

#endif
