#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/kernel.h"
#include "supervisor/notify.h"

#include "base/banned.h"

#ifndef SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP /* Linux 6.6 */
#define SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP (1UL << 0)
#define SECCOMP_IOCTL_NOTIF_SET_FLAGS SECCOMP_IOW(4, __u64)
#endif

void notify_prepare(int listener_fd)
{
	(void)ioctl(listener_fd, SECCOMP_IOCTL_NOTIF_SET_FLAGS, SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP);
}

static int listener(int listener_fd, unsigned long request, const void *argument)
{
	return (int)kernel_call(SYS_ioctl, kernel_int(listener_fd), request, kernel_pointer(argument), 0, 0, 0);
}

int notify_receive(int listener_fd, struct seccomp_notif *ret_notification)
{
	int r;

	/* The kernel refuses a structure that is not zeroed. */
	memset(ret_notification, 0, sizeof(*ret_notification));
	r = listener(listener_fd, SECCOMP_IOCTL_NOTIF_RECV, ret_notification);
	return r == -EINTR ? -ENOENT : r;
}

static int respond(int listener_fd, struct seccomp_notif_resp *response)
{
	int r;

	do
		r = listener(listener_fd, SECCOMP_IOCTL_NOTIF_SEND, response);
	while (r == -EINTR);
	return r;
}

int notify_value(int listener_fd, uint64_t id, int64_t value)
{
	struct seccomp_notif_resp response = {.id = id, .val = value};

	return respond(listener_fd, &response);
}

int notify_error(int listener_fd, uint64_t id, int error)
{
	struct seccomp_notif_resp response = {.id = id, .error = error};

	return respond(listener_fd, &response);
}

static int go_on(int listener_fd, uint64_t id, bool may)
{
	struct seccomp_notif_resp response = {.id = id, .flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE};

	if (may)
		return respond(listener_fd, &response);
	(void)notify_error(listener_fd, id, -EPERM); /* fails when nobody waits */
	return -EPERM;
}

static bool may_continue(const struct syscall_row *row, enum continue_reason reason)
{
	switch (row->basis) {
	case BASIS_REGS:
		return true;
	case BASIS_EXEC:
		return reason == CONTINUE_VERIFIED;
	case BASIS_NETNS:
	case BASIS_MOUNTNS:
		return reason == CONTINUE_BOUNDED;
	case BASIS_MEMORY:
	default:
		return false;
	}
}

int notify_continue(int listener_fd, uint64_t id, const struct syscall_row *row, enum continue_reason reason)
{
	return go_on(listener_fd, id, row && may_continue(row, reason));
}

int notify_pass(int listener_fd, uint64_t id, const struct syscall_row *row, const __u64 *args)
{
	uint64_t arg[6];

	memcpy(arg, args, sizeof(arg));
	return go_on(listener_fd, id, row && table_allows(row, arg));
}

int notify_add(int listener_fd, uint64_t id, int fd, bool cloexec)
{
	struct seccomp_notif_addfd addfd = {.id = id, .srcfd = (unsigned)fd, .newfd_flags = cloexec ? O_CLOEXEC : 0};
	int number;

	/* Interrupted (the watchdog's signal, a cancelled worker's), the kernel has taken the request back. */
	do
		number = listener(listener_fd, SECCOMP_IOCTL_NOTIF_ADDFD, &addfd);
	while (number == -EINTR);
	(void)close(fd);
	return number;
}
