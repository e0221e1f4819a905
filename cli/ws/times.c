#include "cli/ws/times.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/io.h"
#include "base/times.h"
#include "workspace/layer.h"

/* Reads the status of a directory below a root. False: it is none, or cannot be read. */
static bool times_read_dir(int root_fd, const char *path, struct stat *ret_status)
{
	_cleanup_close_ int fd = workspace_open_entry(root_fd, path);

	return fd >= 0 && fstat(fd, ret_status) == 0 && S_ISDIR(ret_status->st_mode);
}

/* True for a directory that was not changed outside since the run began, or has the time of an earlier apply. */
static bool times_is_to_be_set(const struct workspace_layer *layer, const char *path)
{
	struct stat base, upper;

	return times_read_dir(layer->base_fd, path, &base) && times_read_dir(layer->upper_fd, path, &upper) &&
	       (!workspace_time_is_since_mount(layer, &base.st_ctim) ||
		times_compare(&base.st_mtim, &upper.st_mtim) == 0);
}

int ws_times_note(struct ws_times *times, const struct plan *plan)
{
	char dir[PATH_MAX], last[PATH_MAX] = "/"; /* no path begins with that */

	for (size_t i = 0; i < plan->changes.count; i++) {
		const struct workspace_change *change = &plan->changes.item[i];
		const char *slash = strrchr(change->path, '/');

		/* The attributes of a directory are applied with its times. */
		if (plan->state[i] != PLAN_APPLY || !*change->path)
			continue;
		(void)snprintf(dir, sizeof(dir), "%.*s", slash ? (int)(slash - change->path) : 0, change->path);
		if (strcmp(dir, last) == 0)
			continue;
		(void)snprintf(last, sizeof(last), "%s", dir);
		if (!times_is_to_be_set(plan->layer, dir))
			continue;
		if (!array_reserve(&times->path, times->count, &times->room))
			return -ENOMEM;
		times->path[times->count] = strdup(dir);
		if (!times->path[times->count++])
			return -ENOMEM;
	}
	return 0;
}

void ws_times_set(const struct ws_times *times, const struct workspace_layer *layer)
{
	for (size_t i = 0; i < times->count; i++) {
		_cleanup_close_ int fd = workspace_open_entry(layer->base_fd, times->path[i]);
		struct stat upper, now;

		if (fd >= 0 && fstat(fd, &now) == 0 && S_ISDIR(now.st_mode) &&
		    times_read_dir(layer->upper_fd, times->path[i], &upper))
			(void)utimensat(AT_FDCWD, io_proc_fd_path(fd).path,
					(const struct timespec[2]){{.tv_nsec = UTIME_OMIT}, upper.st_mtim}, 0);
	}
}

void ws_times_release(struct ws_times *times)
{
	for (size_t i = 0; i < times->count; i++)
		free(times->path[i]);
	free(times->path);
}
