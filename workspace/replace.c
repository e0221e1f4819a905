#include "workspace/place.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"

void replacement_release(struct replacement *replacement)
{
	close_fd(&replacement->dir_fd);
	close_fd(&replacement->old_fd);
}

bool workspace_change_is_replacement(const struct workspace_change *change)
{
	return change->kind == WORKSPACE_REPLACED && (S_ISDIR(change->base.mode) || S_ISDIR(change->upper.mode));
}

/* Lets two entries change their names. 0 or -errno. */
static int replacement_exchange(const struct replacement *replacement)
{
	return renameat2(replacement->dir_fd, replacement->temporary, replacement->dir_fd, replacement->name,
			 RENAME_EXCHANGE) < 0
		       ? -errno
		       : 0;
}

/* Gives the new entry its name, which no entry has. 0 or -errno. */
static int replacement_put_new(const struct replacement *replacement)
{
	return renameat2(replacement->dir_fd, replacement->temporary, replacement->dir_fd, replacement->name,
			 RENAME_NOREPLACE) < 0
		       ? -errno
		       : 0;
}

/*
 * True for an error of a file system that cannot exchange these entries: some can exchange none, and overlayfs can move
 * no directory of a lower layer.
 */
static bool replacement_is_unsupported(int error)
{
	return error == -EINVAL || error == -EXDEV || error == -ENOSYS || error == -EOPNOTSUPP;
}

int replacement_begin(const struct workspace_layer *layer, const struct workspace_change *change, const char *temporary,
		      struct replacement *ret_replacement)
{
	_cleanup_replacement_ struct replacement new = REPLACEMENT_INIT;
	int r;

	new.dir_fd = place_open_parent(layer->base_fd, change->path, &new.name);
	if (new.dir_fd < 0)
		return new.dir_fd;
	(void)snprintf(new.temporary, sizeof(new.temporary), "%s", temporary);
	new.old_fd = S_ISDIR(change->base.mode) ? io_open_dir(new.dir_fd, new.name)
						: workspace_open_entry(new.dir_fd, new.name);
	if (new.old_fd < 0)
		return new.old_fd == -ENOENT || new.old_fd == -ENOTDIR ? -ESTALE : new.old_fd;
	r = place_check_old(new.dir_fd, new.name, &change->base, false);
	if (r == 0)
		r = replacement_exchange(&new);
	if (r < 0 && !replacement_is_unsupported(r))
		return r;
	new.is_exchanged = r == 0;
	*ret_replacement = new;
	new = REPLACEMENT_INIT;
	return 0;
}

/* Whether the old entry is still what was compared: it may be another one since the first time. 0 or -errno. */
static int replacement_check_again(const struct replacement *replacement, const struct workspace_change *change)
{
	const char *name = replacement->is_exchanged ? replacement->temporary : replacement->name;
	struct workspace_entry old = change->base;
	struct stat st;

	if (fstat(replacement->old_fd, &st) < 0)
		return -errno;
	old.ino = st.st_ino; /* overlayfs may give a file another one when it is renamed */
	return place_check_old(replacement->dir_fd, name, &old, replacement->is_exchanged);
}

int replacement_end(struct replacement *replacement, const struct workspace_change *change)
{
	const int dir_fd = replacement->dir_fd;
	const char *old = replacement->is_exchanged ? replacement->temporary : replacement->name;
	int r = replacement_check_again(replacement, change);

	if (r < 0)
		return r;
	if (unlinkat(dir_fd, old, S_ISDIR(change->base.mode) ? AT_REMOVEDIR : 0) < 0)
		return -errno;
	if (replacement->is_exchanged)
		return 0;
	r = replacement_put_new(replacement);
	replacement->is_unfinished = r < 0;
	return r;
}

void replacement_take_back(struct replacement *replacement)
{
	if (!replacement->is_exchanged)
		return;
	if (replacement_exchange(replacement) < 0)
		replacement->is_unfinished = true;
	else
		replacement->is_exchanged = false;
}

int replacement_remove_new(const struct workspace_layer *layer, const char *path, const char *temporary)
{
	const char *name;
	_cleanup_close_ int dir = place_open_parent(layer->base_fd, path, &name);

	return dir < 0 ? dir : io_remove_tree(dir, temporary);
}

/* Ends one whose entries have changed their names: removes the old one if it is empty, else both change them again. */
static int replacement_recover_exchanged(const struct replacement *replacement, bool old_is_dir)
{
	int r = unlinkat(replacement->dir_fd, replacement->temporary, old_is_dir ? AT_REMOVEDIR : 0) < 0 ? -errno : 0;

	if (r != -ENOTEMPTY && r != -EEXIST)
		return r;
	r = replacement_exchange(replacement);
	return r < 0 ? r : io_remove_tree(replacement->dir_fd, replacement->temporary);
}

/* Reads the status of the new entry in the layer. 0 or -errno. */
static int replacement_stat_new(const struct workspace_layer *layer, const char *path, struct stat *ret_status)
{
	_cleanup_close_ int fd = workspace_open_entry(layer->upper_fd, path);

	if (fd < 0)
		return fd;
	return fstat(fd, ret_status) < 0 ? -errno : 0;
}

/* Ends one of which an entry has the temporary name. Returns as replacement_recover(). */
static int replacement_recover_found(const struct replacement *replacement, bool found_is_dir, bool new_is_dir,
				     bool is_made)
{
	if (found_is_dir != new_is_dir) /* of the old and the new one, one is a directory */
		return replacement_recover_exchanged(replacement, found_is_dir);
	if (!is_made || io_may_have_name(replacement->dir_fd, replacement->name))
		return io_remove_tree(replacement->dir_fd, replacement->temporary);
	return replacement_put_new(replacement); /* they could not be exchanged, and the old one is removed already */
}

int replacement_recover(const struct workspace_layer *layer, const char *path, const char *temporary, bool is_made)
{
	_cleanup_replacement_ struct replacement replacement = REPLACEMENT_INIT;
	struct stat found, new;
	int r;

	replacement.dir_fd = place_open_parent(layer->base_fd, path, &replacement.name);
	if (replacement.dir_fd < 0)
		return place_is_without_dir(replacement.dir_fd) ? 0 : replacement.dir_fd;
	(void)snprintf(replacement.temporary, sizeof(replacement.temporary), "%s", temporary);
	if (fstatat(replacement.dir_fd, temporary, &found, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? 0 : -errno;
	r = replacement_stat_new(layer, path, &new);
	if (r < 0)
		return r;
	return replacement_recover_found(&replacement, S_ISDIR(found.st_mode), S_ISDIR(new.st_mode), is_made);
}
