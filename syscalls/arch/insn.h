/*
 * Finds what a register held when a system call instruction ran, from the machine code before it. The signal frame of
 * an interrupted call no longer has the number (x86-64) or the first argument (aarch64), because the result replaced
 * it. Pure functions on bytes; the functions of both architectures are built on each. Called by frame-*.c. The code may
 * be forged by the target. A wrong value only leads to another system call, which is judged.
 */
#ifndef CALLGATE_SYSCALLS_ARCH_INSN_H
#define CALLGATE_SYSCALLS_ARCH_INSN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define INSN_BYTES_BEFORE_SYSCALL 128u /* bytes before the system call instruction: the range of a short jump */
#define INSN_BYTES_AFTER_SYSCALL 128u  /* code behind the system call instruction that is decoded */
#define INSN_REGISTER_COUNT 32u        /* room for the registers of any architecture */

/* Code around a system call instruction, which is at byte[INSN_BYTES_BEFORE_SYSCALL]. */
struct insn_code {
	uint8_t byte[INSN_BYTES_BEFORE_SYSCALL + INSN_BYTES_AFTER_SYSCALL];
	size_t readable_from; /* bytes before this offset are unreadable */
	size_t end;
};

/*
 * The registers now, by number (0 is rax, 7 is rdi), and a bit for each that is unchanged since the call. On x86-64
 * also the top of the stack: glibc's function for cancellation points (2.41) has the number there, as argument 7.
 */
struct insn_register_values {
	uint64_t reg[INSN_REGISTER_COUNT];
	uint32_t unchanged_registers; /* bits of registers that still hold what they had at the call */
	const uint64_t *stack;        /* the words from the stack pointer on */
	size_t stack_words;
};


/* The low word of register `reg` at the instruction. False: unknown, or different on two paths to the instruction. */
bool insn_x86_64_find_value(const struct insn_code *code, unsigned reg, const struct insn_register_values *held,
			    uint32_t *ret_value);

/*
 * Reads code from the start of a function to a system call instruction. *ret_from: the register that held at the start
 * what `reg` holds now. *ret_stack: the bytes by which the stack has grown. False: unknown.
 */
bool insn_x86_64_find_argument(const uint8_t *byte, size_t len, unsigned reg, unsigned *ret_from, size_t *ret_stack);

/*
 * The value of register `reg` (0 to 30) at the system call instruction. False: unknown, or different on two paths to
 * it.
 */
bool insn_aarch64_find_value(const struct insn_code *code, unsigned reg, const struct insn_register_values *held,
			     uint64_t *ret_value);

#endif
