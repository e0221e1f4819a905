/*
 * Remembers which directories were renamed. What is below them is listed once, when the program has ended, or when
 * there are too many.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/io.h"
#include "base/text.h"
#include "syscalls/account/result/changes-private.h"

/*
 * most renamed directories that are remembered, because each touch of a path searches them all; beyond this number, all
 * of them are listed at once and forgotten
 */
#define DIRECTORY_RENAMES_MAX 1024

/* ---- recording the rename of a directory ---- */

/*
 * Makes the path that the directory now at `place` had when the run began. *ret_moved NULL: the run made the directory.
 * 0 or -ENOMEM.
 */
static int moved_path_make_at_run_start(const struct changes *changes, const struct place *place,
					struct moved_path **ret_moved)
{
	struct place first;

	*ret_moved = NULL;
	if (changes_find_place_at_run_start(changes, place->virt, &first))
		*ret_moved = moved_path_make_of_place(&first);
	else if (!changes_find_directory_rename(changes, place->virt, true) &&
		 !changes_find_directory_rename(changes, place->virt, false))
		*ret_moved = moved_path_make_of_place(place);
	else
		return 0;
	return *ret_moved ? 0 : -ENOMEM;
}

/*
 * Updates the present path of a renamed directory, if the directory is at or below `from`, which was now renamed to
 * `to`. 1: updated; 0: not affected; or -ENOMEM.
 */
static int changes_update_rename_target(struct directory_rename *move, const struct place *from, const struct place *to)
{
	struct moved_path *now;

	if (!moved_path_is_below(move->present_path, from))
		return 0;
	now = moved_path_make(to->mount, (size_t)(to->path_below_mount_fd - to->virt), to->virt, to->virt_len,
			      move->present_path->path + from->virt_len);
	if (!now)
		return -ENOMEM;
	free(move->present_path);
	move->present_path = now;
	return 1;
}

/*
 * Prepares a new entry for the renamed directory that was at `from`; the caller sets present_path. *ret_add false: the
 * directory was renamed before, and has an entry already.
 */
static int changes_prepare_directory_rename(struct changes *changes, const struct place *from,
					    struct directory_rename *ret_move, bool *ret_add)
{
	const struct directory_rename *known = changes_find_directory_rename(changes, from->virt, true);

	*ret_add = !known || known->present_path->len != from->virt_len;
	return *ret_add ? moved_path_make_at_run_start(changes, from, &ret_move->first_path) : 0;
}

static int changes_add_directory_rename(struct changes *changes, struct directory_rename *move, const struct place *to)
{
	move->present_path = moved_path_make_of_place(to);
	if (!move->present_path || !array_reserve(&changes->directory_rename, changes->moves, &changes->move_room))
		return -ENOMEM;
	changes->directory_rename[changes->moves++] = *move;
	*move = (struct directory_rename){0};
	return 0;
}

/*
 * Called after a directory was renamed to `place`, where at most an empty directory or a file was. Forgets earlier
 * renames to that place.
 */
static void changes_forget_renames_to_place(struct changes *changes, const struct place *place)
{
	for (size_t i = 0; i < changes->moves; i++) {
		struct directory_rename *move = &changes->directory_rename[i];

		if (moved_path_is_below(move->present_path, place)) {
			free(move->present_path);
			move->present_path = NULL;
		}
	}
}

static int changes_record_directory_rename(struct changes *changes, const struct place *from, const struct place *to,
					   bool from_dir, bool to_dir)
{
	struct directory_rename there = {0}, back = {0};
	bool add_there = false, add_back = false;
	int r = from_dir ? changes_prepare_directory_rename(changes, from, &there, &add_there) : 0;

	if (r == 0 && to_dir)
		r = changes_prepare_directory_rename(changes, to, &back, &add_back);
	if (!to_dir)
		changes_forget_renames_to_place(changes, to);
	if (!from_dir)
		changes_forget_renames_to_place(changes, from);
	for (size_t i = 0; r >= 0 && i < changes->moves; i++) {
		r = from_dir ? changes_update_rename_target(&changes->directory_rename[i], from, to) : 0;
		if (r == 0 && to_dir)
			r = changes_update_rename_target(&changes->directory_rename[i], to, from);
	}
	if (r >= 0 && add_there)
		r = changes_add_directory_rename(changes, &there, to);
	if (r >= 0 && add_back)
		r = changes_add_directory_rename(changes, &back, from);
	changes_free_rename_paths(&there);
	changes_free_rename_paths(&back);
	return r < 0 ? r : 0;
}

void changes_note_rename(struct changes *changes, const struct place *from, const struct place *to, bool from_dir,
			 bool to_dir)
{
	bool reported = changes_mount_is_reported(from->mount) || changes_mount_is_reported(to->mount);

	if ((!from_dir && !to_dir) || (!reported && !changes->moves))
		return;
	if (changes_record_directory_rename(changes, from, to, from_dir, to_dir) < 0)
		changes->unlisted_count++;
	else if (changes->moves >= DIRECTORY_RENAMES_MAX && changes_list_all_renamed_trees(changes) < 0)
		changes->unlisted_count++;
}

/* ---- listing renamed directories ---- */

/* Walks breadth first: with one descriptor at a time, however deep the tree is. */
struct renamed_tree_walk {
	struct changes *changes;
	const struct directory_rename *move;
	char **queue; /* directories to list, relative to move->present_path; owned */
	size_t queued, done, cap, entries;
	uint64_t end_ns; /* when listing is given up */
	/*
	 * place of the entry that is being listed; a member of the struct, because it is too large for the stack of
	 * each function
	 */
	struct place place;
};

/* Adds a directory, by its path below the renamed one, to those still to be listed. */
static int changes_queue_directory(struct renamed_tree_walk *walk, const char *tail)
{
	if (!array_reserve(&walk->queue, walk->queued, &walk->cap))
		return -ENOMEM;
	walk->queue[walk->queued] = strdup(tail);
	return walk->queue[walk->queued] && ++walk->queued ? 0 : -ENOMEM;
}

static bool changes_entry_is_dir(int dirfd, const struct dirent *entry)
{
	struct stat status;

	if (entry->d_type != DT_UNKNOWN)
		return entry->d_type == DT_DIR;
	return fstatat(dirfd, entry->d_name, &status, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(status.st_mode);
}

/*
 * Touches an entry of a renamed directory by its path when the run began and by its present path. A directory that was
 * also renamed itself is listed by its own entry, and not here.
 */
static int changes_list_name(struct renamed_tree_walk *walk, int dirfd, const char *dir, const struct dirent *entry)
{
	_cleanup_free_ char *tail = text_format("%s/%s", dir, entry->d_name);
	int r;

	if (!tail)
		return -ENOMEM;
	if (!moved_path_fill_place_below(walk->move->present_path, tail, &walk->place)) {
		walk->changes->unlisted_count++;
		return 0;
	}
	r = changes_add_first_and_present_place(walk->changes, &walk->place);
	if (r < 0 || !changes_entry_is_dir(dirfd, entry) ||
	    changes_find_directory_rename(walk->changes, walk->place.virt, true) != walk->move)
		return r;
	return changes_queue_directory(walk, tail);
}

/* Notes all names in a renamed directory as touched; the directories among them are queued. */
static int changes_list_directory(struct renamed_tree_walk *walk, const char *tail)
{
	_cleanup_closedir_ DIR *stream = NULL;
	const struct dirent *name;
	int fd = -1, r = 0, error = 0;

	if (moved_path_fill_place_below(walk->move->present_path, tail, &walk->place))
		fd = view_open_uncovered(&walk->place, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK);
	if (fd == -ENOENT || fd == -ENOTDIR)
		return 0; /* the program has removed the directory, and touched every name in it by that */
	stream = io_take_dir_stream(fd);
	if (!stream) {
		walk->changes->unlisted_count++; /* the directory is unreadable, so the changes below it are unknown */
		return 0;
	}
	while (r == 0 && (name = io_read_entry(stream, &error))) {
		if (++walk->entries > CHANGES_LISTED_ENTRIES_MAX || io_read_clock_ns() > walk->end_ns) {
			walk->changes->unlisted_count++;
			return 0;
		}
		r = changes_list_name(walk, fd, tail, name);
	}
	walk->changes->unlisted_count += error < 0;
	return r;
}

static int changes_list_renamed_tree(struct renamed_tree_walk *walk)
{
	int r = changes_queue_directory(walk, "");

	for (; walk->done < walk->queued; walk->done++) {
		if (r == 0)
			r = changes_list_directory(walk, walk->queue[walk->done]);
		free(walk->queue[walk->done]);
	}
	walk->queued = walk->done = 0;
	return r;
}

int changes_list_all_renamed_trees(struct changes *changes)
{
	uint64_t begin_ns = io_read_clock_ns();
	struct renamed_tree_walk walk = {.changes = changes,
					 .end_ns = begin_ns + CHANGES_LISTING_TIME_MAX_NS - changes->listing_spent_ns};
	int r = 0;

	for (size_t i = 0; r == 0 && i < changes->moves; i++) {
		walk.move = &changes->directory_rename[i];
		if (walk.move->present_path &&
		    changes_find_directory_rename(changes, walk.move->present_path->path, true) == walk.move)
			r = changes_list_renamed_tree(&walk);
	}
	free(walk.queue);
	changes_forget_directory_renames(changes);
	changes->listing_spent_ns += io_read_clock_ns() - begin_ns;
	if (changes->listing_spent_ns > CHANGES_LISTING_TIME_MAX_NS)
		changes->listing_spent_ns = CHANGES_LISTING_TIME_MAX_NS;
	return r;
}
