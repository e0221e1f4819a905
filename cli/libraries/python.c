#include "cli/libraries/python.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "cli/libraries/dpkg.h"
#include "cli/libraries/metadata.h"
#include "cli/libraries/read.h"

#define PYTHON_HEADERS_BYTES_MAX (size_t)(4 << 20) /* METADATA has the description as well */
#define PYTHON_RECORD_BYTES_MAX (size_t)(32 << 20)

/* ---- sites ---- */

/* Adds DIR/NAME/site-packages and DIR/NAME/dist-packages. NAME is "python3", "python3.11", "pypy3.10" … */
static void python_add_sites_of_version(struct packages *packages, const char *dir, const char *name)
{
	static const char *const kinds[] = {"site-packages", "dist-packages"};
	const char *digits = name + strcspn(name, "0123456789");
	char path[PATH_MAX];

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if ((size_t)snprintf(path, sizeof(path), "%s/%s/%s", dir, name, kinds[i]) < sizeof(path))
			packages_add_site(packages, path, strchr(digits, '.') ? digits : NULL);
}

/* Whether a directory of this name is one of Python's: "python3.11", "pypy3.10". */
static bool python_is_version_dir(const char *name)
{
	return strncmp(name, "python", 6) == 0 || strncmp(name, "pypy", 4) == 0;
}

/* Adds the sites of all versions in a directory such as /usr/lib. */
static void python_add_sites_in(struct packages *packages, const char *base, const char *below)
{
	_cleanup_closedir_ DIR *dir = NULL;
	char path[PATH_MAX];
	struct dirent *entry;

	if ((size_t)snprintf(path, sizeof(path), "%s%s", base, below) >= sizeof(path))
		return;
	dir = opendir(path);
	while (dir && (entry = readdir(dir)))
		if (python_is_version_dir(entry->d_name))
			python_add_sites_of_version(packages, path, entry->d_name);
}

void python_add_sites(struct packages *packages, const char *const *installations, const char *home)
{
	static const char *const libraries[] = {"/lib", "/lib64", "/local/lib"};

	for (; installations && *installations; installations++) {
		const char *slash = strrchr(*installations, '/');

		if (slash && python_is_version_dir(slash + 1)) {
			_cleanup_free_ char *dir = strndup(*installations, (size_t)(slash - *installations));

			if (dir)
				python_add_sites_of_version(packages, dir, slash + 1);
		}
		for (size_t i = 0; i < sizeof(libraries) / sizeof(libraries[0]); i++)
			python_add_sites_in(packages, *installations, libraries[i]);
	}
	python_add_sites_in(packages, "/usr/lib", "");
	python_add_sites_in(packages, "/usr/local/lib", "");
	if (home)
		python_add_sites_in(packages, home, "/.local/lib");
}

/* ---- packages ---- */

size_t python_get_module_len(const char *name)
{
	return strcspn(name, ".");
}

bool python_has_module(const struct packages *packages, const char *name)
{
	const size_t len = strlen(name);
	bool found = false;

	for (size_t i = 0; i < packages->site_count && !found; i++) {
		_cleanup_closedir_ DIR *dir = opendir(packages->site[i].path);
		struct dirent *entry;

		while (dir && !found && (entry = readdir(dir)))
			found = python_get_module_len(entry->d_name) == len && memcmp(entry->d_name, name, len) == 0;
	}
	return found;
}

/* Adds the entries of the site that are the modules which top_level.txt has, or that are called as the package is. */
static void python_add_modules(struct packages *packages, struct package *package, int site, const char *text)
{
	struct package named = {0};
	_cleanup_closedir_ DIR *dir = package_open_dir(site, ".");
	struct dirent *entry;

	metadata_read_top_level(packages, &named, text);
	while (dir && (entry = readdir(dir))) {
		const size_t len = python_get_module_len(entry->d_name);

		for (size_t i = 0; i < named.file_count; i++)
			if (strlen(named.file[i]) == len && memcmp(named.file[i], entry->d_name, len) == 0)
				package_add_file(packages, package, entry->d_name, strlen(entry->d_name));
	}
}

/* Reads a file of the metadata, and passes its text on. False: there is no such file. */
static bool python_read(struct packages *packages, struct package *package, int metadata, const char *name,
			void (*read)(struct packages *packages, struct package *package, const char *text))
{
	_cleanup_free_ char *text = package_read_file(metadata, name, PYTHON_RECORD_BYTES_MAX);

	if (text) {
		read(packages, package, text);
		package->source = package->file_count ? name : package->source;
	}
	return text;
}

/* Reads what a package is called and needs. metadata: its directory, or -1: a single file of the site. */
static void python_read_headers(struct packages *packages, struct package *package, int site, int metadata)
{
	static const char *const names[] = {"METADATA", "PKG-INFO"};
	const char *python = packages->site[package->site].version;
	_cleanup_free_ char *text = NULL, *needs = NULL;

	if (metadata < 0)
		text = package_read_file(site, package->own_name, PYTHON_HEADERS_BYTES_MAX);
	for (size_t i = 0; metadata >= 0 && !text && i < sizeof(names) / sizeof(names[0]); i++)
		text = package_read_file(metadata, names[i], PYTHON_HEADERS_BYTES_MAX);
	if (text)
		metadata_read_headers(packages, package, text, python);
	needs = metadata < 0 ? NULL : package_read_file(metadata, "requires.txt", PYTHON_HEADERS_BYTES_MAX);
	if (needs)
		metadata_read_requires(packages, package, needs, python);
	if (!package->name) /* the name of the metadata is NAME-VERSION.dist-info */
		package->name = arena_dupn(packages->arena, package->own_name, strcspn(package->own_name, "-"));
	package->key = metadata_normalise_name(packages->arena, package->name, strlen(package->name));
}

/* Reads the package whose metadata is this entry of the site. */
static void python_read_package(struct packages *packages, size_t site, int site_fd, const char *own_name)
{
	struct package *package = packages_add(packages, site, own_name);
	_cleanup_close_ int metadata = openat2_retry(site_fd, own_name, O_PATH | O_DIRECTORY, 0, IO_RESOLVE_BELOW);

	if (!package)
		return;
	python_read_headers(packages, package, site_fd, metadata);
	if (metadata >= 0 && !python_read(packages, package, metadata, "RECORD", metadata_read_record))
		(void)python_read(packages, package, metadata, "installed-files.txt", metadata_read_installed_files);
}

/* Finds the modules of packages without any list of their files. */
static void python_guess_files(struct packages *packages, size_t site, int site_fd)
{
	for (size_t i = 0; i < packages->package_count; i++) {
		struct package *package = &packages->package[i];
		_cleanup_close_ int metadata = -1;
		_cleanup_free_ char *text = NULL;

		if (package->site != site || package->file_count > 0)
			continue;
		metadata = openat2_retry(site_fd, package->own_name, O_PATH | O_DIRECTORY, 0, IO_RESOLVE_BELOW);
		text = metadata < 0 ? NULL : package_read_file(metadata, "top_level.txt", PYTHON_HEADERS_BYTES_MAX);
		package->source = text ? "top_level.txt" : "name";
		if (!text)
			text = strdup(package->name);
		for (char *at = text && !strchr(text, '\n') ? strchr(text, '-') : NULL; at; at = strchr(at, '-'))
			*at = '_';
		if (text)
			python_add_modules(packages, package, site_fd, text);
	}
}

/* Whether a name ends in a suffix, and has more than that. */
static bool python_name_ends_in(const char *name, const char *suffix)
{
	const size_t len = strlen(name), suffix_len = strlen(suffix);

	return len > suffix_len && strcmp(name + len - suffix_len, suffix) == 0;
}

static void python_read_site(struct packages *packages, size_t site, const char *dpkg_dir)
{
	_cleanup_close_ int fd = io_open_without_links(packages->site[site].path, O_RDONLY | O_DIRECTORY);
	_cleanup_closedir_ DIR *dir = fd < 0 ? NULL : package_open_dir(fd, ".");
	const size_t first = packages->package_count;
	struct dirent *entry;
	bool all_have_files = true;

	while (dir && (entry = readdir(dir)))
		if (python_name_ends_in(entry->d_name, ".dist-info") || python_name_ends_in(entry->d_name, ".egg-info"))
			python_read_package(packages, site, fd, entry->d_name);
	for (size_t i = first; i < packages->package_count; i++)
		all_have_files = all_have_files && packages->package[i].file_count > 0;
	if (!all_have_files)
		dpkg_add_files(packages, site, dpkg_dir);
	python_guess_files(packages, site, fd);
	for (size_t i = first; i < packages->package_count; i++) {
		struct package *package = &packages->package[i];

		package_add_file(packages, package, package->own_name, strlen(package->own_name));
	}
}

void python_read_packages(struct packages *packages, const char *dpkg_dir)
{
	for (size_t i = 0; i < packages->site_count; i++)
		python_read_site(packages, i, dpkg_dir);
	for (size_t i = 0; i < packages->package_count; i++)
		if (packages->package[i].debian_package) {
			dpkg_add_needs(packages, dpkg_dir);
			return;
		}
}
