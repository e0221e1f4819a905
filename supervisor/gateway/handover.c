#include "supervisor/gateway/handover.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

union fd_control_data {
	struct cmsghdr align;
	char bytes[CMSG_SPACE(sizeof(int))];
};

int handover_send(int fd, const void *bytes, size_t len, int passed_fd)
{
	struct iovec part = {(void *)(uintptr_t)bytes, len}; /* sendmsg(2) only reads it */
	struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
	union fd_control_data rights = {
		.align = {.cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS, .cmsg_len = CMSG_LEN(sizeof(int))}};
	ssize_t sent;

	if (passed_fd >= 0) {
		memcpy(CMSG_DATA(&rights.align), &passed_fd, sizeof(int));
		message.msg_control = rights.bytes;
		message.msg_controllen = sizeof(rights.bytes);
	}
	do
		sent = sendmsg(fd, &message, MSG_NOSIGNAL);
	while (sent < 0 && errno == EINTR);
	return sent < 0 ? -errno : (size_t)sent == len ? 0 : -EMSGSIZE;
}

int handover_receive(int fd, void *bytes, size_t len, int *ret_fd)
{
	struct iovec part = {bytes, len};
	union fd_control_data rights = {.bytes = {0}};
	struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = ret_fd ? rights.bytes : NULL,
				 .msg_controllen = ret_fd ? sizeof(rights.bytes) : 0};
	ssize_t got;

	do
		got = recvmsg(fd, &message, MSG_CMSG_CLOEXEC);
	while (got < 0 && errno == EINTR);
	if (got < 0 || (size_t)got != len)
		return got < 0 ? -errno : -EPIPE;
	if (!ret_fd)
		return 0;
	if (rights.align.cmsg_type != SCM_RIGHTS || rights.align.cmsg_len != CMSG_LEN(sizeof(int)))
		return -EBADMSG;
	memcpy(ret_fd, CMSG_DATA(&rights.align), sizeof(int));
	return 0;
}
