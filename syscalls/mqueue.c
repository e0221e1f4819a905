/*
 * POSIX message queues, in an ipc namespace of the run's own. To open one is to open a file of the kernel's own mount, which
 * Landlock keeps from the program: the supervisor does it, in the same namespace. What is done with the descriptor is native.
 */
#include <errno.h>
#include <fcntl.h>
#include <mqueue.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "syscalls/decode.h"
#include "syscalls/file-act.h"
#include "syscalls/file.h"
#include "syscalls/handlers.h"
#include "syscalls/target.h"

#include "base/banned.h"

/* False: the outcome is set. The kernel looks at the attributes first, then at the name. */
static bool may_use(struct call *call)
{
	if (!call->sandbox->private_ipc) {
		call_refuse(call, -ENOSYS, NULL, "refused_syscall");
		return false;
	}
	target_allow(call);
	return true;
}

void sys_mq_open(struct call *call)
{
	const int known = O_ACCMODE | O_CREAT | O_EXCL | O_NONBLOCK;
	int flags = call_int(call, 1);
	struct mq_attr attr, *given = NULL;
	int r = 0, fd;

	if (!may_use(call))
		return;
	if (flags & O_CREAT && call->arg[3]) {
		r = decode_struct(call, 3, &attr, sizeof(attr));
		given = &attr;
	}
	if (r == 0)
		r = call->text_error;
	if (r < 0) {
		call_fail(call, r);
		return;
	}
	if (file_refuse_setid(call, call_uint(call, 2)) || file_use_umask(call) < 0 || call_commit(call) < 0)
		return;
	fd = (int)syscall(SYS_mq_open, call->text, flags & known, call_uint(call, 2), given);
	if (fd < 0)
		call_fail(call, -errno);
	else
		call_give_fd(call, fd, true); /* always so (ipc/mqueue.c) */
}

void sys_mq_unlink(struct call *call)
{
	if (!may_use(call))
		return;
	if (call->text_error)
		call_fail(call, call->text_error);
	else if (call_commit(call) == 0)
		file_end(call, syscall(SYS_mq_unlink, call->text));
}
