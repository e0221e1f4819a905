/* Messages of a unix socket that pass descriptors on (SCM_RIGHTS, unix(7)). Async-signal-safe. */
#ifndef CALLGATE_BASE_FDPASS_H
#define CALLGATE_BASE_FDPASS_H

#include <stddef.h>
#include <sys/types.h>

#define FDPASS_FDS_MAX 16 /* descriptors of one message */

/*
 * Sends one message with `count` descriptors, borrowed. flags: of sendmsg(2); MSG_NOSIGNAL is added. 0, -EMSGSIZE when
 * less was sent, or -errno.
 */
int fdpass_send(int socket_fd, const void *bytes, size_t len, const int *fds, size_t count, int flags);

/*
 * Receives one message. Sets the first `count` of ret_fds to its descriptors (CLOEXEC, owned by the caller) and those
 * it lacks to -1; the kernel closes further ones. flags: of recvmsg(2). The number of bytes, also of those that do not
 * fit with MSG_TRUNC; 0: hung up; or -errno.
 */
ssize_t fdpass_receive(int socket_fd, void *bytes, size_t size, int *ret_fds, size_t count, int flags);

#endif
