/*
 * Opens that may block (FIFOs), connect(2) and sends go to threads of their own, so that one program's wait is nobody
 * else's. The wait is cancelled when the program no longer waits for the response. Threads share nothing but the
 * listener and the log.
 */
#ifndef CALLGATE_SUPERVISOR_BLOCKING_H
#define CALLGATE_SUPERVISOR_BLOCKING_H

#include <stdbool.h>
#include <stdint.h>

#include "syscalls/call/call.h"

/*
 * More than 64 blocked FIFOs are a normal shell's work, a thousand are not: past the cap the call gets EMFILE or
 * EAGAIN. The cap is lower where we have few descriptors.
 */
#define BLOCKING_MAX 1000

struct blocking;

int blocking_create(struct blocking **ret_blocking);
/* Cancels what is still waiting and waits for the threads. */
void blocking_free(struct blocking *blocking);

/*
 * Of OUTCOME_BLOCKING, OUTCOME_CONNECT and OUTCOME_WORK. 0: a thread has taken what the outcome owned, responds and
 * ends the record; -errno: the caller does.
 */
int blocking_start(struct blocking *blocking, struct call *call);

/*
 * To be called at least every BLOCKING_TICK_MS while it returns true: interrupts threads nobody waits for, a few at
 * each tick when there are many.
 */
#define BLOCKING_TICK_MS 20
bool blocking_tick(struct blocking *blocking);

/*
 * The signals that are not blocked and wait for a caller, bit 0 for the first. It sleeps where only fatal ones wake
 * it (WAIT_KILLABLE_RECV), so that nobody but us can end its call. One for the whole process counts for the main
 * thread only, which the kernel prefers: had another thread been chosen, our answer would reach a thread without a
 * signal.
 */
uint64_t blocking_signals_waiting(pid_t tid);

#endif
