#include "supervisor/gateway/handover.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/banned.h"

union rights {
	struct cmsghdr align;
	char bytes[CMSG_SPACE(sizeof(int))];
};

static int handover_send_message(int fd, const struct msghdr *message, size_t len)
{
	ssize_t sent;

	do
		sent = sendmsg(fd, message, MSG_NOSIGNAL);
	while (sent < 0 && errno == EINTR);
	return sent < 0 ? -errno : (size_t)sent == len ? 0 : -EMSGSIZE;
}

static int handover_receive_message(int fd, struct msghdr *message, size_t len)
{
	ssize_t got;

	do
		got = recvmsg(fd, message, MSG_CMSG_CLOEXEC);
	while (got < 0 && errno == EINTR);
	return got < 0 ? -errno : (size_t)got == len ? 0 : -EPIPE;
}

int handover_send(int fd, const struct handover *handover, int bytes_fd)
{
	struct iovec part = {(void *)(uintptr_t)handover, sizeof(*handover)}; /* only read */
	struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
	union rights rights = {
		.align = {.cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS, .cmsg_len = CMSG_LEN(sizeof(int))}};

	memcpy(CMSG_DATA(&rights.align), &bytes_fd, sizeof(int));
	message.msg_control = rights.bytes;
	message.msg_controllen = sizeof(rights.bytes);
	return handover_send_message(fd, &message, sizeof(*handover));
}

int handover_receive(int fd, struct handover *ret_handover, int *ret_bytes_fd)
{
	struct iovec part = {ret_handover, sizeof(*ret_handover)};
	union rights rights = {.bytes = {0}};
	struct msghdr message = {
		.msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = rights.bytes,
		.msg_controllen = sizeof(rights.bytes),
	};
	int error = handover_receive_message(fd, &message, sizeof(*ret_handover));

	if (error < 0)
		return error;
	if (rights.align.cmsg_type != SCM_RIGHTS || rights.align.cmsg_len != CMSG_LEN(sizeof(int)))
		return -EBADMSG;
	memcpy(ret_bytes_fd, CMSG_DATA(&rights.align), sizeof(int));
	return 0;
}

int handover_reply(int fd, const struct handover_reply *reply)
{
	struct iovec part = {(void *)(uintptr_t)reply, sizeof(*reply)}; /* only read */
	const struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};

	return handover_send_message(fd, &message, sizeof(*reply));
}

int handover_await(int fd, struct handover_reply *ret_reply)
{
	struct iovec part = {ret_reply, sizeof(*ret_reply)};
	struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
	int error = handover_receive_message(fd, &message, sizeof(*ret_reply));

	ret_reply->step[sizeof(ret_reply->step) - 1] = '\0';
	ret_reply->pem[sizeof(ret_reply->pem) - 1] = '\0';
	return error;
}
