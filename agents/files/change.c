/* The requests mkdir, remove and move. */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agents/files/files.h"
#include "base/cleanup.h"
#include "base/io.h"
#include "base/text.h"

#define CHANGE_NFTW_OPEN_DIRS_MAX 32 /* most directories that nftw(3) holds open */

/* ---- directories ---- */

int change_make_parent_dirs(const char *path)
{
	_cleanup_free_ char *parent = strndup(path, (size_t)(entry_get_name(path) - path));
	int r = 0;

	if (!parent)
		return -ENOMEM;
	if (strlen(parent) >= PATH_MAX)
		return -ENAMETOOLONG; /* a longer path would make the recursion below too deep */
	for (size_t len = strlen(parent); len > 1 && parent[len - 1] == '/'; len--)
		parent[len - 1] = '\0';
	if (!*parent || entry_is_directory(parent))
		return 0;
	if (strcmp(parent, "/") != 0)
		r = change_make_parent_dirs(parent);
	if (r == 0 && mkdir(parent, 0777) < 0 && !(errno == EEXIST && entry_is_directory(parent)))
		r = -errno;
	return r;
}

int files_mkdir(struct files_job *job)
{
	struct stat st;
	int r;

	if (stat(job->path, &st) == 0)
		return S_ISDIR(st.st_mode)
			       ? job_fail(job, EEXIST, "directory already exists")
			       : job_fail(job, ENOTDIR, "path already exists but it is not a directory");
	r = change_make_parent_dirs(job->path);
	if (r == 0 && mkdir(job->path, 0777) < 0)
		r = -errno;
	return r < 0 ? job_fail_with_path(job, -r, job->path) : job_answer_with_entry(job, job->path);
}

/* ---- remove ---- */

static int change_remove_tree_entry(const char *path, const struct stat *st, int type, struct FTW *walk)
{
	(void)st;
	(void)type;
	(void)walk;
	return remove(path) < 0 && errno != ENOENT ? errno : 0;
}

/*
 * Removes a file, or a directory with all below it. A symbolic link itself is removed. 0, also if nothing is there, or
 * -errno.
 */
static int change_remove_tree(const char *path)
{
	struct stat st;
	int error;

	if (lstat(path, &st) < 0)
		return errno == ENOENT ? 0 : -errno;
	if (!S_ISDIR(st.st_mode))
		return unlink(path) < 0 && errno != ENOENT ? -errno : 0;
	error = nftw(path, change_remove_tree_entry, CHANGE_NFTW_OPEN_DIRS_MAX, FTW_DEPTH | FTW_PHYS);
	return error < 0 ? -errno : -error;
}

int files_remove(struct files_job *job)
{
	int r = change_remove_tree(job->path);

	return r < 0 ? job_fail_with_path(job, -r, job->path) : 0;
}

/* ---- move ---- */

/*
 * Arguments of change_copy_tree_entry(), which nftw(3) cannot pass: the target's path, and the length of the source's.
 */
static struct {
	const char *target_path;
	size_t source_path_len;
} change_copy;

static int change_copy_file(const char *from, const char *to, const struct stat *st)
{
	_cleanup_close_ int source = open(from, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC), target = -1;
	struct timespec times[2] = {st->st_atim, st->st_mtim};
	uint64_t copied;
	int r;

	if (source < 0)
		return -errno;
	target = open(to, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (target < 0)
		return -errno;
	r = io_copy_bytes(source, target, UINT64_MAX, &copied);
	if (r == 0 && (fchmod(target, st->st_mode & 07777) < 0 || futimens(target, times) < 0))
		r = -errno;
	return r;
}

static int change_copy_symlink(const char *from, const char *to)
{
	char text[PATH_MAX];
	ssize_t len = readlink(from, text, sizeof(text) - 1);

	if (len < 0)
		return -errno;
	text[len] = '\0';
	return symlink(text, to) < 0 ? -errno : 0;
}

/* nftw(3)'s callback that copies an entry. 0, or an errno, which ends the walk. */
static int change_copy_tree_entry(const char *path, const struct stat *st, int type, struct FTW *walk)
{
	_cleanup_free_ char *to = text_format("%s%s", change_copy.target_path, path + change_copy.source_path_len);
	int r;

	(void)walk;
	if (!to)
		return ENOMEM;
	if (type == FTW_D)
		r = mkdir(to, (st->st_mode & 07777) | S_IRWXU) < 0 ? -errno : 0;
	else if (type == FTW_SL)
		r = change_copy_symlink(path, to);
	else if (type == FTW_F && S_ISREG(st->st_mode))
		r = change_copy_file(path, to, st);
	else
		/* EINVAL: a device, FIFO or socket; EACCES: a directory that cannot be read */
		r = type == FTW_F ? -EINVAL : -EACCES;
	return -r;
}

/*
 * Moves a tree to another file system: copies it, and removes the original. If `to` is a directory, moves into it. 0 or
 * -errno.
 */
static int change_move_by_copy(const char *from, const char *to)
{
	_cleanup_free_ char *inside = entry_is_directory(to) ? files_join_path(to, entry_get_name(from)) : NULL;
	struct stat st;
	int error;

	to = inside ? inside : to;
	if (inside && lstat(inside, &st) == 0)
		return -EEXIST;
	if (strncmp(to, from, strlen(from)) == 0 && to[strlen(from)] == '/')
		return -EINVAL;
	change_copy.target_path = to;
	change_copy.source_path_len = strlen(from);
	error = nftw(from, change_copy_tree_entry, CHANGE_NFTW_OPEN_DIRS_MAX, FTW_PHYS);
	if (error != 0)
		return error < 0 ? -errno : -error;
	return change_remove_tree(from);
}

int files_move(struct files_job *job)
{
	const char *to = job_get_request_text(job, "to");
	struct stat st;
	int r;

	if (!to)
		return job_fail(job, EINVAL, "the destination is missing");
	if (lstat(job->path, &st) < 0)
		return job_fail_with_path(job, errno, job->path);
	r = change_make_parent_dirs(to);
	if (r == 0 && rename(job->path, to) < 0)
		r = errno == EXDEV ? change_move_by_copy(job->path, to) : -errno;
	return r < 0 ? job_fail_with_path(job, -r, to) : job_answer_with_entry(job, to);
}
