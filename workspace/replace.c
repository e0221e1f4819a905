#include "workspace/place.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/path.h"
#include "base/times.h"
#include "workspace/dirs.h"

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

/* Gives what has the temporary name the other one, which no entry has. 0 or -errno. */
static int replacement_give_name(const struct replacement *replacement)
{
	return io_rename_new(replacement->dir_fd, replacement->temporary, replacement->dir_fd, replacement->name);
}

/*
 * True for an error of a file system that cannot exchange these entries: some can exchange none, and overlayfs can move
 * no directory of a lower layer.
 */
static bool replacement_is_unsupported(int error)
{
	return error == -EXDEV || io_error_means_no_rename_flags(error);
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
	r = replacement_give_name(replacement);
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

/* A new entry that is compared with the layer, and removed. A hostile program may have nested it deeply. */
struct replacement_check {
	const struct workspace_layer *layer;
	int dir_fd;            /* of the directory that it is in */
	const char *path;      /* its path in the layer */
	const char *temporary; /* its name */
	bool is_made;          /* it is complete; else the last file may be half-made */
	struct name_list dirs, others; /* paths below it of what is in it; directories above others first */
};

static void replacement_check_release(struct replacement_check *check)
{
	name_list_release(&check->dirs);
	name_list_release(&check->others);
}
#define _cleanup_replacement_check_ __attribute__((cleanup(replacement_check_release)))

/* True for a name of a file that is being made: that of the new entry itself, or .callgate-ID in it. */
static bool replacement_is_half_made(const struct replacement_check *check, const char *name)
{
	const size_t len = strlen(name);

	return !check->is_made && strncmp(name, check->temporary, len) == 0 &&
	       (check->temporary[len] == '\0' || check->temporary[len] == '.');
}

/*
 * Whether an entry is as the layer has it at a path below upper_fd: then nothing is lost when it is removed. What is in
 * a directory is not looked at. 0, -ESTALE or -errno.
 */
static int replacement_compare(const struct replacement_check *check, int dir_fd, const char *name, int upper_fd,
			       const char *path, bool *ret_is_dir)
{
	_cleanup_close_ int fd = -1;
	struct stat st, upper;

	if (fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return -errno;
	*ret_is_dir = S_ISDIR(st.st_mode);
	if (!*ret_is_dir && replacement_is_half_made(check, name))
		return 0;
	fd = workspace_open_entry(upper_fd, path);
	if (fd < 0)
		return place_is_without_dir(fd) ? -ESTALE : fd;
	if (fstat(fd, &upper) < 0)
		return -errno;
	if (((st.st_mode ^ upper.st_mode) & S_IFMT) != 0)
		return -ESTALE;
	return *ret_is_dir || (st.st_size == upper.st_size && times_compare(&st.st_mtim, &upper.st_mtim) == 0)
		       ? 0
		       : -ESTALE;
}

/* Compares what is in a directory of the new entry, and adds it to the lists. upper_fd: of the layer. 0 or -errno. */
static int replacement_check_dir(struct replacement_check *check, int new_fd, int upper_fd, const char *dir_path)
{
	_cleanup_closedir_ DIR *dir = io_take_dir_stream(dirs_open(new_fd, dir_path));
	const struct dirent *entry;
	int r = dir ? 0 : -errno;

	while (dir && r == 0 && (entry = io_read_entry(dir, &r))) {
		char path[PATH_MAX];
		bool is_dir = false;

		if (path_append_name(dir_path, entry->d_name, path) < 0)
			return -ESTALE;
		r = replacement_compare(check, dirfd(dir), entry->d_name, upper_fd, path, &is_dir);
		if (r == 0)
			r = name_list_add(is_dir ? &check->dirs : &check->others, path);
	}
	return r;
}

/* Compares and removes one entry, which is in a directory of the new one. 0 or -errno. */
static int replacement_remove_one(const struct replacement_check *check, int new_fd, int upper_fd, const char *path)
{
	const char *name;
	_cleanup_close_ int dir = place_open_parent(new_fd, path, &name);
	bool is_dir = false;
	int r = dir < 0 ? dir : replacement_compare(check, dir, name, upper_fd, path, &is_dir);

	return r < 0 ? r : unlinkat(dir, name, is_dir ? AT_REMOVEDIR : 0) < 0 ? -errno : 0;
}

/* Checks all that is in a new directory, and removes it if `removes`. 0 or -errno. */
static int replacement_check_tree(struct replacement_check *check, bool removes)
{
	_cleanup_close_ int new = io_open_dir(check->dir_fd, check->temporary);
	_cleanup_close_ int upper = workspace_open_entry(check->layer->upper_fd, check->path);
	int r = new < 0 ? new : upper < 0 ? upper : replacement_check_dir(check, new, upper, "");

	for (size_t i = 0; r == 0 && i < check->dirs.count; i++)
		r = replacement_check_dir(check, new, upper, check->dirs.name[i]);
	for (size_t i = 0; removes && r == 0 && i < check->others.count; i++)
		r = replacement_remove_one(check, new, upper, check->others.name[i]);
	for (size_t i = check->dirs.count; removes && r == 0 && i > 0; i--)
		r = replacement_remove_one(check, new, upper, check->dirs.name[i - 1]);
	return r;
}

/*
 * Whether an entry with a temporary name, with all that is in it, is as the layer has it at a path; removes it then if
 * `removes`. 0, -ESTALE or -errno.
 */
static int replacement_check_new(const struct workspace_layer *layer, int dir_fd, const char *path,
				 const char *temporary, bool is_made, bool removes)
{
	_cleanup_replacement_check_ struct replacement_check check = {
		.layer = layer, .dir_fd = dir_fd, .path = path, .temporary = temporary, .is_made = is_made};
	bool is_dir = false;
	int r = replacement_compare(&check, dir_fd, temporary, layer->upper_fd, path, &is_dir);

	if (r == 0 && is_dir)
		r = replacement_check_tree(&check, removes);
	if (r < 0 || !removes)
		return r;
	return unlinkat(dir_fd, temporary, is_dir ? AT_REMOVEDIR : 0) < 0 ? -errno : 0;
}

int replacement_remove_new(const struct workspace_layer *layer, const char *path, const char *temporary)
{
	const char *name;
	_cleanup_close_ int dir = place_open_parent(layer->base_fd, path, &name);

	return dir < 0 ? dir : replacement_check_new(layer, dir, path, temporary, true, true);
}

/* ---- after an interruption ---- */

/* Ends one of which the old entry has the temporary name. Returns as replacement_recover(), but 0 for 1. */
static int replacement_recover_old(const struct workspace_layer *layer, const char *path,
				   const struct replacement *replacement, bool is_dir)
{
	const int dir_fd = replacement->dir_fd;
	int r;

	if (!io_may_have_name(dir_fd, replacement->name)) /* the new one was removed since */
		return replacement_give_name(replacement);
	if (is_dir && unlinkat(dir_fd, replacement->temporary, AT_REMOVEDIR) == 0)
		return 0; /* all that was in it is removed */
	r = replacement_check_new(layer, dir_fd, path, replacement->name, true, false);
	if (r == 0)
		r = replacement_exchange(replacement);
	return r < 0 ? r : replacement_check_new(layer, dir_fd, path, replacement->temporary, true, true);
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
		r = replacement_give_name(&replacement); /* they could not be exchanged, and the old one is removed */
	else
		r = replacement_check_new(layer, replacement.dir_fd, path, temporary, is_made, true);
	return r < 0 ? r : 1;
}
