#include "cli/learn/packages.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <search.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"

#define DPKG_FILE_LISTS_DIR "/var/lib/dpkg/info"
#define RPM "/usr/bin/rpm"

/* A path in a package's list of files. */
struct packages_file {
	/*
	 * name of the package; or the common first word of the names, if several packages have the path; NULL: the
	 * packages are unrelated
	 */
	const char *owner;
	bool has_several_owners;
	char path[];
};

/* Which package of the system owns which file. */
struct packages {
	void *tree;  /* tree of struct packages_file by path: tsearch(3); owned */
	char **owner_names; /* the texts to which `owner` points; owned */
	size_t names, room;
};

static int packages_compare_files(const void *a, const void *b)
{
	return strcmp(((const struct packages_file *)a)->path, ((const struct packages_file *)b)->path);
}

/* Adds a name to which packages_file.owner can point. NULL: no memory. */
static const char *packages_add_name(struct packages *packages, const char *name, size_t len)
{
	if (!array_reserve(&packages->owner_names, packages->names, &packages->room))
		return NULL;
	packages->owner_names[packages->names] = strndup(name, len);
	return packages->owner_names[packages->names] ? packages->owner_names[packages->names++] : NULL;
}

/* True if both names begin with the same word. */
static bool packages_share_first_word(const char *name, const char *other)
{
	size_t word = strcspn(name, "-");

	return strncmp(name, other, word) == 0 && (!other[word] || other[word] == '-');
}

/* Notes that another package lists the path as well. */
static int packages_add_second_owner(struct packages *packages, struct packages_file *file, const char *owner)
{
	if (!file->owner || strcmp(file->owner, owner) == 0)
		return 0;
	if (!packages_share_first_word(file->owner, owner)) {
		file->owner = NULL;
		return 0;
	}
	if (!file->has_several_owners)
		file->owner = packages_add_name(packages, file->owner, strcspn(file->owner, "-"));
	file->has_several_owners = true;
	return file->owner ? 0 : -ENOMEM;
}

/*
 * Whether the path is below /bin, /lib or the like, which are links into /usr where /usr is merged. Package lists name
 * such files without the /usr: /lib/x for /usr/lib/x.
 */
static bool packages_path_is_in_merged_usr(const char *path)
{
	static const char *const tops[] = {"/bin/", "/sbin/", "/lib/", "/lib32/", "/lib64/", "/libx32/"};

	for (size_t i = 0; i < sizeof(tops) / sizeof(tops[0]); i++)
		if (strncmp(path, tops[i], strlen(tops[i])) == 0)
			return true;
	return false;
}

/* Adds a path of a package. Paths in directories that are links into /usr are stored by their path there. */
static int packages_add_file(struct packages *packages, const char *path, const char *owner)
{
	const char *prefix = packages_path_is_in_merged_usr(path) ? "/usr" : "";
	const size_t len = strlen(prefix) + strlen(path) + 1;
	struct packages_file *file = malloc(sizeof(*file) + len), *const *found;

	if (!file)
		return -ENOMEM;
	file->owner = owner;
	file->has_several_owners = false;
	(void)snprintf(file->path, len, "%s%s", prefix, path);
	found = tsearch(file, &packages->tree, packages_compare_files);
	if (found && *found == file)
		return 0;
	free(file);
	return found ? packages_add_second_owner(packages, *found, owner) : -ENOMEM;
}

/* ---- dpkg ---- */

/* Reads one of dpkg's lists: the paths of a package. 0 or -ENOMEM. */
static int packages_read_list(struct packages *packages, int dirfd, const char *name, const char *owner)
{
	_cleanup_fclose_ FILE *list = NULL;
	_cleanup_free_ char *line = NULL;
	size_t room = 0;
	ssize_t len;
	int r = 0, fd = openat(dirfd, name, O_RDONLY | O_CLOEXEC);

	list = fd < 0 ? NULL : fdopen(fd, "re");
	if (!list)
		return 0; /* the list was removed after the directory was read */
	while (r == 0 && (len = getline(&line, &room, list)) > 0) {
		line[len - 1] = line[len - 1] == '\n' ? '\0' : line[len - 1];
		if (line[0] == '/' && line[1] && line[1] != '.')
			r = packages_add_file(packages, line, owner);
	}
	return r;
}

/* Reads dpkg's lists of files. 0, also without any, or -ENOMEM. */
static int packages_read_dpkg(struct packages *packages, const char *path)
{
	_cleanup_closedir_ DIR *dir = opendir(path);
	const struct dirent *entry;
	int r = 0;

	while (r == 0 && dir && (entry = readdir(dir))) {
		size_t len = strlen(entry->d_name), name = strcspn(entry->d_name, ":");
		const char *owner;

		if (len < 5 || strcmp(entry->d_name + len - 5, ".list") != 0)
			continue;
		owner = packages_add_name(packages, entry->d_name, name < len ? name : len - 5);
		r = owner ? packages_read_list(packages, dirfd(dir), entry->d_name, owner) : -ENOMEM;
	}
	return r;
}

/* ---- rpm ---- */

/* Starts a program, and returns a stream of its output. NULL: it cannot be started. */
static FILE *packages_start_program(char *const argv[], pid_t *ret_pid)
{
	posix_spawn_file_actions_t actions;
	FILE *list = NULL;
	int fds[2];

	if (pipe2(fds, O_CLOEXEC) < 0)
		return NULL;
	if (posix_spawn_file_actions_init(&actions) == 0) {
		if (posix_spawn_file_actions_adddup2(&actions, fds[1], STDOUT_FILENO) == 0 &&
		    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0) == 0 &&
		    posix_spawn(ret_pid, argv[0], &actions, NULL, argv, environ) == 0)
			list = fdopen(fds[0], "re");
		(void)posix_spawn_file_actions_destroy(&actions);
	}
	if (!list)
		(void)close(fds[0]);
	(void)close(fds[1]);
	return list;
}

/* Adds a line of rpm's output, such as "bash /usr/bin/bash": a package and one of its files. */
static int packages_add_rpm_line(struct packages *packages, char *line, const char **owner)
{
	char *path = strchr(line, ' ');

	if (!path || path[1] != '/')
		return 0;
	*path++ = '\0';
	path[strcspn(path, "\n")] = '\0';
	if (!*owner || strcmp(*owner, line) != 0)
		*owner = packages_add_name(packages, line, strlen(line));
	return *owner ? packages_add_file(packages, path, *owner) : -ENOMEM;
}

/* Reads what rpm(8) prints of all packages. 0, also if it fails, or -ENOMEM. */
static int packages_read_rpm(struct packages *packages, const char *rpm, const char *database)
{
	char *const argv[] = {(char *)(uintptr_t)rpm, "--dbpath", (char *)(uintptr_t)database, "-qa", "--qf",
			      "[%{=NAME} %{FILENAMES}\\n]", NULL};
	_cleanup_free_ char *line = NULL;
	const char *owner = NULL;
	size_t room = 0;
	int r = 0, status;
	pid_t pid = -1;
	FILE *list = packages_start_program(argv, &pid);

	while (r == 0 && list && getline(&line, &room, list) > 0)
		r = packages_add_rpm_line(packages, line, &owner);
	if (list)
		(void)fclose(list);
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return r;
}

/* Returns the first directory, of those that distributions use, that has an rpm database; NULL: none. */
static const char *packages_find_rpm_database(void)
{
	static const char *const places[] = {"/usr/lib/sysimage/rpm", "/var/lib/rpm"};
	static const char *const files[] = {"rpmdb.sqlite", "Packages.db", "Packages"};
	char path[PATH_MAX];

	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++)
		for (size_t j = 0; j < sizeof(files) / sizeof(files[0]); j++) {
			(void)snprintf(path, sizeof(path), "%s/%s", places[i], files[j]);
			if (access(path, R_OK) == 0)
				return places[i];
		}
	return NULL;
}

int packages_read_file_owners(const struct packages_source *source, struct packages **ret_packages)
{
	const struct packages_source system = {DPKG_FILE_LISTS_DIR, RPM, packages_find_rpm_database()};
	struct packages *packages = calloc(1, sizeof(*packages));
	int r = packages ? 0 : -ENOMEM;

	source = source ? source : &system;
	if (r == 0 && source->dpkg_lists)
		r = packages_read_dpkg(packages, source->dpkg_lists);
	if (r == 0 && source->rpm && source->rpm_database)
		r = packages_read_rpm(packages, source->rpm, source->rpm_database);
	if (r < 0)
		packages_free(packages);
	else
		*ret_packages = packages;
	return r;
}

void packages_free(struct packages *packages)
{
	if (!packages)
		return;
	tdestroy(packages->tree, free);
	for (size_t i = 0; i < packages->names; i++)
		free(packages->owner_names[i]);
	free(packages->owner_names);
	free(packages);
}

/* ---- finding the package of a path ---- */

static const struct packages_file *packages_find_file(const struct packages *packages, const char *path)
{
	const size_t len = strlen(path) + 1;
	_cleanup_free_ struct packages_file *key = malloc(sizeof(*key) + len);
	struct packages_file *const *found;

	if (!key)
		return NULL;
	memcpy(key->path, path, len);
	found = tfind(key, &packages->tree, packages_compare_files);
	return found ? *found : NULL;
}

bool packages_find_directory(const struct packages *packages, const char *path, char ret_dir[PATH_MAX],
			     const char **ret_name)
{
	char dir[PATH_MAX], *slash;
	bool known = false, inside = false;

	(void)snprintf(dir, sizeof(dir), "%s", path);
	while ((slash = strrchr(dir, '/')) && slash > dir) {
		const struct packages_file *file;

		*slash = '\0';
		file = packages_find_file(packages, dir);
		known |= file != NULL;
		if (!file && !known)
			continue; /* no package lists this path (a script made it): goes on with its parent */
		if (!file || !file->owner || (inside && !packages_share_first_word(file->owner, *ret_name)))
			return inside;
		*ret_name = file->owner;
		memcpy(ret_dir, dir, strlen(dir) + 1);
		inside = true;
	}
	return inside;
}
