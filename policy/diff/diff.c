#include "policy/diff/diff.h"

#include <errno.h>

const char *diff_direction_get_name(enum diff_direction direction)
{
	static const char *const names[] = {"neutral", "narrower", "wider", "unknown"};

	return names[direction];
}

void policy_diff_release(struct policy_diff *diff)
{
	arena_release(&diff->arena);
	*diff = (struct policy_diff){.cut = false};
}

int policy_diff(const struct policy *first, const struct policy *second, struct policy_diff *ret_diff)
{
	struct diff_search search = {{first, second}, ret_diff};
	jmp_buf no_memory;

	*ret_diff = (struct policy_diff){.cut = false};
	if (setjmp(no_memory) != 0) {
		policy_diff_release(ret_diff);
		return -ENOMEM;
	}
	ret_diff->arena.no_memory = &no_memory;
	diff_compare_paths(&search);
	diff_compare_network(&search);
	diff_compare_settings(&search);
	ret_diff->arena.no_memory = NULL;
	return 0;
}
