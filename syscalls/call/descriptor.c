#include "syscalls/call/descriptor.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "view/tree.h"

#include "base/banned.h"

/* Needs ptrace permission, which an ancestor has. Some containers refuse it anyway (Docker without CAP_SYS_PTRACE). */
static int duplicate(const struct call *call, int fd)
{
	_cleanup_close_ int pidfd = (int)syscall(SYS_pidfd_open, call->tid, PIDFD_THREAD);
	int copy;

	/* Before Linux 6.9: from the leader, whose table it is unless the thread was made without CLONE_FILES. */
	if (pidfd < 0 && errno == EINVAL)
		pidfd = (int)syscall(SYS_pidfd_open, call->task->tgid, 0);
	if (pidfd < 0)
		return -errno;
	copy = (int)syscall(SYS_pidfd_getfd, pidfd, fd, 0);
	return copy < 0 ? -errno : copy;
}

bool descriptor_direct(void)
{
	return syscall(SYS_pidfd_getfd, -1, 0, 0) < 0 && errno == EBADF;
}

int descriptor_copy(struct call *call, int fd)
{
	int copy;

	if (call->again) {
		copy = call->fetched;
		call->again = false;
	} else {
		copy = duplicate(call, fd);
		if (!call_valid(call)) {
			if (copy >= 0)
				(void)close(copy);
			call->outcome.kind = OUTCOME_GONE;
			return -1;
		}
		if (copy < 0 && copy != -EBADF && call->sandbox->inet && descriptor_direct()) {
			call_refuse(call, -EPERM, NULL, "descriptor_unreachable");
			return -1;
		}
		if (copy < 0 && copy != -EBADF) {
			call->outcome.kind = OUTCOME_FETCH;
			call->outcome.value = fd;
			return -1;
		}
	}
	if (copy < 0)
		call_fail(call, copy);
	return copy < 0 ? -1 : copy;
}

int descriptor_copy_nth(struct call *call, int fd, unsigned n)
{
	int copy = duplicate(call, fd);

	(void)n;
	if (!call_valid(call)) {
		if (copy >= 0)
			(void)close(copy);
		call->outcome.kind = OUTCOME_GONE;
		return -1;
	}
	if (copy == -EBADF)
		call_fail(call, -EBADF);
	else if (copy < 0)
		call_refuse(call, -EPERM, NULL, "descriptor_unreachable");
	return copy < 0 ? -1 : copy;
}
