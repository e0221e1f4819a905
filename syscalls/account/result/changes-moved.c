/* Where the objects below renamed directories were when the run began, and where they are now. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "syscalls/account/result/changes-private.h"

struct moved_path *moved_path_make(const struct mount *mount, size_t below_mount_offset, const char *head,
				   size_t head_len, const char *tail)
{
	size_t tail_len = strlen(tail);
	struct moved_path *moved = malloc(sizeof(*moved) + head_len + tail_len + 1);

	if (!moved)
		return NULL;
	moved->mount = mount;
	moved->below_mount_offset = below_mount_offset;
	moved->len = head_len + tail_len;
	memcpy(moved->path, head, head_len);
	memcpy(moved->path + head_len, tail, tail_len + 1);
	return moved;
}

struct moved_path *moved_path_make_of_place(const struct place *place)
{
	return moved_path_make(place->mount, (size_t)(place->path_below_mount_fd - place->virt), place->virt,
			       place->virt_len, "");
}

/* The part of `path` after the moved path: "" or "/…". NULL: `path` is neither the moved path nor below it. */
static const char *moved_path_get_tail_of_path(const struct moved_path *moved, const char *path)
{
	if (!moved || strncmp(path, moved->path, moved->len) != 0 || (path[moved->len] && path[moved->len] != '/'))
		return NULL;
	return path + moved->len;
}

bool moved_path_is_below(const struct moved_path *moved, const struct place *place)
{
	return moved && moved->len >= place->virt_len && memcmp(moved->path, place->virt, place->virt_len) == 0 &&
	       (moved->path[place->virt_len] == '/' || !moved->path[place->virt_len]);
}

bool moved_path_fill_place_below(const struct moved_path *moved, const char *tail, struct place *ret_place)
{
	size_t tail_len = strlen(tail);

	if (moved->len + tail_len >= sizeof(ret_place->virt))
		return false;
	ret_place->mount = moved->mount;
	ret_place->is_magic_link = false;
	memcpy(ret_place->virt, moved->path, moved->len);
	memcpy(ret_place->virt + moved->len, tail, tail_len + 1);
	ret_place->virt_len = moved->len + tail_len;
	ret_place->path_below_mount_fd = ret_place->virt + moved->below_mount_offset;
	return true;
}

struct directory_rename *changes_find_directory_rename(const struct changes *changes, const char *path,
						       bool by_present_path)
{
	struct directory_rename *found = NULL;
	size_t longest = 0;

	for (size_t i = 0; i < changes->moves; i++) {
		const struct moved_path *moved = by_present_path ? changes->directory_rename[i].present_path
								 : changes->directory_rename[i].first_path;

		if (moved_path_get_tail_of_path(moved, path) && moved->len >= longest) {
			longest = moved->len;
			found = &changes->directory_rename[i];
		}
	}
	return found;
}

bool changes_find_place_at_run_start(const struct changes *changes, const char *path, struct place *ret_place)
{
	const struct directory_rename *move = changes_find_directory_rename(changes, path, true);

	return move && move->first_path &&
	       moved_path_fill_place_below(move->first_path, path + move->present_path->len, ret_place) &&
	       changes_find_directory_rename(changes, ret_place->virt, false) == move;
}

const struct place *changes_find_present_place(const struct changes *changes, const struct place *place,
					       struct place *other)
{
	const struct directory_rename *move = changes_find_directory_rename(changes, place->virt, false);

	if (!move) /* true: another directory was renamed to this path, so the object is gone */
		return changes_find_directory_rename(changes, place->virt, true) ? NULL : place;
	if (!move->present_path ||
	    !moved_path_fill_place_below(move->present_path, place->virt + move->first_path->len, other))
		return NULL;
	return changes_find_directory_rename(changes, other->virt, true) == move ? other : NULL;
}

void changes_free_rename_paths(struct directory_rename *move)
{
	free(move->first_path);
	free(move->present_path);
}

void changes_forget_directory_renames(struct changes *changes)
{
	for (size_t i = 0; i < changes->moves; i++)
		changes_free_rename_paths(&changes->directory_rename[i]);
	free(changes->directory_rename);
	changes->directory_rename = NULL;
	changes->moves = changes->move_room = 0;
}
