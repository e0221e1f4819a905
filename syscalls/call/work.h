/*
 * What may wait or takes long, so a thread of supervisor/workers/ does it: a system call (OUTCOME_BLOCKING_WORK), or
 * what is done before one is judged again (OUTCOME_COPY_FIRST).
 */
#ifndef CALLGATE_SYSCALLS_CALL_WORK_H
#define CALLGATE_SYSCALLS_CALL_WORK_H

#include <stdbool.h>
#include <stdint.h>

/* A call that a worker thread makes, because it may wait. */
struct call_work {
	/*
	 * Makes the call on fd. Returns the call's result or -errno; -EINTR when go_on() returns false, because the
	 * target thread no longer waits.
	 */
	int64_t (*run)(struct call_work *work, int fd, bool (*go_on)(void *ctx), void *ctx);
	/* OUTCOME_COPY_FIRST: called in the supervisor thread when run() has returned result; may be NULL. */
	void (*end)(struct call_work *work, int fd, int64_t result);
	void (*free)(struct call_work *work);
};

#endif
