/*
 * What a register held when a system call instruction ran, from the machine code before it: the signal frame of an
 * interrupted call no longer has the number (x86-64) or the first argument (aarch64), because the result has taken
 * its place. Pure functions on bytes, both architectures on either. Called by frame-*.c in the supervisor.
 *
 * The bytes are hostile. What follows from a wrong answer is another call of the program's, judged as any.
 */
#ifndef CALLGATE_SYSCALLS_ARCH_INSN_H
#define CALLGATE_SYSCALLS_ARCH_INSN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define INSN_BEFORE 128u /* bytes before the instruction, as far as a short jump reaches */
#define INSN_AFTER 128u
#define INSN_REGISTERS 32u

struct insn_code {
	uint8_t byte[INSN_BEFORE + INSN_AFTER];
	size_t begin; /* what is before that could not be read */
	size_t end;
};

/*
 * Registers as they are now, by the instruction set's own numbers (0 is rax, 7 rdi), and a bit for each that has not
 * changed since.
 */
struct insn_held {
	uint64_t reg[INSN_REGISTERS];
	uint32_t same;
};

/* The instruction of the call is at byte[INSN_BEFORE]. */

/*
 * The low word of register `reg` when the instruction was reached. False: it cannot be told, also when two ways lead to
 * the instruction on which the register would differ.
 */
bool insn_x86_64_value(const struct insn_code *code, unsigned reg, const struct insn_held *held, uint32_t *ret_value);

/*
 * For code from the beginning of a function to a call instruction: which register had there what is in `reg` now, and
 * by how many bytes the stack has grown. False: it cannot be told.
 */
bool insn_x86_64_carries(const uint8_t *byte, size_t len, unsigned reg, unsigned *ret_from, size_t *ret_stack);

/* The whole of register `reg` (0 to 30) likewise. */
bool insn_aarch64_value(const struct insn_code *code, unsigned reg, const struct insn_held *held, uint64_t *ret_value);

#endif
