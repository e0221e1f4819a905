#include "syscalls/account/workspace/dirs.h"

#include <fcntl.h>
#include <limits.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>

#include "base/cleanup.h"
#include "syscalls/account/limits/disk.h"
#include "syscalls/account/workspace/layer-file.h"
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

/* Adds a path. False: no memory, or too many. */
static bool dirs_add_path(struct dirs *dirs, const char *path)
{
	char *copy = dirs->count < DIRS_MAX ? strdup(path) : NULL;

	if (!copy || !tsearch(copy, &dirs->tree, dirs_compare)) {
		free(copy);
		return false;
	}
	dirs->count++;
	return true;
}

static bool dirs_write(struct call *call, const struct dirs *dirs, char *path, const struct stat *st)
{
	struct view_dir_record record = view_make_dir_record(st, path);
	const struct iovec part[] = {{&record, sizeof(record)}, {path, record.path_len}};
	const size_t bytes = sizeof(record) + record.path_len;

	return disk_take_bytes(call, bytes) && writev(dirs->fd, part, 2) == (ssize_t)bytes;
}

/*
 * Notes a directory, unless the lower layer has none there: the program can make as many as it likes. 1: it was noted
 * before; 0; -1: no more can be noted.
 */
static int dirs_note_one(struct call *call, struct dirs *dirs, char *path)
{
	struct stat st;

	if (tfind(path, &dirs->tree, dirs_compare))
		return 1;
	if (fstatat(dirs->layer->lower_fd, path, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISDIR(st.st_mode))
		return 0;
	return dirs_add_path(dirs, path) && dirs_write(call, dirs, path, &st) ? 0 : -1;
}

void dirs_note(struct call *call, const struct place *place)
{
	struct view_layer *layer = place->mount->layer;
	struct dirs *dirs = layer->lower_fd >= 0 ? dirs_get(call, layer) : NULL;
	char path[PATH_MAX];
	char *slash;
	int r = 0;

	if (!dirs || dirs->fd < 0)
		return;
	(void)snprintf(path, sizeof(path), "%s", place->path_below_mount_fd);
	while (r == 0 && (slash = strrchr(path, '/'))) { /* those above one that was noted are noted as well */
		*slash = '\0';
		r = dirs_note_one(call, dirs, path);
	}
	if (r < 0)
		close_fd(&dirs->fd);
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
