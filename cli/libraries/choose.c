#include "cli/libraries/choose.h"

#include <stdlib.h>
#include <string.h>

#include "cli/libraries/metadata.h"
#include "cli/libraries/python.h"

/* ---- packages by their key: a hostile tree may have 20,000, which need 200,000 ---- */

static int choose_compare_keys(const void *left, const void *right)
{
	const struct package *a = *(const struct package *const *)left, *b = *(const struct package *const *)right;
	const int order = strcmp(a->key, b->key);

	return order ? order : (a > b) - (a < b);
}

static void choose_sort_by_key(struct packages *packages)
{
	packages->by_key = arena_alloc(packages->arena, (packages->package_count + 1) * sizeof(*packages->by_key));
	for (size_t i = 0; i < packages->package_count; i++)
		packages->by_key[i] = &packages->package[i];
	qsort(packages->by_key, packages->package_count, sizeof(struct package *), choose_compare_keys);
}

/* The index in by_key of the first package that has this key, or of what comes after it. */
static size_t choose_find_key(const struct packages *packages, const char *key)
{
	size_t low = 0, high = packages->package_count;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (strcmp(packages->by_key[middle]->key, key) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Whether there is a package with this key at an index of by_key. */
static bool choose_key_is_at(const struct packages *packages, size_t at, const char *key)
{
	return at < packages->package_count && strcmp(packages->by_key[at]->key, key) == 0;
}

/* ---- choosing ---- */

/* Chooses a package, unless it is chosen already. by: the choice that means it; NULL: `needed_by` needs it. */
static void choose_package(struct package *package, const struct library_choice *by, const struct package *needed_by)
{
	if (package->is_chosen)
		return;
	package->is_chosen = true;
	package->chosen_by = by;
	package->needed_by = needed_by;
}

/* Chooses the packages that have this key. False: there are none. */
static bool choose_by_key(struct packages *packages, const char *key, const struct library_choice *by,
			  const struct package *needed_by)
{
	const size_t first = choose_find_key(packages, key);

	for (size_t at = first; choose_key_is_at(packages, at, key); at++)
		choose_package(&packages->package[packages->by_key[at] - packages->package], by, needed_by);
	return choose_key_is_at(packages, first, key);
}

/* Whether the package has a module of this name at the top of its site. */
static bool choose_package_has_module(const struct package *package, const char *name)
{
	const size_t len = strlen(name);

	for (size_t i = 0; i < package->file_count; i++) {
		const size_t top = strcspn(package->file[i], "/");

		if (strncmp(package->file[i], name, len) == 0 && python_get_module_len(package->file[i]) >= len &&
		    (top == len || package->file[i][len] == '.'))
			return true;
	}
	return false;
}

static bool choose_by_module(struct packages *packages, const struct library_choice *by)
{
	bool found = false;

	for (size_t i = 0; i < packages->package_count; i++)
		if (choose_package_has_module(&packages->package[i], by->name)) {
			choose_package(&packages->package[i], by, NULL);
			found = true;
		}
	return found;
}

/* Chooses what the chosen packages need, until nothing is added. Loops of needs end here, too. */
static void choose_needs(struct packages *packages)
{
	bool *done = arena_alloc(packages->arena, packages->package_count + 1);

	for (bool more = true; more;) {
		more = false;
		for (size_t i = 0; i < packages->package_count; i++) {
			const struct package *package = &packages->package[i];

			if (!package->is_chosen || done[i])
				continue;
			more = done[i] = true;
			for (size_t j = 0; j < package->need_count; j++)
				(void)choose_by_key(packages, package->need[j], NULL, package);
		}
	}
}

void choose_packages(struct packages *packages, enum policy_language language, struct library_choices *choices)
{
	choose_sort_by_key(packages);
	for (size_t i = 0; i < choices->count; i++) {
		struct library_choice *choice = &choices->choice[i];
		const char *key = language == POLICY_PYTHON
					  ? metadata_normalise_name(packages->arena, choice->name, strlen(choice->name))
					  : choice->name;

		choice->is_missing = !choose_by_key(packages, key, choice, NULL) &&
				     (language != POLICY_PYTHON || !choose_by_module(packages, choice));
	}
	choose_needs(packages);
}

const struct package *choose_find_needed(const struct packages *packages, const char *key)
{
	const size_t at = choose_find_key(packages, key);

	return choose_key_is_at(packages, at, key) ? packages->by_key[at] : NULL;
}
