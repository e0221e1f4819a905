#include "cli/learn/groups.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/learn/pattern.h"
#include "cli/learn/units.h"

/* How many files of a group are needed to make one rule of them. */
#define PACKAGE_FILES_FOR_ONE_RULE_MIN 2u
/* least files of one library directory that become a rule for the directory */
#define LIBRARY_FILES_FOR_ONE_RULE_MIN 3u
#define PROGRAMS_FOR_ONE_RULE_MIN 4u       /* least executables of one directory that become a rule for the directory */
#define NUMBERED_PATHS_FOR_ONE_RULE_MIN 2u /* least paths that differ in numbers only and become one rule with "*" */
/* least names of one directory with the same suffix that become one "*" rule */
#define SAME_SUFFIX_PATHS_FOR_ONE_RULE_MIN 4u

/* Makes the reason of a rule that grants several items. Owned; NULL: no memory. */
static char *groups_make_reason(const struct fold_item *item, size_t count, const char *of)
{
	const struct need_origin *first = &item[0].unmet->need->origin;
	_cleanup_free_ char *one = NULL;
	uint64_t records = 0;

	for (size_t i = 0; i < count; i++) {
		const struct need_origin *origin = &item[i].unmet->need->origin;

		records += origin->count;
		if (!origin->reason && (first->reason || origin->first < first->first))
			first = origin;
	}
	one = need_origin_describe(first);
	return one ? text_format("%zu names %s, %" PRIu64 " records; %s", count, of, records, one) : NULL;
}

/* Order for qsort(3): by group key and right, so that a group's items are neighbours; items without a key come last. */
static int groups_compare_items(const void *a, const void *b)
{
	const struct fold_item *left = a, *right = b;
	int r;

	if (!left->group_key || !right->group_key)
		return !!right->group_key - !!left->group_key;
	r = strcmp(left->group_key, right->group_key);
	if (r == 0)
		r = (left->unmet->right > right->unmet->right) - (left->unmet->right < right->unmet->right);
	return r ? r : strcmp(left->grant_path, right->grant_path);
}

static void groups_clear_keys(struct fold *fold)
{
	for (size_t i = 0; i < fold->item_count; i++) {
		free(fold->items[i].group_key);
		fold->items[i].group_key = NULL;
	}
}

/* Calls `visit` for each group of items with the same key and right. 0 or the first error. */
static int groups_call_for_each_group(struct fold *fold,
				      int (*visit)(struct fold *fold, struct fold_item *item, size_t count))
{
	int r = 0;

	if (fold->item_count)
		qsort(fold->items, fold->item_count, sizeof(*fold->items), groups_compare_items);
	for (size_t i = 0, end; r == 0 && i < fold->item_count && fold->items[i].group_key; i = end) {
		for (end = i + 1; end < fold->item_count && fold->items[end].group_key &&
				  strcmp(fold->items[end].group_key, fold->items[i].group_key) == 0 &&
				  fold->items[end].unmet->right == fold->items[i].unmet->right;)
			end++;
		r = visit(fold, &fold->items[i], end - i);
	}
	groups_clear_keys(fold);
	return r;
}

/*
 * Adds one rule for a group, unless an objection to the other files that the rule would grant forbids it.
 * because_taken: the reason of the rule; owned by the draft from then on.
 */
static int groups_try_rule(struct fold *fold, struct fold_item *item, size_t count, const char *path,
			   char *because_taken)
{
	bool added;
	int r = rules_try_one_rule_for_group(fold, item->unmet->right, path, because_taken, UINT64_MAX, &added);

	for (size_t i = 0; r == 0 && added && i < count; i++)
		item[i].is_granted = true;
	return r;
}

/* Makes one rule for a directory of a package or a library, if enough of its files are needed. 0 or -errno. */
static int groups_try_directory_rule(struct fold *fold, struct fold_item *item, size_t count)
{
	const size_t least = item->unmet->right == POLICY_EXEC ? PROGRAMS_FOR_ONE_RULE_MIN
			     : item->package                   ? PACKAGE_FILES_FOR_ONE_RULE_MIN
							       : LIBRARY_FILES_FOR_ONE_RULE_MIN;
	_cleanup_free_ char *of = item->package ? text_format("of package %s", item->package) : strdup("of a library");

	return count < least ? 0
	       : !of         ? -ENOMEM
			     : groups_try_rule(fold, item, count, item->group_key, groups_make_reason(item, count, of));
}

int groups_merge_paths_by_directory(struct fold *fold)
{
	struct grantable_directory unit;

	for (size_t i = 0; i < fold->item_count; i++) {
		struct fold_item *item = &fold->items[i];

		if (item->is_granted || item->unmet->right == POLICY_WRITE ||
		    !unit_find_grantable_directory(fold->packages, fold->context->home, item->unmet->need->path, &unit))
			continue;
		item->package = unit.package;
		item->group_key = strdup(unit.dir);
		if (!item->group_key)
			return -ENOMEM;
	}
	return groups_call_for_each_group(fold, groups_try_directory_rule);
}

/* Makes one rule of names that differ only in their numbers: "*" replaces the parts that differ. */
static int groups_try_numbered_rule(struct fold *fold, struct fold_item *item, size_t count)
{
	_cleanup_free_ char *pattern = count < NUMBERED_PATHS_FOR_ONE_RULE_MIN ? NULL : strdup(item->grant_path);

	if (count < NUMBERED_PATHS_FOR_ONE_RULE_MIN)
		return 0;
	for (size_t i = 1; pattern && i < count; i++) {
		char *merged = pattern_merge_paths(pattern, item[i].grant_path);

		free(pattern);
		pattern = merged;
	}
	if (!pattern)
		return -ENOMEM;
	return pattern_components_are_specific(pattern)
		       ? groups_try_rule(fold, item, count, pattern,
					 groups_make_reason(item, count, "that differ in numbers"))
		       : 0;
}

/* For needs whose paths differ only in numbers: tries one rule with a pattern in place of the numbers. 0 or -errno. */
int groups_merge_numbered_paths(struct fold *fold)
{
	for (size_t i = 0; i < fold->item_count; i++) {
		struct fold_item *item = &fold->items[i];

		if (!item->is_granted && pattern_has_number(item->grant_path) &&
		    !(item->group_key = pattern_replace_numbers(item->grant_path)))
			return -ENOMEM;
	}
	return groups_call_for_each_group(fold, groups_try_numbered_rule);
}

/* Makes one rule for needed files of a directory with the same suffix, if there are enough. 0 or -errno. */
static int groups_try_suffix_rule(struct fold *fold, struct fold_item *item, size_t count)
{
	return count < SAME_SUFFIX_PATHS_FOR_ONE_RULE_MIN
		       ? 0
		       : groups_try_rule(fold, item, count, item->group_key,
					 groups_make_reason(item, count, "with one suffix"));
}

/* Makes one rule, such as "/data/set/" with "*.csv" appended, of read files whose names have the same suffix. */
int groups_merge_paths_by_suffix(struct fold *fold)
{
	for (size_t i = 0; i < fold->item_count; i++) {
		struct fold_item *item = &fold->items[i];
		const char *name = strrchr(item->grant_path, '/') + 1, *dot = strrchr(name, '.');

		if (item->is_granted || item->unmet->right != POLICY_READ || !dot || dot == name || !dot[1])
			continue;
		item->group_key = text_format("%.*s*%s", (int)(name - item->grant_path), item->grant_path, dot);
		if (!item->group_key)
			return -ENOMEM;
	}
	return groups_call_for_each_group(fold, groups_try_suffix_rule);
}

