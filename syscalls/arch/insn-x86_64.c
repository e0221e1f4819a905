/*
 * Finds register values in x86-64 code (AMD64 Architecture Programmer's Manual, volume 3). Decodes only the
 * instructions that compilers put between the setting of a register and `syscall`.
 */
#include "syscalls/arch/insn.h"

enum { RAX = 0, RDX = 2, RSP = 4, NO_REGISTER = 16 };

#define BIT(reg) (1u << (reg))
/* without REX, the registers 4 to 7 are ah, ch, dh and bh */
#define BYTE_REGISTER_BITS(reg) (BIT(reg) | BIT((reg) & 3))
#define SEARCHED_CODE_BYTES_MAX 64u	   /* most bytes between the setting of a register and the call */

/* A decoded machine instruction. */
struct instruction {
	size_t len;
	uint32_t written_registers; /* one bit for each register that the instruction writes */
	bool is_constant_load;      /* its only effect is that register `to` becomes `value` */
	bool is_register_copy;      /* its only effect is that register `to` becomes what `from` holds */
	bool is_stack_load;         /* its only effect is that register `to` becomes what is `offset` bytes above rsp */
	bool writes_no_memory;      /* true only for instructions that are known to write registers alone */
	unsigned to, from;
	uint32_t value; /* is_constant_load: what `to` becomes */
	int32_t offset;
};

/* State of the decoder of one instruction. */
struct decoder {
	const uint8_t *byte; /* the code */
	size_t len, at;
	bool has_rex_w;   /* REX.W */
	unsigned r, x, b; /* REX.R, REX.X and REX.B, shifted to bit 3 */
	unsigned mod, reg, rm; /* fields of ModRM */
	bool is_rsp_relative;  /* the memory operand is at rsp + offset */
	int32_t offset;
};

/* Skips bytes of the instruction. False: the code ends before. */
static bool decode_skip_bytes(struct decoder *decoder, size_t count)
{
	decoder->at += count;
	return decoder->at <= decoder->len;
}

/* Takes the next byte. Past the end it is 0; the check of the instruction's length reports that. */
static uint8_t decode_take_byte(struct decoder *decoder)
{
	size_t at = decoder->at++;

	return at < decoder->len ? decoder->byte[at] : 0;
}

/* Takes a 32-bit constant from the code. */
static uint32_t decode_take_immediate(struct decoder *decoder)
{
	uint32_t value = 0;

	for (unsigned i = 0; i < 4; i++)
		value |= (uint32_t)decode_take_byte(decoder) << (8 * i);
	return value;
}

/* Decodes ModRM, SIB and displacement. False: past the end. */
static bool decode_modrm(struct decoder *decoder)
{
	uint8_t byte = decode_take_byte(decoder), base;

	decoder->mod = byte >> 6;
	decoder->reg = ((byte >> 3) & 7) | decoder->r;
	decoder->rm = (byte & 7) | decoder->b;
	if (decoder->mod == 3)
		return decode_skip_bytes(decoder, 0);
	base = byte & 7;
	if (base == 4) {
		uint8_t sib = decode_take_byte(decoder);

		base = sib & 7;
		decoder->is_rsp_relative = sib == 0x24 && decoder->x == 0 && decoder->b == 0;
	}
	if (decoder->mod == 1)
		decoder->offset = (decode_take_byte(decoder) ^ 0x80) - 0x80; /* with its sign */
	else if (decoder->mod == 2 || base == 5)
		decoder->offset = (int32_t)decode_take_immediate(decoder);
	return decode_skip_bytes(decoder, 0);
}

/* Whether the ModRM byte names a register, and no memory. */
static bool decode_is_register_operand(const struct decoder *decoder)
{
	return decoder->mod == 3;
}

/* The instruction loads a constant into a register. False: the code ends before its end. */
static bool insn_describe_constant_load(struct decoder *decoder, struct instruction *ret, unsigned to, uint32_t value)
{
	ret->is_constant_load = ret->writes_no_memory = true;
	ret->to = to;
	ret->value = value;
	ret->written_registers = BIT(to);
	return decode_skip_bytes(decoder, 0);
}

/* Notes that the instruction copies a register to another. Always true, so that a decoder can return it. */
static bool insn_describe_register_copy(struct instruction *ret, unsigned to, unsigned from)
{
	ret->is_register_copy = ret->writes_no_memory = true;
	ret->to = to;
	ret->from = from;
	ret->written_registers = BIT(to);
	return true;
}

/* Notes that the instruction loads a register from the stack. Always true. */
static bool insn_describe_stack_load(const struct decoder *decoder, struct instruction *ret)
{
	ret->is_stack_load = ret->writes_no_memory = true;
	ret->to = decoder->reg;
	ret->offset = decoder->offset;
	ret->written_registers = BIT(decoder->reg);
	return true;
}

/* The instruction writes to the register in ModRM.rm; if ModRM.rm is memory, to no register. */
static bool insn_describe_write_to_modrm_rm(const struct decoder *decoder, struct instruction *ret)
{
	ret->written_registers = decode_is_register_operand(decoder) ? BIT(decoder->rm) : 0;
	return true;
}

/* The instruction writes the register of the ModRM byte's reg field, with an unknown value. */
static bool insn_describe_write_to_modrm_reg(const struct decoder *decoder, struct instruction *ret)
{
	ret->written_registers = BIT(decoder->reg);
	ret->writes_no_memory = true;
	return true;
}

/* Decodes opcodes 0f xx. */
static bool decode_two_byte_opcode(struct decoder *decoder, struct instruction *ret)
{
	uint8_t op = decode_take_byte(decoder);

	if ((op & 0xf0) == 0x80) /* jcc rel32: the jump was not taken */
		return decode_skip_bytes(decoder, 4);
	if (!decode_modrm(decoder))
		return false;
	switch (op) {
	case 0x1e: case 0x1f: /* endbr64, nop */
	case 0x10: case 0x11: case 0x12: case 0x13: case 0x16: case 0x17: case 0x28: case 0x29: case 0x57: /* SSE */
	case 0x6c: case 0x6e: case 0x6f: case 0x7f: case 0xd6: case 0xef:
		return true;
	case 0x70: case 0xc6: /* shuffles */
		return decode_skip_bytes(decoder, 1);
	case 0xaf: case 0xb6: case 0xb7: case 0xbe: case 0xbf: /* imul, movzx, movsx */
		return insn_describe_write_to_modrm_reg(decoder, ret);
	default:
		break;
	}
	if ((op & 0xf0) == 0x40) /* cmovcc */
		return insn_describe_write_to_modrm_reg(decoder, ret);
	if ((op & 0xf0) != 0x90) /* setcc */
		return false;
	ret->written_registers = decode_is_register_operand(decoder) ? BYTE_REGISTER_BITS(decoder->rm) : 0;
	return true;
}

/* Decodes add, or, adc, sbb, and, sub, xor, cmp in their forms with ModRM: 00 to 3b. */
static bool decode_arithmetic(struct decoder *decoder, uint8_t op, struct instruction *ret)
{
	bool is_cmp = (op & 0xf8) == 0x38, to_reg = op & 2;
	unsigned to;

	/* Only cmp is decoded in byte-sized forms: 00, a byte-sized add, is more often the end of an operand. */
	if (!decode_modrm(decoder) || (!(op & 1) && !is_cmp))
		return false;
	if (is_cmp || (!to_reg && !decode_is_register_operand(decoder)))
		return true;
	to = to_reg ? decoder->reg : decoder->rm;
	if ((op & 0xf9) == 0x31 && decode_is_register_operand(decoder) && decoder->reg == decoder->rm)
		return insn_describe_constant_load(decoder, ret, to, 0);
	ret->written_registers = BIT(to);
	return true;
}

/* Decodes arithmetic and shifts with an immediate (80, 81, 83, c0, c1), and mov with an immediate (c6, c7). */
static bool decode_insn_with_immediate(struct decoder *decoder, uint8_t op, struct instruction *ret)
{
	bool is_long = op == 0x81 || op == 0xc7, is_byte = op == 0x80 || op == 0xc0 || op == 0xc6;

	if (!decode_modrm(decoder))
		return false;
	if (op == 0xc7 && (decoder->reg & 7) != 0)
		return false;
	if (op == 0xc7 && decode_is_register_operand(decoder))
		return insn_describe_constant_load(decoder, ret, decoder->rm, decode_take_immediate(decoder));
	if (decode_is_register_operand(decoder) && !(op < 0x90 && (decoder->reg & 7) == 7)) /* cmp */
		ret->written_registers = is_byte ? BYTE_REGISTER_BITS(decoder->rm) : BIT(decoder->rm);
	return decode_skip_bytes(decoder, is_long ? 4 : 1);
}

static bool decode_mov(struct decoder *decoder, uint8_t op, struct instruction *ret)
{
	if (!decode_modrm(decoder))
		return false;
	switch (op) {
	case 0x88:
		ret->written_registers = decode_is_register_operand(decoder) ? BYTE_REGISTER_BITS(decoder->rm) : 0;
		return true;
	case 0x89:
		return !decode_is_register_operand(decoder) ||
		       insn_describe_register_copy(ret, decoder->rm, decoder->reg);
	case 0x8a:
		ret->written_registers = BYTE_REGISTER_BITS(decoder->reg);
		return true;
	default: /* 8b */
		if (decode_is_register_operand(decoder))
			return insn_describe_register_copy(ret, decoder->reg, decoder->rm);
		return decoder->is_rsp_relative ? insn_describe_stack_load(decoder, ret)
						: insn_describe_write_to_modrm_reg(decoder, ret);
	}
}

/* Decodes what follows a one-byte opcode. False: an instruction that is not understood. */
static bool decode_one_byte_opcode(struct decoder *decoder, uint8_t op, struct instruction *ret)
{
	switch (op) {
	case 0x63: /* movsxd */
		return decode_modrm(decoder) && insn_describe_write_to_modrm_reg(decoder, ret);
	case 0x8d: /* lea */
		return decode_modrm(decoder) && !decode_is_register_operand(decoder) &&
		       insn_describe_write_to_modrm_reg(decoder, ret);
	case 0x68: case 0x6a: /* push $imm */
		return decode_skip_bytes(decoder, op == 0x68 ? 4 : 1);
	case 0x80: case 0x81: case 0x83: case 0xc0: case 0xc1: case 0xc6: case 0xc7:
		return decode_insn_with_immediate(decoder, op, ret);
	case 0x84: case 0x85: /* test */
		return decode_modrm(decoder);
	case 0x88: case 0x89: case 0x8a: case 0x8b:
		return decode_mov(decoder, op, ret);
	case 0x90: /* nop */
		return decoder->b == 0;
	case 0x98: case 0x99: /* cltq, cqto */
		ret->written_registers = BIT(op == 0x98 ? RAX : RDX);
		return true;
	case 0xa8: /* test $imm8,%al; 3c: cmp */
	case 0x3c:
		return decode_skip_bytes(decoder, 1);
	case 0xa9:
	case 0x3d:
		return decode_skip_bytes(decoder, 4);
	case 0xd1: case 0xd3: /* shifts */
		return decode_modrm(decoder) && insn_describe_write_to_modrm_rm(decoder, ret);
	case 0xf6: /* test $imm8 */
		return decode_modrm(decoder) && (decoder->reg & 7) == 0 && decode_skip_bytes(decoder, 1);
	case 0xf7: /* not, neg */
		return decode_modrm(decoder) && ((decoder->reg & 7) == 2 || (decoder->reg & 7) == 3) &&
		       insn_describe_write_to_modrm_rm(decoder, ret);
	default:
		break;
	}
	if (op < 0x3c && (op & 7) < 4)
		return decode_arithmetic(decoder, op, ret);
	if ((op & 0xf8) == 0x50) /* push */
		return true;
	if ((op & 0xf8) == 0x58) { /* pop */
		ret->written_registers = BIT((op & 7u) | decoder->b);
		return true;
	}
	if ((op & 0xf0) == 0x70) /* jcc rel8: the jump was not taken */
		return decode_skip_bytes(decoder, 1);
	if ((op & 0xf8) != 0xb8) /* mov $imm,%reg */
		return false;
	(void)insn_describe_constant_load(decoder, ret, (op & 7u) | decoder->b, decode_take_immediate(decoder));
	return decode_skip_bytes(decoder, decoder->has_rex_w ? 4 : 0);
}

/* Decodes the first instruction. False: unknown. */
static bool insn_decode(const uint8_t *byte, size_t len, struct instruction *ret)
{
	struct decoder decoder = {.byte = byte, .len = len};
	bool short_operand = false;
	uint8_t op = decode_take_byte(&decoder);
	bool understood;

	*ret = (struct instruction){.len = 0};
	while (op == 0x66 || op == 0xf2 || op == 0xf3 || op == 0x64 || op == 0x65) {
		short_operand |= op == 0x66;
		op = decode_take_byte(&decoder);
	}
	if ((op & 0xf0) == 0x40) { /* REX */
		decoder.has_rex_w = op & 8;
		decoder.r = (op & 4u) << 1;
		decoder.x = (op & 2u) << 2;
		decoder.b = (op & 1u) << 3;
		op = decode_take_byte(&decoder);
	}
	understood = op == 0x0f ? decode_two_byte_opcode(&decoder, ret)
				: !short_operand && decode_one_byte_opcode(&decoder, op, ret);
	/* With prefix 66, only instructions without a shorter operand are decoded: the SSE moves and nops above. */
	ret->len = decoder.at;
	return understood && decoder.at <= len;
}

/* Whether the opcode is mov or lea, whose operands often look like other instructions. */
static bool opcode_takes_modrm(uint8_t op)
{
	return op == 0x89 || op == 0x8b || op == 0x8d;
}

/*
 * Whether a byte is more likely an operand of an instruction that begins one to three bytes before. Example: 8b b8 with
 * REX.B is `mov disp(%r8),%rdi`; without its first two bytes it would set eax.
 */
static bool insn_is_likely_operand(const struct insn_code *code, size_t at, bool jump)
{
	uint8_t before = at > code->readable_from ? code->byte[at - 1] : 0,
		earlier = at > code->readable_from + 1 ? code->byte[at - 2] : 0;

	if ((earlier & 0xf0) == 0x70 || earlier == 0xeb) /* the byte at `at` is the offset of a short jump */
		return false;
	if (before == 0x41 || before == 0x44 || before == 0x45 || before == 0x48 || before == 0x49 || before == 0x4c ||
	    before == 0x4d || before == 0x66 || before == 0x0f) /* prefixes */
		return true;
	if (code->byte[at] == 0x8b && (before & 0xf2) == 0x42) /* REX.X: mov disp(%rsp,%r12) is no mov disp(%rsp) */
		return true;
	if ((before & 0xc7) == 0x05 && opcode_takes_modrm(earlier)) /* the distance of an operand relative to rip */
		return true;
	return opcode_takes_modrm(before) && (jump || (earlier & 0xf1) == 0x41);
}

/* The low word of what is `offset` bytes above the stack pointer. False: unknown. */
static bool insn_find_stack_word(const struct insn_register_values *held, int32_t offset, uint32_t *ret_value)
{
	size_t word = (size_t)(uint32_t)offset / sizeof(held->stack[0]);

	if (offset < 0 || (size_t)offset % sizeof(held->stack[0]) != 0 || word >= held->stack_words)
		return false;
	*ret_value = (uint32_t)held->stack[word];
	return true;
}

/* The value of reg at `end`. False: the instruction at `at` does not set it, or a later one writes to it. */
static bool insn_find_value_set_at(const struct insn_code *code, size_t at, size_t end, unsigned reg,
			 const struct insn_register_values *held, uint32_t *ret_value)
{
	struct instruction setting, later;
	uint32_t writes = 0;
	bool stack_is_same = true;

	if (!insn_decode(&code->byte[at], end - at, &setting) || setting.to != reg ||
	    !(setting.is_constant_load || setting.is_register_copy || setting.is_stack_load))
		return false;
	for (size_t next_at = at + setting.len; next_at < end; next_at += later.len) {
		if (!insn_decode(&code->byte[next_at], end - next_at, &later))
			return false;
		writes |= later.written_registers;
		stack_is_same &= later.writes_no_memory && !(later.written_registers & BIT(RSP));
	}
	if (writes & BIT(reg))
		return false;
	if (setting.is_constant_load) {
		*ret_value = setting.value;
		return true;
	}
	if (setting.is_stack_load)
		return stack_is_same && insn_find_stack_word(held, setting.offset, ret_value);
	if (writes & BIT(setting.from) || !(held->unchanged_registers & BIT(setting.from)))
		return false;
	*ret_value = (uint32_t)held->reg[setting.from];
	return true;
}

/* Tries every offset: instructions cannot be decoded backwards. All instructions found to set reg must agree. */
static bool insn_find_last_setter_of_register(const struct insn_code *code, size_t end, unsigned reg,
					      const struct insn_register_values *held, size_t *ret_at,
					      uint32_t *ret_value)
{
	size_t least = end > code->readable_from + SEARCHED_CODE_BYTES_MAX ? end - SEARCHED_CODE_BYTES_MAX
									   : code->readable_from;
	uint32_t value, found_value = 0;
	bool found = false;

	for (size_t at = end; at-- > least;) {
		if (insn_is_likely_operand(code, at, false) || !insn_find_value_set_at(code, at, end, reg, held,
										       &value))
			continue;
		if (found && value != found_value)
			return false;
		if (!found)
			*ret_at = at;
		found = true;
		found_value = value;
	}
	*ret_value = found_value;
	return found;
}

/* The target of the short jump at `at`; SIZE_MAX: not a short jump. */
static size_t insn_get_jump_target(const struct insn_code *code, size_t at)
{
	uint8_t op = code->byte[at];
	int64_t target;

	if (at + 1 >= code->end || ((op & 0xf0) != 0x70 && op != 0xeb))
		return SIZE_MAX;
	target = (int64_t)at + 2 + (int8_t)code->byte[at + 1];
	return target < 0 ? SIZE_MAX : (size_t)target;
}

bool insn_x86_64_find_value(const struct insn_code *code, unsigned reg, const struct insn_register_values *held,
			    uint32_t *ret_value)
{
	uint32_t value, other;
	size_t from, at;

	if (!insn_find_last_setter_of_register(code, INSN_BYTES_BEFORE_SYSCALL, reg, held, &from, &value))
		return false;
	/* Compilers merge equal tails: every jump to the instruction must come with the same value. */
	for (at = code->readable_from; at < code->end; at++) {
		size_t target = insn_get_jump_target(code, at), unused;

		if (target != INSN_BYTES_BEFORE_SYSCALL || (at >= from && at <= INSN_BYTES_BEFORE_SYSCALL) ||
		    insn_is_likely_operand(code, at, true))
			continue;
		if (!insn_find_last_setter_of_register(code, at, reg, held, &unused, &other) || other != value)
			return false;
	}
	*ret_value = value;
	return true;
}

/* ---- functions that get the system call number as an argument: syscall(2) ---- */

/* How many bytes an instruction grows the stack by (push; sub $imm8,%rsp); -1: it changes rsp in another way. */
static int insn_get_stack_growth(const uint8_t *byte, const struct instruction *instruction)
{
	if (instruction->len == 4 && byte[0] == 0x48 && byte[1] == 0x83 && byte[2] == 0xec)
		return (int8_t)byte[3];
	if (instruction->written_registers & BIT(RSP))
		return -1;
	if (byte[0] == 0x68 || byte[0] == 0x6a || (byte[0] & 0xf8) == 0x50 ||
	    ((byte[0] & 0xfe) == 0x40 && (byte[1] & 0xf8) == 0x50)) /* push */
		return 8;
	return (byte[0] & 0xf8) == 0x58 || ((byte[0] & 0xfe) == 0x40 && (byte[1] & 0xf8) == 0x58) ? -1 : 0;
}

bool insn_x86_64_find_argument(const uint8_t *byte, size_t len, unsigned reg, unsigned *ret_from, size_t *ret_stack)
{
	unsigned holds[16]; /* for each register: the register that held its value when the function began */
	size_t at = 0, stack = 0;

	for (unsigned i = 0; i < 16; i++)
		holds[i] = i;
	while (at < len) {
		struct instruction now;
		int more;

		if (!insn_decode(byte + at, len - at, &now))
			return false;
		more = insn_get_stack_growth(byte + at, &now);
		if (more < 0)
			return false;
		stack += (size_t)more;
		if (now.is_register_copy)
			holds[now.to] = holds[now.from];
		for (unsigned i = 0; i < 16; i++)
			if (now.written_registers & BIT(i) && !(now.is_register_copy && i == now.to))
				holds[i] = NO_REGISTER;
		at += now.len;
	}
	if (holds[reg] == NO_REGISTER)
		return false;
	*ret_from = holds[reg];
	*ret_stack = stack;
	return true;
}
