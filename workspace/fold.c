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

#include "base/array.h"
#include "base/cleanup.h"
#include "base/content.h"
#include "base/io.h"
#include "base/path.h"
#include "view/copy/copy.h"
#include "workspace/closed.h"
#include "workspace/fold-private.h"
#include "workspace/layer.h"

#define FOLD_NEW_NAME "fold" /* the layer while it is made */
#define FOLD_UPPER_NAME "upper"
#define FOLD_SAME_MODE ((mode_t)-1)
#define FOLD_KEEPS_COPY_NAME "keeps-copy" /* empty file: the copy has entries that the layer cannot have */
#define FOLD_AGAIN_NAME "again" /* empty file: the directory had not the files of some entries, but may have */

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
 * Opens a directory of the copy that its owner may not read or search. Its mode is changed for that, and set in the
 * layer in the end. When this process is killed between, the layer has it as one that its owner may read. A descriptor
 * or -errno.
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
	if (!array_reserve(&fold->closed_mode, fold->closed.count, &fold->closed_room))
		return -ENOMEM;
	fold->closed_mode[fold->closed.count] = st.st_mode & 07777;
	r = name_list_add(&fold->closed, path);
	if (r == 0)
		r = fold_make_dir(fold, path);
	if (r == 0 && chmod(io_proc_fd_path(entry).path, (st.st_mode & 07777) | 0700) < 0)
		r = -errno;
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

/* Finds all changes. 0 or -errno. */
static int fold_find_changes(struct fold *fold)
{
	int r = name_list_add(&fold->pending, "");

	for (size_t i = 0; r == 0 && i < fold->pending.count; i++)
		r = fold_dir(fold, fold->pending.name[i]);
	for (size_t i = 0; r == 0 && i < fold->records.count; i++)
		if (fold_is_removed(fold, &fold->records.item[i]) && !fold_is_of_lost(fold, &fold->records.item[i]))
			r = fold_put_whiteout(fold, fold->records.item[i].path);
	return r;
}

/* Gives the directories of the layer the attributes that they have in the copy, the deepest first. 0 or -errno. */
static int fold_set_attributes(const struct fold *fold)
{
	const char *what;
	int r = 0;

	for (size_t i = fold->made.count; r == 0 && i-- > 0;) {
		_cleanup_close_ int from = workspace_open_entry(fold->copy_fd, fold->made.name[i]);
		_cleanup_close_ int to = workspace_open_entry(fold->new_fd, fold->made.name[i]);

		r = from < 0 ? from : to < 0 ? to : copy_attributes(from, to, -1, &what);
	}
	for (size_t i = fold->closed.count; r == 0 && i-- > 0;) {
		_cleanup_close_ int to = workspace_open_entry(fold->new_fd, fold->closed.name[i]);

		r = to < 0 ? to : chmod(io_proc_fd_path(to).path, fold->closed_mode[i]) < 0 ? -errno : 0;
	}
	if (r == 0)
		r = copy_attributes(fold->copy_fd, fold->new_fd, -1, &what);
	if (r == 0 && fold->root_mode != FOLD_SAME_MODE && fchmod(fold->new_fd, fold->root_mode) < 0)
		r = -errno;
	return r;
}

/* ---- the workspace ---- */

/*
 * Opens the copy. makes_layer: also if the program has closed it to its own user, as fold_open_closed_dir() does with
 * what is in it. A descriptor or -errno.
 */
static int fold_open_copy(struct fold *fold, int layer_fd, bool makes_layer)
{
	_cleanup_close_ int entry = -1;
	struct stat st;

	fold->root_mode = FOLD_SAME_MODE;
	entry = workspace_open_entry(layer_fd, COPY_DIR_NAME);
	if (entry < 0)
		return entry;
	if (fstat(entry, &st) < 0)
		return -errno;
	if (makes_layer && st.st_uid == geteuid() && (st.st_mode & 0700) != 0700) {
		fold->root_mode = st.st_mode & 07777;
		if (chmod(io_proc_fd_path(entry).path, fold->root_mode | 0700) < 0)
			return -errno;
	}
	return io_open_dir(layer_fd, COPY_DIR_NAME);
}

/* Opens what is to be folded. 0 or -errno. */
static int fold_open(struct fold *fold, int layer_fd, const char *dir, bool makes_layer)
{
	struct stat st;
	int r = workspace_records_load(layer_fd, &fold->records);

	if (r < 0)
		return r;
	if (fstatat(layer_fd, COPY_MARKER_NAME, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return -errno;
	fold->begun = st.st_mtim;
	fold->copy_fd = fold_open_copy(fold, layer_fd, makes_layer);
	fold->base_fd = io_open_without_links(dir, O_RDONLY | O_DIRECTORY); /* only for contents */
	if (fold->copy_fd < 0)
		return fold->copy_fd;
	r = fills_open(layer_fd, fold->base_fd < 0 ? layer_fd : fold->base_fd, false, &fold->fills);
	if (r == 0 && fold->base_fd < 0) /* it may come back: else each of its files would count as removed */
		return fold->base_fd == -ENOENT ? -ENOTDIR : fold->base_fd;
	return r != -ENOENT ? r : fold->records.has_placeholders ? -EBADMSG : 0;
}

static void fold_release(struct fold *fold)
{
	name_list_release(&fold->pending);
	name_list_release(&fold->made);
	name_list_release(&fold->closed);
	free(fold->closed_mode);
	copies_release(&fold->copies);
	copies_release(&fold->lost);
	name_list_release(&fold->lost_path);
	fills_free(fold->fills);
	workspace_records_release(&fold->records);
	cleanup_close(&fold->copy_fd);
	cleanup_close(&fold->base_fd);
	cleanup_close(&fold->new_fd);
}

#define FOLD_NONE                                          \
	(struct fold)                                      \
	{                                                  \
		.copy_fd = -1, .base_fd = -1, .new_fd = -1 \
	}

bool workspace_is_copy(int workspace_fd, size_t at)
{
	_cleanup_close_ int layer = workspace_open_layer_dir(workspace_fd, at);

	return layer >= 0 && io_may_have_name(layer, COPY_MARKER_NAME);
}

/* Removes a directory of the workspace if it is there. 0 or -errno. */
static int fold_remove(int layer_fd, const char *name)
{
	const int r = io_remove_tree(layer_fd, name);

	return r == -ENOENT ? 0 : r;
}

/* The copy was not completed, so that the program never ran: gives the layer the directory's mode. 0 or -errno. */
static int fold_make_empty_layer(int layer_fd, const char *dir)
{
	struct stat st;

	if (stat(dir, &st) < 0)
		return errno == ENOENT ? 0 : -errno;
	return fchmodat(layer_fd, FOLD_NEW_NAME, st.st_mode & 07777, 0) < 0 ? -errno : 0;
}

/* Makes one of the empty files, both of which keep the copy. 0 or -errno. */
static int fold_note(int layer_fd, const char *name)
{
	_cleanup_close_ int fd = openat(layer_fd, name, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);

	return fd < 0 ? -errno : 0;
}

/*
 * Whether the layer may be made again. Not if the mode of a directory was changed, in the copy or in the layer: then it
 * is not known which one the program has left.
 */
static bool fold_may_do_again(const struct fold *fold)
{
	return fold->closed.count == 0 && fold->root_mode == FOLD_SAME_MODE;
}

/* Makes the layer under its temporary name. 1: without some files, and it may have them later; 0; or -errno. */
static int fold_make_layer(int layer_fd, const char *dir)
{
	bool is_again = false;
	struct fold fold = FOLD_NONE;
	int r = fold_remove(layer_fd, FOLD_NEW_NAME); /* of one that was interrupted */

	if (r == 0 && mkdirat(layer_fd, FOLD_NEW_NAME, 0700) < 0)
		r = -errno;
	if (r == 0)
		r = fold_open(&fold, layer_fd, dir, true);
	if (r == 0)
		fold.new_fd = io_open_dir(layer_fd, FOLD_NEW_NAME);
	if (r == 0 && fold.new_fd < 0)
		r = fold.new_fd;
	if (r == 0)
		r = fold_find_changes(&fold);
	if (r == 0)
		r = fold_set_attributes(&fold);
	if (r == 0)
		r = fold_write_lost(&fold, layer_fd);
	if (r == 0 && fold.keeps_copy)
		r = fold_note(layer_fd, FOLD_KEEPS_COPY_NAME);
	is_again = fold.is_stale && fold_may_do_again(&fold);
	if (r == 0 && is_again)
		r = fold_note(layer_fd, FOLD_AGAIN_NAME);
	fold_release(&fold);
	if (r == -ENOENT && !io_may_have_name(layer_fd, COPY_RECORDS_NAME))
		r = fold_make_empty_layer(layer_fd, dir);
	return r < 0 ? r : is_again;
}

/* Puts the layer in its place. 0 or -errno. */
static int fold_put_layer(int layer_fd, bool is_again)
{
	const bool replaces = io_may_have_name(layer_fd, FOLD_UPPER_NAME);
	int r = 0;

	if (renameat2(layer_fd, FOLD_NEW_NAME, layer_fd, FOLD_UPPER_NAME, replaces ? RENAME_EXCHANGE : 0) < 0)
		return -errno;
	if (replaces)
		r = fold_remove(layer_fd, FOLD_NEW_NAME);
	if (r == 0 && !is_again && unlinkat(layer_fd, FOLD_AGAIN_NAME, 0) < 0 && errno != ENOENT)
		r = -errno;
	return r;
}

/*
 * Whether the layer of a copy is yet to be made, or again, as files that were lost may be there now: when the directory
 * was another one, or not mounted.
 */
static bool fold_is_needed(int layer_fd, bool may_do_again)
{
	if (!io_may_have_name(layer_fd, FOLD_UPPER_NAME))
		return true;
	return may_do_again && io_may_have_name(layer_fd, FOLD_AGAIN_NAME) && !closed_is_noted(layer_fd);
}

int workspace_fold(int workspace_fd, size_t at, const char *dir, bool may_do_again)
{
	_cleanup_close_ int layer = workspace_is_copy(workspace_fd, at) ? workspace_open_layer_dir(workspace_fd, at)
									: -ENOENT,
			    base = -1;
	int r = 0;

	if (layer < 0)
		return layer == -ENOENT ? 0 : layer;
	if (fold_is_needed(layer, may_do_again)) {
		base = io_open_without_links(dir, O_RDONLY | O_DIRECTORY);
		if (base < 0) /* it may come back: else each of its files would count as removed */
			return 0;
		r = fold_make_layer(layer, dir);
		r = r < 0 ? r : fold_put_layer(layer, r == 1);
		if (r < 0)
			(void)fold_remove(layer, FOLD_NEW_NAME); /* else the next one removes it */
	}
	if (r < 0 || io_may_have_name(layer, FOLD_KEEPS_COPY_NAME) || io_may_have_name(layer, FOLD_AGAIN_NAME) ||
	    !io_may_have_name(layer, COPY_DIR_NAME))
		return r;
	return fold_remove(layer, COPY_DIR_NAME);
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

int workspace_copy_is_changed(int workspace_fd, size_t at, const char *dir)
{
	_cleanup_close_ int layer =
		workspace_is_copy(workspace_fd, at) ? workspace_open_layer_dir(workspace_fd, at) : -ENOENT;
	struct fold fold = FOLD_NONE;
	int r;

	if (layer < 0 || io_may_have_name(layer, FOLD_UPPER_NAME) || !io_may_have_name(layer, COPY_RECORDS_NAME))
		return layer < 0 && layer != -ENOENT ? layer : 0;
	r = fold_open(&fold, layer, dir, false);
	if (r == -EACCES) /* the program has closed it */
		r = 1;
	if (r == 0)
		r = fold_find_changes(&fold);
	if (r == 0)
		r = fold.is_changed;
	fold_release(&fold);
	return r;
}
