#include "syscalls/exec/execve.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "syscalls/call/call.h"
#include "syscalls/exec/argv.h"
#include "syscalls/exec/judge.h"
#include "syscalls/file/resolve.h"
#include "syscalls/table/handlers.h"

#include "base/banned.h"

#ifndef AT_EXECVE_CHECK
#define AT_EXECVE_CHECK 0x10000 /* Linux 6.14: only say whether it could be executed */
#endif

void exec_plan_free(struct exec_plan *plan)
{
	if (!plan)
		return;
	free(plan->virt);
	free(plan->host);
	free(plan->execfn);
	for (char **text = plan->argv_head; text && *text; text++)
		free(*text);
	free(plan->argv_head);
	free(plan);
}

/*
 * The object behind a descriptor (fexecve). What has no name in the view - a memfd, a deleted file, an O_TMPFILE - was
 * never judged under any rule and is refused.
 */
static int pin_descriptor(struct call *call)
{
	struct stat st;
	_cleanup_close_ int pin = -1;

	if (call->path[0].dirfd == AT_FDCWD) {
		call_fail(call, -EACCES); /* a directory */
		return -1;
	}
	pin = file_pin_fd(call, call->path[0].dirfd, POLICY_EXEC);
	if (pin < 0)
		return -1;
	if (fstat(pin, &st) < 0 || !call->place[0].mount || call->place[0].magic ||
	    !view_confirm(call->sandbox->view, call->place[0].virt, &st)) {
		call_refuse(call, EACCES, NULL, "object_without_name");
		return -1;
	}
	return steal_fd(&pin);
}

static void run_exec(struct call *call, unsigned flags)
{
	bool by_fd = flags & AT_EMPTY_PATH && call->path[0].len == 0 && !call->path[0].error;
	unsigned follow = flags & AT_SYMLINK_NOFOLLOW ? 0 : VIEW_FOLLOW;
	struct exec_file file;
	int pin, r = 0;

	if (!by_fd && !(flags & AT_EXECVE_CHECK))
		r = exec_ask(call, 0, flags & AT_SYMLINK_NOFOLLOW, &file);
	if (r > 0)
		exec_judge(call, &file, flags);
	if (r != 0)
		return;
	pin = by_fd ? pin_descriptor(call) : file_pin(call, 0, POLICY_EXEC, follow, O_PATH | O_CLOEXEC);
	if (pin < 0)
		return;
	if (call->place[0].magic) { /* /proc/self/fd/N of a memfd */
		(void)close(pin); /* O_PATH: nothing to lose */
		call_refuse(call, EACCES, NULL, "object_without_name");
		return;
	}
	if (exec_open(call, 0, pin, &file) < 0)
		return;
	if (!(flags & AT_EXECVE_CHECK)) {
		exec_judge(call, &file, flags);
		return;
	}
	cleanup_close(&file.fd);
	call_return(call, 0);
}

void sys_execve(struct call *call)
{
	exec_note_argv(call, call->arg[1]);
	run_exec(call, 0);
}

void sys_execveat(struct call *call)
{
	unsigned flags = call_uint(call, 4);

	if (flags & ~(unsigned)(AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW | AT_EXECVE_CHECK)) {
		call_fail(call, -EINVAL);
		return;
	}
	exec_note_argv(call, call->arg[2]);
	run_exec(call, flags);
}
