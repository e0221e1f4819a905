/* What happens at the stops of seized tasks. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "supervisor/trace/private.h"
#include "syscalls/account/denials.h"

#include "base/banned.h"

#define STACK_ALIGN 16u
/* Results only the kernel sees: the call is started again unless a handler runs (include/linux/errno.h). */
#define KERNEL_RESTARTSYS 512
#define KERNEL_RESTART_LAST 516

/*
 * ---- ptrace(2) on a stopped task; a task that was killed meanwhile fails with ESRCH and reports its exit later ----
 */

static void let_go(pid_t tid, int signal)
{
	(void)ptrace(PTRACE_DETACH, tid, 0, (long)signal);
}

/* A job-control stop stays one: the task is listened to until SIGCONT, which stops it again, by SIGTRAP. */
static void resume(pid_t tid, int signal, bool group_stop)
{
	if (group_stop)
		(void)ptrace(PTRACE_LISTEN, tid, 0, 0);
	else
		(void)ptrace(PTRACE_CONT, tid, 0, (long)signal);
}

/* This call is over. The task stays seized while an older one of its calls is yet to come round again. */
static void release(struct tracer *tracer, struct pending *pending, int signal, bool group_stop)
{
	pid_t tid = pending->tid;

	pending_remove(tracer, pending);
	if (pending_find(tracer, tid))
		resume(tid, signal, group_stop);
	else
		let_go(tid, signal);
}

/* The calls of a thread that is gone. */
static void forget_thread(struct tracer *tracer, pid_t tid)
{
	struct pending *pending;

	while ((pending = pending_find(tracer, tid))) {
		pending_end(tracer, pending, -EINTR);
		pending_remove(tracer, pending);
	}
}

/* ---- exec ---- */

/* A call of its own for the record and the result: what ran is not what was approved. */
static void record_kill(struct tracer *tracer, const struct pending *pending, pid_t pid, const char *reason)
{
	_cleanup_free_ struct call *call = calloc(1, sizeof(*call));

	if (!call)
		return; /* the approved call's own record gets an errno either way */
	call->sandbox = tracer->sandbox;
	call->tid = pid;
	call->task = tree_task(tracer->sandbox->tree, pid);
	call->row = pending->row;
	memcpy(call->arg, pending->arg, sizeof(call->arg));
	if (!call->task)
		return;
	call->paths = 1;
	call->path[0].len = strlen(pending->text);
	(void)snprintf(call->path[0].text, sizeof(call->path[0].text), "%s", pending->text); /* was a path of a call */
	call->decision = (struct policy_decision){VERDICT_KILL, EACCES, pending->decision.rule, reason};
	call->outcome.kind = OUTCOME_CONTINUE;
	if (call_commit(call) < 0)
		return;
	denials_add(tracer->sandbox->denials, call);
	audit_end(tracer->sandbox->audit, call->slot, -EACCES, 0);
}

/*
 * The entry of the only thread of a process that has any, when that is the leader: then it is the one that made the
 * call.
 */
static struct pending *lone_leader(const struct tracer *tracer, pid_t pid)
{
	struct pending *lone = NULL;

	for (struct pending *pending = tracer->pending; pending; pending = pending->next) {
		if (pending->tgid != pid && pending->tid != pid)
			continue;
		if (lone || pending->tid != pid)
			return NULL;
		lone = pending;
	}
	return lone;
}

/*
 * The event comes under the leader's pid, whichever thread made the call: the others are gone by now, and the entry
 * moves to the pid (ptrace(2), "execve(2) under ptrace").
 */
static struct pending *rekey(struct tracer *tracer, pid_t pid)
{
	unsigned long former = (unsigned long)pid;
	struct pending *pending = lone_leader(tracer, pid);

	if (pending)
		return pending;
	if (ptrace(PTRACE_GETEVENTMSG, pid, 0, &former) < 0)
		return NULL;
	pending = pending_find(tracer, (pid_t)former);
	if (!pending)
		return NULL;
	/* out of the way of those that are forgotten: the old leader's, and older calls of its own */
	pending->tid = -1;
	forget_thread(tracer, pid);
	forget_thread(tracer, (pid_t)former);
	pending->tid = pid;
	return pending;
}

static bool still_stopped(pid_t pid)
{
	unsigned long message;

	return ptrace(PTRACE_GETEVENTMSG, pid, 0, &message) == 0;
}

void stop_exec(struct tracer *tracer, pid_t pid)
{
	struct pending *pending = rekey(tracer, pid);
	const char *reason = "exec_not_approved";

	if (pending && pending_in_exec(pending))
		reason = verify_exec(tracer->sandbox->guest, pid, pending->plan);
	if (!reason) {
		tree_exec(tracer->sandbox->tree, pid, pending->plan->virt);
		pending_end(tracer, pending, 0);
		let_go(pid, 0);
		pending_remove(tracer, pending);
		return;
	}
	/* One that somebody else is killing right now cannot be read either, which says nothing about it. */
	if (pending && still_stopped(pid))
		record_kill(tracer, pending, pid, reason);
	(void)kill(pid, SIGKILL); /* it is stopped and ours: the pid cannot be somebody else's */
	if (pending) {
		pending_end(tracer, pending, -EACCES);
		pending_remove(tracer, pending);
	}
}

/* ---- the rewind ---- */

/* process_vm_writev does not grow a stack since Linux 6.5, a poke does; once it has grown the rest follows. */
int stop_write(const struct tracer *tracer, pid_t tid, uint64_t addr, const void *bytes, size_t len)
{
	const struct memory_ops *guest = tracer->sandbox->guest;

	if (memory_copy_out(guest, tid, addr, bytes, len) == 0)
		return 0;
	if (ptrace(PTRACE_POKEDATA, tid, addr, 0) < 0 || memory_copy_out(guest, tid, addr, bytes, len) < 0)
		return -ENOMEM;
	return 0;
}

static void rerun_args(struct pending *pending, uint64_t addr)
{
	bool at = pending->row->arg[0].kind == ARG_DIRFD; /* execveat: the host path is absolute and already followed */
	unsigned path = at ? 1 : 0;

	memcpy(pending->rerun, pending->arg, sizeof(pending->rerun));
	pending->rerun[path] = addr + pending->blob.host_at;
	if (pending->blob.has_argv)
		pending->rerun[path + 1] = addr;
	if (at)
		pending->rerun[4] = 0;
}

/* The task has got -EINTR and stands behind its call: it goes back in front of it. 0 or the errno for the program. */
static int rewind_call(struct tracer *tracer, struct pending *pending)
{
	struct arch_regs regs;
	int64_t result;
	uint64_t addr;
	int r = arch_read_regs(pending->tid, &regs);

	if (r < 0)
		return r;
	result = arch_result(&regs);
	if (!arch_was_call(&regs, pending->row->nr) || (result != -EINTR && result != -KERNEL_RESTARTSYS))
		return -EINTR;
	addr = arch_stack(&regs) - arch_red_zone_bytes() - pending->blob.len;
	addr -= addr % STACK_ALIGN;
	blob_relocate(&pending->blob, addr);
	r = stop_write(tracer, pending->tid, addr, pending->blob.bytes, pending->blob.len);
	if (r < 0) {
		arch_set_result(&regs, r);
		(void)arch_write_regs(pending->tid, &regs); /* failing, it keeps EINTR or is dead */
		return r;
	}
	pending->blob_addr = addr;
	rerun_args(pending, addr);
	arch_rewind(&regs, pending->row->nr, pending->rerun);
	return arch_write_regs(pending->tid, &regs);
}

static void stop_answered(struct tracer *tracer, struct pending *pending, int signal, bool group_stop)
{
	int64_t r;

	if (pending->carries)
		r = pathfd_receive(tracer, pending);
	else if (pending->maps)
		r = map_carried(tracer, pending);
	else
		r = pending->fetches ? fetch_send(tracer, pending) : rewind_call(tracer, pending);
	if (r == 0 && !pending->carries && !pending->maps) {
		pending->state = PENDING_REWOUND;
		resume(pending->tid, signal, group_stop);
		return;
	}
	pending_end(tracer, pending, r);
	release(tracer, pending, signal, group_stop);
}

/* ---- the end of a chdir, or of an exec that failed ---- */

static void stop_running(struct tracer *tracer, struct pending *pending, int signal, bool group_stop)
{
	struct arch_regs regs;
	int64_t result = -EINTR;

	if (arch_read_regs(pending->tid, &regs) == 0) {
		result = arch_result(&regs);
		if (result <= -KERNEL_RESTARTSYS && result >= -KERNEL_RESTART_LAST) {
			/*
			 * The kernel makes the call again by itself. ERESTARTSYS: the interrupt ended the wait for our
			 * answer (Linux < 5.19); others: it ended an exec's wait for a lock, which may do better next
			 * time.
			 */
			pending->patient = result == -KERNEL_RESTARTSYS;
			pending->state = PENDING_REWOUND;
			resume(pending->tid, signal, group_stop);
			return;
		}
		if (pending->blob_addr) {
			arch_restore_args(&regs, pending->arg);
			(void)arch_write_regs(pending->tid, &regs); /* fails only for a dead task */
		}
	}
	pending_end(tracer, pending, result);
	release(tracer, pending, signal, group_stop);
}

void stop_other(struct tracer *tracer, pid_t pid, int status)
{
	bool event = status >> 16 != 0;
	bool group_stop = status >> 16 == PTRACE_EVENT_STOP && WSTOPSIG(status) != SIGTRAP;
	int signal = event ? 0 : WSTOPSIG(status); /* a signal about to be delivered is passed on */
	struct pending *pending = pending_find(tracer, pid);

	if (pending && later_stop(tracer, pending, status))
		return;
	if (!pending) {
		let_go(pid, signal);
		return;
	}
	switch (pending->state) {
	case PENDING_ANSWERED:
		stop_answered(tracer, pending, signal, group_stop);
		break;
	case PENDING_REWOUND:
		resume(pid, signal, group_stop);
		break;
	case PENDING_RUNNING:
		stop_running(tracer, pending, signal, group_stop);
		break;
	case PENDING_DROPPED:
	default:
		release(tracer, pending, signal, group_stop);
		break;
	}
}
