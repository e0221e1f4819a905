/*
 * mq_open(2) and mq_unlink(2), in runs with their own IPC namespace. Opening a queue opens a file on a mount of the
 * kernel, which Landlock refuses to the program. So the supervisor opens it. Calls on the descriptor are native.
 */
#include <errno.h>
#include <fcntl.h>
#include <mqueue.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "syscalls/call/decode.h"
#include "syscalls/file/resolve.h"
#include "syscalls/process/target.h"
#include "syscalls/table/handlers.h"

/* Checks whether the run may use queues. 0, or -1 with the outcome set. */
static int mqueue_refuse_without_own_ipc(struct call *call)
{
	if (!call->sandbox->has_own_ipc_namespace)
		return call_refuse(call, -ENOSYS, NULL, "refused_syscall");
	target_allow_without_rule(call);
	return 0;
}

/*
 * Opens a queue; a descriptor or -errno. The kernel counts a new queue against the RLIMIT_MSGQUEUE of its maker
 * (mqueue_get_inode() in ipc/mqueue.c), so the supervisor sets its own limit to the target's during the call. Only one
 * thread makes queues.
 */
static int mqueue_open(struct call *call, int flags, struct mq_attr *given)
{
	struct rlimit own, theirs;
	int fd;

	if (prlimit(call->tid, RLIMIT_MSGQUEUE, NULL, &theirs) < 0 || prlimit(0, RLIMIT_MSGQUEUE, NULL, &own) < 0)
		return -errno;
	theirs.rlim_max = own.rlim_max;
	if (theirs.rlim_cur > own.rlim_max)
		theirs.rlim_cur = own.rlim_max;
	if (prlimit(0, RLIMIT_MSGQUEUE, &theirs, NULL) < 0)
		return -errno;
	fd = (int)syscall(SYS_mq_open, call->text_arg, flags, call_get_uint(call, 2), given);
	if (fd < 0)
		fd = -errno;
	(void)prlimit(0, RLIMIT_MSGQUEUE, &own, NULL); /* cannot fail: it is below the hard limit */
	return fd;
}

void sys_mq_open(struct call *call)
{
	const int known = O_ACCMODE | O_CREAT | O_EXCL | O_NONBLOCK;
	int flags = call_get_int(call, 1);
	struct mq_attr attr, *given = NULL;
	int r = 0;

	if (mqueue_refuse_without_own_ipc(call) < 0)
		return;
	/* The kernel copies the attributes before the name. */
	if (flags & O_CREAT && call->arg[3]) {
		r = decode_struct(call, 3, &attr, sizeof(attr));
		given = &attr;
	}
	if (r == 0)
		r = call->text_arg_error;
	if (r < 0) {
		call_fail(call, r);
		return;
	}
	if (file_refuse_setid(call, call_get_uint(call, 2)) || file_set_umask_of_target(call) < 0 ||
	    call_commit_record(call) < 0)
		return;
	/* the kernel always sets close-on-exec: ipc/mqueue.c */
	call_return_fd(call, mqueue_open(call, flags & known, given), true);
}

void sys_mq_unlink(struct call *call)
{
	if (mqueue_refuse_without_own_ipc(call) < 0)
		return;
	if (call->text_arg_error)
		call_fail(call, call->text_arg_error);
	else if (call_commit_record(call) == 0)
		file_end_call(call, syscall(SYS_mq_unlink, call->text_arg));
}
