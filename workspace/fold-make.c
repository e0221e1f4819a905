/* Makes the layer of a copy in its workspace, and removes the copy. Tells whether there is anything to be made. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "view/copy/copy.h"
#include "workspace/closed.h"
#include "workspace/fold-private.h"
#include "workspace/layer.h"

#define FOLD_NEW_NAME "fold" /* the layer while it is made; later, the one that it replaces */
#define FOLD_UPPER_NAME "upper"
#define FOLD_KEEPS_COPY_NAME "keeps-copy" /* empty file: the copy has entries that the layer cannot have */
#define FOLD_AGAIN_NAME "again" /* empty file: the directory had not the files of some entries, but may have */

/* ---- making it ---- */

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
	is_again = fold.is_stale && !closed_is_noted(layer_fd, CLOSED_OF_COPY); /* the layer has such as well */
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

/* ---- whether it is to be made ---- */

/* Whether a file of the copy, which may be gone, has not its content and can get it now. */
static bool fold_can_fill(const struct fold *fold, const char *path)
{
	_cleanup_close_ int fd = workspace_open_entry(fold->copy_fd, path), source = -1;
	struct fill_file *file;
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return false;
	file = fold_find_placeholder(fold, fd, "", &st);
	if (!file || fills_check(fold->fills, file) < 0)
		return false;
	source = fills_open_source(fold->fills, file, FILL_AS_COPIED, &st);
	return source >= 0;
}

/*
 * Whether files that were lost may be put into the layer now: when the directory was another one, or not mounted. True
 * also if an earlier call was interrupted, so that the list of them may be older or newer than the layer.
 */
static bool fold_has_found_lost(int layer_fd, const char *dir)
{
	_cleanup_free_ char *lost = NULL;
	struct fold fold = FOLD_NONE;
	bool has_found = false;
	size_t len;

	if (io_may_have_name(layer_fd, FOLD_NEW_NAME) ||
	    io_read_file(layer_fd, WORKSPACE_LOST_NAME, COPY_RECORDS_BYTES_MAX, &lost, &len) < 0)
		return true;
	/* An error: such as when the workspace was moved to another file system, where nothing can be filled. */
	if (fold_open(&fold, layer_fd, dir, false) == 0)
		for (size_t at = 0; at < len && !has_found; at += strlen(lost + at) + 1)
			has_found = fold_can_fill(&fold, lost + at);
	fold_release(&fold);
	return has_found;
}

/* Whether the layer of a copy is yet to be made, or again. */
static bool fold_is_needed(int layer_fd, const char *dir, bool may_do_again)
{
	if (!io_may_have_name(layer_fd, FOLD_UPPER_NAME))
		return true;
	return may_do_again && io_may_have_name(layer_fd, FOLD_AGAIN_NAME) &&
	       !closed_is_noted(layer_fd, CLOSED_OF_LAYER) && fold_has_found_lost(layer_fd, dir);
}

/* Whether the copy is there, and not needed any more. */
static bool fold_has_spare_copy(int layer_fd)
{
	return io_may_have_name(layer_fd, FOLD_UPPER_NAME) && !io_may_have_name(layer_fd, FOLD_KEEPS_COPY_NAME) &&
	       !io_may_have_name(layer_fd, FOLD_AGAIN_NAME) && io_may_have_name(layer_fd, COPY_DIR_NAME);
}

/* ---- for the store ---- */

bool workspace_needs_fold(int workspace_fd, size_t at, const char *dir, bool may_do_again)
{
	_cleanup_close_ int layer =
		workspace_is_copy(workspace_fd, at) ? workspace_open_layer_dir(workspace_fd, at) : -1;

	return layer >= 0 && (fold_is_needed(layer, dir, may_do_again) || fold_has_spare_copy(layer));
}

int workspace_fold(int workspace_fd, size_t at, const char *dir, bool may_do_again)
{
	_cleanup_close_ int layer = workspace_is_copy(workspace_fd, at) ? workspace_open_layer_dir(workspace_fd, at)
									: -ENOENT,
			    base = -1;
	int r = 0;

	if (layer < 0)
		return layer == -ENOENT ? 0 : layer;
	if (fold_is_needed(layer, dir, may_do_again)) {
		base = io_open_without_links(dir, O_RDONLY | O_DIRECTORY);
		if (base < 0) /* it may come back: else each of its files would count as removed */
			return 0;
		r = fold_make_layer(layer, dir);
		r = r < 0 ? r : fold_put_layer(layer, r == 1);
		/* Else the next call removes it. If there was a layer, it tells that call that this one has failed. */
		if (r < 0 && !io_may_have_name(layer, FOLD_UPPER_NAME))
			(void)fold_remove(layer, FOLD_NEW_NAME);
	}
	return r < 0 || !fold_has_spare_copy(layer) ? r : fold_remove(layer, COPY_DIR_NAME);
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
