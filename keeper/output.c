#include "keeper/output.h"

#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <linux/openat2.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/path.h"
#include "base/text.h"

#include "base/banned.h"

static int open_below(int dirfd, const char *path, int flags)
{
	const struct open_how how = {.flags = (unsigned)flags | O_CLOEXEC,
				     .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS};
	long fd = syscall(SYS_openat2, dirfd, path, &how, sizeof(how));

	return fd < 0 ? -errno : (int)fd;
}

/* Through no link: one that came in its way since it was judged would have it made elsewhere. 0 or -errno. */
static int make_directory(const char *path)
{
	const char *slash = strrchr(path, '/');
	_cleanup_free_ char *parent = slash ? strndup(path, (size_t)(slash - path) + 1) : strdup(".");
	_cleanup_close_ int fd = parent ? io_open_plain(parent, O_PATH | O_DIRECTORY) : -ENOMEM;

	if (fd < 0)
		return fd;
	if (slash && !slash[1])
		return 0; /* the root */
	return mkdirat(fd, slash ? slash + 1 : path, 0777) < 0 && errno != EEXIST ? -errno : 0;
}

int output_open(const char *directory, struct policy_error *ret_error)
{
	int fd, error = make_directory(directory);

	fd = error < 0 ? error : io_open_plain(directory, O_RDONLY | O_DIRECTORY);
	if (fd >= 0 && faccessat(fd, ".", W_OK | X_OK, AT_EACCESS) == 0)
		return fd;
	if (error == 0)
		error = fd < 0 ? fd : -errno;
	cleanup_close(&fd);
	(void)snprintf(ret_error->text, sizeof(ret_error->text),
		       "--output %s: %s; name a directory that can be written", directory, strerror(-error));
	return error;
}

/*
 * The directory of the last component below dirfd, made step by step and through no link: --output may lie where the
 * program could write. A descriptor owned by the caller or -errno.
 */
static int make_parents(int dirfd, char *path)
{
	_cleanup_close_ int dir = fcntl(dirfd, F_DUPFD_CLOEXEC, 3);
	char *name = path;

	for (char *slash = strchr(path, '/'); dir >= 0 && slash; slash = strchr(name, '/')) {
		int next;

		*slash = '\0';
		if (mkdirat(dir, name, 0777) < 0 && errno != EEXIST)
			return -errno;
		next = open_below(dir, name, O_RDONLY | O_DIRECTORY);
		if (next < 0)
			return next;
		(void)close(dir);
		dir = next;
		name = slash + 1;
	}
	return dir < 0 ? -errno : steal_fd(&dir);
}

/*
 * Files of several names: one copy has them all, or a file as large as a limit allows takes its size for each name. In
 * one process everything kept is of one run.
 */
static struct twin {
	dev_t dev, kept_dev;
	ino_t ino, kept_ino;
	char *rest; /* the name it was kept under */
} *twins;
static size_t twins_count;

static void remember_twin(const struct stat *st, const struct stat *kept, const char *rest)
{
	struct twin *more = reallocarray(twins, twins_count + 1, sizeof(*twins));

	if (!more)
		return; /* the next name gets a copy of its own */
	twins = more;
	twins[twins_count] = (struct twin){st->st_dev, kept->st_dev, st->st_ino, kept->st_ino, strdup(rest)};
	twins_count += twins[twins_count].rest != NULL;
}

static const char *last_name(const char *rest)
{
	const char *slash = strrchr(rest, '/');

	return slash ? slash + 1 : rest;
}

/* Gives what was kept of the same file the further name `rest`. False: it needs a copy. */
static bool link_twin(int directory_fd, const struct stat *st, int dir, const char *aside, const char *rest)
{
	const struct twin *twin = twins, *end = twins ? twins + twins_count : twins;
	_cleanup_free_ char *path = NULL;
	_cleanup_close_ int from = -1;
	struct stat kept;

	while (twin < end && (twin->dev != st->st_dev || twin->ino != st->st_ino))
		twin++;
	if (twin >= end || !(path = strdup(twin->rest)) || (from = make_parents(directory_fd, path)) < 0)
		return false;
	if (fstatat(from, last_name(twin->rest), &kept, AT_SYMLINK_NOFOLLOW) < 0 || kept.st_dev != twin->kept_dev ||
	    kept.st_ino != twin->kept_ino || linkat(from, last_name(twin->rest), dir, aside, 0) < 0)
		return false;
	if (renameat(dir, aside, dir, last_name(rest)) == 0)
		return true;
	(void)unlinkat(dir, aside, 0);
	return false;
}

int output_store(int directory_fd, int from_fd, const struct stat *st, const char *rest)
{
	_cleanup_free_ char *path = strdup(rest);
	const char *name = last_name(rest);
	const struct timespec times[2] = {st->st_atim, st->st_mtim};
	_cleanup_close_ int dir = -1, to = -1;
	char aside[] = ".callgate-partial";
	struct stat kept;
	int error;

	if (!path)
		return -ENOMEM;
	dir = make_parents(directory_fd, path);
	if (dir < 0)
		return dir;
	(void)unlinkat(dir, aside, 0); /* of a run that was killed here */
	if (st->st_nlink > 1 && link_twin(directory_fd, st, dir, aside, rest))
		return 0;
	to = openat(dir, aside, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (to < 0)
		return -errno;
	error = io_copy_sparse(from_fd, to);
	if (error == 0 && (fchmod(to, st->st_mode & 0777) < 0 || futimens(to, times) < 0 || fstat(to, &kept) < 0 ||
			   renameat(dir, aside, dir, name) < 0))
		error = -errno;
	if (error < 0)
		(void)unlinkat(dir, aside, 0);
	else if (st->st_nlink > 1)
		remember_twin(st, &kept, rest);
	return error;
}

static bool chosen(const struct output_options *options, const char *rest)
{
	bool match = options->glob_count == 0;

	for (size_t i = 0; i < options->glob_count && !match; i++)
		match = fnmatch(options->globs[i], rest, 0) == 0;
	return match;
}

/* 1: kept, 0: not a file to keep, or -errno. */
static int keep_one(const struct output_options *options, int workdir_fd, const char *rest)
{
	_cleanup_close_ int from = open_below(workdir_fd, rest, O_RDONLY | O_NONBLOCK | O_NOCTTY);
	struct stat st;
	int error;

	/*
	 * A file the run left unreadable for its owner is told as an error; a link or a vanished name is none to
	 * keep.
	 */
	if (from == -EACCES)
		return from;
	if (from < 0 || fstat(from, &st) < 0 || !S_ISREG(st.st_mode))
		return 0;
	if (options->custodian && options->custodian->pid > 0)
		error = custodian_store(options->custodian, from, rest);
	else
		error = output_store(options->directory_fd, from, &st, rest);
	return error < 0 ? error : 1;
}

int output_keep(const struct output_options *options, const json_t *changes, size_t *ret_files,
		struct policy_error *ret_error)
{
	_cleanup_close_ int workdir_fd = io_open_plain(options->workdir_host, O_RDONLY | O_DIRECTORY);
	int kept = workdir_fd < 0 ? workdir_fd : 0;
	size_t files = 0, index;
	const char *rest = "";
	json_t *change;

	json_array_foreach(changes, index, change)
	{
		_cleanup_free_ char *path = NULL;

		if (kept < 0 || strcmp(json_string_value(json_object_get(change, "kind")), "deleted") == 0)
			continue;
		path = strdup(json_string_value(json_object_get(change, "path")));
		if (!path)
			kept = -ENOMEM;
		else
			path[text_unescape(path, strlen(path))] = '\0';
		rest = path ? path_rest(path, options->workdir_virt) : NULL;
		if (!rest || !*rest || !chosen(options, rest))
			continue;
		kept = keep_one(options, workdir_fd, rest);
		files += kept > 0;
		if (kept < 0)
			(void)snprintf(ret_error->text, sizeof(ret_error->text), "--output %s: cannot keep %s: %s",
				       options->directory, rest, strerror(-kept));
	}
	if (kept < 0 && ret_error->text[0] == '\0')
		(void)snprintf(ret_error->text, sizeof(ret_error->text), "--output %s: cannot read the workdir: %s",
			       options->directory, strerror(-kept));
	*ret_files = files;
	return kept < 0 ? kept : 0;
}
