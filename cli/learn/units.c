#include "cli/learn/units.h"

#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

#include "base/path.h"

/*
 * Patterns of directories that are granted as a whole. A final "*" stands for each entry of the directory. "~": the
 * home directory.
 */
static const char *const unit_patterns[] = {
	"/usr/local/lib/*",
	"/usr/local/share/*",
	"/usr/local/go",
	"/usr/local/*/lib",
	"/usr/lib/*",
	"/usr/libexec/*",
	"/usr/share/*",
	"/opt/*",
	"/etc/fonts",
	"/var/cache/fontconfig",
	"/var/lib/texmf",
	"/sys/devices/system/cpu",
	"/sys/devices/system/node",
	"/sys/kernel/mm",
	"~/.pyenv/versions/*",
	"~/.rbenv/versions/*",
	"~/.nvm/versions/node/*",
	"~/.rustup/toolchains/*",
	"~/.cargo/registry",
	"~/.asdf/installs/*/*",
	"~/go/pkg/mod",
	"~/.local/lib/*",
	"~/.local/share/virtualenvs/*",
};

/* Directories with these names are granted as a whole wherever they are. */
static const char *const unit_names[] = {"node_modules", "site-packages", "dist-packages"};

/* Cuts `path` behind the components that match the pattern. False: it does not match. */
static bool unit_matches_pattern(const char *pattern, const char *home, const char *path, char ret_dir[PATH_MAX])
{
	char whole[PATH_MAX];
	size_t at = 0;

	if (pattern[0] == '~' && (!home || !home[1]))
		return false;
	(void)snprintf(whole, sizeof(whole), "%s%s", pattern[0] == '~' ? home : "",
		       pattern[0] == '~' ? pattern + 1 : pattern);
	for (const char *slash = whole; *slash; slash++)
		if (*slash == '/') {
			if (path[at] != '/')
				return false;
			at += 1 + strcspn(path + at + 1, "/");
		}
	if (path[at] != '/') /* nothing in the directory: the path has no further component */
		return false;
	(void)snprintf(ret_dir, PATH_MAX, "%.*s", (int)at, path);
	return fnmatch(whole, ret_dir, FNM_PATHNAME | FNM_PERIOD) == 0;
}

/*
 * Whether `name`, one or more components, is in the path above its last component. ret_dir: the path up to its first
 * occurrence.
 */
static bool unit_matches_name(const char *name, const char *path, char ret_dir[PATH_MAX])
{
	const size_t len = strlen(name);

	for (const char *at = strstr(path, name); at; at = strstr(at + 1, name))
		if (at > path && at[-1] == '/' && at[len] == '/') {
			(void)snprintf(ret_dir, PATH_MAX, "%.*s", (int)(at + len - path), path);
			return true;
		}
	return false;
}

bool unit_find_grantable_directory(const struct packages *packages, const char *home, const char *path,
				   struct grantable_directory *ret_unit)
{
	ret_unit->package = NULL;
	if (packages && packages_find_directory(packages, path, ret_unit->dir, &ret_unit->package))
		return true;
	for (size_t i = 0; i < sizeof(unit_patterns) / sizeof(unit_patterns[0]); i++)
		if (unit_matches_pattern(unit_patterns[i], home, path, ret_unit->dir))
			return true;
	for (size_t i = 0; i < sizeof(unit_names) / sizeof(unit_names[0]); i++)
		if (unit_matches_name(unit_names[i], path, ret_unit->dir))
			return true;
	return false;
}
