/*
 * The signal frame of a thread that is about to return from a signal handler, while its rt_sigreturn(2) is notified.
 * Used by supervisor/interrupted.c. The target can forge the frame and the code that it points to. Nothing is gained by
 * that: only registers are written, which the target could set itself.
 */
#ifndef CALLGATE_SYSCALLS_ARCH_FRAME_H
#define CALLGATE_SYSCALLS_ARCH_FRAME_H

#include <stdbool.h>

#include "syscalls/call/memory.h"

#define FRAME_REGISTERS_MAX 34 /* most registers of an architecture */

/* The call that a signal handler has interrupted, as the signal frame on the stack shows it. */
struct frame {
	uint64_t registers_addr; /* address of the registers in target memory */
	uint64_t registers[FRAME_REGISTERS_MAX]; /* the registers */
	uint64_t stack_pointer; /* stack pointer after the return */
	uint64_t pc; /* instruction pointer after the return */
	int nr; /* the system call's number; -1: unknown. Set, like `arg`, by frame_identify_interrupted_call() */
	uint64_t arg[6];
};

/*
 * Reads the frame at the stack pointer. True: the thread will continue with EINTR. False: the thread will not continue
 * with EINTR, or the frame is unreadable.
 */
bool frame_read_signal_frame(const struct memory_ops *memory, pid_t tid, uint64_t stack, struct frame *ret_frame);

enum frame_kind {
	FRAME_NOT_AFTER_SYSCALL,   /* the thread does not continue behind a system call */
	FRAME_CALL_KNOWN,    /* the system call `nr` can be restarted */
	/* the number (x86-64) or first argument (aarch64) of the call is lost; on aarch64 nr is set */
	FRAME_CALL_UNKNOWN,
};

/* Finds out which call ended with EINTR, by the code before the instruction pointer. */
enum frame_kind frame_identify_interrupted_call(const struct memory_ops *memory, pid_t tid, struct frame *frame);

/* Changes a FRAME_CALL_KNOWN so that the call is restarted, as if the signal had come before it. 0 or -errno. */
int frame_restart_call(const struct memory_ops *memory, pid_t tid, const struct frame *frame);

#endif
