/* What differs by architecture: AUDIT_ARCH and the registers of a stopped thread. Used by the filter and the tracer. */
#ifndef CALLGATE_SYSCALLS_ARCH_ARCH_H
#define CALLGATE_SYSCALLS_ARCH_ARCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* AUDIT_ARCH_* of native system calls. The filter refuses calls of other architectures (i386, 32-bit Arm). */
uint32_t arch_get_audit_arch(void);

/* General registers of PTRACE_GETREGSET (NT_PRSTATUS). `word` is large enough for every architecture. */
struct arch_regs {
	uint64_t word[40]; /* the registers as ptrace(2) gets them: NT_PRSTATUS */
	size_t len_bytes;  /* used bytes of word[] */
};

/*
 * Read and write the registers of a thread that is stopped and traced by the calling thread. 0 or -errno (-ESRCH: not
 * stopped, or dead).
 */
int arch_read_regs(pid_t tid, struct arch_regs *ret_regs);
int arch_write_regs(pid_t tid, const struct arch_regs *regs);

/* Returns the instruction pointer. At a system-call stop it is behind the system call instruction. */
uint64_t arch_get_pc(const struct arch_regs *regs);
uint64_t arch_get_stack_pointer(const struct arch_regs *regs);
/* Size of the red zone below the stack pointer, which must not be overwritten. */
size_t arch_get_red_zone_bytes(void);

/*
 * Restarts a system call with this number and these arguments. To be called for a thread that stopped right behind the
 * instruction. All arguments are set, because on some architectures the result has replaced one of them.
 */
void arch_rewind_call(struct arch_regs *regs, int nr, const uint64_t arg[6]);

/*
 * Finds the system call instruction in machine code. Returns the offset of the byte after the instruction; 0: there is
 * none. end: looks only at the instruction that ends at the last byte.
 */
size_t arch_find_syscall_instruction(const uint8_t *code, size_t len, bool end);
/* Sets the instruction pointer. No system call counts as under way, so that the kernel restarts none. */
void arch_set_pc(struct arch_regs *regs, uint64_t pc);

/* The result of a call that the kernel restarts, unless a signal handler runs (include/linux/errno.h of the kernel). */
#define ARCH_RESULT_RESTARTS (-512)      /* -ERESTARTSYS */
#define ARCH_RESULT_RESTARTS_LAST (-516) /* -ERESTART_RESTARTBLOCK; between them: -ERESTARTNOINTR, -ERESTARTNOHAND */

/*
 * Reads the registers of a thread that has stopped at the end of a system call: the call's number, and the address
 * behind its instruction, are those of its notification. -EINTR: the thread has stopped elsewhere.
 *
 * If the kernel will restart the call, its result is one of the above, and the instruction pointer is behind the
 * instruction. arm64 has set both back before the stop (do_signal() in arch/arm64/kernel/signal.c), so *ret_regs, when
 * it is written, cancels the restart. There the result is always ARCH_RESULT_RESTARTS.
 */
int arch_read_regs_after_call(pid_t tid, int nr, uint64_t pc_after_call, struct arch_regs *ret_regs);
/* Restores the argument registers, which programs expect to be preserved. Does not change the result. */
void arch_restore_args(struct arch_regs *regs, const uint64_t arg[6]);

/* The result of the system call. */
int64_t arch_get_result(const struct arch_regs *regs);
/* Sets the result that the system call will have, at a syscall-exit stop. */
void arch_set_result(struct arch_regs *regs, int64_t value);

#endif
