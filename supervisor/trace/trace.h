/* ptrace for exec verification and for the rewind detour. One tracer: the receiver's thread. */
#ifndef CALLGATE_SUPERVISOR_TRACE_TRACE_H
#define CALLGATE_SUPERVISOR_TRACE_TRACE_H

#include <stdbool.h>
#include <sys/types.h>

#include "syscalls/call/call.h"
#include "syscalls/exec/execve.h"

struct tracer;

int tracer_create(struct sandbox *sandbox, struct tracer **ret_tracer);
void tracer_free(struct tracer *tracer);

/* How the dispatcher must answer the notification. */
enum trace_answer {
	TRACE_CONTINUE, /* reply CONTINUE */
	TRACE_INTERRUPT, /* reply -EINTR: the call will be rewound and notified again */
	TRACE_FAIL,     /* reply *ret_error */
	TRACE_LATER,    /* reply nothing: the tracer does, when another thread's exec of the same process is over */
};

/*
 * Takes the plan (freed here in the end). Seizes the caller; the verification happens in trace_event. The record's
 * outcome (call->slot) is written here in the end, but for TRACE_FAIL, where the dispatcher does it as for every other
 * call.
 */
enum trace_answer trace_exec(struct tracer *tracer, const struct call *call, struct exec_plan *plan, int *ret_error);

/* Hands an O_PATH descriptor over, or takes the task of a chdir(2) there. Takes fd. Never TRACE_CONTINUE. */
enum trace_answer trace_pathfd(struct tracer *tracer, const struct call *call, int fd, bool cloexec, int *ret_error);

/*
 * mmap of `fd`, a file of ours, in place of the memory without a file that was asked for. Takes fd. Answers as
 * trace_pathfd.
 */
enum trace_answer trace_map(struct tracer *tracer, const struct call *call, int fd, int *ret_error);

/*
 * The call needs the descriptor `fd` of its task, which pidfd_getfd(2) does not give: the task will send it and make
 * its call again. TRACE_INTERRUPT, TRACE_LATER or TRACE_FAIL; there is no record of the call yet, and none is written.
 */
enum trace_answer trace_fetch(struct tracer *tracer, const struct call *call, int fd, int *ret_error);

/*
 * To be asked for every notification, before trace_rerun. True: it is a call that was made again after trace_fetch;
 * *ret_fd is the descriptor, owned by the caller, or -errno.
 */
bool trace_fetched(struct tracer *tracer, pid_t tid, int nr, const __u64 *args, int *ret_fd);

/*
 * To be asked for every notification of a task with a detour or an exec under way, before decoding. True: it is the
 * approved exec coming round again; reply CONTINUE (CONTINUE_VERIFIED). False: a call that is to be judged (whatever
 * was pending for this task is dropped).
 */
bool trace_rerun(struct tracer *tracer, pid_t tid, int nr, const __u64 *args);

/*
 * A wait status (waitpid with __WALL). True when it was a stop, which has been handled. False for an exit: what was
 * under way for that task is forgotten, the rest is the caller's. Must be given every status of every task, because the
 * exits of seized threads are reported to their tracer.
 */
bool trace_event(struct tracer *tracer, pid_t pid, int status);

/* How many tasks are seized or wait for their call to come round again. */
size_t tracer_pending(const struct tracer *tracer);

/* The task is gone. */
void trace_forget(struct tracer *tracer, pid_t tid);

#endif
