#include <errno.h>
#include <string.h>
#include <sys/ioctl.h>

#include "supervisor/notify.h"

#ifndef SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP /* Linux 6.6 */
#define SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP (1UL << 0)
#define SECCOMP_IOCTL_NOTIF_SET_FLAGS SECCOMP_IOW(4, __u64)
#endif

bool notify_request_same_cpu(int listener_fd)
{
	return ioctl(listener_fd, SECCOMP_IOCTL_NOTIF_SET_FLAGS, SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP) == 0;
}

int notify_receive(int listener_fd, struct seccomp_notif *ret_notification)
{
	int r;

	/* The kernel requires a zeroed structure. */
	memset(ret_notification, 0, sizeof(*ret_notification));
	r = ioctl(listener_fd, SECCOMP_IOCTL_NOTIF_RECV, ret_notification) < 0 ? -errno : 0;
	return r == -EINTR ? -ENOENT : r;
}
