/* fcntl(2): judges the commands that the filter does not let pass. */
#include <errno.h>
#include <fcntl.h>

#include "base/proc/fdinfo.h"
#include "syscalls/account/limits/locks.h"
#include "syscalls/file/owner.h"
#include "syscalls/process/target.h"
#include "syscalls/table/handlers.h"

#ifndef F_SET_FILE_RW_HINT
#define F_SET_FILE_RW_HINT 1038
#endif
#define FCNTL_LAST_COMMAND F_SET_FILE_RW_HINT /* commands after this one do not exist, as on an older kernel */

/* Refuses a command of fcntl(2) that no row allows. */
static void fcntl_refuse_command(struct call *call, unsigned command)
{
	struct fdinfo info;

	if (fdinfo_read(call->tid, call_get_int(call, 0), &info) < 0 || info.open_flags & O_PATH)
		target_allow_but_fail(call, -EBADF);
	else if (command > FCNTL_LAST_COMMAND)
		target_allow_but_fail(call, -EINVAL);
	else
		call_refuse(call, -EPERM, NULL, "refused_syscall");
}

void sys_fcntl(struct call *call)
{
	unsigned command = call_get_uint(call, 1);

	if (locks_command_needs_admission(call->arg[1]))
		call_refuse(call, -ENOLCK, NULL, "locks_limit");
	else if (command == F_SETOWN)
		owner_set_by_setown(call, call_get_int(call, 2));
	else if (command == F_SETOWN_EX)
		owner_set_by_setown_ex(call);
	else
		fcntl_refuse_command(call, command);
}
