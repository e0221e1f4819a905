#include "keeper/store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"

/* Creates and opens the directory of a path's last component through no link. Cuts `path`. A descriptor or -errno. */
static int store_make_parents(int dirfd, char *path)
{
	_cleanup_close_ int dir = fcntl(dirfd, F_DUPFD_CLOEXEC, 3);
	char *name = path;

	for (char *slash = strchr(path, '/'); dir >= 0 && slash; slash = strchr(name, '/')) {
		int next;

		*slash = '\0';
		if (mkdirat(dir, name, 0777) < 0 && errno != EEXIST)
			return -errno;
		next = openat2_retry(dir, name, O_RDONLY | O_DIRECTORY, 0, IO_RESOLVE_BELOW);
		if (next < 0)
			return next;
		(void)close(dir);
		dir = next;
		name = slash + 1;
	}
	return dir < 0 ? -errno : steal_fd(&dir);
}

/*
 * Stored files that have several hard links. Their other names become links to the copy, because a copy for each name
 * would take the file's size again. Global, because a process stores the files of one run only.
 */
static struct store_linked_file {
	dev_t dev, copy_dev;
	ino_t ino, copy_ino;
	char *path_in_output; /* path of the copy below the directory of --output */
} *store_linked;
static size_t store_linked_count;

/* Remembers a stored file with several names, so that the next name becomes a hard link. */
static void store_remember_copy(const struct stat *st, const struct stat *copy, const char *rest)
{
	struct store_linked_file *more = reallocarray(store_linked, store_linked_count + 1, sizeof(*more));

	if (!more)
		return; /* the copy is not remembered, so the file's next name gets a copy of its own */
	store_linked = more;
	more += store_linked_count;
	*more = (struct store_linked_file){st->st_dev, copy->st_dev, st->st_ino, copy->st_ino, strdup(rest)};
	store_linked_count += more->path_in_output != NULL;
}

static const char *store_get_last_component(const char *rest)
{
	const char *slash = strrchr(rest, '/');

	return slash ? slash + 1 : rest;
}

/* Links `rest` in dir to the stored copy of the same file, by renaming `partial`. False: a new copy is needed. */
static bool store_link_to_copy(int directory_fd, const struct stat *st, int dir, const char *partial, const char *rest)
{
	const struct store_linked_file *linked = store_linked, *end = linked ? linked + store_linked_count : linked;
	_cleanup_free_ char *path = NULL;
	_cleanup_close_ int from = -1;
	struct stat copy;

	while (linked < end && (linked->dev != st->st_dev || linked->ino != st->st_ino))
		linked++;
	if (linked >= end || !(path = strdup(linked->path_in_output)) ||
	    (from = store_make_parents(directory_fd, path)) < 0)
		return false;
	if (fstatat(from, store_get_last_component(linked->path_in_output), &copy, AT_SYMLINK_NOFOLLOW) < 0 ||
	    copy.st_dev != linked->copy_dev || copy.st_ino != linked->copy_ino ||
	    linkat(from, store_get_last_component(linked->path_in_output), dir, partial, 0) < 0)
		return false;
	if (renameat(dir, partial, dir, store_get_last_component(rest)) == 0)
		return true;
	(void)unlinkat(dir, partial, 0);
	return false;
}

int store_file(int directory_fd, int from_fd, const struct stat *st, const char *rest)
{
	_cleanup_free_ char *path = strdup(rest);
	const char *name = store_get_last_component(rest);
	const struct timespec times[2] = {st->st_atim, st->st_mtim};
	_cleanup_close_ int dir = -1, to = -1;
	char partial[48] = ".callgate-partial";
	struct stat copy;
	int error;

	if (!path)
		return -ENOMEM;
	dir = store_make_parents(directory_fd, path);
	if (dir < 0)
		return dir;
	/* A memfd is a file of --metrics or --attest: other runs may store files in the same directory meanwhile. */
	if (st->st_nlink == 0)
		(void)snprintf(partial, sizeof(partial), ".callgate-partial-%llx", (unsigned long long)st->st_ino);
	(void)unlinkat(dir, partial, 0); /* may be left from a run that was killed */
	if (st->st_nlink > 1 && store_link_to_copy(directory_fd, st, dir, partial, rest))
		return 0;
	to = openat(dir, partial, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (to < 0)
		return -errno;
	error = io_copy_sparse(from_fd, to, NULL);
	if (error == 0 && (fchmod(to, st->st_mode & 0777) < 0 || futimens(to, times) < 0 || fstat(to, &copy) < 0 ||
			   renameat(dir, partial, dir, name) < 0))
		error = -errno;
	if (error < 0)
		(void)unlinkat(dir, partial, 0);
	else if (st->st_nlink > 1)
		store_remember_copy(st, &copy, rest);
	return error;
}
