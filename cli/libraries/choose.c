#include "cli/libraries/choose.h"

#include <string.h>

#include "cli/libraries/metadata.h"
#include "cli/libraries/python.h"

/* Marks packages as chosen that have this key. False: there are none. */
static bool choose_by_key(struct packages *packages, const char *key)
{
	bool found = false;

	for (size_t i = 0; i < packages->package_count; i++)
		if (strcmp(packages->package[i].key, key) == 0)
			found = packages->package[i].is_chosen = true;
	return found;
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

static bool choose_by_module(struct packages *packages, const char *name)
{
	bool found = false;

	for (size_t i = 0; i < packages->package_count; i++)
		if (choose_package_has_module(&packages->package[i], name))
			found = packages->package[i].is_chosen = true;
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
				(void)choose_by_key(packages, package->need[j]);
		}
	}
}

const char **choose_python_packages(struct packages *packages, const char *const *names)
{
	const char **missing = NULL;
	size_t count = 0;

	for (; *names; names++)
		if (!choose_by_key(packages, metadata_normalise_name(packages->arena, *names, strlen(*names))) &&
		    !choose_by_module(packages, *names))
			ARENA_APPEND(packages->arena, missing, count, *names);
	choose_needs(packages);
	ARENA_APPEND(packages->arena, missing, count, NULL);
	return missing;
}

const char **choose_node_packages(struct packages *packages, const char *const *names)
{
	const char **missing = NULL;
	size_t count = 0;

	for (; *names; names++)
		if (!choose_by_key(packages, *names))
			ARENA_APPEND(packages->arena, missing, count, *names);
	choose_needs(packages);
	ARENA_APPEND(packages->arena, missing, count, NULL);
	return missing;
}
