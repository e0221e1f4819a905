#include "supervisor/bpf.h"

#include <assert.h>
#include <errno.h>
#include <linux/seccomp.h>
#include <stdlib.h>
#include <string.h>

#include "syscalls/arch.h"

#include "base/banned.h"

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "a register's low word comes first");

static void emit(struct bpf *bpf, unsigned code, uint32_t k, unsigned on_true, unsigned on_false)
{
	if (bpf->len < BPF_MAXINSNS)
		bpf->code[bpf->len] = (struct sock_filter){
			.code = (uint16_t)code, .jt = (uint8_t)on_true, .jf = (uint8_t)on_false, .k = k};
	bpf->len++;
}

void bpf_return(struct bpf *bpf, uint32_t action)
{
	emit(bpf, BPF_RET | BPF_K, action, 0, 0);
}

/* One word of a register. When it differs, jumps to where the term ends, filled in by end_term. */
static void emit_word(struct bpf *bpf, size_t offset, uint32_t mask, uint32_t value)
{
	if (!mask)
		return;
	emit(bpf, BPF_LD | BPF_W | BPF_ABS, (uint32_t)offset, 0, 0);
	if (mask != UINT32_MAX)
		emit(bpf, BPF_ALU | BPF_AND | BPF_K, mask, 0, 0);
	emit(bpf, BPF_JMP | BPF_JEQ | BPF_K, value, 0, 0);
}

static void end_term(struct bpf *bpf, size_t begin)
{
	for (size_t at = begin; at < bpf->len && at < BPF_MAXINSNS; at++)
		if (BPF_CLASS(bpf->code[at].code) == BPF_JMP)
			bpf->code[at].jf = (uint8_t)(bpf->len - at - 1);
}

static_assert(ROW_COMPARES_MAX * 6 < UINT8_MAX, "a jump over a term fits");

static void emit_term(struct bpf *bpf, const struct row_term *term)
{
	size_t begin = bpf->len;

	for (unsigned i = 0; i < term->count; i++) {
		const struct row_compare *compare = &term->compare[i];
		size_t low = offsetof(struct seccomp_data, args) + compare->arg * sizeof(uint64_t);

		emit_word(bpf, low, (uint32_t)compare->mask, (uint32_t)compare->value);
		emit_word(bpf, low + sizeof(uint32_t), (uint32_t)(compare->mask >> 32),
			  (uint32_t)(compare->value >> 32));
	}
	bpf_return(bpf, SECCOMP_RET_ALLOW);
	end_term(bpf, begin);
}

void bpf_terms(struct bpf *bpf, const struct row_term *term)
{
	for (; term->count; term++)
		emit_term(bpf, term);
}

/* A conditional jump over what was emitted since; farther than one reaches, another leads there. */
static void jump_over(struct bpf *bpf, size_t jump)
{
	size_t over = bpf->len - jump - 1;

	if (bpf->len >= BPF_MAXINSNS)
		return; /* too long anyway */
	if (over <= UINT8_MAX) {
		bpf->code[jump].jt = (uint8_t)over;
		return;
	}
	/* it jumps within itself only */
	memmove(&bpf->code[jump + 2], &bpf->code[jump + 1], over * sizeof(*bpf->code));
	bpf->code[jump].jf = 1;
	bpf->code[jump + 1] = (struct sock_filter){.code = BPF_JMP | BPF_JA, .k = (uint32_t)over};
	bpf->len++;
}

/* first[] holds the first numbers of `count` runs; the accumulator the call's number, which is in one of them. */
static void emit_search(struct bpf *bpf, const struct bpf_tree *tree, const int *first, size_t count)
{
	size_t jump = bpf->len;

	if (count == 1) {
		tree->leaf(tree->ctx, bpf, first[0]);
		return;
	}
	emit(bpf, BPF_JMP | BPF_JGE | BPF_K, (uint32_t)first[count / 2], 0, 0);
	emit_search(bpf, tree, first, count / 2);
	jump_over(bpf, jump);
	emit_search(bpf, tree, first + count / 2, count - count / 2);
}

static void emit_program(struct bpf *bpf, const struct bpf_tree *tree)
{
	int first[BPF_NR_END];
	size_t count = 0;

	for (int nr = 0; nr < BPF_NR_END; nr++)
		if (nr == 0 || !tree->same(tree->ctx, nr - 1, nr))
			first[count++] = nr;
	emit(bpf, BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch), 0, 0);
	emit(bpf, BPF_JMP | BPF_JEQ | BPF_K, arch_audit(), 1, 0);
	bpf_return(bpf, tree->foreign);
	emit(bpf, BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr), 0, 0);
	emit(bpf, BPF_JMP | BPF_JGE | BPF_K, BPF_NR_END, 0, 1);
	bpf_return(bpf, tree->foreign);
	emit_search(bpf, tree, first, count);
}

int bpf_build(const struct bpf_tree *tree, struct sock_fprog *ret_program)
{
	struct bpf bpf = {.code = malloc(BPF_MAXINSNS * sizeof(*bpf.code))}; /* most of it is never touched */

	if (!bpf.code)
		return -ENOMEM;
	emit_program(&bpf, tree);
	if (bpf.len > BPF_MAXINSNS) {
		free(bpf.code);
		return -E2BIG;
	}
	if (bpf_shorten(&bpf) < 0) {
		free(bpf.code);
		return -ENOMEM;
	}
	ret_program->len = (unsigned short)bpf.len;
	ret_program->filter = bpf.code;
	return 0;
}
