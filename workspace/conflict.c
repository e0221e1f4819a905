#include "workspace/conflict.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"

/* True unless the time is before that of the mount. Equal: within one tick of the clock, so it may be later. */
static bool conflict_is_since(const struct workspace_layer *layer, const struct timespec *time)
{
	if (time->tv_sec != layer->mounted.tv_sec || time->tv_nsec == 0) /* 0: a file system that has whole seconds */
		return time->tv_sec > layer->mounted.tv_sec - (time->tv_nsec == 0);
	return time->tv_nsec >= layer->mounted.tv_nsec;
}

/* Whether entries were removed from the directory of a path, or added to it, since the mount. 1, 0, or -errno. */
static int conflict_is_in_changed_dir(const struct workspace_layer *layer, const char *path)
{
	const char *slash = strrchr(path, '/');
	_cleanup_close_ int fd = -1;
	char dir[PATH_MAX];
	struct stat st;

	(void)snprintf(dir, sizeof(dir), "%.*s", slash ? (int)(slash - path) : 0, path);
	fd = workspace_open_entry(layer->base_fd, dir);
	if (fd == -ENOENT || fd == -ENOTDIR || fd == -ELOOP)
		return 0; /* it is added or replaced itself, and judged there */
	if (fd < 0)
		return fd;
	if (fstat(fd, &st) < 0)
		return -errno;
	return conflict_is_since(layer, &st.st_ctim);
}

/* Whether an added entry was in the directory when the run began, and somebody has removed it. 1, 0, or -errno. */
static int conflict_was_removed(const struct workspace_layer *layer, const struct workspace_change *change)
{
	_cleanup_close_ int fd = workspace_open_entry(layer->upper_fd, change->path);

	if (fd < 0)
		return fd;
	/* It has an origin also if the program renamed it; then the directory tells. */
	return workspace_has_origin(layer, fd) ? conflict_is_in_changed_dir(layer, change->path) : 0;
}

int workspace_is_conflict(const struct workspace_layer *layer, const struct workspace_change *change)
{
	const struct workspace_entry *base = &change->base;

	if (change->kind == WORKSPACE_ADDED && change->old_path)
		return 0; /* renamed by the program: the directory has the old name */
	if (!base->exists)
		return conflict_was_removed(layer, change);
	/* Each entry of a directory that is removed is judged itself, and one that stays keeps it. */
	if (S_ISDIR(base->mode) && change->kind != WORKSPACE_MODIFIED)
		return 0;
	return conflict_is_since(layer, &base->ctime);
}
