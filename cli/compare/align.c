#include "cli/compare/align.h"

#include <stdbool.h>

/* Whether element i of the first sequence and element j of the second have the same key, so that they may be paired. */
static bool align_have_equal_keys(const struct align_keys *first, size_t i, const struct align_keys *second, size_t j)
{
	return first->get(first->items, i) == second->get(second->items, j);
}

/*
 * Whether the next ALIGN_EQUAL_KEYS_IN_A_ROW_MIN keys of both sequences agree, or all that are left if both
 * sequences end together.
 */
static bool align_next_keys_agree(const struct align_keys *first, size_t i, const struct align_keys *second, size_t j)
{
	for (unsigned n = 0; n < ALIGN_EQUAL_KEYS_IN_A_ROW_MIN; n++) {
		bool ended = i + n == first->count, other_ended = j + n == second->count;

		if (ended || other_ended)
			return ended && other_ended;
		if (!align_have_equal_keys(first, i + n, second, j + n))
			return false;
	}
	return true;
}

/*
 * Finds how many keys to skip in each sequence until both sequences agree again. False: they do not agree within
 * ALIGN_SEARCH_WINDOW_KEYS.
 */
static bool align_find_next_match(const struct align_keys *first, size_t i, const struct align_keys *second, size_t j,
			    size_t *ret_skip, size_t *ret_other_skip)
{
	for (size_t sum = 1; sum <= ALIGN_SEARCH_WINDOW_KEYS; sum++)
		for (size_t skip = 0; skip <= sum; skip++)
			if (skip <= first->count - i && sum - skip <= second->count - j &&
			    align_next_keys_agree(first, i + skip, second, j + sum - skip)) {
				*ret_skip = skip;
				*ret_other_skip = sum - skip;
				return true;
			}
	return false;
}

void align_keys(const struct align_keys *first, const struct align_keys *second,
		void (*pair)(void *ctx, size_t first, size_t second), void *ctx)
{
	size_t i = 0, j = 0;

	while (i < first->count || j < second->count) {
		size_t skip, other_skip;

		if (i < first->count && j < second->count && align_have_equal_keys(first, i, second, j)) {
			pair(ctx, i++, j++);
			continue;
		}
		if (!align_find_next_match(first, i, second, j, &skip, &other_skip)) {
			skip = first->count - i < ALIGN_SEARCH_WINDOW_KEYS ? first->count - i
									   : ALIGN_SEARCH_WINDOW_KEYS;
			other_skip = second->count - j < ALIGN_SEARCH_WINDOW_KEYS ? second->count - j
										  : ALIGN_SEARCH_WINDOW_KEYS;
		}
		while (skip-- > 0)
			pair(ctx, i++, ALIGN_NO_PARTNER);
		while (other_skip-- > 0)
			pair(ctx, ALIGN_NO_PARTNER, j++);
	}
}
