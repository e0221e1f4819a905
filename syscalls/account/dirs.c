#include "syscalls/account/dirs.h"

#include <fcntl.h>
#include <limits.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>

#include "base/cleanup.h"
#include "syscalls/account/disk.h"
#include "syscalls/account/layer-file.h"
#include "view/copy/dirs.h"

/* The directories of one layer. */
struct dirs {
	struct dirs *next; /* of another layer; owned */
	struct view_layer *layer;
	void *tree; /* of paths, owned */
	size_t count;
	int fd; /* the file; -1: nothing more is noted */
};

static int dirs_compare(const void *left, const void *right)
{
	return strcmp(left, right);
}

/* Finds the directories of a layer, or begins them. NULL: no memory. */
static struct dirs *dirs_get(struct call *call, struct view_layer *layer)
{
	struct dirs *dirs = call->sandbox->dirs;

	while (dirs && dirs->layer != layer)
		dirs = dirs->next;
	if (dirs)
		return dirs;
	dirs = calloc(1, sizeof(*dirs));
	if (!dirs)
		return NULL;
	dirs->layer = layer;
	dirs->fd = layer_open_records(layer, VIEW_DIRS_NAME);
	dirs->next = call->sandbox->dirs;
	call->sandbox->dirs = dirs;
	return dirs;
}

/* Adds a path. 1; 0: it was there; -1: no memory, or too many. */
static int dirs_add_path(struct dirs *dirs, const char *path)
{
	char *copy, **found;

	if (tfind(path, &dirs->tree, dirs_compare))
		return 0;
	copy = dirs->count < DIRS_MAX ? strdup(path) : NULL;
	found = copy ? (char **)tsearch(copy, &dirs->tree, dirs_compare) : NULL;
	if (!found) {
		free(copy);
		return -1;
	}
	dirs->count++;
	return 1;
}

/* Writes a record, unless the directory is none of the lower layer. False: it could not be written wholly. */
static bool dirs_write(struct call *call, const struct dirs *dirs, char *path)
{
	struct view_dir_record record;
	size_t bytes;
	struct stat st;

	if (fstatat(dirs->layer->lower_fd, path, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISDIR(st.st_mode))
		return true;
	record = view_make_dir_record(&st, path);
	bytes = sizeof(record) + record.path_len;
	return disk_take_bytes(call, bytes) &&
	       writev(dirs->fd, (struct iovec[]){{&record, sizeof(record)}, {path, record.path_len}}, 2) ==
		       (ssize_t)bytes;
}

void dirs_note(struct call *call, const struct place *place)
{
	struct view_layer *layer = place->mount->layer;
	struct dirs *dirs = layer->lower_fd >= 0 ? dirs_get(call, layer) : NULL;
	char path[PATH_MAX];
	char *slash;

	if (!dirs || dirs->fd < 0)
		return;
	(void)snprintf(path, sizeof(path), "%s", place->path_below_mount_fd);
	while ((slash = strrchr(path, '/'))) {
		int r;

		*slash = '\0';
		r = dirs_add_path(dirs, path);
		if (r == 0) /* so are those that it is in */
			return;
		if (r < 0 || !dirs_write(call, dirs, path)) {
			cleanup_close(&dirs->fd);
			dirs->fd = -1;
			return;
		}
	}
}

void dirs_free(struct dirs *dirs)
{
	while (dirs) {
		struct dirs *next = dirs->next;

		tdestroy(dirs->tree, free);
		cleanup_close(&dirs->fd);
		free(dirs);
		dirs = next;
	}
}
