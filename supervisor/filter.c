#include <assert.h>
#include <errno.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "supervisor/filter.h"
#include "syscalls/arch.h"
#include "syscalls/table.h"

#include "base/banned.h"

/*
 * Made by hand because libseccomp takes 1.2 ms for these rules, more than the exec that follows, and this 20 µs.
 * tests/unit/test_filter.c holds it against libseccomp's filter of the same table.
 *
 *   arch != ours, nr >= NR_END -> notify; a binary search over runs of numbers with the same verdict; at its leaves
 *   allow, errno, notify, or a row's terms one after the other, allow at the first that holds, notify after the last.
 *
 * Numbers that are always allowed cost nothing: Linux caches them (5.11, seccomp_cache_prepare).
 */

#define NR_END 512 /* x32's numbers, 0x40000000 up, are above it as well: a foreign ABI on our architecture */

#ifndef SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV
#define SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV (1UL << 5) /* Linux 5.19 */
#endif

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "a register's low word comes first");

struct program {
	struct sock_filter *code; /* BPF_MAXINSNS of them */
	size_t len;               /* may grow past that: then nothing more is stored */
};

static void emit(struct program *program, unsigned code, uint32_t k, unsigned on_true, unsigned on_false)
{
	if (program->len < BPF_MAXINSNS)
		program->code[program->len] = (struct sock_filter){
			.code = (uint16_t)code, .jt = (uint8_t)on_true, .jf = (uint8_t)on_false, .k = k};
	program->len++;
}

static void emit_return(struct program *program, uint32_t action)
{
	emit(program, BPF_RET | BPF_K, action, 0, 0);
}

/* One word of a register. When it differs, jumps to where the term ends, filled in by end_term. */
static void emit_word(struct program *program, size_t offset, uint32_t mask, uint32_t value)
{
	if (!mask)
		return;
	emit(program, BPF_LD | BPF_W | BPF_ABS, (uint32_t)offset, 0, 0);
	if (mask != UINT32_MAX)
		emit(program, BPF_ALU | BPF_AND | BPF_K, mask, 0, 0);
	emit(program, BPF_JMP | BPF_JEQ | BPF_K, value, 0, 0);
}

static void end_term(struct program *program, size_t begin)
{
	for (size_t at = begin; at < program->len && at < BPF_MAXINSNS; at++)
		if (BPF_CLASS(program->code[at].code) == BPF_JMP)
			program->code[at].jf = (uint8_t)(program->len - at - 1);
}

static_assert(ROW_COMPARES_MAX * 6 < UINT8_MAX, "a jump over a term fits");

static void emit_term(struct program *program, const struct row_term *term)
{
	size_t begin = program->len;

	for (unsigned i = 0; i < term->count; i++) {
		const struct row_compare *compare = &term->compare[i];
		size_t low = offsetof(struct seccomp_data, args) + compare->arg * sizeof(uint64_t);

		emit_word(program, low, (uint32_t)compare->mask, (uint32_t)compare->value);
		emit_word(program, low + sizeof(uint32_t), (uint32_t)(compare->mask >> 32), (uint32_t)(compare->value >> 32));
	}
	emit_return(program, SECCOMP_RET_ALLOW);
	end_term(program, begin);
}

static void emit_leaf(struct program *program, const struct syscall_row *row)
{
	if (row && row->class == ROW_NATIVE)
		emit_return(program, SECCOMP_RET_ALLOW);
	else if (row && row->class == ROW_QUIET)
		emit_return(program, SECCOMP_RET_ERRNO | ((uint32_t)row->error & SECCOMP_RET_DATA));
	else if (row && row->class == ROW_FILTER)
		for (const struct row_term *term = row->allow; term->count; term++)
			emit_term(program, term);
	/* Everything else, refusals included, so that it is on record. */
	if (!row || (row->class != ROW_NATIVE && row->class != ROW_QUIET))
		emit_return(program, SECCOMP_RET_USER_NOTIF);
}

static bool same_leaf(const struct syscall_row *a, const struct syscall_row *b)
{
	enum row_class class_a = a ? a->class : ROW_REFUSE;
	enum row_class class_b = b ? b->class : ROW_REFUSE;

	if (class_a == ROW_FILTER || class_a == ROW_QUIET || class_b == ROW_FILTER || class_b == ROW_QUIET)
		return false;
	return (class_a == ROW_NATIVE) == (class_b == ROW_NATIVE);
}

/* first[] holds the first numbers of `count` runs; the accumulator the call's number, which is in one of them. */
static void emit_search(struct program *program, const int *first, size_t count)
{
	size_t jump;

	if (count == 1) {
		emit_leaf(program, table_find(first[0]));
		return;
	}
	emit(program, BPF_JMP | BPF_JGE | BPF_K, (uint32_t)first[count / 2], 0, 1);
	jump = program->len;
	emit(program, BPF_JMP | BPF_JA, 0, 0, 0);
	emit_search(program, first, count / 2);
	if (jump < BPF_MAXINSNS)
		program->code[jump].k = (uint32_t)(program->len - jump - 1);
	emit_search(program, first + count / 2, count - count / 2);
}

static void emit_program(struct program *program)
{
	int first[NR_END];
	size_t count = 0;

	for (int nr = 0; nr < NR_END; nr++)
		if (nr == 0 || !same_leaf(table_find(nr - 1), table_find(nr)))
			first[count++] = nr;
	emit(program, BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch), 0, 0);
	emit(program, BPF_JMP | BPF_JEQ | BPF_K, arch_audit(), 1, 0);
	emit_return(program, SECCOMP_RET_USER_NOTIF);
	emit(program, BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr), 0, 0);
	emit(program, BPF_JMP | BPF_JGE | BPF_K, NR_END, 0, 1);
	emit_return(program, SECCOMP_RET_USER_NOTIF);
	emit_search(program, first, count);
}

int filter_build(struct sock_fprog *ret_program)
{
	struct program program = {.code = calloc(BPF_MAXINSNS, sizeof(*program.code))};

	if (!program.code)
		return -ENOMEM;
	emit_program(&program);
	if (program.len > BPF_MAXINSNS) {
		free(program.code);
		return -E2BIG;
	}
	ret_program->len = (unsigned short)program.len;
	ret_program->filter = program.code;
	return 0;
}

int filter_install(const struct sock_fprog *program)
{
	unsigned long flags = SECCOMP_FILTER_FLAG_NEW_LISTENER | SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV;
	long fd = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, program);

	/* Before 5.19: a signal may interrupt a call that is being performed. */
	if (fd < 0 && errno == EINVAL)
		fd = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, program);
	return fd < 0 ? -errno : (int)fd;
}
