/*
 * ptrace(2) among the processes of the run: which traces which. The functions here are for the supervisor thread;
 * table/handlers.h declares the handlers.
 */
#ifndef CALLGATE_SYSCALLS_PROCESS_PTRACE_H
#define CALLGATE_SYSCALLS_PROCESS_PTRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define PTRACE_ATTACHMENTS_MAX 256u /* pairs of tracer and traced process that are remembered */

/*
 * A thread that attached to another process, and the last task that it attached to. tid PTRACE_TID_MEANS_TRACEME:
 * PTRACE_TRACEME.
 */
struct ptrace_attachment {
	pid_t tid, tgid;
	pid_t target, target_tgid;
};

/* Which processes of the run trace which others. Has all attachments of living processes, and some of dead ones. */
struct ptrace_attachments {
	struct ptrace_attachment attachment[PTRACE_ATTACHMENTS_MAX];
	size_t count; /* 0: no process of the run has traced another one */
	bool run_may_write_memory; /* ptrace_run_may_write_memory() */
};

struct sandbox;

/*
 * Whether a task of the run traces this thread, so that the supervisor cannot seize it. Cheap while no process of the
 * run traces another.
 */
bool ptrace_is_traced(const struct sandbox *sandbox, pid_t tid);

/*
 * Whether a process of the run may write the memory of another one: some process was permitted to attach, or to call
 * process_vm_writev(2). The permitted call may be old, but the kernel may perform it at any later time.
 */
bool ptrace_run_may_write_memory(const struct sandbox *sandbox);

#endif
