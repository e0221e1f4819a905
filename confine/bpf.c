#include "confine/bpf.h"

#include <errno.h>
#include <linux/seccomp.h>
#include <stdlib.h>

#include "confine/bpf-emit.h"
#include "syscalls/arch/arch.h"

#define BPF_ACTION_BY_TERMS UINT32_MAX /* stands for an action where the arguments decide */

/*
 * System call numbers are divided into groups that have one action in common. A few numbers in a group may have another
 * action: each of these exceptions is compared separately, which takes one instruction, whereas a group of its own
 * would take two. The number of exceptions is limited, because many comparisons would be slower than the binary search.
 */
#define BPF_GROUP_EXCEPTIONS_MAX 4

/* The division of all system call numbers into groups with a common action. */
struct bpf_call_groups {
	const struct bpf_decisions *decisions;
	uint32_t action[BPF_CALL_NUMBERS_END]; /* action of each number, or BPF_ACTION_BY_TERMS */
	int first_number[BPF_CALL_NUMBERS_END];       /* first number of each group */
	/* common action of each group; BPF_ACTION_BY_TERMS: the group is a single number */
	uint32_t common_action[BPF_CALL_NUMBERS_END];
	size_t group_count; /* used entries of first_number[] and common_action[] */
};

/* Returns the end of a group that begins at `first` and has this common action. */
static int bpf_find_end_of_call_group(const struct bpf_call_groups *plan, int first, uint32_t common)
{
	int end = first, exceptions = 0;

	for (int nr = first; nr < BPF_CALL_NUMBERS_END && exceptions <= BPF_GROUP_EXCEPTIONS_MAX; nr++) {
		if (plan->action[nr] == common)
			end = nr + 1;
		else
			exceptions++;
	}
	return common == BPF_ACTION_BY_TERMS || end == first ? first + 1 : end;
}

static void bpf_divide_calls_into_groups(struct bpf_call_groups *plan)
{
	int end;

	for (int nr = 0; nr < BPF_CALL_NUMBERS_END; nr = end) {
		uint32_t common = plan->action[nr];

		end = bpf_find_end_of_call_group(plan, nr, common);
		/* The first number may be an exception itself. */
		if (end < BPF_CALL_NUMBERS_END && bpf_find_end_of_call_group(plan, nr, plan->action[nr + 1]) > end) {
			common = plan->action[nr + 1];
			end = bpf_find_end_of_call_group(plan, nr, common);
		}
		plan->first_number[plan->group_count] = nr;
		plan->common_action[plan->group_count++] = common;
	}
}

static struct bpf_target bpf_emit_syscall_decision(struct bpf *bpf, const struct bpf_call_groups *plan, int nr)
{
	struct bpf_call_decision leaf;

	if (plan->action[nr] != BPF_ACTION_BY_TERMS)
		return bpf_make_return_target(plan->action[nr]);
	leaf = plan->decisions->leaf(plan->decisions->ctx, nr);
	return bpf_emit_call_decision(bpf, &leaf);
}

static struct bpf_target bpf_emit_decision_of_call_group(struct bpf *bpf, const struct bpf_call_groups *plan,
							 size_t group)
{
	int first = plan->first_number[group],
	    end = group + 1 < plan->group_count ? plan->first_number[group + 1] : BPF_CALL_NUMBERS_END;
	struct bpf_target next;

	if (plan->common_action[group] == BPF_ACTION_BY_TERMS)
		return bpf_emit_syscall_decision(bpf, plan, first);
	next = bpf_make_return_target(plan->common_action[group]);
	for (int nr = first; nr < end; nr++)
		if (plan->action[nr] != plan->common_action[group])
			next = bpf_emit_jump(bpf, BPF_JEQ, (uint32_t)nr, bpf_emit_syscall_decision(bpf, plan, nr),
					     next);
	return next;
}

/* Emits the binary search among `count` groups. The accumulator holds the system call number. */
static struct bpf_target bpf_emit_binary_search_of_groups(struct bpf *bpf, const struct bpf_call_groups *plan,
							  size_t group, size_t count)
{
	size_t low = count / 2;
	struct bpf_target above, below;

	if (count == 1)
		return bpf_emit_decision_of_call_group(bpf, plan, group);
	above = bpf_emit_binary_search_of_groups(bpf, plan, group + low, count - low);
	below = bpf_emit_binary_search_of_groups(bpf, plan, group, low);
	return bpf_emit_jump(bpf, BPF_JGE, (uint32_t)plan->first_number[group + low], above, below);
}

static void bpf_emit_program(struct bpf *bpf, const struct bpf_call_groups *plan)
{
	const struct bpf_target foreign = bpf_make_return_target(plan->decisions->foreign_arch_action);
	struct bpf_target next = bpf_emit_binary_search_of_groups(bpf, plan, 0, plan->group_count);

	next = bpf_emit_jump(bpf, BPF_JGE, BPF_CALL_NUMBERS_END, foreign, next);
	next = bpf_emit_load(bpf, offsetof(struct seccomp_data, nr));
	(void)bpf_emit_word_test(bpf, offsetof(struct seccomp_data, arch), true, UINT32_MAX, arch_get_audit_arch(),
				 next, foreign);
}

static void bpf_reverse_program(struct bpf *bpf)
{
	for (size_t at = 0; at < bpf->len / 2; at++) {
		struct sock_filter code = bpf->code[at];

		bpf->code[at] = bpf->code[bpf->len - 1 - at];
		bpf->code[bpf->len - 1 - at] = code;
	}
}

int bpf_build_program(const struct bpf_decisions *tree, struct sock_fprog *ret_program)
{
	struct bpf bpf = {.code = malloc(BPF_MAXINSNS * sizeof(*bpf.code))}; /* most pages stay untouched */
	struct bpf_call_groups plan;

	if (!bpf.code)
		return -ENOMEM;
	plan.decisions = tree;
	plan.group_count = 0;
	for (int nr = 0; nr < BPF_CALL_NUMBERS_END; nr++) {
		struct bpf_call_decision leaf = tree->leaf(tree->ctx, nr);

		plan.action[nr] = leaf.term_list_count ? BPF_ACTION_BY_TERMS : leaf.action;
	}
	bpf_divide_calls_into_groups(&plan);
	bpf_emit_program(&bpf, &plan);
	if (bpf.len > BPF_MAXINSNS) {
		free(bpf.code);
		return -E2BIG;
	}
	bpf_reverse_program(&bpf);
	ret_program->len = (unsigned short)bpf.len;
	ret_program->filter = bpf.code;
	return 0;
}
