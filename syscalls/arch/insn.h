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

#define INSN_BEFORE 128u /* bytes before the instruction: the range of a short jump */
#define INSN_AFTER 128u
#define INSN_REGISTERS 32u

struct insn_code {
	uint8_t byte[INSN_BEFORE + INSN_AFTER];
	size_t begin; /* bytes before it are unreadable */
	size_t end;
};

/* Present registers, by number (0 is rax, 7 rdi), and a bit for each that is unchanged since. */
struct insn_held {
	uint64_t reg[INSN_REGISTERS];
	uint32_t same;
};

/* The system call instruction is at byte[INSN_BEFORE]. */

/* The low word of register `reg` at the instruction. False: unknown, or different on two paths to the instruction. */
bool insn_x86_64_find_value(const struct insn_code *code, unsigned reg, const struct insn_held *held,
			    uint32_t *ret_value);

/*
 * Tells for code from the start of a function to a call instruction which register held at the start what `reg` holds
 * now, and by how many bytes the stack has grown. False: unknown.
 */
bool insn_x86_64_find_argument(const uint8_t *byte, size_t len, unsigned reg, unsigned *ret_from, size_t *ret_stack);

/* As insn_x86_64_find_value, for the whole register `reg` (0 to 30). */
bool insn_aarch64_find_value(const struct insn_code *code, unsigned reg, const struct insn_held *held,
			     uint64_t *ret_value);

#endif
