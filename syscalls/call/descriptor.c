#include "syscalls/call/descriptor.h"

#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"

/*
 * Duplicates a descriptor by pidfd_getfd(2). That needs permission to ptrace the target, which its ancestors have.
 * Docker without CAP_SYS_PTRACE denies it all the same.
 */
static int descriptor_duplicate(const struct call *call, int fd)
{
	_cleanup_close_ int pidfd = (int)syscall(SYS_pidfd_open, call->tid, PIDFD_THREAD);
	int copy;

	/* Linux before 6.9 has no pidfds of threads. The leader's serves: threads share its table (CLONE_FILES). */
	if (pidfd < 0 && errno == EINVAL)
		pidfd = (int)syscall(SYS_pidfd_open, call->task->tgid, 0);
	if (pidfd < 0)
		return -errno;
	copy = (int)syscall(SYS_pidfd_getfd, pidfd, fd, 0);
	return copy < 0 ? -errno : copy;
}

bool descriptor_pidfd_getfd_works(void)
{
	return syscall(SYS_pidfd_getfd, -1, 0, 0) < 0 && errno == EBADF;
}

/*
 * Duplicates a descriptor of the target. is_second: it is the call's second descriptor, for which
 * OUTCOME_FETCH_DESCRIPTOR cannot be used.
 */
static int descriptor_copy_or_fetch(struct call *call, int fd, bool is_second)
{
	_cleanup_close_ int copy = descriptor_duplicate(call, fd);

	if (!call_thread_still_waits(call))
		return call_end_without_response(call);
	if (copy >= 0)
		return steal_fd(&copy);
	if (copy == -EBADF)
		return call_fail(call, copy);
	if (is_second || ((call->sandbox->inet || call->sandbox->has_unix_datagrams) && descriptor_pidfd_getfd_works()))
		return call_refuse(call, -EPERM, NULL, "descriptor_unreachable");
	call->outcome.kind = OUTCOME_FETCH_DESCRIPTOR;
	call->outcome.value = fd;
	return -1;
}

void descriptor_keep_fetched_copy(struct call *call, int copy)
{
	call->has_fetched_fd = true;
	call->fetched_fd = copy;
}

int descriptor_copy(struct call *call, int fd)
{
	if (!call->has_fetched_fd)
		return descriptor_copy_or_fetch(call, fd, false);
	call->has_fetched_fd = false;
	return call->fetched_fd < 0 ? call_fail(call, call->fetched_fd) : call->fetched_fd;
}

int descriptor_copy_second_of_call(struct call *call, int fd)
{
	return descriptor_copy_or_fetch(call, fd, true);
}
