#include "cli/libraries/dpkg.h"

#include <ctype.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/path.h"
#include "cli/libraries/read.h"

#define DPKG_LIST_BYTES_MAX (size_t)(16 << 20)
#define DPKG_STATUS_BYTES_MAX (size_t)(64 << 20)

/* The paths below one site that dpkg's lists have. */
struct dpkg_files {
	struct dpkg_file {
		const char *debian_package, *path;
	} * file;
	size_t count;
};

/* Opens a directory by its path, which leads through no link. A descriptor owned by the caller, or -errno. */
static int dpkg_open_dir(const char *dpkg_dir, const char *name)
{
	_cleanup_close_ int fd = io_open_without_links(dpkg_dir, O_PATH | O_DIRECTORY);

	return fd < 0 ? fd : openat2_retry(fd, name, O_RDONLY | O_DIRECTORY, 0, IO_RESOLVE_BELOW);
}

/* Adds the paths below the site that one list has. */
static void dpkg_read_list(struct packages *packages, struct dpkg_files *files, const char *site, int dirfd,
			   const char *name)
{
	_cleanup_free_ char *text = package_read_file(dirfd, name, DPKG_LIST_BYTES_MAX);
	const char *package = NULL;

	for (char *line = text && strstr(text, site) ? text : NULL; line && *line;) {
		const size_t len = strcspn(line, "\n");
		char *next = line + len + (line[len] == '\n');
		const char *rest;

		line[len] = '\0';
		rest = path_get_rest_below(line, site);
		if (rest && *rest && !package)
			package = arena_dupn(packages->arena, name,
					     strcspn(name, ":.") < strlen(name) - 5 ? strcspn(name, ":")
										    : strlen(name) - 5);
		if (rest && *rest)
			ARENA_APPEND(packages->arena, files->file, files->count,
				     ((struct dpkg_file){package, arena_dup(packages->arena, rest)}));
		line = next;
	}
}

/* Reads all lists: *.list in the directory "info". */
static struct dpkg_files dpkg_read_lists(struct packages *packages, const char *site, const char *dpkg_dir)
{
	_cleanup_close_ int info = dpkg_open_dir(dpkg_dir, "info");
	_cleanup_closedir_ DIR *dir = info < 0 ? NULL : package_open_dir(info, ".");
	struct dpkg_files files = {0};
	struct dirent *entry;

	while (dir && (entry = readdir(dir))) {
		const size_t len = strlen(entry->d_name);

		if (len > 5 && strcmp(entry->d_name + len - 5, ".list") == 0)
			dpkg_read_list(packages, &files, site, info, entry->d_name);
	}
	return files;
}

void dpkg_add_files(struct packages *packages, size_t site, const char *dpkg_dir)
{
	struct dpkg_files files = dpkg_read_lists(packages, packages->site[site].path, dpkg_dir);

	for (size_t i = 0; i < packages->package_count; i++) {
		struct package *package = &packages->package[i];

		if (package->site != site)
			continue;
		for (size_t j = 0; j < files.count && !package->debian_package; j++)
			if (strcmp(files.file[j].path, package->own_name) == 0)
				package->debian_package = files.file[j].debian_package;
		if (package->file_count > 0 || !package->debian_package)
			continue;
		package->source = "dpkg";
		for (size_t j = 0; j < files.count; j++)
			if (strcmp(files.file[j].debian_package, package->debian_package) == 0)
				package_add_file(packages, package, files.file[j].path, strlen(files.file[j].path));
	}
}

/* ---- status ---- */

/* Adds to `package` what belongs to the Debian package of this name. */
static void dpkg_add_needs_of_name(struct packages *packages, struct package *package, const char *name, size_t len)
{
	for (size_t i = 0; i < packages->package_count; i++) {
		const struct package *other = &packages->package[i];

		if (other != package && other->debian_package && strlen(other->debian_package) == len &&
		    memcmp(other->debian_package, name, len) == 0)
			package_add_need(packages, package, other->key);
	}
}

/* Reads "Depends: python3-numpy (>= 1:1.20), python3:any | x" for the packages of one Debian package. */
static void dpkg_read_depends(struct packages *packages, const char *debian_package, const char *list, size_t list_len)
{
	for (size_t i = 0; i < packages->package_count; i++) {
		struct package *package = &packages->package[i];

		if (!package->debian_package || strcmp(package->debian_package, debian_package) != 0)
			continue;
		for (const char *at = list; at < list + list_len;) {
			size_t len = 0;

			while (at < list + list_len && (isspace((unsigned char)*at) || *at == '|'))
				at++;
			while (at + len < list + list_len &&
			       (isalnum((unsigned char)at[len]) || strchr("-+.", at[len])))
				len++;
			dpkg_add_needs_of_name(packages, package, at, len);
			at += strcspn(at, ",|") + 1; /* the text ends after the list */
		}
	}
}

void dpkg_add_needs(struct packages *packages, const char *dpkg_dir)
{
	_cleanup_close_ int fd = io_open_without_links(dpkg_dir, O_PATH | O_DIRECTORY);
	_cleanup_free_ char *text = fd < 0 ? NULL : package_read_file(fd, "status", DPKG_STATUS_BYTES_MAX);
	char name[256] = "";

	for (char *line = text; line && *line;) {
		const size_t len = strcspn(line, "\n");
		char *next = line + len + (line[len] == '\n');

		line[len] = '\0';
		if (strncmp(line, "Package: ", 9) == 0)
			(void)strncpy(name, line + 9, sizeof(name) - 1);
		else if (strncmp(line, "Depends: ", 9) == 0)
			dpkg_read_depends(packages, name, line + 9, len - 9);
		line = next;
	}
}
