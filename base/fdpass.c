#include "base/fdpass.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>

/* Room for the descriptors of a message, aligned like a cmsghdr. */
union fdpass_room {
	struct cmsghdr header;
	char bytes[CMSG_SPACE(sizeof(int) * FDPASS_FDS_MAX)];
};

int fdpass_send(int socket_fd, const void *bytes, size_t len, const int *fds, size_t count, int flags)
{
	struct iovec part = {(void *)(uintptr_t)bytes, len}; /* sendmsg(2) only reads it */
	struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
	union fdpass_room room = {.bytes = {0}};
	ssize_t sent;

	if (count > FDPASS_FDS_MAX)
		return -EINVAL;
	if (count > 0) {
		room.header = (struct cmsghdr){.cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS,
					       .cmsg_len = CMSG_LEN(sizeof(int) * count)};
		memcpy(CMSG_DATA(&room.header), fds, sizeof(int) * count);
		message.msg_control = room.bytes;
		message.msg_controllen = CMSG_SPACE(sizeof(int) * count);
	}
	do
		sent = sendmsg(socket_fd, &message, flags | MSG_NOSIGNAL);
	while (sent < 0 && errno == EINTR);
	return sent < 0 ? -errno : (size_t)sent == len ? 0 : -EMSGSIZE;
}

ssize_t fdpass_receive(int socket_fd, void *bytes, size_t size, int *ret_fds, size_t count, int flags)
{
	struct iovec part = {bytes, size};
	union fdpass_room room = {.bytes = {0}};
	struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = count > 0 ? room.bytes : NULL,
				 .msg_controllen = count > 0 ? CMSG_LEN(sizeof(int) * count) : 0};
	const struct cmsghdr *header;
	ssize_t got;

	for (size_t i = 0; i < count; i++)
		ret_fds[i] = -1;
	if (count > FDPASS_FDS_MAX)
		return -EINVAL;
	do
		got = recvmsg(socket_fd, &message, flags | MSG_CMSG_CLOEXEC);
	while (got < 0 && errno == EINTR);
	if (got < 0)
		return -errno;
	header = count > 0 ? CMSG_FIRSTHDR(&message) : NULL;
	if (header && header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS)
		memcpy(ret_fds, CMSG_DATA(header), header->cmsg_len - CMSG_LEN(0));
	return got;
}
