#include "confine/bpf.h"

#include <errno.h>
#include <linux/seccomp.h>
#include <stdlib.h>

#include "confine/bpf-emit.h"
#include "syscalls/arch/arch.h"

#include "base/banned.h"

#define BY_TERMS UINT32_MAX /* no action: the registers decide */

/*
 * Numbers go in groups: all of one get the same action, but for a few that are compared one by one, which takes one
 * instruction each where a run of its own takes two. No more of them than would make the search any deeper.
 */
#define EXCEPTIONS_MOST 4

struct plan {
	const struct bpf_tree *tree;
	uint32_t action[BPF_NR_END]; /* or BY_TERMS */
	int first[BPF_NR_END];       /* of each group */
	uint32_t common[BPF_NR_END]; /* a group's action; BY_TERMS: it is one number */
	size_t groups;
};

/* Where a group that begins at `first` would end with this action for most of it. */
static int reach(const struct plan *plan, int first, uint32_t common)
{
	int end = first, exceptions = 0;

	for (int nr = first; nr < BPF_NR_END && exceptions <= EXCEPTIONS_MOST; nr++) {
		if (plan->action[nr] == common)
			end = nr + 1;
		else
			exceptions++;
	}
	return common == BY_TERMS || end == first ? first + 1 : end;
}

static void plan_groups(struct plan *plan)
{
	int end;

	for (int nr = 0; nr < BPF_NR_END; nr = end) {
		uint32_t common = plan->action[nr];

		end = reach(plan, nr, common);
		/* It may begin with an exception. */
		if (end < BPF_NR_END && reach(plan, nr, plan->action[nr + 1]) > end) {
			common = plan->action[nr + 1];
			end = reach(plan, nr, common);
		}
		plan->first[plan->groups] = nr;
		plan->common[plan->groups++] = common;
	}
}

static struct bpf_target emit_number(struct bpf *bpf, const struct plan *plan, int nr)
{
	struct bpf_leaf leaf;

	if (plan->action[nr] != BY_TERMS)
		return bpf_returning(plan->action[nr]);
	leaf = plan->tree->leaf(plan->tree->ctx, nr);
	return bpf_emit_leaf(bpf, &leaf);
}

static struct bpf_target emit_group(struct bpf *bpf, const struct plan *plan, size_t group)
{
	int first = plan->first[group], end = group + 1 < plan->groups ? plan->first[group + 1] : BPF_NR_END;
	struct bpf_target next;

	if (plan->common[group] == BY_TERMS)
		return emit_number(bpf, plan, first);
	next = bpf_returning(plan->common[group]);
	for (int nr = first; nr < end; nr++)
		if (plan->action[nr] != plan->common[group])
			next = bpf_jump(bpf, BPF_JEQ, (uint32_t)nr, emit_number(bpf, plan, nr), next);
	return next;
}

/* The accumulator holds the call's number, which is in one of `count` groups. */
static struct bpf_target emit_search(struct bpf *bpf, const struct plan *plan, size_t group, size_t count)
{
	size_t low = count / 2;
	struct bpf_target above, below;

	if (count == 1)
		return emit_group(bpf, plan, group);
	above = emit_search(bpf, plan, group + low, count - low);
	below = emit_search(bpf, plan, group, low);
	return bpf_jump(bpf, BPF_JGE, (uint32_t)plan->first[group + low], above, below);
}

static void emit_program(struct bpf *bpf, const struct plan *plan)
{
	const struct bpf_target foreign = bpf_returning(plan->tree->foreign);
	struct bpf_target next = emit_search(bpf, plan, 0, plan->groups);

	next = bpf_jump(bpf, BPF_JGE, BPF_NR_END, foreign, next);
	next = bpf_load(bpf, offsetof(struct seccomp_data, nr));
	(void)bpf_word(bpf, offsetof(struct seccomp_data, arch), true, UINT32_MAX, arch_audit(), next, foreign);
}

/* It was made from its end to its start. */
static void turn_round(struct bpf *bpf)
{
	for (size_t at = 0; at < bpf->len / 2; at++) {
		struct sock_filter code = bpf->code[at];

		bpf->code[at] = bpf->code[bpf->len - 1 - at];
		bpf->code[bpf->len - 1 - at] = code;
	}
}

int bpf_build(const struct bpf_tree *tree, struct sock_fprog *ret_program)
{
	struct bpf bpf = {.code = malloc(BPF_MAXINSNS * sizeof(*bpf.code))}; /* most of it is never touched */
	struct plan plan;

	if (!bpf.code)
		return -ENOMEM;
	plan.tree = tree;
	plan.groups = 0;
	for (int nr = 0; nr < BPF_NR_END; nr++) {
		struct bpf_leaf leaf = tree->leaf(tree->ctx, nr);

		plan.action[nr] = leaf.lists ? BY_TERMS : leaf.action;
	}
	plan_groups(&plan);
	emit_program(&bpf, &plan);
	if (bpf.len > BPF_MAXINSNS) {
		free(bpf.code);
		return -E2BIG;
	}
	turn_round(&bpf);
	ret_program->len = (unsigned short)bpf.len;
	ret_program->filter = bpf.code;
	return 0;
}
