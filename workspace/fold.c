#include "workspace/fold.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/content.h"
#include "base/io.h"
#include "base/path.h"
#include "view/copy/copy.h"
#include "workspace/closed.h"
#include "workspace/fold-private.h"
#include "workspace/layer.h"

/* ---- what was changed ---- */

/*
 * Whether a file has another content than the one of the directory, where times do not tell. One that was changed there
 * since is taken for changed: it is compared later. 1, 0 or -errno.
 */
static int fold_compare_contents(const struct fold *fold, int copy_dir_fd, const char *name, const char *path,
				 const struct stat *st)
{
	_cleanup_close_ int base =
		openat2_retry(fold->base_fd, path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0, IO_RESOLVE_BELOW);
	_cleanup_close_ int copy = openat(copy_dir_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct stat base_st;
	int r;

	if (base < 0 || copy < 0 || fstat(base, &base_st) < 0 || !S_ISREG(base_st.st_mode) ||
	    base_st.st_size != st->st_size || base_st.st_ctim.tv_sec >= fold->begun.tv_sec)
		return 1;
	r = content_is_equal(base, copy, (uint64_t)st->st_size);
	return r < 0 ? r : !r;
}

/* Whether an entry is to be in the layer. 1, 0 or -errno. */
static int fold_is_changed(const struct fold *fold, int copy_dir_fd, const char *name, const char *path,
			   const struct stat *st, struct workspace_record *record)
{
	if (!record)
		return 1;
	record->is_there = true;
	record->is_directory = S_ISDIR(st->st_mode);
	if (!workspace_record_is_kept(record, st))
		return 1;
	return fold->records.must_compare_contents && S_ISREG(st->st_mode) &&
			       !fold_find_placeholder(fold, copy_dir_fd, name, st)
		       ? fold_compare_contents(fold, copy_dir_fd, name, path, st)
		       : 0;
}

/*
 * Makes a directory in the layer for an entry whose path is too long: the program has moved it deeper. It cannot be
 * compared, which ws diff says of this one. 0 or -errno.
 */
static int fold_put_too_long(struct fold *fold, const char *dir, const char *name)
{
	_cleanup_close_ int parent = -1;
	int r = fold_make_dir(fold, dir);

	if (r < 0 || fold->new_fd < 0)
		return r;
	fold->keeps_copy = true;
	parent = openat2_retry(fold->new_fd, dir, O_RDONLY | O_DIRECTORY, 0, IO_RESOLVE_BELOW);
	if (parent < 0)
		return parent;
	return mkdirat(parent, name, 0700) < 0 ? -errno : 0;
}

/* Puts what a name of the copy leads to into the layer, if it was changed. 0 or -errno. */
static int fold_name(struct fold *fold, int copy_dir_fd, const char *dir, const char *name)
{
	char path[PATH_MAX];
	struct stat st;
	int r;

	if (path_append_name(dir, name, path) < 0)
		return fold->target ? -ENAMETOOLONG : fold_put_too_long(fold, dir, name);
	if (fstatat(copy_dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return -errno;
	r = fold_is_changed(fold, copy_dir_fd, name, path, &st, workspace_records_find(&fold->records, path));
	if (r < 0)
		return r;
	if (!S_ISDIR(st.st_mode)) {
		const bool is_changed = r == 1;

		r = is_changed ? fold_fill(fold, copy_dir_fd, name, path, &st) : 0;
		return is_changed && r == 0 ? fold_put(fold, copy_dir_fd, name, path, &st) : r < 0 ? r : 0;
	}
	r = r == 1 ? fold_make_dir(fold, path) : 0;
	return r < 0 ? r : name_list_add(&fold->pending, path);
}

/* Reads a directory of the copy. Takes fd, which may be -errno. 0 or -errno. */
static int fold_stream(struct fold *fold, const char *path, int fd)
{
	_cleanup_closedir_ DIR *dir = io_take_dir_stream(fd);
	const struct dirent *entry;
	int r = dir ? 0 : -errno;

	while (r == 0 && (entry = io_read_entry(dir, &r)))
		r = fold_name(fold, fd, path, entry->d_name);
	return r;
}

/* Opens a directory of the copy for reading. A descriptor or -errno; -EACCES: it may not be read or searched. */
static int fold_open_dir(const struct fold *fold, const char *path)
{
	_cleanup_close_ int fd =
		openat2_retry(fold->copy_fd, *path ? path : ".", O_RDONLY | O_DIRECTORY, 0, IO_RESOLVE_BELOW);

	if (fd < 0)
		return fd;
	return faccessat(fd, ".", F_OK, AT_EACCESS) < 0 ? -errno : steal_fd(&fd);
}

/*
 * Opens a directory of the copy that its owner may not read or search. Its mode is changed for that; the layer gets the
 * one that the program has left. A descriptor or -errno.
 */
static int fold_open_closed_dir(struct fold *fold, const char *path)
{
	_cleanup_close_ int entry = workspace_open_entry(fold->copy_fd, path);
	struct stat st;
	int r;

	if (entry < 0)
		return entry;
	if (fstat(entry, &st) < 0)
		return -errno;
	r = fold_make_dir(fold, path);
	if (r == 0)
		r = closed_open(fold->closed, path, entry, &st);
	return r < 0 ? r : fold_open_dir(fold, path);
}

/* Reads one directory of the copy. 0 or -errno. */
static int fold_dir(struct fold *fold, const char *path)
{
	int fd = fold_open_dir(fold, path);

	if (fold->target)
		(void)snprintf(fold->target->failed_path, PATH_MAX, "%s", path);
	if (fd == -EACCES && fold->target)
		return fd;
	if (fd == -EACCES && fold->new_fd < 0) {
		fold->is_changed = true;
		return 0;
	}
	return fold_stream(fold, path, fd == -EACCES ? fold_open_closed_dir(fold, path) : fd);
}

/* True when the entry was in a directory that is one still: then its name was removed from it. */
static bool fold_is_removed(const struct fold *fold, const struct workspace_record *record)
{
	const struct workspace_record *parent;
	char dir[PATH_MAX];
	const char *name;

	if (record->is_there || path_split(record->path, dir, &name) < 0 || !*dir)
		return !record->is_there;
	parent = workspace_records_find(&fold->records, dir);
	return parent && parent->is_there && parent->is_directory;
}

int fold_find_changes(struct fold *fold)
{
	int r = name_list_add(&fold->pending, "");

	for (size_t i = 0; r == 0 && i < fold->pending.count; i++)
		r = fold_dir(fold, fold->pending.name[i]);
	for (size_t i = 0; r == 0 && i < fold->records.count; i++)
		if (fold_is_removed(fold, &fold->records.item[i]) && !fold_is_of_lost(fold, &fold->records.item[i]))
			r = fold_put_whiteout(fold, fold->records.item[i].path);
	return r;
}

/* Gives a directory of the layer the attributes of one of the copy, as the program has left them. 0 or -errno. */
static int fold_copy_attributes(const struct fold *fold, int from_fd, int to_fd)
{
	const char *what;
	struct stat st;
	mode_t mode;
	int r = copy_attributes(from_fd, to_fd, -1, &what);

	if (r < 0)
		return r;
	if (fstat(from_fd, &st) < 0)
		return -errno;
	mode = st.st_mode;
	closed_fix_status(fold->closed, &st);
	return st.st_mode != mode && chmod(io_proc_fd_path(to_fd).path, st.st_mode & 07777) < 0 ? -errno : 0;
}

int fold_set_attributes(const struct fold *fold)
{
	int r = 0;

	for (size_t i = fold->made.count; r == 0 && i-- > 0;) { /* the deepest first: others may be closed then */
		_cleanup_close_ int from = workspace_open_entry(fold->copy_fd, fold->made.name[i]);
		_cleanup_close_ int to = workspace_open_entry(fold->new_fd, fold->made.name[i]);

		r = from < 0 ? from : to < 0 ? to : fold_copy_attributes(fold, from, to);
	}
	return r < 0 ? r : fold_copy_attributes(fold, fold->copy_fd, fold->new_fd);
}

/* ---- the workspace ---- */

/* Opens the copy. A descriptor or -errno. */
static int fold_open_copy(const struct fold *fold, int layer_fd)
{
	_cleanup_close_ int entry = workspace_open_entry(layer_fd, COPY_DIR_NAME);
	struct stat st;
	int r;

	if (entry < 0)
		return entry;
	if (fstat(entry, &st) < 0)
		return -errno;
	r = closed_open(fold->closed, "", entry, &st);
	return r < 0 ? r : io_open_dir(layer_fd, COPY_DIR_NAME);
}

int fold_open(struct fold *fold, int layer_fd, const char *dir, bool makes_layer)
{
	struct stat st;
	int r = workspace_records_load(layer_fd, &fold->records);

	if (r == 0 && makes_layer)
		r = closed_load(layer_fd, CLOSED_OF_COPY, &fold->closed);
	if (r < 0)
		return r;
	if (fstatat(layer_fd, COPY_MARKER_NAME, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return -errno;
	fold->begun = st.st_mtim;
	fold->copy_fd = fold_open_copy(fold, layer_fd);
	fold->base_fd = io_open_without_links(dir, O_RDONLY | O_DIRECTORY); /* only for contents */
	if (fold->copy_fd < 0)
		return fold->copy_fd;
	r = fills_open(layer_fd, fold->base_fd < 0 ? layer_fd : fold->base_fd, false, &fold->fills);
	if (r == 0 && fold->base_fd < 0) /* it may come back: else each of its files would count as removed */
		return fold->base_fd == -ENOENT ? -ENOTDIR : fold->base_fd;
	return r != -ENOENT ? r : fold->records.has_placeholders ? -EBADMSG : 0;
}

void fold_release(struct fold *fold)
{
	name_list_release(&fold->pending);
	name_list_release(&fold->made);
	closed_free(fold->closed);
	copies_release(&fold->copies);
	copies_release(&fold->lost);
	name_list_release(&fold->lost_path);
	fills_free(fold->fills);
	workspace_records_release(&fold->records);
	cleanup_close(&fold->copy_fd);
	cleanup_close(&fold->base_fd);
	cleanup_close(&fold->new_fd);
}

int workspace_fold_into(int layer_fd, const char *dir, const struct fold_target *target)
{
	struct fold fold = FOLD_NONE;
	int r = fold_open(&fold, layer_fd, dir, false);

	fold.target = target;
	fold.new_fd = target->dir_fd;
	if (r == 0)
		r = fold_find_changes(&fold);
	if (r == 0)
		r = fold_set_attributes(&fold);
	if (r == 0)
		target->failed_path[0] = '\0';
	fold.new_fd = -1;
	fold_release(&fold);
	return r;
}
