/*
 * Worker threads for calls that may block: opens of FIFOs, connect(2) and sends. One thread performs one call, responds
 * and ends; it is cancelled when the target thread no longer waits. Threads share only the listener and the log. Called
 * in the supervisor thread.
 */
#ifndef CALLGATE_SUPERVISOR_WORKERS_BLOCKING_H
#define CALLGATE_SUPERVISOR_WORKERS_BLOCKING_H

#include <stdbool.h>
#include <stdint.h>

#include "syscalls/call/call.h"

/*
 * Most calls at a time; further calls get EMFILE or EAGAIN. A shell may block on more than 64 FIFOs. The maximum is
 * lower if the supervisor may open few descriptors.
 */
#define BLOCKING_CALLS_AT_ONCE_MAX 1000

struct blocking;

/* The number of descriptors that the supervisor may open, divided by `parts`. */
unsigned blocking_get_share_of_fd_limit(unsigned parts);

int blocking_create(struct blocking **ret_blocking);
/* Cancels the calls and waits for the threads. blocking may be NULL. */
void blocking_free(struct blocking *blocking);

/*
 * Starts the call of OUTCOME_BLOCKING_OPEN or OUTCOME_BLOCKING_WORK. 0: a thread has taken what the outcome owned; it
 * responds and ends the record. -errno: no thread was started, so the caller must respond and end the record.
 */
int blocking_start_call(struct blocking *blocking, struct call *call);

/* Whether a worker performs a call of this thread. */
bool blocking_serves_thread(const struct blocking *blocking, pid_t tid);
/*
 * Interrupts all connects and sends of workers, as a signal would, and waits for them: the target makes the call again.
 * Opens of FIFOs go on. False: some have not ended within a second.
 */
bool blocking_interrupt_work(struct blocking *blocking);

#define BLOCKING_JOB_CHECK_INTERVAL_MS 20 /* how often it is checked whether targets still wait for a job */
/*
 * Interrupts workers whose target thread no longer waits, at most 64 at each tick. True while there are calls: then it
 * must be called again after BLOCKING_JOB_CHECK_INTERVAL_MS.
 */
bool blocking_check_due_jobs(struct blocking *blocking);

/*
 * The pending signals that a target thread does not block; bit 0 is signal 1. Only fatal signals wake a thread that
 * waits for its response (WAIT_KILLABLE_RECV), so the supervisor must end the thread's call. A signal for the process
 * counts for the main thread only, which the kernel prefers.
 */
uint64_t blocking_read_pending_signals(pid_t tid);

#endif
