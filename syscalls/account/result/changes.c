/*
 * Records touched paths in a tree. Called before every effect, so a path that was touched before must be cheap.
 *
 * Renaming a directory moves everything below it. Its content is not listed while the program runs. Instead the move is
 * remembered, so that the first state of a path can be looked up where its object is now. The content is listed once,
 * when the program has ended.
 */
#include <errno.h>
#include <fcntl.h>
#include <search.h>

#include "base/cleanup.h"
#include "syscalls/account/result/changes-private.h"

/* Compares a path with the path of a struct touched_file, for tsearch(3) and tfind(3). */
static int changes_compare_path_with_touched(const void *path, const void *entry)
{
	return strcmp(path, ((const struct touched_file *)entry)->path);
}

static int changes_compare_touched_paths(const void *a, const void *b)
{
	return changes_compare_path_with_touched(((const struct touched_file *)a)->path, b);
}

/* Notes whether the path exists before the call, and its file's size and times. */
static void changes_read_state_before_touch(struct touched_file *entry, const struct place *place)
{
	_cleanup_close_ int fd = view_open_uncovered(place, O_PATH | O_NOFOLLOW);
	struct stat now;

	if (fd < 0 || fstat(fd, &now) < 0) {
		/* ELOOP: a parent is a symbolic link, so the path was absent. */
		entry->state = fd == -ENOENT || fd == -ENOTDIR || fd == -ELOOP ? TOUCHED_ABSENT : TOUCHED_UNKNOWN;
		return;
	}
	entry->state = TOUCHED_PRESENT;
	entry->dev = now.st_dev;
	entry->ino = now.st_ino;
	entry->mode = now.st_mode;
	entry->uid = now.st_uid;
	entry->gid = now.st_gid;
	entry->size = (uint64_t)now.st_size;
	entry->mtime = now.st_mtim;
	entry->ctime = now.st_ctim;
}

static struct touched_file *changes_make_touched(const struct place *place)
{
	struct touched_file *entry = calloc(1, sizeof(*entry) + place->virt_len + 1);
	const char *below = place->path_below_mount_fd;

	if (!entry)
		return NULL;
	entry->mount = place->mount;
	entry->below_mount_offset = SIZE_MAX;
	if (below >= place->virt && below <= place->virt + place->virt_len)
		entry->below_mount_offset = (size_t)(below - place->virt);
	entry->path_len = place->virt_len;
	memcpy(entry->path, place->virt, place->virt_len);
	return entry;
}

void changes_get_touched_place(const struct touched_file *entry, struct place *ret_place)
{
	ret_place->mount = entry->mount;
	ret_place->is_magic_link = false;
	ret_place->virt_len = entry->path_len;
	memcpy(ret_place->virt, entry->path, entry->path_len + 1);
	ret_place->path_below_mount_fd = entry->below_mount_offset == SIZE_MAX
						 ? entry->mount->path_below_fd
						 : ret_place->virt + entry->below_mount_offset;
}

bool changes_mount_is_reported(const struct mount *mount)
{
	const unsigned never = MOUNT_SKELETON | MOUNT_PROVIDED | MOUNT_DEVICE | MOUNT_PROC | MOUNT_PRIVATE;

	return mount && !(mount->flags & never);
}

/*
 * Finds or adds a place. A new entry gets the state of `source`; NULL: absent. 0, also if there is no room, or -ENOMEM.
 */
static int changes_find_or_add_touched(struct changes *changes, const struct place *place, const struct place *source)
{
	struct touched_file *entry;

	if (tfind(place->virt, &changes->tree, changes_compare_path_with_touched))
		return 0;
	if (changes->touched_count >= CHANGES_TOUCHED_PATHS_MAX ||
	    place->virt_len > CHANGES_PATHS_BYTES_MAX - changes->paths_bytes) {
		changes->unlisted_count++;
		return 0;
	}
	entry = changes_make_touched(place);
	if (!entry)
		return -ENOMEM;
	if (source)
		changes_read_state_before_touch(entry, source);
	if (!tsearch(entry, &changes->tree, changes_compare_touched_paths)) {
		free(entry);
		return -ENOMEM;
	}
	changes->touched_count++;
	changes->paths_bytes += entry->path_len;
	return 0;
}

/* Notes a path as touched, if its mount's changes are reported. 0 or -errno. */
static int changes_add_touched_if_reported(struct changes *changes, const struct place *place)
{
	struct place other;

	return changes_mount_is_reported(place->mount)
		       ? changes_find_or_add_touched(changes, place, changes_find_present_place(changes, place, &other))
		       : 0;
}

int changes_add_first_and_present_place(struct changes *changes, const struct place *place)
{
	struct place first;
	int r = changes_add_touched_if_reported(changes, place);

	return r == 0 && changes_find_place_at_run_start(changes, place->virt, &first)
		       ? changes_add_touched_if_reported(changes, &first)
		       : r;
}

int changes_add_touched_place(struct changes *changes, const struct place *place)
{
	if (changes->moves && place->mount && !place->is_magic_link)
		return changes_add_first_and_present_place(changes, place);
	return changes_mount_is_reported(place->mount) && !place->is_magic_link
		       ? changes_find_or_add_touched(changes, place, place)
		       : 0;
}

bool changes_has_touched_place(const struct changes *changes, const struct place *place)
{
	return tfind(place->virt, &changes->tree, changes_compare_path_with_touched);
}

struct changes *changes_create(void)
{
	return calloc(1, sizeof(struct changes));
}

void changes_free(struct changes *changes)
{
	if (!changes)
		return;
	tdestroy(changes->tree, free);
	changes_forget_directory_renames(changes);
	free(changes);
}

uint64_t changes_get_unlisted_count(const struct changes *changes)
{
	return changes->unlisted_count;
}
