/* What differs by architecture: seccomp's name for the machine and the registers of a stopped task. */
#ifndef CALLGATE_SYSCALLS_ARCH_ARCH_H
#define CALLGATE_SYSCALLS_ARCH_ARCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* AUDIT_ARCH_*: seccomp_data.arch of a native call. Anything else is a foreign one (i386, 32-bit arm), and refused. */
uint32_t arch_audit(void);

/* The general registers as PTRACE_GETREGSET gives them (NT_PRSTATUS); large enough for every architecture here. */
struct arch_regs {
	uint64_t word[40];
	size_t len_bytes;
};

/* Of a task this thread traces and that is stopped. 0 or -errno (-ESRCH: not stopped, or gone). */
int arch_read_regs(pid_t tid, struct arch_regs *ret_regs);
int arch_write_regs(pid_t tid, const struct arch_regs *regs);

/* Where the task goes on: right behind the call it has just made. */
uint64_t arch_pc(const struct arch_regs *regs);
uint64_t arch_stack(const struct arch_regs *regs);
/* Bytes below the stack pointer that leaf functions use without moving it: not to be written over. */
size_t arch_red_zone_bytes(void);

/*
 * For a task stopped right after a system call was answered: makes it run the system call instruction again, with this
 * number. arg[6] are the arguments, all set anew because the answer replaced one of them on some architectures.
 */
void arch_rewind(struct arch_regs *regs, int nr, const uint64_t arg[6]);

/* True when the task's last system call was this one: nothing else happened between its notification and this stop. */
bool arch_was_call(const struct arch_regs *regs, int nr);
/* Gives a call that has returned its argument registers back, which programs take for unchanged; the result stays. */
void arch_restore_args(struct arch_regs *regs, const uint64_t arg[6]);

/* What the task's system call returned, or will return when it is stopped at the exit of one. */
int64_t arch_result(const struct arch_regs *regs);
void arch_set_result(struct arch_regs *regs, int64_t value);

#endif
