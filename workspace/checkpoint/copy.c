/* Copies the layer of one directory into a checkpoint. */
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/content.h"
#include "base/io.h"
#include "base/path.h"
#include "workspace/checkpoint/private.h"
#include "workspace/fold.h"
#include "workspace/place.h"

/* ---- copying entries ---- */

/* One directory of the layer and of the copies; previous_fd may be -1. */
struct copier_dirs {
	const char *path;
	int from_fd, to_fd, previous_fd;
};

/*
 * True for a file of git's that is named by its content: an object or a pack. git sets the times of one that it would
 * write again, and does not depend on them. Another name of it may be no such file: then it is copied.
 */
static bool copier_is_git_object(const char *path)
{
	const char *name = strrchr(path, '/'), *dir;

	for (dir = name; dir && dir > path && dir[-1] != '/'; dir--)
		;
	if (!dir || dir - path < (ptrdiff_t)strlen("objects/") || memcmp(dir - strlen("objects/"), "objects/", 8) != 0)
		return false;
	if (strncmp(dir, "pack/pack-", strlen("pack/pack-")) == 0)
		return true;
	return name - dir == 2 && strspn(dir, "0123456789abcdef") == 2 && strlen(name + 1) >= 38 &&
	       strspn(name + 1, "0123456789abcdef") == strlen(name + 1);
}

/* Whether the copy of the latest checkpoint has the content of a file. */
static bool copier_is_kept(const struct copier *copier, const struct copier_dirs *dirs, const char *path,
			   const char *name, int from_fd, const struct stat *st)
{
	_cleanup_close_ int previous = -1, left = -1, right = -1;
	const bool is_known = known_files_has(&copier->before, path, st);
	struct stat old;

	if (dirs->previous_fd < 0 || (!is_known && (st->st_nlink > 1 || !copier_is_git_object(path))))
		return false;
	if (is_known && !copier->before.compares_contents)
		return true;
	previous = workspace_open_entry(dirs->previous_fd, name);
	if (previous < 0 || fstat(previous, &old) < 0 || old.st_mode != st->st_mode || old.st_uid != st->st_uid ||
	    old.st_gid != st->st_gid || old.st_size != st->st_size)
		return false;
	left = workspace_open_content(from_fd);
	right = left < 0 ? left : workspace_open_content(previous);
	return right >= 0 && content_is_equal(left, right, (uint64_t)st->st_size) == 1;
}

int copier_compare_with_max(const struct copier *copier)
{
	copier->work->is_too_large = copier->work->held_bytes + copier->work->filled_bytes > copier->max_bytes;
	return copier->work->is_too_large ? -EDQUOT : 0;
}

/* Counts what the copy of an entry takes, which is like `st`. 0, or -EDQUOT. */
static int copier_count(const struct copier *copier, const struct stat *st)
{
	copier->work->held_bytes += checkpoint_get_entry_bytes(st);
	return copier_compare_with_max(copier);
}

/* Makes the copy of a regular file. 0 or -errno. */
static int copier_copy_file(struct copier *copier, const struct copier_dirs *dirs, const char *path, const char *name,
			    const struct stat *st)
{
	_cleanup_close_ int from = workspace_open_entry(dirs->from_fd, name);
	const char *other = st->st_nlink > 1 ? copies_find(&copier->copies, st->st_ino) : NULL;
	int r;

	if (from < 0)
		return from;
	if (other && copies_make(copier->to_fd, other, dirs->to_fd, name) == 0)
		return known_files_add(&copier->after, path, st);
	if (copier_is_kept(copier, dirs, path, name, from, st) &&
	    linkat(dirs->previous_fd, name, dirs->to_fd, name, 0) == 0) { /* fails for the 65,001st, of ext4 */
		copier->work->kept_files++;
	} else {
		r = copier_count(copier, st);
		if (r == 0)
			r = place_make_copy(copier->layer, dirs->to_fd, name, from, st->st_mode, PLACE_OWN_ATTRIBUTES);
		if (r < 0)
			return r;
		copier->work->copied_files++;
		copier->work->copied_bytes += (uint64_t)st->st_size;
	}
	r = st->st_nlink > 1 ? copies_add(&copier->copies, st->st_ino, path) : 0;
	return r < 0 ? r : known_files_add(&copier->after, path, st);
}

/* Copies what is neither a directory nor a regular file. 0 or -errno. */
static int copier_copy_other(struct copier *copier, const struct copier_dirs *dirs, const char *path, const char *name,
			     const struct stat *st)
{
	const char *other = st->st_nlink > 1 ? copies_find(&copier->copies, st->st_ino) : NULL;
	_cleanup_close_ int from = -1;
	int r = copier_count(copier, st);

	if (r < 0)
		return r;
	if (other && copies_make(copier->to_fd, other, dirs->to_fd, name) == 0)
		return 0;
	if (workspace_is_whiteout(st)) /* any user may make this device (Linux 5.8), which opens as nothing */
		return mknodat(dirs->to_fd, name, S_IFCHR, 0) < 0 ? -errno : 0;
	from = workspace_open_entry(dirs->from_fd, name);
	r = from < 0 ? from
		     : place_make_copy(copier->layer, dirs->to_fd, name, from, st->st_mode, PLACE_OWN_ATTRIBUTES);
	return r == 0 && st->st_nlink > 1 ? copies_add(&copier->copies, st->st_ino, path) : r;
}

static int copier_copy_entry(struct copier *copier, const struct copier_dirs *dirs, const char *name)
{
	char *path = copier->work->failed_path;
	struct stat st;
	int r = path_append_name(dirs->path, name, path);

	if (r < 0)
		return r;
	if (fstatat(dirs->from_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return -errno;
	if (S_ISREG(st.st_mode))
		return copier_copy_file(copier, dirs, path, name, &st);
	if (!S_ISDIR(st.st_mode))
		return copier_copy_other(copier, dirs, path, name, &st);
	if (mkdirat(dirs->to_fd, name, 0700) < 0)
		return -errno;
	return dir_list_add(&copier->dirs, path, false, false);
}

static int copier_copy_dir(struct copier *copier, const char *path)
{
	_cleanup_close_ int from = dirs_open(copier->layer->upper_fd, path), to = -1, previous = -1;
	_cleanup_name_list_ struct name_list names = {0};
	struct copier_dirs dirs;
	int r = from < 0 ? from : name_list_read(&names, from);

	(void)snprintf(copier->work->failed_path, PATH_MAX, "%s", *path ? path : ".");
	to = r < 0 ? r : dirs_open(copier->to_fd, path);
	if (to < 0)
		return to;
	previous = copier->previous_fd < 0 ? -1 : dirs_open(copier->previous_fd, path);
	dirs = (struct copier_dirs){path, from, to, previous};
	for (size_t i = 0; r == 0 && i < names.count; i++)
		r = copier_copy_entry(copier, &dirs, names.name[i]);
	return r;
}

/* Gives the copy of a directory its attributes. 0 or -errno. */
static int copier_finish_dir(const struct copier *copier, const char *path)
{
	_cleanup_close_ int from = workspace_open_entry(copier->layer->upper_fd, path);
	_cleanup_close_ int to = from < 0 ? from : workspace_open_entry(copier->to_fd, path);

	(void)snprintf(copier->work->failed_path, PATH_MAX, "%s", *path ? path : ".");
	return to < 0 ? to : place_copy_metadata(copier->layer, from, to, -1, PLACE_OWN_ATTRIBUTES);
}

/* ---- copying what differs in a copy of the directory ---- */

/* Opens the directory of the checkpoint, and of the latest one, that an entry is in. 0 or -errno. */
static int copier_open_last_dir(struct copier *copier, const char *dir)
{
	if (copier->last_to_fd >= 0 && strcmp(dir, copier->last_path) == 0)
		return 0;
	close_fd(&copier->last_to_fd);
	close_fd(&copier->last_previous_fd);
	(void)snprintf(copier->last_path, sizeof(copier->last_path), "%s", dir);
	copier->last_to_fd = dirs_open(copier->to_fd, dir);
	if (copier->last_to_fd < 0)
		return copier->last_to_fd;
	if (copier->previous_fd >= 0)
		copier->last_previous_fd = dirs_open(copier->previous_fd, dir);
	return 0;
}

/* fold_target.put */
static int copier_put(void *ctx, int copy_dir_fd, const char *name, const char *path, const struct stat *st)
{
	struct copier *copier = ctx;
	struct copier_dirs dirs = {.from_fd = copy_dir_fd};
	const char *entry_name;
	char dir[PATH_MAX];
	int r = path_split(path, dir, &entry_name);

	(void)snprintf(copier->work->failed_path, PATH_MAX, "%s", path);
	if (r == 0)
		r = copier_open_last_dir(copier, dir);
	if (r < 0)
		return r;
	dirs.path = copier->last_path;
	dirs.to_fd = copier->last_to_fd;
	dirs.previous_fd = copier->last_previous_fd;
	return S_ISREG(st->st_mode) ? copier_copy_file(copier, &dirs, path, name, st)
				    : copier_copy_other(copier, &dirs, path, name, st);
}

/* fold_target.admit */
static int copier_admit(void *ctx, uint64_t bytes)
{
	struct copier *copier = ctx;

	copier->work->filled_bytes += bytes;
	return copier_compare_with_max(copier);
}

int copier_copy_changes(struct copier *copier, int layer_fd, const char *dir)
{
	const struct fold_target target = {.dir_fd = copier->to_fd,
					   .failed_path = copier->work->failed_path,
					   .put = copier_put,
					   .admit = copier_admit,
					   .ctx = copier};
	int r = workspace_fold_into(layer_fd, dir, &target);

	close_fd(&copier->last_to_fd);
	close_fd(&copier->last_previous_fd);
	return r;
}

/* ---- copying a layer ---- */

int copier_copy_layer(struct copier *copier)
{
	int r = dir_list_add(&copier->dirs, "", false, false);

	for (size_t i = 0; r == 0 && i < copier->dirs.count; i++) {
		_cleanup_free_ char *path = strdup(copier->dirs.item[i].path); /* the list may move */

		r = path ? copier_copy_dir(copier, path) : -ENOMEM;
	}
	/* Afterwards, and the lower directories first: times and modes stay what they are set to. */
	for (size_t i = copier->dirs.count; r == 0 && i-- > 0;)
		r = copier_finish_dir(copier, copier->dirs.item[i].path);
	if (r == 0)
		copier->work->failed_path[0] = '\0';
	return r;
}
