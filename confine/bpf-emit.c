#include "confine/bpf-emit.h"

#include <assert.h>
#include <linux/seccomp.h>

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the low word of an argument comes first");

/*
 * Largest distance of a conditional jump, less one, because one more instruction may be emitted for the jump's other
 * target.
 */
#define JUMP_DISTANCE_MAX (UINT8_MAX - 1)

/* Emits an instruction before the others. yes, no: how many instructions a jump skips. Returns its position. */
static size_t bpf_emit_instruction(struct bpf *bpf, unsigned code, uint32_t k, size_t yes, size_t no)
{
	if (bpf->len < BPF_MAXINSNS)
		bpf->code[bpf->len] =
			(struct sock_filter){.code = (uint16_t)code, .jt = (uint8_t)yes, .jf = (uint8_t)no, .k = k};
	return bpf->len++;
}

/* Returns the position of a return with this action: an earlier return within JUMP_DISTANCE_MAX, or a new one. */
static size_t bpf_emit_return(struct bpf *bpf, uint32_t action)
{
	size_t i = 0, at;

	while (i < bpf->shared_return_count && bpf->last[i].action != action)
		i++;
	if (i < bpf->shared_return_count && bpf->len - bpf->last[i].at - 1 <= JUMP_DISTANCE_MAX)
		return bpf->last[i].at;
	at = bpf_emit_instruction(bpf, BPF_RET | BPF_K, action, 0, 0);
	if (i == BPF_SHARED_RETURNS_MAX)
		return at;
	bpf->last[i].action = action;
	bpf->last[i].at = at;
	if (i == bpf->shared_return_count)
		bpf->shared_return_count++;
	return at;
}

/*
 * Returns the position to jump to for this target. If the target is too far for a conditional jump, emits an
 * unconditional jump to it and returns the position of that.
 */
static size_t bpf_get_position_of_target(struct bpf *bpf, struct bpf_target target)
{
	size_t over = bpf->len - target.at - 1;

	if (target.is_return)
		return bpf_emit_return(bpf, target.action);
	return over <= JUMP_DISTANCE_MAX ? target.at : bpf_emit_instruction(bpf, BPF_JMP | BPF_JA, (uint32_t)over, 0,
									    0);
}

struct bpf_target bpf_emit_jump(struct bpf *bpf, unsigned comparison, uint32_t value, struct bpf_target yes,
				struct bpf_target no)
{
	size_t to_yes = bpf_get_position_of_target(bpf, yes), to_no = bpf_get_position_of_target(bpf, no);

	return (struct bpf_target){.at = bpf_emit_instruction(bpf, BPF_JMP | comparison | BPF_K, value,
							      bpf->len - to_yes - 1, bpf->len - to_no - 1)};
}

struct bpf_target bpf_emit_load(struct bpf *bpf, size_t offset)
{
	return (struct bpf_target){.at = bpf_emit_instruction(bpf, BPF_LD | BPF_W | BPF_ABS, (uint32_t)offset, 0, 0)};
}

struct bpf_target bpf_emit_word_test(struct bpf *bpf, size_t offset, bool load, uint32_t mask, uint32_t value,
				     struct bpf_target yes, struct bpf_target no)
{
	struct bpf_target first = bpf_emit_jump(bpf, BPF_JEQ, value, yes, no);

	if (mask != UINT32_MAX)
		first.at = bpf_emit_instruction(bpf, BPF_ALU | BPF_AND | BPF_K, mask, 0, 0);
	return load ? bpf_emit_load(bpf, offset) : first;
}

static size_t bpf_get_arg_offset(const struct row_compare *compare, bool high)
{
	return offsetof(struct seccomp_data, args) + compare->arg * sizeof(uint64_t) + (high ? sizeof(uint32_t) : 0);
}

/* True when the accumulator holds the low word of this argument wherever the term before was false. */
static bool bpf_term_leaves_low_word_loaded(const struct row_term *term, unsigned arg)
{
	return term && term->compare_count == 1 && term->compare[0].arg == arg && term->compare[0].mask == UINT32_MAX;
}

/* Emits the test of one term. before: the term tested before it; NULL: this is the first. */
static struct bpf_target bpf_emit_term(struct bpf *bpf, const struct row_term *term, const struct row_term *before,
				       struct bpf_target no)
{
	struct bpf_target next = bpf_make_return_target(SECCOMP_RET_ALLOW);

	for (unsigned i = term->compare_count; i-- > 0;) {
		const struct row_compare *compare = &term->compare[i];
		bool load = i > 0 || !bpf_term_leaves_low_word_loaded(before, compare->arg);
		uint32_t low = (uint32_t)compare->mask, high = (uint32_t)(compare->mask >> 32);

		if (high)
			next = bpf_emit_word_test(bpf, bpf_get_arg_offset(compare, true), true, high,
						  (uint32_t)(compare->value >> 32), next, no);
		if (low)
			next = bpf_emit_word_test(bpf, bpf_get_arg_offset(compare, false), load, low,
						  (uint32_t)compare->value, next, no);
	}
	return next;
}

struct bpf_target bpf_emit_call_decision(struct bpf *bpf, const struct bpf_call_decision *leaf)
{
	struct bpf_target next = bpf_make_return_target(leaf->action);

	for (size_t list = leaf->term_list_count; list-- > 0;) {
		const struct row_term *terms = leaf->terms[list];
		size_t count = 0;

		while (terms[count].compare_count)
			count++;
		while (count-- > 0)
			next = bpf_emit_term(bpf, &terms[count], count > 0 ? &terms[count - 1] : NULL, next);
	}
	return next;
}
