/*
 * The signal frame with which a thread is about to return from a signal handler, while its rt_sigreturn(2) is notified.
 * Used by supervisor/interrupted.c.
 *
 * The target can forge the frame and the code that it points to. Only registers are written, which it could set itself.
 */
#ifndef CALLGATE_SYSCALLS_ARCH_FRAME_H
#define CALLGATE_SYSCALLS_ARCH_FRAME_H

#include <stdbool.h>

#include "syscalls/call/memory.h"

#define FRAME_WORDS 34 /* the maximum of the architectures */

struct frame {
	uint64_t addr; /* of the registers in target memory */
	uint64_t word[FRAME_WORDS]; /* the registers */
	uint64_t stack; /* the stack pointer after the return */
	uint64_t pc; /* the instruction pointer after the return */
	int nr; /* -1: unknown. Set by frame_identify_call(), as arg */
	uint64_t arg[6];
};

/* Reads the frame at the stack pointer. True: the thread continues with EINTR. False also if unreadable. */
bool frame_read(const struct memory_ops *guest, pid_t tid, uint64_t stack, struct frame *ret_frame);

enum frame_kind {
	FRAME_OTHER,   /* not a system call */
	FRAME_CALL,    /* the call `nr` can be restarted */
	FRAME_UNKNOWN, /* the call's number (x86-64) or first argument (aarch64) is lost; on aarch64 nr is set */
};

/* Determines the call that ended with EINTR, from the code before the instruction pointer. */
enum frame_kind frame_identify_call(const struct memory_ops *guest, pid_t tid, struct frame *frame);

/* Restarts a FRAME_CALL, as if the signal had been delivered before it. 0 or -errno. */
int frame_restart_call(const struct memory_ops *guest, pid_t tid, const struct frame *frame);

#endif
