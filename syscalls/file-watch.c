/* inotify_add_watch(2): on the pinned object, through a duplicate of the program's inotify descriptor. */
#include <errno.h>
#include <fcntl.h>
#include <sys/inotify.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "syscalls/file-act.h"
#include "syscalls/file.h"
#include "syscalls/handlers.h"

#include "base/banned.h"

/*
 * pidfd_getfd(2) needs what ptrace needs, which an ancestor has; where a container's filter forbids it, there is no
 * other way to an inotify object (/proc/PID/fd/N of one cannot be opened), and programs fall back to polling on
 * ENOSYS.
 */
static int duplicate(const struct call *call, int fd)
{
	_cleanup_close_ int pidfd = -1;
	int copy;

	pidfd = (int)syscall(SYS_pidfd_open, call->tid, PIDFD_THREAD);
	/* Before Linux 6.9: a thread's table is the leader's, unless it was made without CLONE_FILES. */
	if (pidfd < 0 && errno == EINVAL)
		pidfd = (int)syscall(SYS_pidfd_open, call->task->tgid, 0);
	if (pidfd < 0)
		return -ENOSYS;
	copy = (int)syscall(SYS_pidfd_getfd, pidfd, fd, 0);
	if (copy >= 0)
		return copy;
	return errno == EBADF ? -EBADF : -ENOSYS;
}

void sys_inotify_add_watch(struct call *call)
{
	_cleanup_close_ int object = -1, watch = -1;
	unsigned mask = call_uint(call, 2);

	/* The kernel's order: no known bit, both of two exclusive bits, then the descriptor, then the path. */
	if (!(mask & (IN_ALL_EVENTS | IN_UNMOUNT | IN_Q_OVERFLOW | IN_IGNORED | IN_ONLYDIR | IN_DONT_FOLLOW |
		      IN_EXCL_UNLINK | IN_MASK_CREATE | IN_MASK_ADD | IN_ISDIR | IN_ONESHOT))) {
		call_fail(call, -EINVAL);
		return;
	}
	watch = duplicate(call, call_int(call, 0));
	if (!call_valid(call)) {
		call->outcome.kind = OUTCOME_GONE;
		return;
	}
	if (watch < 0) {
		call_fail(call, watch);
		return;
	}
	if ((mask & (IN_MASK_ADD | IN_MASK_CREATE)) == (IN_MASK_ADD | IN_MASK_CREATE)) {
		call_fail(call, -EINVAL);
		return;
	}
	object = file_pin(call, 0, POLICY_READ, mask & IN_DONT_FOLLOW ? 0 : VIEW_FOLLOW,
			  O_PATH | O_CLOEXEC | (mask & IN_ONLYDIR ? O_DIRECTORY : 0));
	if (object < 0 || call_commit(call) < 0)
		return;
	/* The link to the pinned object has to be followed, whatever the object is. */
	file_end(call, inotify_add_watch(watch, file_link(object).path, mask & ~(unsigned)IN_DONT_FOLLOW));
}
