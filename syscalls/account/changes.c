/*
 * Records touched paths in a tree. Called before every effect, so a path that was touched before must be cheap.
 *
 * Renaming a directory moves everything below it. Its content is not listed while the program runs. Instead the move is
 * remembered, so that the first state of a path can be looked up where its object is now. The content is listed once,
 * when the program has ended.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <search.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/io.h"
#include "base/text.h"
#include "syscalls/account/changes-private.h"

/*
 * most renamed directories that are remembered, because each touch of a path searches them all; beyond this number, all
 * of them are listed at once and forgotten
 */
#define DIRECTORY_RENAMES_MAX 1024

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

/* ---- paths below renamed directories: before and after the rename ---- */

/* Makes a path of head and tail in a mount. NULL: no memory. */
static struct moved_path *moved_path_make(const struct mount *mount, size_t below_mount_offset, const char *head,
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

static struct moved_path *moved_path_make_of_place(const struct place *place)
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

/* Whether the moved path is that of `place`, or a path below it. */
static bool moved_path_is_below(const struct moved_path *moved, const struct place *place)
{
	return moved && moved->len >= place->virt_len && memcmp(moved->path, place->virt, place->virt_len) == 0 &&
	       (moved->path[place->virt_len] == '/' || !moved->path[place->virt_len]);
}

/* Fills the place that is `tail` ("" or "/…") below a moved path. False: the path would be too long. */
static bool moved_path_fill_place_below(const struct moved_path *moved, const char *tail, struct place *ret_place)
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

/*
 * Finds the renamed directory that contains `path`; of several, the one with the longest path. by_present_path: the
 * present paths of the directories are compared with `path`, else their paths when the run began. NULL: none contains
 * it.
 */
static struct directory_rename *changes_find_directory_rename(const struct changes *changes, const char *path,
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

/*
 * Finds the path that the object at `path` had when the run began. False: the path is the same, or the run made the
 * object.
 */
static bool changes_find_place_at_run_start(const struct changes *changes, const char *path, struct place *ret_place)
{
	const struct directory_rename *move = changes_find_directory_rename(changes, path, true);

	return move && move->first_path &&
	       moved_path_fill_place_below(move->first_path, path + move->present_path->len, ret_place) &&
	       changes_find_directory_rename(changes, ret_place->virt, false) == move;
}

/*
 * Finds where the object is now that was at `place` when the run began. Returns `place`, or `other`, which is filled
 * in; NULL: the object no longer exists.
 */
static const struct place *changes_find_present_place(const struct changes *changes, const struct place *place,
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

/* Notes a path as touched, if its mount's changes are reported. 0 or -errno. */
static int changes_add_touched_if_reported(struct changes *changes, const struct place *place)
{
	struct place other;

	return changes_mount_is_reported(place->mount)
		       ? changes_find_or_add_touched(changes, place, changes_find_present_place(changes, place, &other))
		       : 0;
}

/* Touches `place` and, as directories were renamed, the path that its object had when the run began. */
static int changes_add_first_and_present_place(struct changes *changes, const struct place *place)
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

/* ---- recording the rename of a directory ---- */

static void changes_free_rename_paths(struct directory_rename *move)
{
	free(move->first_path);
	free(move->present_path);
}

static void changes_forget_directory_renames(struct changes *changes)
{
	for (size_t i = 0; i < changes->moves; i++)
		changes_free_rename_paths(&changes->directory_rename[i]);
	free(changes->directory_rename);
	changes->directory_rename = NULL;
	changes->moves = changes->move_room = 0;
}

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
