#include "workspace/names/joined.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

bool joined_add(struct joined *joined, const char *left, const char *right)
{
	for (int i = 0; i < 2; i++) {
		if (!array_reserve(&joined->pair, joined->pair_names, &joined->pair_room))
			return false;
		joined->pair[joined->pair_names++] = i == 0 ? left : right;
	}
	return true;
}

static int joined_compare(const void *left, const void *right)
{
	return strcmp(*(const char *const *)left, *(const char *const *)right);
}

/* The index of a name; joined->count: there is none. */
static size_t joined_find_name(const struct joined *joined, const char *name)
{
	const char **found =
		joined->count > 0 ? bsearch(&name, joined->name, joined->count, sizeof(*joined->name), joined_compare)
				  : NULL;

	return found ? (size_t)(found - joined->name) : joined->count;
}

/* The last name of those of one file. Shortens the way there. */
static size_t joined_find_last(const struct joined *joined, size_t at)
{
	while (joined->next[at] != at) {
		joined->next[at] = joined->next[joined->next[at]];
		at = joined->next[at];
	}
	return at;
}

/* Sorts the names, each once. 0 or -ENOMEM. */
static int joined_sort(struct joined *joined)
{
	free((void *)joined->name);
	free(joined->next);
	joined->count = 0;
	joined->name = malloc((joined->pair_names + 1) * sizeof(*joined->name));
	joined->next = malloc((joined->pair_names + 1) * sizeof(*joined->next));
	if (!joined->name || !joined->next)
		return -ENOMEM;
	if (joined->pair_names > 0) {
		memcpy((void *)joined->name, (const void *)joined->pair, joined->pair_names * sizeof(*joined->name));
		qsort((void *)joined->name, joined->pair_names, sizeof(*joined->name), joined_compare);
	}
	for (size_t i = 0; i < joined->pair_names; i++)
		if (joined->count == 0 || strcmp(joined->name[joined->count - 1], joined->name[i]) != 0)
			joined->name[joined->count++] = joined->name[i];
	for (size_t i = 0; i < joined->count; i++)
		joined->next[i] = i;
	return 0;
}

int joined_unite(struct joined *joined)
{
	int r = joined_sort(joined);

	for (size_t i = 0; r == 0 && i < joined->pair_names; i += 2)
		joined->next[joined_find_last(joined, joined_find_name(joined, joined->pair[i]))] =
			joined_find_last(joined, joined_find_name(joined, joined->pair[i + 1]));
	return r;
}

uint64_t joined_find(const struct joined *joined, const char *name)
{
	const size_t found = joined_find_name(joined, name);

	return found == joined->count ? 0 : joined_find_last(joined, found) + 1;
}

void joined_release(struct joined *joined)
{
	free((void *)joined->pair);
	free((void *)joined->name);
	free(joined->next);
}
