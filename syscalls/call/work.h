/* A system call that may wait, made by a thread of supervisor/blocking.c (OUTCOME_WORK). */
#ifndef CALLGATE_SYSCALLS_CALL_WORK_H
#define CALLGATE_SYSCALLS_CALL_WORK_H

#include <stdbool.h>
#include <stdint.h>

struct call_work {
	/* Waits on fd. Returns the result, -errno, or -EINTR when go_on() is false: no target waits any more. */
	int64_t (*run)(struct call_work *work, int fd, bool (*go_on)(void *ctx), void *ctx);
	void (*free)(struct call_work *work);
};

#endif
