/*
 * ptrace(2), process_vm_readv(2) and process_vm_writev(2) among the processes of the run. The verdict rests on the pid
 * in a register, so the kernel performs the call. A pid that is reused meanwhile is no way out of the run: a pid
 * namespace has no other process than the run's, and Landlock lets a task trace only tasks of its own domain. Without
 * either the calls are refused.
 *
 * The supervisor is the tracer of a thread during its execs, and where there is no mount namespace its changes of
 * directory. A task has one tracer. So these calls of a traced thread are refused (ptrace_is_traced), and attaching to
 * a thread that the supervisor has seized at that moment fails as it does natively for a traced one.
 *
 * A process that traces is never traced. Two tasks that trace each other with PTRACE_O_TRACEEXIT survive SIGKILL: each
 * stops at its exit and waits for the other one to continue it, and the kernel drops further signals to a dying process
 * (prepare_signal() in kernel/signal.c, Linux 6.18). The run could not be ended, nor its pid namespace.
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
#include "base/procstat.h"
#include "syscalls/process/target.h"
#include "syscalls/table/handlers.h"

/* linux/ptrace.h, which clashes with <sys/ptrace.h>. */
#define REQUEST_TRACEME 0
#define REQUEST_ATTACH 16
#define REQUEST_SETOPTIONS 0x4200
#define REQUEST_SEIZE 0x4206
#define REQUEST_SECCOMP_GET_FILTER 0x420c
#define REQUEST_SECCOMP_GET_METADATA 0x420d
#define TRACEME_TID 0 /* of an entry for PTRACE_TRACEME, which lasts as long as the target */
#define OPTION_SUSPEND_SECCOMP (UINT64_C(1) << 21)

/* ---- who traces whom ---- */

/*
 * Whether a task of the run traces this thread. What cannot be read, as of a thread that has just died, counts as
 * traced. The supervisor does not count: it is no process of the run, and never traced.
 */
static bool thread_is_traced(pid_t tid)
{
	long tracer = tree_read_status(tid, "TracerPid", 10);

	return tracer != 0 && tracer != getpid();
}

bool ptrace_is_traced(const struct sandbox *sandbox, pid_t tid)
{
	return sandbox->traces.count > 0 && thread_is_traced(tid);
}

/* Reads what is so now: children and threads of a traced process are traced from birth, if its tracer wants that. */
static bool any_thread_is_traced(pid_t tgid)
{
	_cleanup_closedir_ DIR *dir = NULL;
	struct dirent *entry;
	char path[32];

	(void)snprintf(path, sizeof(path), "/proc/%d/task", (int)tgid); /* always fits */
	dir = opendir(path);
	if (!dir)
		return true;
	while ((entry = readdir(dir))) {
		pid_t tid = (pid_t)strtol(entry->d_name, NULL, 10);

		if (tid > 0 && thread_is_traced(tid))
			return true;
	}
	return false;
}

/*
 * A process that called PTRACE_TRACEME is remembered for life. The last attach of each thread is remembered, because it
 * may not have been performed yet. Earlier ones have: they show in TracerPid. A target's pid is compared too, because a
 * process may have reused it.
 */
static bool attach_is_under_way(const struct traces *traces, pid_t tgid)
{
	for (size_t i = 0; i < traces->count; i++)
		if (traces->edge[i].target_tgid == tgid || traces->edge[i].target == tgid)
			return true;
	return false;
}

static bool process_has_traced(const struct traces *traces, pid_t tgid)
{
	for (size_t i = 0; i < traces->count; i++)
		if (traces->edge[i].tgid == tgid)
			return true;
	return false;
}

/*
 * Not by tree_pid_is_in_run(), which may miss a process whose ancestors die meanwhile: a living tracer must not be
 * forgotten. One that is remembered too long costs no more than a refusal.
 */
static bool process_exists(pid_t tgid)
{
	return kill(tgid, 0) == 0 || errno != ESRCH;
}

static bool thread_exists(pid_t tgid, pid_t tid)
{
	return syscall(SYS_tgkill, tgid, tid, 0) == 0 || errno != ESRCH;
}

static bool edge_is_over(const struct trace_edge *edge)
{
	return !process_exists(edge->tid == TRACEME_TID ? edge->target_tgid : edge->tgid);
}

static void forget_dead_processes(struct traces *traces)
{
	size_t kept = 0;

	for (size_t i = 0; i < traces->count; i++)
		if (!edge_is_over(&traces->edge[i]))
			traces->edge[kept++] = traces->edge[i];
	traces->count = kept;
}

/* Whether `edge` may be overwritten by `next`: it is the same thread's, or a dead thread's of the same process. */
static bool edge_is_replaced(const struct trace_edge *edge, const struct trace_edge *next)
{
	if (edge->tid == TRACEME_TID || next->tid == TRACEME_TID)
		return edge->tid == next->tid && edge->target_tgid == next->target_tgid;
	return edge->tgid == next->tgid && (edge->tid == next->tid || !thread_exists(edge->tgid, edge->tid));
}

/* False: the table is full. The thread's own entry has to be replaced before a dead thread's is. */
static bool remember_edge(struct traces *traces, const struct trace_edge *next)
{
	struct trace_edge *entry = NULL;

	for (size_t i = 0; i < traces->count; i++) {
		struct trace_edge *edge = &traces->edge[i];

		if (edge_is_replaced(edge, next) && (!entry || edge->tid == next->tid))
			entry = edge;
	}
	if (!entry && traces->count == TRACES_MAX)
		return false;
	if (!entry)
		entry = &traces->edge[traces->count++];
	*entry = *next;
	return true;
}

/* ---- attaching ---- */

/* Why the one process of the run may not trace the other one; NULL: it may. */
static const char *find_reason(const struct traces *traces, pid_t tracer_tgid, pid_t target_tgid)
{
	if (attach_is_under_way(traces, tracer_tgid) || any_thread_is_traced(tracer_tgid))
		return "tracer_is_traced";
	return process_has_traced(traces, target_tgid) ? "target_traces" : NULL;
}

static void judge_edge(struct call *call, const struct trace_edge *edge)
{
	struct traces *traces = &call->sandbox->traces;
	const char *reason;

	forget_dead_processes(traces);
	reason = find_reason(traces, edge->tgid, edge->target_tgid);
	if (!reason && !remember_edge(traces, edge))
		reason = "tracers_limit";
	if (reason)
		call_refuse(call, -EPERM, NULL, reason);
	else
		target_allow_continue(call);
}

static void judge_attach(struct call *call)
{
	pid_t pid = call_get_int(call, 1);
	long target_tgid = pid > 0 ? tree_read_status(pid, "Tgid", 10) : -ESRCH;

	if (target_tgid <= 0 || !tree_pid_is_in_run(call->sandbox->tree, pid))
		target_refuse_outsider(call);
	else if (target_tgid == call->task->tgid)
		target_fail_call(call, -EPERM); /* a thread cannot trace its own process */
	else
		judge_edge(call, &(struct trace_edge){call->tid, call->task->tgid, pid, (pid_t)target_tgid});
}

/*
 * The parent becomes the tracer. If it dies before the call is performed, the new parent does. That may be the
 * supervisor, which detaches at the first stop, or a tracee: no circle comes of it, since the caller never traces.
 */
static void judge_traceme(struct call *call)
{
	pid_t tgid = call->task->tgid, parent = procstat_read_parent(tgid);

	if (parent <= 0 || !tree_pid_is_in_run(call->sandbox->tree, parent))
		call_refuse(call, -EPERM, NULL, "outside_run"); /* the supervisor would be the tracer */
	else
		judge_edge(call, &(struct trace_edge){TRACEME_TID, parent, call->tid, tgid});
}

/* Requests that allow_ptrace does not let pass. */
void sys_ptrace(struct call *call)
{
	uint64_t request = call->arg[0], options = call->arg[3]; /* longs */

	if (!call->sandbox->traces_bounded)
		call_refuse(call, -EPERM, NULL, "trace_not_bounded");
	else if (request == REQUEST_TRACEME)
		judge_traceme(call);
	else if (request == REQUEST_SECCOMP_GET_FILTER || request == REQUEST_SECCOMP_GET_METADATA)
		call_refuse(call, -EACCES, NULL, "not_permitted"); /* natively without CAP_SYS_ADMIN */
	else if (request == REQUEST_SETOPTIONS || (request == REQUEST_SEIZE && options & OPTION_SUSPEND_SECCOMP))
		call_refuse(call, -EPERM, NULL, "not_permitted");
	else if (request == REQUEST_ATTACH || request == REQUEST_SEIZE)
		judge_attach(call);
	else
		call_refuse(call, -EIO, NULL, "not_offered");
}

/* ---- memory ---- */

/* Likewise without a tracer. The addresses are read again by the kernel, but the verdict does not rest on them. */
static void judge_memory(struct call *call)
{
	if (!call->sandbox->traces_bounded && !target_is_self(call, call_get_int(call, 0)))
		call_refuse(call, -EPERM, NULL, "trace_not_bounded");
	else
		target_continue_if_member(call, call_get_int(call, 0));
}

HANDLER(sys_process_vm_readv, judge_memory(call))
HANDLER(sys_process_vm_writev, judge_memory(call))
