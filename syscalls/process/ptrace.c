/*
 * ptrace(2), process_vm_readv(2) and process_vm_writev(2) among the processes of the run. The verdict rests on the pid
 * in a register, so the kernel performs the call. A pid that is reused meanwhile does not lead out of the run: a pid
 * namespace has no other processes, and Landlock lets a task trace only tasks of its own domain. Without both, the
 * calls are refused.
 *
 * A task has one tracer. The supervisor traces a thread during its execs and, without a mount namespace, its changes of
 * directory. So these calls are refused to traced threads (ptrace_is_traced), and attaching to a thread that the
 * supervisor has seized just now fails as it natively does for a traced thread.
 *
 * A process that traces is never traced. Two tasks that trace each other with PTRACE_O_TRACEEXIT survive SIGKILL: each
 * stops at its exit and waits for the other one to continue it, and the kernel drops further signals to a dying process
 * (prepare_signal() in kernel/signal.c, Linux 6.18). Neither the run nor its pid namespace could be ended.
 */
#include "syscalls/process/ptrace.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/proc/stat.h"
#include "syscalls/process/target.h"
#include "syscalls/table/handlers.h"

/* From linux/ptrace.h, which clashes with <sys/ptrace.h>. */
#define REQUEST_TRACEME 0
#define REQUEST_ATTACH 16
#define REQUEST_SETOPTIONS 0x4200
#define REQUEST_SEIZE 0x4206
#define REQUEST_SECCOMP_GET_FILTER 0x420c
#define REQUEST_SECCOMP_GET_METADATA 0x420d
#define PTRACE_TID_MEANS_TRACEME 0 /* ptrace_attachment.tid of a PTRACE_TRACEME, which lasts as long as its target */
#define OPTION_SUSPEND_SECCOMP (UINT64_C(1) << 21) /* PTRACE_O_SUSPEND_SECCOMP: always refused */

/* ---- the list of tracers and their targets ---- */

/*
 * Whether a task of the run traces this thread. Counts an unreadable status as traced, for example of a thread that has
 * just died. The supervisor as a tracer does not count, because it is not a process of the run.
 */
static bool ptrace_thread_is_traced(pid_t tid)
{
	long tracer = task_table_read_status_number(tid, "TracerPid", 10);

	return tracer != 0 && tracer != getpid();
}

bool ptrace_is_traced(const struct sandbox *sandbox, pid_t tid)
{
	return sandbox->ptrace_attachments.count > 0 && ptrace_thread_is_traced(tid);
}

bool ptrace_run_may_write_memory(const struct sandbox *sandbox)
{
	return sandbox->ptrace_attachments.run_may_write_memory;
}

/*
 * Whether any thread of the process is traced now, or this is unknown: threads and children may be traced from birth.
 */
static bool ptrace_any_thread_is_traced(pid_t tgid)
{
	_cleanup_closedir_ DIR *dir = NULL;
	const struct dirent *entry;
	char path[32];
	int error = 0;

	(void)snprintf(path, sizeof(path), "/proc/%d/task", (int)tgid); /* always fits */
	dir = opendir(path);
	while (dir && (entry = io_read_entry(dir, &error)))
		if (ptrace_thread_is_traced((pid_t)strtol(entry->d_name, NULL, 10)))
			return true;
	return !dir || error < 0;
}

/*
 * Whether the process may have become traced. A PTRACE_TRACEME is remembered for life. Each thread's last attach is
 * remembered, because the kernel may not have performed it yet; earlier ones show in TracerPid. A target's pid is
 * compared too, because a process may have reused it.
 */
static bool ptrace_may_be_attached(const struct ptrace_attachments *attachments, pid_t tgid)
{
	for (size_t i = 0; i < attachments->count; i++)
		if (attachments->attachment[i].target_tgid == tgid || attachments->attachment[i].target == tgid)
			return true;
	return false;
}

static bool ptrace_process_has_traced(const struct ptrace_attachments *attachments, pid_t tgid)
{
	for (size_t i = 0; i < attachments->count; i++)
		if (attachments->attachment[i].tgid == tgid)
			return true;
	return false;
}

/*
 * Whether the process exists. Does not use task_table_pid_is_in_run(), which may miss a process while its ancestors
 * die: a living tracer must not be forgotten. Remembering a dead tracer too long only causes a refusal.
 */
static bool ptrace_process_exists(pid_t tgid)
{
	return kill(tgid, 0) == 0 || errno != ESRCH;
}

static bool ptrace_thread_exists(pid_t tgid, pid_t tid)
{
	return syscall(SYS_tgkill, tgid, tid, 0) == 0 || errno != ESRCH;
}

/* Whether the process that asked for the attachment is gone. */
static bool ptrace_attachment_has_ended(const struct ptrace_attachment *attachment)
{
	return !ptrace_process_exists(attachment->tid == PTRACE_TID_MEANS_TRACEME ? attachment->target_tgid
										  : attachment->tgid);
}

/* Removes attachments that have ended. */
static void ptrace_forget_dead_processes(struct ptrace_attachments *attachments)
{
	size_t kept = 0;

	for (size_t i = 0; i < attachments->count; i++)
		if (!ptrace_attachment_has_ended(&attachments->attachment[i]))
			attachments->attachment[kept++] = attachments->attachment[i];
	attachments->count = kept;
}

/*
 * Whether the attachment `next` may overwrite the stored one, `attachment`: both are of the same tracing thread, or the
 * tracing thread of `attachment` is dead and was of the same process.
 */
static bool ptrace_attachment_is_replaced(const struct ptrace_attachment *attachment,
					  const struct ptrace_attachment *next)
{
	if (attachment->tid == PTRACE_TID_MEANS_TRACEME || next->tid == PTRACE_TID_MEANS_TRACEME)
		return attachment->tid == next->tid && attachment->target_tgid == next->target_tgid;
	return attachment->tgid == next->tgid &&
	       (attachment->tid == next->tid || !ptrace_thread_exists(attachment->tgid, attachment->tid));
}

/* Stores an attachment. False: the table is full. The thread's own entry is replaced before a dead thread's entry. */
static bool ptrace_remember_attachment(struct ptrace_attachments *attachments, const struct ptrace_attachment *next)
{
	struct ptrace_attachment *entry = NULL;

	for (size_t i = 0; i < attachments->count; i++) {
		struct ptrace_attachment *attachment = &attachments->attachment[i];

		if (ptrace_attachment_is_replaced(attachment, next) && (!entry || attachment->tid == next->tid))
			entry = attachment;
	}
	if (!entry && attachments->count == PTRACE_ATTACHMENTS_MAX)
		return false;
	if (!entry)
		entry = &attachments->attachment[attachments->count++];
	*entry = *next;
	return true;
}

/* ---- attaching ---- */

/* Why one process of the run may not trace another process of the run; NULL: it may. */
static const char *ptrace_find_refusal_reason(const struct ptrace_attachments *attachments, pid_t tracer_tgid,
					      pid_t target_tgid)
{
	if (ptrace_may_be_attached(attachments, tracer_tgid) || ptrace_any_thread_is_traced(tracer_tgid))
		return "tracer_is_traced";
	return ptrace_process_has_traced(attachments, target_tgid) ? "target_traces" : NULL;
}

/* Judges whether a process may trace another, and remembers it. */
static void ptrace_judge_attachment(struct call *call, const struct ptrace_attachment *attachment)
{
	struct ptrace_attachments *attachments = &call->sandbox->ptrace_attachments;
	const char *reason;

	ptrace_forget_dead_processes(attachments);
	reason = ptrace_find_refusal_reason(attachments, attachment->tgid, attachment->target_tgid);
	if (!reason && !ptrace_remember_attachment(attachments, attachment))
		reason = "tracers_limit";
	if (reason) {
		call_refuse(call, -EPERM, NULL, reason);
		return;
	}
	attachments->run_may_write_memory = true;
	target_allow_continue(call);
}

static void ptrace_judge_attach(struct call *call)
{
	pid_t pid = call_get_int(call, 1);
	long target_tgid = pid > 0 ? task_table_read_status_number(pid, "Tgid", 10) : -ESRCH;

	if (target_tgid <= 0 || !task_table_pid_is_in_run(call->sandbox->tree, pid))
		target_refuse_pid_outside_run(call);
	else if (target_tgid == call->task->tgid)
		/* the target is in the caller's own process, which a thread cannot trace */
		target_allow_but_fail(call, -EPERM);
	else
		ptrace_judge_attachment(call, &(struct ptrace_attachment){call->tid, call->task->tgid, pid,
									  (pid_t)target_tgid});
}

/*
 * Judges PTRACE_TRACEME. The kernel makes the parent the tracer. If the parent dies before that, its successor becomes
 * the tracer: the supervisor, which detaches at the first stop, or a tracee. That makes no circle, because the caller
 * never traces.
 */
static void ptrace_judge_traceme(struct call *call)
{
	pid_t tgid = call->task->tgid, parent = procstat_read_parent(tgid);

	if (parent <= 0 || !task_table_pid_is_in_run(call->sandbox->tree, parent))
		call_refuse(call, -EPERM, NULL, "outside_run"); /* the supervisor would be the tracer */
	else
		ptrace_judge_attachment(call,
					&(struct ptrace_attachment){PTRACE_TID_MEANS_TRACEME, parent, call->tid, tgid});
}

/* Judges the requests that allow_ptrace does not let pass. */
void sys_ptrace(struct call *call)
{
	uint64_t request = call->arg[0], options = call->arg[3]; /* the kernel reads them as long */

	if (!call->sandbox->kernel_confines_ptrace)
		call_refuse(call, -EPERM, NULL, "trace_not_bounded");
	else if (request == REQUEST_TRACEME)
		ptrace_judge_traceme(call);
	else if (request == REQUEST_SECCOMP_GET_FILTER || request == REQUEST_SECCOMP_GET_METADATA)
		call_refuse(call, -EACCES, NULL, "not_permitted"); /* the kernel's errno without CAP_SYS_ADMIN */
	else if (request == REQUEST_SETOPTIONS || (request == REQUEST_SEIZE && options & OPTION_SUSPEND_SECCOMP))
		call_refuse(call, -EPERM, NULL, "not_permitted");
	else if (request == REQUEST_ATTACH || request == REQUEST_SEIZE)
		ptrace_judge_attach(call);
	else
		call_refuse(call, -EIO, NULL, "not_offered");
}

/* ---- memory ---- */

/* Judges access to other processes' memory. The kernel reads the addresses again; the verdict does not rest on them. */
static void ptrace_judge_memory_access(struct call *call)
{
	if (!call->sandbox->kernel_confines_ptrace && !target_is_self(call, call_get_int(call, 0)))
		call_refuse(call, -EPERM, NULL, "trace_not_bounded");
	else
		target_continue_if_in_run(call, call_get_int(call, 0));
}

HANDLER(sys_process_vm_readv, ptrace_judge_memory_access(call))

void sys_process_vm_writev(struct call *call)
{
	ptrace_judge_memory_access(call);
	if (call->outcome.kind == OUTCOME_CONTINUE)
		call->sandbox->ptrace_attachments.run_may_write_memory = true;
}
