#include "syscalls/file/owner.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/proc/stat.h"
#include "syscalls/call/decode.h"
#include "syscalls/call/descriptor.h"
#include "syscalls/process/target.h"

#define OWNER_GROUP_PROCESSES_MAX 4096u /* processes of the run searched for one in a process group */

/*
 * Whether a process of the run is in the process group. Then all its processes are the run's, because a group belongs
 * to one session.
 */
static bool owner_group_is_of_run(const struct call *call, pid_t group)
{
	_cleanup_free_ pid_t *member = calloc(OWNER_GROUP_PROCESSES_MAX, sizeof(*member));
	size_t count = member ? task_table_list_processes(call->sandbox->tree, member, OWNER_GROUP_PROCESSES_MAX) : 0;
	struct procstat stat;

	for (size_t i = 0; i < count && i < OWNER_GROUP_PROCESSES_MAX; i++)
		if (procstat_read(member[i], &stat) == 0 && stat.group == group)
			return true;
	return false;
}

/* Judges an owner. False: refused. */
static bool owner_judge_new_owner(struct call *call, int type, pid_t who)
{
	bool member;

	if (type == F_OWNER_PGRP)
		member = owner_group_is_of_run(call, who);
	else
		member = target_is_self(call, who) || task_table_pid_is_in_run(call->sandbox->tree, who);
	if (member || who == 0)
		target_allow_without_rule(call);
	else
		target_refuse_pid_outside_run(call);
	return member || who == 0;
}

/*
 * Whether the owner that was set is the one that was judged. A process may have ended in between, and its pid may have
 * been reused. While a pidfd that was opened before leads to a process that is not reaped, the pid was not reused. A
 * group must still have a process of the run, or its number was reused.
 */
static bool owner_is_still_member(const struct call *call, const struct f_owner_ex *owner, int pidfd)
{
	if (owner->pid == 0)
		return true;
	if (owner->type == F_OWNER_PGRP)
		return owner_group_is_of_run(call, owner->pid);
	return pidfd >= 0 && (syscall(SYS_pidfd_send_signal, pidfd, 0, NULL, 0) == 0 || errno != ESRCH);
}

/*
 * Sets the owner on a duplicate (taken). The record shows the owner itself, in the form of F_SETOWN's argument, and not
 * its address in target memory.
 */
static void owner_set_on_duplicate(struct call *call, int fd, const struct f_owner_ex *owner)
{
	const struct f_owner_ex no_owner = {.type = F_OWNER_PID, .pid = 0};
	_cleanup_close_ int copy = fd, pidfd = -1;
	int r;

	if (copy < 0)
		return;
	call->arg[2] = owner->type == F_OWNER_PGRP ? 0u - (uint32_t)owner->pid : (uint32_t)owner->pid;
	if (!owner_judge_new_owner(call, (int)owner->type, owner->pid) || call_commit_record(call) < 0)
		return;
	if (owner->type != F_OWNER_PGRP && owner->pid != 0)
		pidfd = target_open_pidfd(call, owner->pid, false);
	r = fcntl(copy, F_SETOWN_EX, owner) < 0 ? -errno : 0;
	if (r == 0 && !owner_is_still_member(call, owner, pidfd)) {
		(void)fcntl(copy, F_SETOWN_EX, &no_owner); /* cannot fail */
		r = -ESRCH;
	}
	call_return_result(call, r);
}

/* Reads the argument of F_SETOWN, which is not INT_MIN, as f_setown() in fs/fcntl.c does. */
static struct f_owner_ex owner_convert_setown_argument(pid_t who)
{
	return who < 0 ? (struct f_owner_ex){.type = F_OWNER_PGRP, .pid = -who}
		       : (struct f_owner_ex){.type = F_OWNER_PID, .pid = who};
}

void owner_set_by_setown(struct call *call, pid_t who)
{
	struct f_owner_ex owner;

	if (who == INT_MIN) {
		target_allow_but_fail(call, -EINVAL);
		return;
	}
	owner = owner_convert_setown_argument(who);
	/*
	 * If the kernel confines signals, it does so for these as well (Landlock: hook_file_send_sigiotask()),
	 * whichever process has the pid later. Otherwise the supervisor sets the owner, and checks it.
	 */
	if (!call->sandbox->kernel_confines_signals && who != 0 && !target_is_self(call, who))
		owner_set_on_duplicate(call, descriptor_copy(call, call_get_int(call, 0)), &owner);
	else if (owner_judge_new_owner(call, (int)owner.type, owner.pid))
		call_continue(call);
}

void owner_set_by_setown_ex(struct call *call)
{
	struct f_owner_ex owner;
	int r = decode_struct(call, 2, &owner, sizeof(owner));

	if (r == 0 && (owner.type < F_OWNER_TID || owner.type > F_OWNER_PGRP))
		r = -EINVAL;
	if (r < 0)
		target_allow_but_fail(call, r);
	else
		owner_set_on_duplicate(call, descriptor_copy(call, call_get_int(call, 0)), &owner);
}

void owner_set_owner_of_socket(struct call *call)
{
	_cleanup_close_ int copy = -1;
	struct f_owner_ex owner;
	struct stat status;
	int who, r = decode_struct(call, 2, &who, sizeof(who));

	copy = descriptor_copy(call, call_get_int(call, 0));
	if (copy < 0)
		return;
	if (fcntl(copy, F_GETFL) & O_PATH)
		r = -EBADF;
	else if (fstat(copy, &status) < 0 || !S_ISSOCK(status.st_mode))
		r = -ENOTTY;
	else if (r == 0 && who == INT_MIN)
		r = -EINVAL;
	if (r < 0) {
		target_allow_but_fail(call, r);
		return;
	}
	owner = owner_convert_setown_argument(who);
	owner_set_on_duplicate(call, steal_fd(&copy), &owner);
}
