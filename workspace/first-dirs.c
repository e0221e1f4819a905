#include "workspace/first-dirs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/io.h"
#include "view/copy/dirs.h"

#define FIRST_DIRS_BYTES_MAX (1u << 30) /* most bytes of the file, which is read as a whole */

struct first_dir {
	struct view_dir_record record;
	const char *path; /* in the text, without NUL */
};

static int first_dirs_compare(const void *left, const void *right)
{
	const struct first_dir *a = left, *b = right;
	const size_t a_len = a->record.path_len, b_len = b->record.path_len;
	const int r = memcmp(a->path, b->path, a_len < b_len ? a_len : b_len);

	return r ? r : (a_len > b_len) - (a_len < b_len);
}

/* Sorts by path, and those of one path as they are in the file. */
static int first_dirs_compare_places(const void *left, const void *right)
{
	const struct first_dir *a = left, *b = right;
	const int r = first_dirs_compare(a, b);

	return r ? r : (a->path > b->path) - (a->path < b->path);
}

int workspace_first_dirs_load(const struct workspace_layer *layer, struct workspace_first_dirs *dirs)
{
	size_t len, room = 0;
	int r = io_read_file(layer->dir_fd, VIEW_DIRS_NAME, FIRST_DIRS_BYTES_MAX, &dirs->text, &len);

	for (size_t at = 0; r == 0 && len - at > sizeof(struct view_dir_record);) {
		struct first_dir dir;

		memcpy(&dir.record, dirs->text + at, sizeof(dir.record));
		at += sizeof(dir.record);
		if (len - at < dir.record.path_len) /* it was not wholly written */
			break;
		dir.path = dirs->text + at;
		at += dir.record.path_len;
		if (!array_reserve(&dirs->item, dirs->count, &room))
			return -ENOMEM;
		dirs->item[dirs->count++] = dir;
	}
	if (dirs->count > 0)
		qsort(dirs->item, dirs->count, sizeof(*dirs->item), first_dirs_compare_places);
	return r == -ENOENT ? 0 : r;
}

void workspace_first_dirs_release(struct workspace_first_dirs *dirs)
{
	free(dirs->text);
	free(dirs->item);
	*dirs = (struct workspace_first_dirs){.text = NULL};
}

/* The record of a path. NULL: there is none, or something outside may have put another directory there before it. */
static const struct view_dir_record *first_dirs_find(const struct workspace_first_dirs *dirs,
						     const struct workspace_layer *layer, const char *path)
{
	const struct first_dir key = {.path = path, .record = {.path_len = (uint32_t)strlen(path)}};
	const struct first_dir *dir =
		dirs->count > 0 ? bsearch(&key, dirs->item, dirs->count, sizeof(key), first_dirs_compare) : NULL;
	struct timespec ctime;

	while (dir && dir > dirs->item && first_dirs_compare(dir - 1, dir) == 0)
		dir--;
	if (!dir)
		return NULL;
	ctime = (struct timespec){dir->record.ctime_s, dir->record.ctime_ns};
	return workspace_time_is_since_mount(layer, &ctime) ? NULL : &dir->record;
}

int workspace_first_dirs_compare(const struct workspace_first_dirs *dirs, const struct workspace_layer *layer,
				 const char *path, const struct stat *now)
{
	const struct view_dir_record *record = first_dirs_find(dirs, layer, path);

	return record ? record->inode == now->st_ino : -1;
}

/* What the program has changed of a directory. Bits of enum workspace_difference. */
static unsigned first_dirs_get_differences(const struct workspace_first_dirs *dirs, const struct workspace_layer *layer,
					   const struct workspace_change *change)
{
	const struct view_dir_record *record = change->kind == WORKSPACE_MODIFIED && S_ISDIR(change->upper.mode)
						       ? first_dirs_find(dirs, layer, change->path)
						       : NULL;
	unsigned differences = change->differences;

	if (record && record->mode == change->upper.mode)
		differences &= ~(unsigned)WORKSPACE_MODE_DIFFERS;
	if (record && record->uid == change->upper.uid && record->gid == change->upper.gid)
		differences &= ~(unsigned)WORKSPACE_OWNER_DIFFERS;
	return differences;
}

void workspace_first_dirs_drop_unchanged(const struct workspace_first_dirs *dirs, const struct workspace_layer *layer,
					 struct workspace_changes *changes)
{
	size_t count = 0;

	for (size_t i = 0; i < changes->count; i++) {
		struct workspace_change *change = &changes->item[i];

		/* With another difference, place_set_attributes() sets all. */
		if (change->differences == 0 || first_dirs_get_differences(dirs, layer, change) != 0) {
			changes->item[count++] = *change;
			continue;
		}
		if (changes->on_unchanged)
			changes->on_unchanged(changes->on_unchanged_ctx, change->path);
		workspace_change_release(change);
	}
	changes->count = count;
}
