#include "cli/libraries/node.h"

#include <fcntl.h>
#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup-json.h"
#include "base/cleanup.h"
#include "base/io.h"
#include "base/path.h"
#include "cli/libraries/read.h"

#define NODE_JSON_BYTES_MAX (size_t)(1 << 20)
#define NODE_DEPTH_MAX 16u /* directories node_modules, one in the other */

static void node_add_site(struct packages *packages, const char *dir, const char *below)
{
	char path[PATH_MAX];

	if ((size_t)snprintf(path, sizeof(path), "%s%s", dir, below) < sizeof(path))
		packages_add_site(packages, path, NULL);
}

void node_add_sites(struct packages *packages, const char *const *installations, const char *workdir)
{
	static const char *const system[] = {"/usr/lib/node_modules", "/usr/local/lib/node_modules",
					     "/usr/lib/nodejs", "/usr/share/nodejs", "/usr/share/node_modules"};
	_cleanup_free_ char *dir = workdir ? strdup(workdir) : NULL;

	for (char *slash = dir; slash; *slash = '\0') {
		node_add_site(packages, dir, "/node_modules");
		slash = strrchr(dir, '/');
		if (!slash)
			break;
	}
	for (; installations && *installations; installations++)
		node_add_site(packages, *installations, "/lib/node_modules");
	for (size_t i = 0; i < sizeof(system) / sizeof(system[0]); i++)
		node_add_site(packages, system[i], "");
}

/* Adds what package.json of a directory says that the package needs; of the package itself also name and version. */
static void node_read_json(struct packages *packages, struct package *package, int dir_fd, bool is_itself)
{
	static const char *const lists[] = {"dependencies", "optionalDependencies", "peerDependencies"};
	_cleanup_free_ char *text = package_read_file(dir_fd, "package.json", NODE_JSON_BYTES_MAX);
	_cleanup_json_ json_t *root = text ? json_loads(text, 0, NULL) : NULL;
	const char *version = json_string_value(json_object_get(root, "version")), *name;
	json_t *value;

	if (is_itself && version)
		package->version = arena_dup(packages->arena, version);
	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
		json_object_foreach(json_object_get(root, lists[i]), name, value) {
			package_add_need(packages, package, arena_dup(packages->arena, name));
		}
	}
}

/* Adds what the packages in a directory node_modules need, and those in their own. */
static void node_read_nested(struct packages *packages, struct package *package, int dir_fd, const char *path,
			     unsigned depth)
{
	_cleanup_closedir_ DIR *dir = depth < NODE_DEPTH_MAX ? package_open_dir(dir_fd, path) : NULL;
	struct dirent *entry;

	while (dir && (entry = readdir(dir))) {
		_cleanup_close_ int fd = -1;

		if (entry->d_name[0] == '.')
			continue;
		if (entry->d_name[0] == '@') {
			node_read_nested(packages, package, dirfd(dir), entry->d_name, depth + 1);
			continue;
		}
		fd = openat2_retry(dirfd(dir), entry->d_name, O_PATH | O_DIRECTORY, 0, IO_RESOLVE_BELOW);
		if (fd < 0)
			continue;
		if (packages->nested_count++ >= PACKAGES_MAX)
			return;
		node_read_json(packages, package, fd, false);
		node_read_nested(packages, package, fd, "node_modules", depth + 1);
	}
}

/* Opens a package's directory. A link, as of pnpm, may lead to where the site itself lies. */
static int node_open_package(const struct packages *packages, size_t site, const char *own_name)
{
	const char *dir = packages->site[site].path, *slash = strrchr(dir, '/');
	_cleanup_free_ char *above = strndup(dir, (size_t)(slash - dir)), *real = NULL;
	char path[PATH_MAX];

	if (!above || (size_t)snprintf(path, sizeof(path), "%s/%s", dir, own_name) >= sizeof(path))
		return -1;
	real = realpath(path, NULL);
	return real && path_is_below(real, above) ? io_open_without_links(real, O_PATH | O_DIRECTORY) : -1;
}

/* Reads a package. own_name: its path below the site, which ends in `name`. */
static void node_read_package(struct packages *packages, size_t site, const char *own_name, const char *name)
{
	_cleanup_close_ int fd = node_open_package(packages, site, own_name);
	struct package *package = packages_add(packages, site, own_name);

	if (!package)
		return;
	package->name = package->key = arena_dup(packages->arena, name);
	package->source = "package.json";
	package_add_file(packages, package, own_name, strlen(own_name));
	if (fd < 0)
		return;
	node_read_json(packages, package, fd, true);
	node_read_nested(packages, package, fd, "node_modules", 0);
}

/* Debian's node loads some of its own modules from there, and does not start without. */
static bool node_is_own(const struct packages *packages, size_t site, const char *name)
{
	static const char *const own[] = {"acorn", "acorn-walk", "amaro", "cjs-module-lexer", "minimatch", "undici"};

	if (strcmp(packages->site[site].path, "/usr/share/nodejs") != 0)
		return false;
	for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++)
		if (strcmp(name, own[i]) == 0)
			return true;
	return false;
}

/*
 * Reads the packages of a directory of a site or, with a scope such as "@types", of its directory of that name. prefix:
 * "" for the site itself; of a store, what comes before names, and links there lead to other directories of the store.
 */
static void node_read_dir(struct packages *packages, size_t site, int dir_fd, const char *prefix, const char *scope)
{
	_cleanup_closedir_ DIR *dir = package_open_dir(dir_fd, scope ? scope : ".");
	struct dirent *entry;
	char name[2 * NAME_MAX + 2], own_name[PATH_MAX];

	while (dir && (entry = readdir(dir))) {
		struct stat status;

		if (entry->d_name[0] == '.' ||
		    (*prefix &&
		     (fstatat(dirfd(dir), entry->d_name, &status, AT_SYMLINK_NOFOLLOW) < 0 || S_ISLNK(status.st_mode))))
			continue;
		(void)snprintf(name, sizeof(name), "%s%s%s", scope ? scope : "", scope ? "/" : "", entry->d_name);
		(void)snprintf(own_name, sizeof(own_name), "%s%s", prefix, name);
		if (!scope && entry->d_name[0] == '@')
			node_read_dir(packages, site, dir_fd, prefix, entry->d_name);
		else if (!node_is_own(packages, site, name))
			node_read_package(packages, site, own_name, name);
	}
}

/*
 * Reads the stores of pnpm, and of npm and bun when they make such ones. A store has a directory for each version of a
 * package, such as "a@1.0.0", whose node_modules has the package and links to those that it needs.
 */
static void node_read_stores(struct packages *packages, size_t site, int site_fd)
{
	static const char *const stores[] = {".pnpm", ".store", ".bun"};

	for (size_t i = 0; i < sizeof(stores) / sizeof(stores[0]); i++) {
		_cleanup_closedir_ DIR *dir = package_open_dir(site_fd, stores[i]);
		struct dirent *entry;

		while (dir && (entry = readdir(dir))) {
			char path[NAME_MAX + 20], prefix[NAME_MAX + 30];
			_cleanup_close_ int fd = -1;

			(void)snprintf(path, sizeof(path), "%s/node_modules", entry->d_name);
			(void)snprintf(prefix, sizeof(prefix), "%s/%s/", stores[i], path);
			if (!path_is_dot_name(entry->d_name))
				fd = openat2_retry(dirfd(dir), path, O_PATH | O_DIRECTORY, 0, IO_RESOLVE_BELOW);
			if (fd >= 0)
				node_read_dir(packages, site, fd, prefix, NULL);
		}
	}
}

void node_read_packages(struct packages *packages)
{
	for (size_t i = 0; i < packages->site_count; i++) {
		_cleanup_close_ int fd = io_open_without_links(packages->site[i].path, O_PATH | O_DIRECTORY);

		if (fd < 0)
			continue;
		node_read_dir(packages, i, fd, "", NULL);
		node_read_stores(packages, i, fd);
	}
}
