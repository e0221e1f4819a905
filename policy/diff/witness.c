#include <string.h>

#include "policy/diff/diff.h"

enum diff_access diff_get_access(enum verdict verdict, const char *reason)
{
	if (verdict == VERDICT_REDIRECT || verdict == VERDICT_PROVIDE)
		return DIFF_ACCESS_TO_OTHER_OBJECT;
	if (verdict != VERDICT_ALLOW)
		return DIFF_ACCESS_NONE;
	return strcmp(reason, "public") == 0 ? DIFF_ACCESS_IF_PUBLIC : DIFF_ACCESS_FULL;
}

/* Compares two rule labels. NULL, no rule, equals only NULL. */
static bool diff_rules_are_equal(const char *a, const char *b)
{
	return a == b || (a && b && strcmp(a, b) == 0);
}

bool diff_witnesses_agree(const struct diff_witness *a, const struct diff_witness *b)
{
	for (unsigned side = 0; side < 2; side++)
		if (a->answer[side].access != b->answer[side].access ||
		    !diff_rules_are_equal(a->answer[side].rule, b->answer[side].rule))
			return false;
	return strcmp(a->op, b->op) == 0;
}

void diff_add_witness(struct diff_search *search, const struct diff_witness *witness)
{
	struct policy_diff *diff = search->diff;
	size_t same = 0;

	if (witness->answer[0].access == witness->answer[1].access)
		return;
	for (size_t i = 0; i < diff->witness_count; i++) {
		if (!diff_witnesses_agree(&diff->witness[i], witness))
			continue;
		if (++same == DIFF_WITNESSES_PER_RULE_PAIR_MAX ||
		    strcmp(diff->witness[i].callgate_why_argument, witness->callgate_why_argument) == 0)
			return;
	}
	ARENA_APPEND(&diff->arena, diff->witness, diff->witness_count, *witness);
	diff->witness[diff->witness_count - 1].callgate_why_argument =
		arena_dup(&diff->arena, witness->callgate_why_argument);
}
