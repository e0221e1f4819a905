#include "supervisor/gateway/handover.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

union fd_control_data {
	struct cmsghdr align;
	char bytes[CMSG_SPACE(sizeof(int) * HANDOVER_FDS)];
};

int handover_send(int fd, const void *bytes, size_t len, const int *fds, size_t count)
{
	struct iovec part = {(void *)(uintptr_t)bytes, len}; /* sendmsg(2) only reads it */
	struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
	union fd_control_data rights = {
		.align = {.cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS,
			  .cmsg_len = CMSG_LEN(sizeof(int) * count)}};
	ssize_t sent;

	if (count > HANDOVER_FDS)
		return -EINVAL;
	if (count > 0) {
		memcpy(CMSG_DATA(&rights.align), fds, sizeof(int) * count);
		message.msg_control = rights.bytes;
		message.msg_controllen = CMSG_SPACE(sizeof(int) * count);
	}
	do
		sent = sendmsg(fd, &message, MSG_NOSIGNAL);
	while (sent < 0 && errno == EINTR);
	return sent < 0 ? -errno : (size_t)sent == len ? 0 : -EMSGSIZE;
}

int handover_receive(int fd, void *bytes, size_t len, int *ret_fds, size_t count)
{
	struct iovec part = {bytes, len};
	union fd_control_data rights = {.bytes = {0}};
	struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = count > 0 ? rights.bytes : NULL,
				 .msg_controllen = count > 0 ? CMSG_SPACE(sizeof(int) * count) : 0};
	ssize_t got;

	if (count > HANDOVER_FDS)
		return -EINVAL;

	do
		got = recvmsg(fd, &message, MSG_CMSG_CLOEXEC);
	while (got < 0 && errno == EINTR);
	if (got < 0 || (size_t)got != len)
		return got < 0 ? -errno : -EPIPE;
	if (count == 0)
		return 0;
	if (rights.align.cmsg_type != SCM_RIGHTS || rights.align.cmsg_len != CMSG_LEN(sizeof(int) * count))
		return -EBADMSG;
	memcpy(ret_fds, CMSG_DATA(&rights.align), sizeof(int) * count);
	return 0;
}
