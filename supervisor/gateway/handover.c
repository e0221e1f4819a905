#include "supervisor/gateway/handover.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/fdpass.h"

_Static_assert(HANDOVER_FD_COUNT <= FDPASS_FDS_MAX, "a message has no room for the descriptors");

int handover_send(int fd, const void *bytes, size_t len, const int *fds, size_t count)
{
	return fdpass_send(fd, bytes, len, fds, count, 0);
}

/* Receives exactly len bytes and count descriptors. 0 or -errno. */
int handover_receive(int fd, void *bytes, size_t len, int *ret_fds, size_t count)
{
	int fds[HANDOVER_FD_COUNT];
	ssize_t got = count > HANDOVER_FD_COUNT ? -EINVAL : fdpass_receive(fd, bytes, len, fds, count, 0);

	if (got < 0 || (size_t)got != len)
		return got < 0 ? (int)got : -EPIPE;
	for (size_t i = 0; i < count; i++)
		if (fds[i] < 0)
			return -EBADMSG;
	if (count) /* ret_fds may be NULL otherwise */
		memcpy(ret_fds, fds, sizeof(int) * count);
	return 0;
}
