/* Aligns two sequences of keys, such as the calls of a process in two runs. */
#ifndef CALLGATE_CLI_COMPARE_ALIGN_H
#define CALLGATE_CLI_COMPARE_ALIGN_H

#include <stddef.h>
#include <stdint.h>

#define ALIGN_NO_PARTNER SIZE_MAX /* the index of the other element, when an element is in one sequence only */

#define ALIGN_SEARCH_WINDOW_KEYS 512u /* how far ahead of a difference equal keys are searched for */
/* after a difference, so many equal keys in a row make the sequences match again */
#define ALIGN_EQUAL_KEYS_IN_A_ROW_MIN 2u
/* A sequence of keys to be aligned with another: an array, and a function that returns the key of an element. */
struct align_keys {
	uint64_t (*get)(const void *items, size_t index);
	const void *items;
	size_t count;
};

/*
 * Calls `pair` in order for every pair of aligned equal keys, with their indices, and for every key without a partner,
 * with ALIGN_NO_PARTNER as the partner's index. Where the sequences differ, the search goes on to the nearest place
 * where ALIGN_EQUAL_KEYS_IN_A_ROW_MIN keys in a row are equal, at most ALIGN_SEARCH_WINDOW_KEYS further.
 * Without differences the time is linear.
 */
void align_keys(const struct align_keys *first, const struct align_keys *second,
		void (*pair)(void *ctx, size_t first, size_t second), void *ctx);

#endif
