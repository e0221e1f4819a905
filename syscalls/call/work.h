/* A system call that may wait, so a thread of supervisor/blocking.c makes it (OUTCOME_BLOCKING_WORK). */
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
	void (*free)(struct call_work *work);
};

#endif
