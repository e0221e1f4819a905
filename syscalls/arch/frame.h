/*
 * The signal frame by which a task is about to return from a handler: rt_sigreturn(2) was notified and waits. Used
 * by supervisor/interrupted.c, which says what for.
 *
 * A frame is the program's own memory, and so is the code it points into: it can forge both. What is written there
 * are the registers it returns with, which it could as well set itself.
 */
#ifndef CALLGATE_SYSCALLS_ARCH_FRAME_H
#define CALLGATE_SYSCALLS_ARCH_FRAME_H

#include <stdbool.h>

#include "syscalls/call/memory.h"

#define FRAME_WORDS 34 /* as many as the architecture with more of them has */

struct frame {
	uint64_t addr; /* of the registers in the task's memory */
	uint64_t word[FRAME_WORDS]; /* as they are there */
	uint64_t stack; /* the stack pointer that it goes on with */
	uint64_t pc; /* where the task goes on, as seccomp_data.instruction_pointer has it for a call right before that */
	int nr; /* -1: unknown. This and the next from frame_identify */
	uint64_t arg[6];
};

/*
 * Reads the frame of the task, whose stack pointer is `stack`. True: the task goes on with the result EINTR. What
 * cannot be read is none: the kernel ends the task.
 */
bool frame_read(const struct guest_ops *guest, pid_t tid, uint64_t stack, struct frame *ret_frame);

enum frame_kind {
	FRAME_OTHER,   /* it was not a system call */
	FRAME_CALL,    /* the call `nr` can be run again */
	FRAME_UNKNOWN, /* its number (x86-64) or first argument (aarch64) is lost; on aarch64 nr is set */
};

/* Which call ended with EINTR, from the code before the place where the task goes on. */
enum frame_kind frame_identify(const struct guest_ops *guest, pid_t tid, struct frame *frame);

/* Makes the call of a FRAME_CALL run again, as if the signal had come right before it. 0 or -errno. */
int frame_restart(const struct guest_ops *guest, pid_t tid, const struct frame *frame);

#endif
