/*
 * Finds register values in AArch64 code (Arm Architecture Reference Manual, C4). Every instruction has four bytes, so
 * the code can be read backwards. Unknown instructions count as writing to every register.
 */
#include "syscalls/arch/insn.h"

#define SEARCHED_INSTRUCTIONS_MAX 16u /* most instructions that are read before the call */
#define BIT(reg) (UINT32_C(1) << (reg))
#define ALL_REGISTERS_MASK UINT32_MAX /* one bit per register: the instruction may write any of them */

enum { REGISTER_ZERO = 31 };

static uint32_t insn_read_word(const struct insn_code *code, size_t at)
{
	const uint8_t *byte = &code->byte[at];

	return (uint32_t)byte[0] | (uint32_t)byte[1] << 8 | (uint32_t)byte[2] << 16 | (uint32_t)byte[3] << 24;
}

static int64_t sign_extend(uint32_t value, unsigned bits)
{
	uint32_t sign = UINT32_C(1) << (bits - 1);

	value &= (sign << 1) - 1;
	return (int64_t)(value ^ sign) - (int64_t)sign;
}

/* The target of the direct branch at `at`. False: not a direct branch. */
static bool insn_get_branch_target(uint32_t word, size_t at, int64_t *ret_target)
{
	int64_t offset;

	if ((word & 0x7c000000) == 0x14000000) /* b, bl */
		offset = sign_extend(word, 26);
	else if ((word & 0xfe000000) == 0x54000000 || (word & 0x7e000000) == 0x34000000) /* b.cond; cbz, cbnz */
		offset = sign_extend(word >> 5, 19);
	else if ((word & 0x7e000000) == 0x36000000) /* tbz, tbnz */
		offset = sign_extend(word >> 5, 14);
	else
		return false;
	*ret_target = (int64_t)at + offset * 4;
	return true;
}

/* A bit for each register that the instruction may write; all bits for unconditional branches. */
static uint32_t insn_get_written_registers(uint32_t word)
{
	uint32_t first = BIT(word & 31), base = BIT(word >> 5 & 31), second = BIT(word >> 10 & 31);

	if ((word & 0xfffff01f) == 0xd503201f) /* hints: nop, bti, paciasp */
		return 0;
	if ((word & 0xfe000000) == 0x54000000 || (word & 0x7c000000) == 0x34000000) /* conditional branch: not taken */
		return 0;
	if ((word & 0x1c000000) == 0x10000000 || (word & 0x0e000000) == 0x0a000000) /* data processing */
		return first;
	/* loads and stores: a pair has two registers; with writeback the base changes too */
	if ((word & 0x0a000000) == 0x08000000)
		return first | base | ((word & 0x38000000) == 0x28000000 ? second : 0);
	return ALL_REGISTERS_MASK;
}

/* Whether the instruction moves a constant to `reg`: movz, movn. */
static bool insn_sets_constant(uint32_t word, unsigned reg, uint64_t *ret_value)
{
	uint32_t op = word & 0x7f800000;
	bool is_wide = word >> 31;
	unsigned shift = (word >> 21 & 3) * 16;
	uint64_t value = (uint64_t)(word >> 5 & 0xffff) << shift;

	if ((word & 31) != reg || (op != 0x52800000 && op != 0x12800000))
		return false;
	if (op == 0x12800000)
		value = ~value;
	*ret_value = is_wide ? value : (uint32_t)value;
	return true;
}

/* Whether the instruction copies a register to `reg`: orr with the zero register. */
static bool insn_copies_register(uint32_t word, unsigned reg, unsigned *ret_from)
{
	*ret_from = word >> 16 & 31;
	return (word & 0x7fe0ffe0) == 0x2a0003e0 && (word & 31) == reg;
}

/* Whether a branch from elsewhere leads between `from` and the system call instruction. */
static bool insn_has_jump_into_code(const struct insn_code *code, size_t from)
{
	for (size_t at = code->readable_from + (0 - code->readable_from) % 4; at + 4 <= code->end; at += 4) {
		int64_t target;

		if (insn_get_branch_target(insn_read_word(code, at), at, &target) && target > (int64_t)from &&
		    target <= (int64_t)INSN_BYTES_BEFORE_SYSCALL && (at < from || at > INSN_BYTES_BEFORE_SYSCALL))
			return true;
	}
	return false;
}

bool insn_aarch64_find_value(const struct insn_code *code, unsigned reg, const struct insn_register_values *held,
			     uint64_t *ret_value)
{
	uint32_t written = 0;
	unsigned from;

	for (size_t at = INSN_BYTES_BEFORE_SYSCALL;
	     at >= code->readable_from + 4 && at > INSN_BYTES_BEFORE_SYSCALL - 4 * SEARCHED_INSTRUCTIONS_MAX;) {
		uint32_t word = insn_read_word(code, at -= 4), now = insn_get_written_registers(word);
		bool is_wide = word >> 31;

		if (!(now & BIT(reg))) {
			written |= now;
			continue;
		}
		if (insn_has_jump_into_code(code, at))
			return false;
		if (insn_sets_constant(word, reg, ret_value))
			return true;
		if (!insn_copies_register(word, reg, &from) || written & BIT(from) ||
		    (from != REGISTER_ZERO && !(held->unchanged_registers & BIT(from))))
			return false;
		*ret_value = from == REGISTER_ZERO ? 0 : is_wide ? held->reg[from] : (uint32_t)held->reg[from];
		return true;
	}
	return false;
}
