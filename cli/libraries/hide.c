#include "cli/libraries/hide.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/path.h"
#include "cli/libraries/python.h"
#include "cli/libraries/read.h"

#define HIDE_DEPTH_MAX 16u /* directories, one in the other, that are looked into */

/* A file of a package, below the site. */
struct hide_file {
	const char *path;
	const struct package *package;
};

/* The files of all packages of one site, sorted so that what is in one directory stands together. */
struct hide_files {
	struct packages *packages;
	struct hidden_paths *hidden;
	const char *site;
	bool lists_modules;
	struct hide_file *file;
	size_t count;
};

/* Sorts "/" before any other byte, so that a directory is directly followed by what is in it. */
static int hide_compare_files(const void *left, const void *right)
{
	const char *a = ((const struct hide_file *)left)->path, *b = ((const struct hide_file *)right)->path;

	while (*a && *a == *b) {
		a++;
		b++;
	}
	return (*a == '/' ? 1 : (unsigned char)*a * 2) - (*b == '/' ? 1 : (unsigned char)*b * 2);
}

static struct hide_files hide_collect_files(struct packages *packages, size_t site, bool lists_modules,
					    struct hidden_paths *hidden)
{
	struct hide_files files = {packages, hidden, packages->site[site].path, lists_modules, NULL, 0};
	size_t count = 1;

	for (size_t i = 0; i < packages->package_count; i++)
		count += packages->package[i].file_count;
	files.file = arena_alloc(packages->arena, count * sizeof(*files.file));
	for (size_t i = 0; i < packages->package_count; i++)
		for (size_t j = 0; packages->package[i].site == site && j < packages->package[i].file_count; j++)
			files.file[files.count++] =
				(struct hide_file){packages->package[i].file[j], &packages->package[i]};
	qsort(files.file, files.count, sizeof(*files.file), hide_compare_files);
	return files;
}

/* Whether a name is one that an import can mean: no metadata, no .pth. */
static bool hide_is_module(const char *below, size_t len)
{
	static const char *const others[] = {"-info", ".pth", ".txt"};

	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (len > strlen(others[i]) &&
		    memcmp(below + len - strlen(others[i]), others[i], strlen(others[i])) == 0)
			return false;
	return true;
}

/*
 * Whether what a name of the site leads to may be hidden. A rule for a link is one for what it leads to, and an
 * attacker may have made the link: what is not installed stays visible, such as /etc, and so does the site itself.
 */
static bool hide_may_hide(const struct hide_files *files, const char *real)
{
	const struct packages *packages = files->packages;
	const char *above = arena_dupn(packages->arena, files->site, (size_t)(strrchr(files->site, '/') - files->site));
	bool is_installed = *above && path_is_below(real, above);

	for (size_t i = 0; i < packages->site_count && !is_installed; i++)
		is_installed = path_is_below(real, packages->site[i].path);
	return is_installed && !path_is_below(files->site, real);
}

/*
 * Hides a path of the site. A link to elsewhere in the site stays: what it leads to may be chosen, or else is hidden
 * itself.
 */
static void hide_path(const struct hide_files *files, const char *below, size_t len, const char *library)
{
	struct hidden_paths *hidden = files->hidden;
	const char *path = arena_printf(files->packages->arena, "%s/%.*s", files->site, (int)len, below);
	_cleanup_free_ char *real = realpath(path, NULL);

	if (!real || !hide_may_hide(files, real) || (strcmp(real, path) != 0 && path_is_below(real, files->site)))
		return;
	if (hidden->count == HIDDEN_PATHS_MAX) {
		hidden->is_full = true;
		return;
	}
	if (library && !policy_library_name_is_valid(library))
		library = NULL;
	ARENA_APPEND(files->packages->arena, hidden->path, hidden->count,
		     ((struct policy_hidden_path_of_library){
			     path, library, files->lists_modules && hide_is_module(below, len)}));
}

/* Whether a name of the files from `at` on is the one that path has in front of `len`. */
static bool hide_is_in_group(const struct hide_file *file, const char *path, size_t len)
{
	return strncmp(file->path, path, len) == 0 && (!file->path[len] || file->path[len] == '/');
}

/*
 * Hides what is to be hidden of the files first … end-1, which are in one directory: their paths are the same up to
 * dir_len.
 */
static void hide_in_directory(const struct hide_files *files, size_t first, size_t end, size_t dir_len, unsigned depth)
{
	while (first < end) {
		const char *path = files->file[first].path;
		const size_t len = dir_len + strcspn(path + dir_len, "/");
		const struct package *other = NULL;
		size_t next = first;
		bool chosen = false;

		for (; next < end && hide_is_in_group(&files->file[next], path, len); next++) {
			chosen = chosen || files->file[next].package->is_chosen;
			if (!files->file[next].package->is_chosen && !other)
				other = files->file[next].package;
		}
		if (other && !chosen)
			hide_path(files, path, len, other->name);
		while (first < next && !files->file[first].path[len])
			first++; /* a directory that is listed itself, or a file that several packages have */
		if (other && chosen && first < next && depth < HIDE_DEPTH_MAX)
			hide_in_directory(files, first, next, len + 1, depth + 1);
		first = next;
	}
}

/* Whether some package has the entry of the site. */
static bool hide_entry_has_package(const struct hide_files *files, const char *name)
{
	const size_t len = strlen(name);
	size_t low = 0, high = files->count;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (hide_compare_files(&files->file[middle], &(struct hide_file){name, NULL}) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low < files->count && hide_is_in_group(&files->file[low], name, len);
}

static bool hide_is_listed(const char *name, size_t len, const char *const *list)
{
	for (; *list; list++)
		if (strlen(*list) == len && memcmp(*list, name, len) == 0)
			return true;
	return false;
}

/* Hides the entries of a site that belong to no package. */
static void hide_what_has_no_package(const struct hide_files *files, const char *const *kept)
{
	_cleanup_close_ int fd = io_open_without_links(files->site, O_PATH | O_DIRECTORY);
	_cleanup_closedir_ DIR *dir = fd < 0 ? NULL : package_open_dir(fd, ".");
	struct dirent *entry;

	while (dir && (entry = readdir(dir))) {
		const char *name = entry->d_name;
		const size_t len = python_get_module_len(name);

		if (path_is_dot_name(name) || strcmp(name, "__pycache__") == 0 || hide_is_listed(name, len, kept) ||
		    hide_entry_has_package(files, name))
			continue;
		hide_path(files, name, strlen(name), arena_dupn(files->packages->arena, name, len));
	}
}

/* Whether the module is hidden whose compiled form this is: "six.cpython-311.pyc" is that of six.py. */
static const char *hide_find_module_of_compiled(const struct hide_files *files, size_t first, const char *name)
{
	const size_t len = python_get_module_len(name), site = strlen(files->site) + 1;

	for (size_t i = first; i < files->hidden->count; i++) {
		const char *path = files->hidden->path[i].path + site;

		if (strncmp(path, name, len) == 0 && strcmp(path + len, ".py") == 0)
			return files->hidden->path[i].library;
	}
	return NULL;
}

/* Hides the compiled forms of hidden modules that are one file. first: the first hidden path of the site. */
static void hide_compiled_modules(const struct hide_files *files, size_t first)
{
	_cleanup_close_ int fd = io_open_without_links(files->site, O_PATH | O_DIRECTORY);
	_cleanup_closedir_ DIR *dir = fd < 0 ? NULL : package_open_dir(fd, "__pycache__");
	struct dirent *entry;

	while (dir && (entry = readdir(dir))) {
		const char *module = hide_find_module_of_compiled(files, first, entry->d_name);
		const char *path = arena_printf(files->packages->arena, "__pycache__/%s", entry->d_name);

		if (module)
			hide_path(files, path, strlen(path), module);
	}
}

void hide_packages_of_site(struct packages *packages, size_t site, const char *const *kept, struct hidden_paths *hidden)
{
	const struct hide_files files = hide_collect_files(packages, site, kept != NULL, hidden);
	const size_t first = hidden->count;

	hide_in_directory(&files, 0, files.count, 0, 0);
	if (!kept)
		return;
	hide_what_has_no_package(&files, kept);
	hide_compiled_modules(&files, first);
}
