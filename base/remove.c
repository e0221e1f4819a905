/* io_remove_tree: removes a directory tree that a hostile program built. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"

/*
 * A hostile program can nest directories far deeper than a process has descriptors or stack, so nothing here recurses.
 * Non-empty subdirectories are renamed into the top directory until that has no subdirectory. Where rename(2) fails
 * with EXDEV (in a Landlock domain), or has no RENAME_NOREPLACE (NFS), the tree is walked: down by name, and up again
 * by "..".
 */
struct removal {
	int top_fd;                      /* the directory that is being emptied */
	uint64_t next_name_number;	 /* the next name for a subdirectory that is moved into the top directory */
	uint64_t removed_or_moved_count;	 /* removals and renames in this pass; 0: the pass made no progress */
	int first_error;                 /* the first error of this removal pass as -errno, or 0 */
};

/* Counts a removal or move that succeeded; else keeps its error, if it is the first. */
static void removal_count_step_or_keep_error(struct removal *removal, int err)
{
	if (err == 0)
		removal->removed_or_moved_count++;
	else if (removal->first_error == 0)
		removal->first_error = err;
}

/* Opens a directory. Before that its owner gets all rights, where they are missing. A descriptor or -errno. */
static int removal_open_dir(int dirfd, const char *name)
{
	const int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK;
	_cleanup_close_ int fd = openat(dirfd, name, flags);
	struct stat st;

	if (fd < 0 && errno == EACCES && fchmodat(dirfd, name, 0700, AT_SYMLINK_NOFOLLOW) == 0)
		fd = openat(dirfd, name, flags);
	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) == 0 && (st.st_mode & 0700) != 0700)
		(void)fchmod(fd, 0700); /* if chmod fails, so do the removals in the directory */
	return steal_fd(&fd);
}

/* Removes a non-directory or an empty directory. 0, -ENOTEMPTY for a directory with entries, or -errno. */
static int removal_remove_entry(int dirfd, const char *name)
{
	if (unlinkat(dirfd, name, 0) == 0 || errno == ENOENT)
		return 0;
	if (errno != EISDIR)
		return -errno;
	if (unlinkat(dirfd, name, AT_REMOVEDIR) == 0)
		return 0;
	return errno == EEXIST ? -ENOTEMPTY : -errno;
}

/* Moves a non-empty directory into the top directory, under a new name. */
static int removal_move_to_top_dir(struct removal *removal, int dirfd, const char *name)
{
	char fresh[32];

	/* rename(2) to another parent needs write permission on the moved directory itself. */
	if (fchmodat(dirfd, name, 0700, AT_SYMLINK_NOFOLLOW) < 0)
		return -errno;
	do {
		(void)snprintf(fresh, sizeof(fresh), "%llx", (unsigned long long)removal->next_name_number++);
		if (renameat2(dirfd, name, removal->top_fd, fresh, RENAME_NOREPLACE) == 0)
			return 0;
	} while (errno == EEXIST);
	return -errno;
}

/* The directories from the removed one down to the current one: ".." must lead back to these. */
struct dir_descent {
	struct descent_step {
		dev_t dev;
		ino_t ino;
	} *step; /* device and inode of each directory on the way; owned */
	size_t depth, room;
};

/* Adds a directory to the stack of those that are being emptied. */
static int descent_add_directory(struct dir_descent *descent, int fd)
{
	struct descent_step *grown;
	struct stat st;

	if (fstat(fd, &st) < 0)
		return -errno;
	if (descent->depth == descent->room) {
		grown = reallocarray(descent->step, descent->room * 2 + 64, sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		descent->step = grown;
		descent->room = descent->room * 2 + 64;
	}
	descent->step[descent->depth++] = (struct descent_step){st.st_dev, st.st_ino};
	return 0;
}

/* Opens "..", if that is still the directory from which we came down. A descriptor, -ESTALE or -errno. */
static int descent_open_parent(struct dir_descent *descent, int fd)
{
	_cleanup_close_ int parent = openat(fd, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	const struct descent_step *from = &descent->step[descent->depth - 2]; /* depth is at least 2 here */
	struct stat st;

	if (parent < 0 || fstat(parent, &st) < 0)
		return -errno;
	/* NOLINTNEXTLINE(clang-analyzer-core*): depth is at least 2 */
	if (st.st_dev != from->dev || st.st_ino != from->ino)
		return -ESTALE; /* the directory was moved meanwhile */
	descent->depth--;
	return steal_fd(&parent);
}

/* Removes all entries except non-empty directories. ret_child names one of these, or is "". 0 or the first error. */
static int removal_remove_entries(int fd, char ret_child[NAME_MAX + 1])
{
	_cleanup_closedir_ DIR *dir = io_take_dir_stream(removal_open_dir(fd, "."));
	const struct dirent *entry;
	int first = 0, err, unread = dir ? 0 : -errno;

	ret_child[0] = '\0';
	while (dir && (entry = io_read_entry(dir, &unread))) {
		err = removal_remove_entry(fd, entry->d_name);
		if (err == -ENOTEMPTY)
			(void)snprintf(ret_child, NAME_MAX + 1, "%s", entry->d_name);
		else if (first == 0)
			first = err;
	}
	return first < 0 ? first : unread;
}

/* Removes a directory with everything below it. 0 or -errno. */
static int removal_remove_nested(int dirfd, const char *name)
{
	_cleanup_close_ int fd = removal_open_dir(dirfd, name);
	struct dir_descent descent = {.step = NULL};
	char child[NAME_MAX + 1];
	int err = fd < 0 ? fd : descent_add_directory(&descent, fd), next;

	while (err == 0) {
		err = removal_remove_entries(fd, child);
		if (err < 0 || (!child[0] && descent.depth == 1))
			break;
		next = child[0] ? removal_open_dir(fd, child) : descent_open_parent(&descent, fd);
		if (next < 0) {
			err = next;
			break;
		}
		(void)close(fd);
		fd = next;
		if (child[0])
			err = descent_add_directory(&descent, fd);
	}
	free(descent.step);
	return err == 0 && unlinkat(dirfd, name, AT_REMOVEDIR) < 0 ? -errno : err;
}

/* Empties one subdirectory of the top directory and removes it. */
static void removal_empty_subdir(struct removal *removal, const char *name)
{
	_cleanup_closedir_ DIR *dir = io_take_dir_stream(removal_open_dir(removal->top_fd, name));
	const struct dirent *entry;
	int err, unread = dir ? 0 : -errno;

	while (dir && (entry = io_read_entry(dir, &unread))) {
		err = removal_remove_entry(dirfd(dir), entry->d_name);
		if (err == -ENOTEMPTY)
			err = removal_move_to_top_dir(removal, dirfd(dir), entry->d_name);
		if (err == -EXDEV || io_error_means_no_rename_flags(err))
			err = removal_remove_nested(dirfd(dir), entry->d_name);
		removal_count_step_or_keep_error(removal, err);
	}
	if (unread < 0)
		removal_count_step_or_keep_error(removal, unread);
	else if (unlinkat(removal->top_fd, name, AT_REMOVEDIR) == 0)
		removal->removed_or_moved_count++;
	/* If unlinkat(2) failed, readdir(3) skipped entries of the changing directory: the next pass removes them. */
}

/* One pass over the top directory. True when it is empty. */
static bool removal_empty_top_dir(struct removal *removal, DIR *top)
{
	const struct dirent *entry;
	bool empty = true;
	int err, unread;

	rewinddir(top);
	while ((entry = io_read_entry(top, &unread))) {
		empty = false;
		err = removal_remove_entry(removal->top_fd, entry->d_name);
		if (err == -ENOTEMPTY)
			removal_empty_subdir(removal, entry->d_name);
		else
			removal_count_step_or_keep_error(removal, err);
	}
	if (unread < 0)
		removal_count_step_or_keep_error(removal, unread);
	return empty && unread == 0;
}

int io_remove_tree(int dirfd, const char *name)
{
	_cleanup_closedir_ DIR *top = NULL;
	struct removal removal = {.top_fd = -1};
	int err = removal_remove_entry(dirfd, name);

	if (err != -ENOTEMPTY && err != -EACCES)
		return err;
	removal.top_fd = removal_open_dir(dirfd, name);
	top = io_take_dir_stream(removal.top_fd);
	if (!top)
		return -errno;
	do {
		removal.removed_or_moved_count = 0;
		removal.first_error = 0;
		if (removal_empty_top_dir(&removal, top))
			return unlinkat(dirfd, name, AT_REMOVEDIR) < 0 ? -errno : 0;
	} while (removal.removed_or_moved_count > 0);
	return removal.first_error ? removal.first_error : -ENOTEMPTY;
}
