/*
 * The directories in a run's directory. On a disk it takes 40 us to create one and 140 to 500 us to remove one (ext4
 * with `discard`). Most programs leave them unchanged. One unchanged run's directory is left for the next run.
 */
#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/path.h"
#include "base/text.h"
#include "keeper/scratch-private.h"

#define SCRATCH_SPARE_DIR_NAME "spare" /* name in the base of an unchanged directory for the next run */

static const struct {
	const char *name;
	mode_t mode;
	bool always;
} scratch_dirs[SCRATCH_SUBDIRS_COUNT] = {
	{"work", 0755, true}, {"tmp", 01777, true}, {"shm", 01777, true}, {"var-tmp", 01777, false}};

int scratch_make_dir(int dirfd, const char *name, mode_t mode)
{
	/* The mode is set by fchmodat(2), because the umask is for the program and must not be changed here. */
	if (mkdirat(dirfd, name, 0700) < 0)
		return -errno;
	return mode != 0700 && fchmodat(dirfd, name, mode, 0) < 0 ? -errno : 0;
}

const char *scratch_get_run_name(const struct scratch *scratch)
{
	assert(scratch->base_path);
	return scratch->path + strlen(scratch->base_path) + 1;
}

/* Index of a name in scratch_dirs; SCRATCH_SUBDIRS_COUNT: it is not there. */
static size_t scratch_find_dir_index(const char *name)
{
	size_t i = 0;

	while (i < SCRATCH_SUBDIRS_COUNT && strcmp(scratch_dirs[i].name, name) != 0)
		i++;
	return i;
}

static void scratch_read_dir_state(int fd, struct scratch_dir_state *ret_mark)
{
	ret_mark->attributes = flistxattr(fd, NULL, 0);
	ret_mark->set = fstat(fd, &ret_mark->st) == 0;
}

static int scratch_remember_subdir_state(struct scratch *scratch, size_t i)
{
	_cleanup_close_ int fd = io_open_dir(scratch->fd, scratch_dirs[i].name);

	if (fd < 0)
		return fd;
	scratch_read_dir_state(fd, &scratch->subdir_state[i]);
	return 0;
}

/* Makes a directory, and remembers its state for the comparison after the run. */
static int scratch_make_and_remember_subdir(struct scratch *scratch, size_t i)
{
	int error = scratch_make_dir(scratch->fd, scratch_dirs[i].name, scratch_dirs[i].mode);

	if (error < 0 && error != -EEXIST) /* EEXIST: the directory was reused */
		return error;
	if (!scratch->is_reusable)
		return 0;
	return scratch_remember_subdir_state(scratch, i);
}

int scratch_make_dirs(struct scratch *scratch)
{
	int error = 0;

	for (size_t i = 0; error == 0 && i < SCRATCH_SUBDIRS_COUNT; i++)
		if (scratch_dirs[i].always)
			error = scratch_make_and_remember_subdir(scratch, i);
		else if (scratch->is_reusable)
			/* Fails unless an earlier run's policy wanted this directory. */
			(void)scratch_remember_subdir_state(scratch, i);
	return error;
}

void scratch_make_dir_if_missing(struct scratch *scratch, const char *name)
{
	size_t i = scratch_find_dir_index(name);

	if (i == SCRATCH_SUBDIRS_COUNT)
		(void)scratch_make_dir(scratch->fd, name, 01777);
	else if (!scratch_dirs[i].always && !scratch->subdir_state[i].set)
		(void)scratch_make_and_remember_subdir(scratch, i);
}

static bool scratch_is_same_time(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec == b->tv_sec && a->tv_nsec == b->tv_nsec;
}

/* ---- entries that the view makes ---- */

void scratch_remember_view_entry(struct scratch *scratch, const char *dir, const char *rest)
{
	char *entry;

	if (scratch->entries_made_by_view_count == SCRATCH_VIEW_ENTRIES_MAX)
		return;
	entry = text_format("%s/%s", dir, rest);
	if (entry)
		scratch->entry_made_by_view[scratch->entries_made_by_view_count++] = entry;
}

/* True when the view makes entries in this directory of the run's. */
static bool scratch_has_view_entries_in(const struct scratch *scratch, const char *name)
{
	for (size_t i = 0; i < scratch->entries_made_by_view_count; i++)
		if (strncmp(scratch->entry_made_by_view[i], name, strlen(name)) == 0 &&
		    scratch->entry_made_by_view[i][strlen(name)] == '/')
			return true;
	return false;
}

/* Removes an entry, and directories that are empty then. The program may have made links of them: none is followed. */
static void scratch_remove_view_entry(const struct scratch *scratch, const char *entry)
{
	_cleanup_free_ char *path = strdup(entry);
	char *slash;

	while (path && (slash = strrchr(path, '/'))) {
		_cleanup_close_ int dir = -1;

		*slash = '\0';
		dir = openat2_retry(scratch->fd, path, O_PATH | O_DIRECTORY, 0, IO_RESOLVE_BELOW);
		if (dir >= 0 && unlinkat(dir, slash + 1, AT_REMOVEDIR) < 0 &&
		    (errno != ENOTDIR || unlinkat(dir, slash + 1, 0) < 0) && errno != ENOENT)
			return; /* the directory stays changed */
	}
}

void scratch_remove_view_entries(const struct scratch *scratch)
{
	for (size_t i = 0; i < scratch->entries_made_by_view_count; i++)
		scratch_remove_view_entry(scratch, scratch->entry_made_by_view[i]);
	/* Sets the times to now, so that the next run cannot see when this one changed the directories. */
	for (size_t i = 0; i < SCRATCH_SUBDIRS_COUNT; i++)
		if (scratch_has_view_entries_in(scratch, scratch_dirs[i].name))
			(void)utimensat(scratch->fd, scratch_dirs[i].name, NULL, AT_SYMLINK_NOFOLLOW);
}

/* ---- directories that are left to the next run ---- */

/* True when ctime, which every change sets, and mtime are equal. A change within one clock tick is not noticed here. */
static bool scratch_has_same_times(const struct scratch_dir_state *a, const struct scratch_dir_state *b)
{
	return scratch_is_same_time(&a->st.st_ctim, &b->st.st_ctim) &&
	       scratch_is_same_time(&a->st.st_mtim, &b->st.st_mtim);
}

/* Whether a directory has changed in nothing but its times. */
static bool scratch_is_same_but_for_times(const struct scratch_dir_state *a, const struct scratch_dir_state *b)
{
	return a->set && b->set && a->st.st_dev == b->st.st_dev && a->st.st_ino == b->st.st_ino &&
	       a->st.st_mode == b->st.st_mode &&
	       a->st.st_uid == b->st.st_uid && a->st.st_gid == b->st.st_gid && a->st.st_nlink == b->st.st_nlink &&
	       a->st.st_size == b->st.st_size && a->attributes == b->attributes;
}

/* True when `allowed` accepts every name in the directory; `allowed` NULL: when the directory is empty. */
static bool scratch_dir_has_only_allowed(int fd, const struct scratch *scratch,
				   bool (*allowed)(const struct scratch *, const char *name))
{
	_Alignas(struct dirent64) char buffer[1024];
	ssize_t got;

	while ((got = getdents64(fd, buffer, sizeof(buffer))) > 0)
		for (ssize_t at = 0; at < got;) {
			const struct dirent64 *entry = (const struct dirent64 *)(const void *)(buffer + at);

			if (!path_is_dot_name(entry->d_name) &&
			    !(allowed && allowed(scratch, entry->d_name)))
				return false;
			at += entry->d_reclen;
		}
	return got == 0;
}

/* Whether the program has left a directory as it was, so that the next run may use it. */
static bool scratch_subdir_is_unchanged(const struct scratch *scratch, const char *name)
{
	size_t i = scratch_find_dir_index(name);
	_cleanup_close_ int fd = -1;
	struct scratch_dir_state now;

	if (i == SCRATCH_SUBDIRS_COUNT || !scratch->subdir_state[i].set)
		return false;
	fd = io_open_dir(scratch->fd, name);
	if (fd < 0)
		return false;
	scratch_read_dir_state(fd, &now);
	/* Entries of the view change the times. Then a program may have added names too, and removed them again. */
	return scratch_is_same_but_for_times(&scratch->subdir_state[i], &now) &&
	       (scratch_has_view_entries_in(scratch, name) ||
		scratch_has_same_times(&scratch->subdir_state[i], &now)) &&
	       scratch_dir_has_only_allowed(fd, NULL, NULL);
}

bool scratch_is_unchanged(const struct scratch *scratch)
{
	_cleanup_close_ int fd =
		scratch->is_reusable && scratch->may_be_reused_after_run ? io_open_dir(scratch->fd, ".") : -1;

	return fd >= 0 && scratch_dir_has_only_allowed(fd, scratch, scratch_subdir_is_unchanged);
}

bool scratch_leave_as_spare(const struct scratch *scratch)
{
	/* The exiting supervisor shares the lock. It does no harm if a sweep then removes the directory. */
	(void)flock(scratch->fd, LOCK_UN);
	return renameat(scratch->base_fd, scratch_get_run_name(scratch), scratch->base_fd, SCRATCH_SPARE_DIR_NAME) == 0;
}

/* Only this user can have changed the directory; this check is against other software and other versions. */
static bool scratch_spare_subdir_is_valid(const struct scratch *scratch, const char *name)
{
	size_t i = scratch_find_dir_index(name);
	_cleanup_close_ int fd = i < SCRATCH_SUBDIRS_COUNT ? io_open_dir(scratch->fd, name) : -1;
	struct scratch_dir_state now;

	if (fd < 0)
		return false;
	scratch_read_dir_state(fd, &now);
	return now.set && now.st.st_uid == geteuid() && now.st.st_mode == (S_IFDIR | scratch_dirs[i].mode) &&
	       now.st.st_nlink <= 2 && scratch_dir_has_only_allowed(fd, NULL, NULL);
}

bool scratch_reuse_spare_dir(struct scratch *scratch)
{
	const char *name = scratch_get_run_name(scratch);
	_cleanup_close_ int fd = -1;
	struct stat st;

	if (!scratch->is_reusable || renameat(scratch->base_fd, SCRATCH_SPARE_DIR_NAME, scratch->base_fd, name) < 0)
		return false;
	scratch->fd = io_open_dir(scratch->base_fd, name);
	fd = scratch->fd < 0 ? -1 : io_open_dir(scratch->fd, ".");
	if (fd >= 0 && fstat(fd, &st) == 0 && st.st_uid == geteuid() && st.st_mode == (S_IFDIR | 0700) &&
	    scratch_dir_has_only_allowed(fd, scratch, scratch_spare_subdir_is_valid))
		return true;
	close_fd(&scratch->fd);
	(void)io_remove_tree(scratch->base_fd, name); /* on failure the caller's mkdirat(2) will fail */
	return false;
}
