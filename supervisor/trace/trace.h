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

/*
 * Seizes the target thread for what it has to do by itself:
 *
 *   OUTCOME_EXEC              its new image is verified at its stop (trace_event)
 *   OUTCOME_PATHFD, _MAP      it is interrupted, and made to take or to map a descriptor
 *   OUTCOME_FETCH             it is interrupted, sends its descriptor and makes its call again (trace_fetched). The
 *   call
 *                             has no record before that
 *
 * 0: the tracer responds, at once or when another thread's exec of the same process is over, and ends the record
 * (call->slot); what the outcome owned is the tracer's. -errno: the caller responds and ends the record.
 */
int trace_start(struct tracer *tracer, struct call *call);

/*
 * To be asked for every notification, before trace_rerun. True: it is a call that was made again, of OUTCOME_FETCH;
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
