#include "view/create/measure.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/io.h"
#include "base/path.h"

/* Directories that are yet to be read: no recursion, as a program may have nested them thousands deep. */
struct measure {
	struct copy_size *size;
	char **dir; /* paths; owned */
	size_t dirs, room;
};

static int measure_add_dir(struct measure *measure, const char *path)
{
	if (!array_reserve(&measure->dir, measure->dirs, &measure->room))
		return -ENOMEM;
	measure->dir[measure->dirs] = strdup(path);
	return measure->dir[measure->dirs++] ? 0 : -ENOMEM;
}

static int measure_entry(struct measure *measure, int dir_fd, const char *dir, const char *name)
{
	char path[PATH_MAX];
	struct stat st;

	if (fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return 0;
	measure->size->names++;
	if (S_ISREG(st.st_mode)) /* each name of a file has its part of it */
		measure->size->content_bytes += (uint64_t)st.st_blocks * 512 / (st.st_nlink > 0 ? st.st_nlink : 1);
	if (!S_ISDIR(st.st_mode))
		return 0;
	measure->size->directories++;
	return path_append_name(dir, name, path) < 0 ? 0 : measure_add_dir(measure, path);
}

static int measure_dir(struct measure *measure, int root_fd, const char *path)
{
	const int fd = io_open_keeping_atime(root_fd, *path ? path : ".", O_RDONLY | O_DIRECTORY | O_NOFOLLOW,
					     IO_RESOLVE_BELOW | RESOLVE_NO_XDEV);
	_cleanup_closedir_ DIR *dir = io_take_dir_stream(fd);
	const struct dirent *entry;
	int r = 0;

	if (fd >= 0 && !dir)
		return -ENOMEM;
	while (r == 0 && dir && (entry = io_read_entry(dir, &r)))
		r = measure_entry(measure, fd, path, entry->d_name);
	return r;
}

int measure_tree(int dir_fd, struct copy_size *size)
{
	struct measure measure = {.size = size};
	int r = measure_add_dir(&measure, "");

	while (r == 0 && measure.dirs > 0) {
		_cleanup_free_ char *path = measure.dir[--measure.dirs];

		r = measure_dir(&measure, dir_fd, path);
	}
	while (measure.dirs > 0)
		free(measure.dir[--measure.dirs]);
	free(measure.dir);
	return r;
}
