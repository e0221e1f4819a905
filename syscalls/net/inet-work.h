/* Calls on internet sockets that wait, as a thread of blocking.c does them (OUTCOME_INET). */
#ifndef CALLGATE_SYSCALLS_NET_INET_WORK_H
#define CALLGATE_SYSCALLS_NET_INET_WORK_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

struct inet_work {
	/* Ends the wait with a result, -errno, or -EINTR when go_on says that nobody wants it any more. */
	int64_t (*run)(struct inet_work *work, int fd, bool (*go_on)(void *ctx), void *ctx);
	void (*free)(struct inet_work *work);
};

/* connect(2). Takes held_fd (the listener it must reach, or -1). NULL: no memory, and held_fd is closed. */
struct inet_work *inet_work_connect(const struct sockaddr_storage *address, socklen_t len, int held_fd);

/* Whether such a listener is held by work that is not freed yet. */
bool inet_work_holds(void);

/* Ends a connect under way, so that nothing is sent for it any more. */
void inet_disconnect(int socket_fd);

#endif
