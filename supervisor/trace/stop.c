/* Handles the stops of seized threads. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/proc/stat.h"
#include "supervisor/trace/private.h"
#include "syscalls/account/result/denials.h"

#define STACK_ALIGN 16u

/* ---- ptrace(2) on a stopped thread: fails with ESRCH if the thread was killed; its exit is reported later ---- */

static void stop_detach_thread(pid_t tid, int signal)
{
	(void)ptrace(PTRACE_DETACH, tid, 0, (long)signal);
}

/* Resumes a thread. A group stop is kept: after PTRACE_LISTEN the thread stops again, by SIGTRAP, at SIGCONT. */
static void stop_resume_thread(pid_t tid, int signal, bool group_stop)
{
	if (group_stop)
		(void)ptrace(PTRACE_LISTEN, tid, 0, 0);
	else
		(void)ptrace(PTRACE_CONT, tid, 0, (long)signal);
}

/* Ends a call and removes its entry. The thread stays seized while another call waits for its restart. */
static void stop_end_call(struct tracer *tracer, struct pending *pending, int64_t ret, int signal, bool group_stop)
{
	pid_t tid = pending->tid;

	pending_end_and_remove(tracer, pending, ret);
	if (pending_find_newest(tracer, tid))
		stop_resume_thread(tid, signal, group_stop);
	else
		stop_detach_thread(tid, signal);
}

static void stop_forget_thread(struct tracer *tracer, pid_t tid)
{
	struct pending *pending;

	while ((pending = pending_find_newest(tracer, tid)))
		pending_end_and_remove(tracer, pending, -EINTR);
}

/* ---- exec ---- */

/*
 * Records, apart from the call's own record, that a process was killed because its loaded image is not the approved
 * image.
 */
static void stop_record_kill(struct tracer *tracer, const struct pending *pending, pid_t pid, const char *reason)
{
	_cleanup_free_ struct call *call = calloc(1, sizeof(*call));

	if (!call)
		return; /* no memory: the kill has no record of its own; that of the call still has an errno */
	call->sandbox = tracer->sandbox;
	call->tid = pid;
	call->task = task_table_find_task(tracer->sandbox->tree, pid);
	call->row = pending->row;
	memcpy(call->arg, pending->arg, sizeof(call->arg));
	if (!call->task)
		return;
	call->path_count = 1;
	call->path[0].len = strlen(pending->path_as_written);
	/* is never truncated: the text was the path of a call */
	(void)snprintf(call->path[0].text, sizeof(call->path[0].text), "%s", pending->path_as_written);
	call->decision = (struct policy_decision){.verdict = VERDICT_KILL, .error = EACCES,
						   .rule = pending->decision.rule, .reason = reason};
	call->outcome.kind = OUTCOME_CONTINUE;
	if (call_commit_record(call) < 0)
		return;
	denials_add(tracer->sandbox->denials, call);
	audit_end_record(tracer->sandbox->audit, call->outcome_location, -EACCES, 0);
}

/* The leader's entry, if no other thread of its process has an entry: then the leader made the exec. Else NULL. */
static struct pending *stop_find_thread_group_leader_entry(const struct tracer *tracer, pid_t pid)
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
 * The entry of an exec that succeeded. Whichever thread made the call, the event has the leader's pid, which that
 * thread has now (ptrace(2), "execve(2) under ptrace"). The other threads are dead.
 */
static struct pending *stop_find_exec(struct tracer *tracer, pid_t pid)
{
	unsigned long former = (unsigned long)pid;
	struct pending *pending = stop_find_thread_group_leader_entry(tracer, pid);

	if (pending)
		return pending;
	if (ptrace(PTRACE_GETEVENTMSG, pid, 0, &former) < 0)
		return NULL;
	pending = pending_find_newest(tracer, (pid_t)former);
	if (!pending)
		return NULL;
	/*
	 * Removes all other entries of both threads: those of the former leader, whose tid the thread gets, and the
	 * older ones of the thread itself.
	 */
	pending->tid = -1;
	stop_forget_thread(tracer, pid);
	stop_forget_thread(tracer, (pid_t)former);
	pending->tid = pid;
	return pending;
}

/* Keeps the new image's arguments for questions about its calls. It has not run yet: they are what exec was given. */
static void stop_keep_command(struct task_table *tree, pid_t pid)
{
	_cleanup_free_ char *text = NULL;
	_cleanup_close_ int fd = -1;
	ssize_t got;

	if (!task_table_keeps_commands(tree) || !(text = malloc(EXEC_COMMAND_BYTES_MAX)))
		return;
	fd = procstat_open_file(pid, "cmdline");
	got = fd < 0 ? -1 : read(fd, text, EXEC_COMMAND_BYTES_MAX);
	task_table_set_command(tree, pid, text, got > 0 ? (size_t)got : 0);
}

void stop_on_exec(struct tracer *tracer, pid_t pid)
{
	struct pending *pending = stop_find_exec(tracer, pid);
	const char *reason = "exec_not_approved";
	unsigned long message;

	if (pending && pending_is_in_exec(pending))
		reason = verify_exec_image(tracer->sandbox, pid, pending->plan);
	if (!reason && pending->plan->asked && !exec_asked_is_what_runs(pending->plan->asked, pid))
		reason = "exec_not_as_asked";
	if (!reason) {
		task_table_set_exe(tracer->sandbox->tree, pid, pending->plan->virtual_path);
		stop_keep_command(tracer->sandbox->tree, pid);
		pending_end_record(tracer, pending, 0);
		stop_detach_thread(pid, 0);
		pending_remove_entry(tracer, pending);
		return;
	}
	/* A process that is being killed is unreadable too, but that is not recorded as a mismatch. */
	if (pending && ptrace(PTRACE_GETEVENTMSG, pid, 0, &message) == 0)
		stop_record_kill(tracer, pending, pid, reason);
	(void)kill(pid, SIGKILL); /* the process is traced, so it keeps its pid */
	if (pending)
		pending_end_and_remove(tracer, pending, -EACCES);
}

/* ---- restarting a call with other arguments ---- */

/* Sets the registers' arguments of an exec that is restarted with the blob at addr. */
static void stop_set_restart_args(struct pending *pending, uint64_t addr)
{
	/* execveat(2): the host path is absolute, without links: the directory has no effect, and flags may be 0. */
	bool at = pending->row->arg[0].kind == ARG_DIRFD;
	unsigned path = at ? 1 : 0;

	memcpy(pending->restart_arg, pending->arg, sizeof(pending->restart_arg));
	pending->restart_arg[path] = addr + pending->blob.host_path_offset;
	if (pending->blob.has_argv)
		pending->restart_arg[path + 1] = addr;
	if (at)
		pending->restart_arg[4] = 0;
}

/* Sets the thread, whose call got -EINTR, back to the system call instruction. 0, or an -errno for the program. */
static int stop_restart_call(struct tracer *tracer, struct pending *pending)
{
	struct arch_regs regs;
	int64_t result;
	uint64_t addr;
	int r = arch_read_regs_after_call(pending->tid, pending->row->nr, pending->pc_after_call, &regs);

	if (r < 0)
		return r;
	result = arch_get_result(&regs);
	if (result != -EINTR && result != ARCH_RESULT_RESTARTS)
		return -EINTR;
	addr = arch_get_stack_pointer(&regs) - arch_get_red_zone_bytes() - pending->blob.len;
	addr -= addr % STACK_ALIGN;
	blob_relocate_argv_pointers(&pending->blob, addr);
	r = inject_write_memory(tracer, pending->tid, addr, pending->blob.bytes, pending->blob.len);
	if (r < 0) {
		arch_set_result(&regs, r);
		/* a failure means that the thread is dead, or that its call returns EINTR */
		(void)arch_write_regs(pending->tid, &regs);
		return r;
	}
	pending->blob_addr = addr;
	stop_set_restart_args(pending, addr);
	arch_rewind_call(&regs, pending->row->nr, pending->restart_arg);
	return arch_write_regs(pending->tid, &regs);
}

/* When a thread has stopped at the supervisor's response: does what it was seized for. */
static void stop_after_response(struct tracer *tracer, struct pending *pending, int signal, bool group_stop)
{
	int64_t result;

	if (pending->kind == PENDING_RECEIVE_FD) {
		result = pathfd_make_thread_receive_fd(tracer, pending);
	} else if (pending->kind == PENDING_MAP_FILE) {
		result = pathfd_make_thread_map_file(tracer, pending);
	} else {
		result = pending->kind == PENDING_SEND_FD_TO_SUPERVISOR ? fetch_make_thread_send_fd(tracer, pending)
							: stop_restart_call(tracer, pending);
		if (result == 0) {
			pending->state = PENDING_RESTARTED;
			stop_resume_thread(pending->tid, signal, group_stop);
			return;
		}
	}
	stop_end_call(tracer, pending, result, signal, group_stop);
}

/* ---- the end of a continued call, such as an exec that failed ---- */

/* At the end of a call that the kernel ran under ptrace(2): records its result and lets the thread go. */
static void stop_after_continued_call(struct tracer *tracer, struct pending *pending, int signal, bool group_stop)
{
	struct arch_regs regs;
	int64_t result = -EINTR;

	if (arch_read_regs_after_call(pending->tid, pending->row->nr, pending->pc_after_call, &regs) == 0) {
		result = arch_get_result(&regs);
		if (result <= ARCH_RESULT_RESTARTS && result >= ARCH_RESULT_RESTARTS_LAST) {
			/*
			 * The kernel restarts the call. Without WAIT_KILLABLE_RECV (Linux 5.19) the interrupt may have
			 * ended the wait for our response. Otherwise it ended an exec's wait for a lock, which may be
			 * free next time.
			 */
			pending->interrupt_would_end_response_wait =
				result == ARCH_RESULT_RESTARTS && !tracer->response_wait_is_killable;
			pending->state = PENDING_RESTARTED;
			stop_resume_thread(pending->tid, signal, group_stop);
			return;
		}
		if (pending->blob_addr) {
			arch_restore_args(&regs, pending->arg);
			(void)arch_write_regs(pending->tid, &regs); /* fails only for a dead thread */
		}
	}
	stop_end_call(tracer, pending, result, signal, group_stop);
}

/* Handles a ptrace stop of a target thread that is no PTRACE_EVENT_EXEC. */
void stop_on_stop_other_than_exec(struct tracer *tracer, pid_t pid, int status)
{
	bool event = status >> 16 != 0;
	bool group_stop = status >> 16 == PTRACE_EVENT_STOP && WSTOPSIG(status) != SIGTRAP;
	int signal = event ? 0 : WSTOPSIG(status); /* a signal that was about to be delivered is passed on */
	struct pending *pending = pending_find_newest(tracer, pid);

	if (!pending)
		stop_detach_thread(pid, signal);
	else if (delay_stop_until_exec_ends(tracer, pending, status))
		return;
	else if (pending->state == PENDING_RESPONDED)
		stop_after_response(tracer, pending, signal, group_stop);
	else if (pending->state == PENDING_RESTARTED)
		stop_resume_thread(pid, signal, group_stop);
	else if (pending->state == PENDING_RUNNING)
		stop_after_continued_call(tracer, pending, signal, group_stop);
	else
		stop_end_call(tracer, pending, -EINTR, signal, group_stop); /* the record has ended already */
}
