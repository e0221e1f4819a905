#include "workspace/conflict.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "base/times.h"
#include "workspace/dir-id.h"

/* Whether entries were removed from the directory of a path, or added to it, since the mount. 1, 0, or -errno. */
static int conflict_is_in_changed_dir(const struct workspace_layer *layer, const char *path)
{
	_cleanup_close_ int fd = -1;
	char dir[PATH_MAX];
	const char *name;
	struct stat st;
	int r = path_split(path, dir, &name);

	if (r < 0)
		return r;
	fd = workspace_open_entry(layer->base_fd, dir);
	if (fd == -ENOENT || fd == -ENOTDIR || fd == -ELOOP)
		return 0; /* it is added or replaced itself, and judged there */
	if (fd < 0)
		return fd;
	if (fstat(fd, &st) < 0)
		return -errno;
	return workspace_time_is_since_mount(layer, &st.st_ctim);
}

/* Whether an added entry was in the directory when the run began, and was removed outside since. 1, 0, or -errno. */
static int conflict_was_removed(const struct workspace_layer *layer, const struct workspace_bases *bases,
				const struct workspace_change *change)
{
	_cleanup_close_ int fd = -1;

	if (workspace_bases_has(bases, layer, change->path))
		return 1;
	if (change->has_old_name)
		return 0; /* renamed by the program: what is there is judged by that name */
	fd = workspace_open_entry(layer->upper_fd, change->path);
	if (fd < 0)
		return fd;
	/* It has an origin also if the program renamed it; then the directory tells. */
	return workspace_has_origin(layer, change->path, fd) ? conflict_is_in_changed_dir(layer, change->path) : 0;
}

/* Whether a directory is known to be made since the mount: it may have the inode number of one that was removed. */
static bool conflict_is_born_since(const struct workspace_layer *layer, int base_fd)
{
	struct dir_id id = {.inode = 0};

	return dir_id_read(base_fd, &id) == 0 && dir_id_has_birth(&id) &&
	       workspace_time_is_since_mount(layer, &id.born);
}

/*
 * Whether a directory may be another one than during the run, moved there from outside with all that is in it:
 * the entries in it are as old as they were. One that the program has removed must not have changed at all. In another
 * one entries come and go, also by an apply of another workspace, and its times are set. Where it is not known which
 * one it was, times tell: entries that come and go set both, and an apply of its own times those of the layer. 1, 0, or
 * -errno.
 */
static int conflict_is_moved_dir(const struct workspace_layer *layer, const struct workspace_first_dirs *first,
				 const char *dir)
{
	_cleanup_close_ int base = workspace_open_entry(layer->base_fd, dir), upper = -1;
	struct stat st, layer_st;
	int is_same;

	if (base == -ENOENT || base == -ENOTDIR || base == -ELOOP)
		return 0; /* it is added or replaced itself, and judged there */
	if (base < 0)
		return base;
	if (fstat(base, &st) < 0)
		return -errno;
	if (!S_ISDIR(st.st_mode) ||
	    !workspace_time_is_since_mount(layer, &st.st_ctim)) /* what replaces it is judged itself */
		return 0;
	upper = workspace_open_entry(layer->upper_fd, dir);
	if (upper < 0)
		return 1;
	if (fstat(upper, &layer_st) < 0)
		return -errno;
	if (!S_ISDIR(layer_st.st_mode))
		return 1;
	is_same = workspace_first_dirs_compare(first, layer, dir, &st);
	if (is_same >= 0)
		return !is_same || conflict_is_born_since(layer, base);
	return times_compare(&st.st_mtim, &st.st_ctim) != 0 && times_compare(&st.st_mtim, &layer_st.st_mtim) != 0;
}

/* Whether one of the directories that an entry is in may be another one than during the run. 1, 0, or -errno. */
static int conflict_is_in_moved_dir(const struct workspace_layer *layer, const struct workspace_bases *bases,
				    const struct workspace_change *change)
{
	char dir[PATH_MAX];
	char *slash;
	int r = 0;

	(void)snprintf(dir, sizeof(dir), "%s", change->path);
	while (r == 0 && (slash = strrchr(dir, '/'))) {
		*slash = '\0';
		r = conflict_is_moved_dir(layer, &bases->first_dirs, dir);
	}
	return r;
}

int workspace_is_conflict(const struct workspace_layer *layer, const struct workspace_bases *bases,
			  const struct workspace_change *change)
{
	const struct workspace_entry *base = &change->base;
	int r;

	/* Each entry of a directory that is removed is judged itself, and one that stays keeps it. */
	if (base->exists && S_ISDIR(base->mode) && change->kind != WORKSPACE_MODIFIED)
		return 0;
	r = conflict_is_in_moved_dir(layer, bases, change);
	if (r != 0)
		return r;
	if (change->kind == WORKSPACE_ADDED && change->old_path)
		return 0; /* renamed by the program: the directory has the old name */
	if (!base->exists)
		return conflict_was_removed(layer, bases, change);
	return workspace_time_is_since_mount(layer, &base->ctime) &&
	       !workspace_bases_has_fingerprint(bases, layer, change);
}
