#include "workspace/place.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/times.h"

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
	r = place_give_name(replacement->dir_fd, replacement->temporary, replacement->name);
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

/* ---- removing the new one ---- */

/* What is compared with the layer. */
struct replacement_check {
	const char *temporary; /* the name of the new entry */
	bool is_made;          /* it is complete; else the last file may be half-made */
	bool removes;          /* what is as in the layer is removed */
};

/* True for a name of a file that is being made: that of the new entry itself, or .callgate-ID in it. */
static bool replacement_is_half_made(const struct replacement_check *check, const char *name)
{
	const size_t len = strlen(name);

	return !check->is_made && strncmp(name, check->temporary, len) == 0 &&
	       (check->temporary[len] == '\0' || check->temporary[len] == '.');
}

static int replacement_check_entry(const struct replacement_check *check, int dir_fd, const char *name,
				   int upper_dir_fd, const char *path);

/* As replacement_check_entry(), of what is in a directory. */
static int replacement_check_dir(const struct replacement_check *check, int dir_fd, const char *name, int upper_fd)
{
	_cleanup_closedir_ DIR *dir = io_take_dir_stream(io_open_dir(dir_fd, name));
	const struct dirent *entry;
	int r = dir ? 0 : -errno;

	while (dir && r == 0 && (entry = io_read_entry(dir, &r)))
		r = replacement_check_entry(check, dirfd(dir), entry->d_name, upper_fd, entry->d_name);
	return r;
}

/* As replacement_check_entry(), without removing. st: of the entry. */
static int replacement_compare(const struct replacement_check *check, int dir_fd, const char *name,
			       const struct stat *st, int upper_dir_fd, const char *path)
{
	_cleanup_close_ int upper_fd = workspace_open_entry(upper_dir_fd, path);
	struct stat upper;

	if (upper_fd < 0)
		return place_is_without_dir(upper_fd) ? -ESTALE : upper_fd;
	if (fstat(upper_fd, &upper) < 0)
		return -errno;
	if (((st->st_mode ^ upper.st_mode) & S_IFMT) != 0)
		return -ESTALE;
	if (S_ISDIR(st->st_mode))
		return replacement_check_dir(check, dir_fd, name, upper_fd);
	return st->st_size == upper.st_size && times_compare(&st->st_mtim, &upper.st_mtim) == 0 ? 0 : -ESTALE;
}

/*
 * Whether an entry, with all that is in it, is as the layer has it at a path: then nothing is lost when it is removed.
 * 0, -ESTALE or -errno.
 */
static int replacement_check_entry(const struct replacement_check *check, int dir_fd, const char *name,
				   int upper_dir_fd, const char *path)
{
	struct stat st;
	bool is_dir;
	int r = 0;

	if (fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return -errno;
	is_dir = S_ISDIR(st.st_mode);
	if (is_dir || !replacement_is_half_made(check, name))
		r = replacement_compare(check, dir_fd, name, &st, upper_dir_fd, path);
	if (r == 0 && check->removes && unlinkat(dir_fd, name, is_dir ? AT_REMOVEDIR : 0) < 0)
		return -errno;
	return r;
}

/* As replacement_remove_new(), in an open directory. */
static int replacement_remove_new_in(const struct workspace_layer *layer, int dir_fd, const char *path,
				     const char *temporary, bool is_made)
{
	struct replacement_check check = {.temporary = temporary, .is_made = is_made};
	int r = replacement_check_entry(&check, dir_fd, temporary, layer->upper_fd, path);

	check.removes = true;
	return r < 0 ? r : replacement_check_entry(&check, dir_fd, temporary, layer->upper_fd, path);
}

int replacement_remove_new(const struct workspace_layer *layer, const char *path, const char *temporary)
{
	const char *name;
	_cleanup_close_ int dir = place_open_parent(layer->base_fd, path, &name);

	return dir < 0 ? dir : replacement_remove_new_in(layer, dir, path, temporary, true);
}

/* ---- after an interruption ---- */

/* Ends one of which the old entry has the temporary name. Returns as replacement_recover(), but 0 for 1. */
static int replacement_recover_old(const struct workspace_layer *layer, const char *path,
				   const struct replacement *replacement, bool is_dir)
{
	const struct replacement_check check = {.temporary = replacement->temporary, .is_made = true};
	const int dir_fd = replacement->dir_fd;
	int r;

	if (!io_may_have_name(dir_fd, replacement->name)) /* the new one was removed since */
		return place_give_name(replacement->dir_fd, replacement->temporary, replacement->name);
	if (is_dir && unlinkat(dir_fd, replacement->temporary, AT_REMOVEDIR) == 0)
		return 0; /* all that was in it is removed */
	r = replacement_check_entry(&check, dir_fd, replacement->name, layer->upper_fd, path);
	if (r == 0)
		r = replacement_exchange(replacement);
	return r < 0 ? r : replacement_remove_new_in(layer, dir_fd, path, replacement->temporary, true);
}

/* Reads the status of the new entry in the layer. 0 or -errno. */
static int replacement_stat_new(const struct workspace_layer *layer, const char *path, struct stat *ret_status)
{
	_cleanup_close_ int fd = workspace_open_entry(layer->upper_fd, path);

	if (fd < 0)
		return fd;
	return fstat(fd, ret_status) < 0 ? -errno : 0;
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
	if (S_ISDIR(found.st_mode) != S_ISDIR(new.st_mode)) /* of the old and the new one, one is a directory */
		r = replacement_recover_old(layer, path, &replacement, S_ISDIR(found.st_mode));
	else if (is_made && !io_may_have_name(replacement.dir_fd, replacement.name))
		r = place_give_name(replacement.dir_fd, replacement.temporary,
				    replacement.name); /* they could not be exchanged, and the old one is removed */
	else
		r = replacement_remove_new_in(layer, replacement.dir_fd, path, temporary, is_made);
	return r < 0 ? r : 1;
}
