/* What a register held, from the code before a call: code as compilers make it, and code that is to mislead. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "syscalls/arch/insn.h"
#include "tests/unit/unit.h"

enum { RAX = 0, RSI = 6, RDI = 7 };

static struct insn_register_values held;
static uint64_t stack[16];

static void fill(void)
{
	held.unchanged_registers = ~UINT32_C(0) & ~(1u | 1u << 1 | 1u << 11);
	for (unsigned i = 0; i < INSN_REGISTER_COUNT; i++)
		held.reg[i] = 1000 + i;
	for (size_t i = 0; i < sizeof(stack) / sizeof(stack[0]); i++)
		stack[i] = UINT64_C(0x500000000) + 2000 + i;
	held.stack = stack;
	held.stack_words = sizeof(stack) / sizeof(stack[0]);
}

/* Bytes in hexadecimal; "|" is where the call is. */
static struct insn_code assemble(const char *text)
{
	struct insn_code code = {.readable_from = 0};
	uint8_t bytes[INSN_BYTES_BEFORE_SYSCALL];
	size_t len = 0, before = 0;

	for (; *text; text++) {
		char pair[3] = {text[0], text[0] == '|' || text[0] == ' ' ? '\0' : text[1], '\0'};

		if (*text == '|')
			before = len;
		if (*text == '|' || *text == ' ')
			continue;
		bytes[len++] = (uint8_t)strtoul(pair, NULL, 16);
		text++;
	}
	memset(code.byte, 0xcc, sizeof(code.byte)); /* int3: not understood */
	memcpy(&code.byte[INSN_BYTES_BEFORE_SYSCALL - before], bytes, len);
	code.end = sizeof(code.byte);
	return code;
}

struct expected {
	const char *code;
	int64_t value; /* -1: unknown */
};

START_TEST(x86_64_numbers)
{
	static const struct expected all[] = {
		{"b80601000000 | 0f05", -1}, /* five bytes and one that is none */
		{"b806010000 | 0f05", 262}, /* mov $262,%eax */
		{"48c7c00f000000 | 0f05", 15},
		{"31c0 | 0f05", 0},
		{"b801010000 bf9cffffff 4889e6 31d2 | 0f05", 257}, /* arguments after it */
		{"b801010000 4d89c2 | 0f05", 257},
		{"4489c0 | 0f05", 1008}, /* mov %r8d,%eax */
		{"4c89c0 4489ca | 0f05", 1008},
		{"4c89c0 4989d0 | 0f05", -1}, /* … which is written over */
		{"89c8 | 0f05", -1}, /* ecx: clobbered by the call */
		{"4489d8 | 0f05", -1}, /* r11: likewise */
		{"8b03 | 0f05", -1}, /* from memory */
		{"b805000000 8b03 | 0f05", -1},
		{"b805000000 e800000000 | 0f05", -1}, /* a function in between */
		{"b805000000 0f05 | 0f05", -1}, /* a call in between */
		{"b805000000 b806000000 | 0f05", 6},
		{"b805000000 eb00 | 0f05", -1},
		{"b805000000 7502 89f7 | 0f05", 5}, /* a branch that was not taken */
		{"7547 b80d010000 4c89ef | 0f05", 269}, /* its distance looks like a prefix */
		{"41b805000000 | 0f05", -1}, /* mov $5,%r8d */
		{"b802000000 41b805000000 | 0f05", 2},
		{"b806010000 498bb802000000 | 0f05", 262}, /* mov 2(%r8),%rdi has b8 02 00 00 00 in it */
		{"498bb802000000 | 0f05", -1},
		{"b802000000 c1e004 | 0f05", -1}, /* shl */
		{"b802000000 ffc0 | 0f05", -1}, /* inc */
		{"b802000000 58 | 0f05", -1}, /* pop %rax */
		{"b802000000 b400 | 0f05", -1}, /* mov to %ah */
		/* two ways to one instruction, by which the number differs, is the same, or is not known */
		{"b804000000 eb05 b805000000 | 0f05", -1},
		{"b805000000 eb05 b805000000 | 0f05", 5},
		{"8b03 eb05 b805000000 | 0f05", -1},
		{"b805000000 | 0f05 b804000000 ebf7", -1},
		{"", -1},
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		struct insn_code code = assemble(all[i].code);
		uint32_t value = 77;
		bool known = insn_x86_64_find_value(&code, RAX, &held, &value);

		ck_assert_msg(known == (all[i].value >= 0), "%s", all[i].code);
		ck_assert_msg(!known || value == all[i].value, "%s: %u", all[i].code, value);
	}
}
END_TEST

/* glibc 2.41 gives its functions for cancellation points the number on the stack. */
START_TEST(x86_64_numbers_on_the_stack)
{
	static const struct expected all[] = {
		/* __internal_syscall_cancel: mov 16(%rsp),%rax */
		{"418b83080300007544a8017540a810753c90 488b442410 | 0f05", 2002},
		/* and before it calls __syscall_cancel_arch */
		{"4150 488b742420 4989d0 4889fa 4c89df | e800000000", 2004},
		{"488b3424 | 0f05", 2000},              /* mov (%rsp),%rsi */
		{"8bb42478000000 | 0f05", 2015},        /* mov 120(%rsp),%esi */
		{"488bb42480000000 | 0f05", -1},        /* beyond what was read */
		{"488b7424f8 | 0f05", -1},              /* mov -8(%rsp),%rsi */
		{"488b742404 | 0f05", -1},              /* not a word */
		{"498b742420 | 0f05", -1},              /* mov 32(%r12),%rsi */
		{"4a8b742420 | 0f05", -1},              /* mov 32(%rsp,%r12,1),%rsi */
		{"488b742520 | 0f05", -1},              /* mov 32(%rbp),%rsi */
		{"488d742420 | 0f05", -1},              /* lea 32(%rsp),%rsi */
		{"488b742420 50 | 0f05", -1},           /* the stack has changed: push %rax */
		{"488b742420 4883ec08 | 0f05", -1},     /* sub $8,%rsp */
		{"488b742420 4889ec | 0f05", -1},       /* mov %rbp,%rsp */
		{"488b742420 4889442420 | 0f05", -1},   /* written over: mov %rax,32(%rsp) */
		{"488b742420 4c8b442408 | 0f05", 2004}, /* another argument: mov 8(%rsp),%r8 */
		{"488b742420 488b742428 | 0f05", 2005},
		/* lea 190(%rip),%r11, in which there is a mov to %esi */
		{"488b742420 4c8d1dbe000000 4c89df | 0f05", 2004},
		{"4c8d1dbe000000 4c89df | 0f05", -1},
		{"", -1},
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		struct insn_code code = assemble(all[i].code);
		uint32_t value = 77;
		bool known = insn_x86_64_find_value(&code, i == 0 ? RAX : RSI, &held, &value);

		ck_assert_msg(known == (all[i].value >= 0), "%s", all[i].code);
		ck_assert_msg(!known || value == all[i].value, "%s: %u", all[i].code, value);
	}
}
END_TEST

START_TEST(x86_64_functions)
{
	static const struct {
		const char *code;
		int from, growth;
	} all[] = {
		/* glibc's where a thread can be cancelled: __syscall_cancel_arch */
		{"8b07 f60708 0f85d54bffff 4989fb 4889f0 4889d7 4889ce 4c89c2 4d89ca 4c8b442408 4c8b4c2410 4c895c2408 "
		 "|",
		 6, 0},
		{"4889f8 4889f7 4889d6 4889ca 4d89c2 4d89c8 4c8b4c2408 |", RDI, 0}, /* glibc's syscall(2) */
		/* musl's, where a thread can be cancelled */
		{"8b07 85c0 7510 4989fb 4889f0 4889d7 4c894c2408 |", 6, 0},
		{"4883ec58 4889f8 4889742428 31d2 |", RDI, 0x58},
		{"53 6a00 4154 4889f8 |", RDI, 24},
		{"4889f7 4889f8 |", 6, 0},
		{"b805000000 |", -1, 0},
		{"58 4889f8 |", -1, 0},
		{"4889f8 e800000000 |", -1, 0},
		{"4883c408 4889f8 |", -1, 0},
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		struct insn_code code = assemble(all[i].code);
		size_t len = 0, growth = 0;
		unsigned from = 99;
		bool known;

		while (code.byte[INSN_BYTES_BEFORE_SYSCALL - 1 - len] != 0xcc)
			len++;
		known = insn_x86_64_find_argument(&code.byte[INSN_BYTES_BEFORE_SYSCALL - len], len, RAX, &from,
						  &growth);
		ck_assert_msg(known == (all[i].from >= 0), "%s", all[i].code);
		ck_assert_msg(!known || ((int)from == all[i].from && (int)growth == all[i].growth), "%s: %u, %zu",
			      all[i].code, from, growth);
	}
}
END_TEST

START_TEST(aarch64_first_arguments)
{
	static const struct expected all[] = {
		{"600c8012 e80980d2 | 010000d4", 0xffffff9c}, /* mov w0,#-100; mov x8,#79 */
		{"600c8092 e80980d2 | 010000d4", -100},
		{"400580d2 e80980d2 | 010000d4", 42},
		{"e00313aa e80980d2 | 010000d4", 1019}, /* mov x0,x19 */
		{"e003132a e80980d2 | 010000d4", 1019},
		{"e00313aa 130080d2 | 010000d4", -1}, /* … which is written over */
		{"400580d2 00040091 | 010000d4", -1}, /* add x0,x0,#1 */
		{"400580d2 000040f9 | 010000d4", -1}, /* ldr x0,[x0] */
		{"400580d2 e00740a9 | 010000d4", -1}, /* ldp x0,x1,[sp] */
		{"400580d2 00000094 | 010000d4", -1}, /* bl */
		{"e80980d2 | 010000d4", -1},
		{"400580d2 02000014 600580d2 | 010000d4", -1}, /* entered by a branch */
		{"400580d2 02000054 1f2003d5 | 010000d4", 42}, /* b.eq, not taken; nop */
		{"", -1},
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		struct insn_code code = assemble(all[i].code);
		uint64_t value = 77;
		bool known;

		if (!*all[i].code)
			code.readable_from = INSN_BYTES_BEFORE_SYSCALL;
		known = insn_aarch64_find_value(&code, 0, &held, &value);
		ck_assert_msg(known == (all[i].value != -1), "%s", all[i].code);
		ck_assert_msg(!known || (int64_t)value == all[i].value, "%s: %llx", all[i].code,
			      (unsigned long long)value);
	}
}
END_TEST

/* Bytes of all kinds do no more than be misunderstood (with sanitizers: nothing is read outside). */
START_TEST(any_bytes)
{
	unsigned seed = 1;

	for (int round = 0; round < 200000; round++) {
		struct insn_code code = {.end = sizeof(code.byte)};
		uint64_t wide;
		uint32_t value;
		unsigned from;
		size_t growth;

		for (size_t i = 0; i < sizeof(code.byte); i++)
			code.byte[i] = (uint8_t)((seed = seed * 1103515245 + 12345) >> 16);
		code.readable_from = seed % (INSN_BYTES_BEFORE_SYSCALL + 1);
		code.end = INSN_BYTES_BEFORE_SYSCALL + 4 + seed / 7 % (INSN_BYTES_AFTER_SYSCALL - 3);
		(void)insn_x86_64_find_value(&code, seed % 16, &held, &value);
		(void)insn_aarch64_find_value(&code, seed % 31, &held, &wide);
		(void)insn_x86_64_find_argument(code.byte, seed % 64, RAX, &from, &growth);
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("insn");
	TCase *tcase = tcase_create("insn");

	tcase_add_checked_fixture(tcase, fill, NULL);
	tcase_add_test(tcase, x86_64_numbers);
	tcase_add_test(tcase, x86_64_numbers_on_the_stack);
	tcase_add_test(tcase, x86_64_functions);
	tcase_add_test(tcase, aarch64_first_arguments);
	tcase_add_test(tcase, any_bytes);
	suite_add_tcase(suite, tcase);
	return unit_run(suite);
}
