#include "cli/libraries/package.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

void packages_add_site(struct packages *packages, const char *path, const char *version)
{
	_cleanup_free_ char *real = realpath(path, NULL);

	if (!real)
		return;
	for (size_t i = 0; i < packages->site_count; i++)
		if (strcmp(packages->site[i].path, real) == 0)
			return;
	ARENA_APPEND(packages->arena, packages->site, packages->site_count,
		     ((struct package_site){arena_dup(packages->arena, real),
					    version ? arena_dup(packages->arena, version) : NULL}));
}

/* Whether a path is one below a directory, by its text: relative, without "." and "..", and of names that fit. */
static bool package_path_is_below(const char *path, size_t len)
{
	const char *end = path + len;

	for (const char *next; path <= end; path = next + 1) {
		const size_t name =
			(size_t)((next = memchr(path, '/', (size_t)(end - path))) ? next - path : end - path);

		if (name == 0 || name > 255 || (name <= 2 && memcmp(path, "..", name) == 0))
			return false;
		if (!next)
			return true;
	}
	return false;
}

void package_add_file(struct packages *packages, struct package *package, const char *path, size_t len)
{
	if (len >= 4096 || memchr(path, '\0', len) || !package_path_is_below(path, len) ||
	    packages->file_count == PACKAGE_FILES_MAX)
		return;
	packages->file_count++;
	ARENA_APPEND(packages->arena, package->file, package->file_count, arena_dupn(packages->arena, path, len));
}

void package_add_need(struct packages *packages, struct package *package, const char *key)
{
	if (package->need_count == PACKAGE_NEEDS_MAX || packages->need_count == PACKAGES_NEEDS_MAX)
		return;
	for (size_t i = 0; i < package->need_count; i++)
		if (strcmp(package->need[i], key) == 0)
			return;
	packages->need_count++;
	ARENA_APPEND(packages->arena, package->need, package->need_count, key);
}

struct package *packages_add(struct packages *packages, size_t site, const char *own_name)
{
	if (packages->package_count == PACKAGES_MAX)
		return NULL;
	ARENA_APPEND(packages->arena, packages->package, packages->package_count,
		     ((struct package){.site = site, .own_name = arena_dup(packages->arena, own_name)}));
	return &packages->package[packages->package_count - 1];
}
