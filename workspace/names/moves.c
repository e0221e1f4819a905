#include "workspace/names/moves.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/io.h"
#include "view/copy/copy.h"
#include "view/copy/moves.h"
#include "workspace/names/joined.h"
#include "workspace/names/old-names.h"
#include "workspace/names/same-names.h"
#include "workspace/records.h"

#define MOVES_BYTES_MAX ((size_t)VIEW_MOVES_NAMES_MAX * PATH_MAX) /* most of the file */

bool workspace_change_is_new_name(const struct workspace_change *change)
{
	return change->new_file != 0 &&
	       (change->kind != WORKSPACE_MODIFIED || change->differences & WORKSPACE_CONTENT_DIFFERS);
}

bool workspace_change_is_old_name(const struct workspace_change *change)
{
	return change->old_file != 0 &&
	       (change->kind != WORKSPACE_MODIFIED || change->differences & WORKSPACE_CONTENT_DIFFERS);
}

/* ---- of an overlay: names in pairs ---- */

/* A name that a file of the directory has, or had when the program first changed it. */
struct moves_name {
	uint64_t inode;
	const char *path; /* borrowed; without NUL */
	size_t len;
};

/* What is known of an overlay. */
struct moves {
	char *text; /* of VIEW_MOVES_NAME; owned */
	struct moves_name *name;
	size_t count, room;
	char **copy; /* of paths, with NUL; owned */
	size_t copies, copies_room;
	struct joined joined;
};

static void moves_release(struct moves *moves)
{
	for (size_t i = 0; i < moves->copies; i++)
		free(moves->copy[i]);
	free((void *)moves->copy);
	free(moves->name);
	free(moves->text);
	joined_release(&moves->joined);
}
#define _cleanup_moves_ __attribute__((cleanup(moves_release)))

/* Reads the file. 1; 0: it is not complete, or of another start of the machine; or -ENOMEM. */
static int moves_read(const struct workspace_layer *layer, struct moves *moves, size_t *ret_len, size_t *ret_at)
{
	char boot_id[COPY_BOOT_ID_SIZE];
	struct stat st;
	int r;

	if (fstatat(layer->dir_fd, VIEW_MOVES_NAME, &st, AT_SYMLINK_NOFOLLOW) < 0 || st.st_mode & S_ISVTX)
		return 0;
	r = io_read_file(layer->dir_fd, VIEW_MOVES_NAME, MOVES_BYTES_MAX, &moves->text, ret_len);
	if (r < 0)
		return r == -ENOMEM ? r : 0;
	copy_read_boot_id(boot_id);
	*ret_at = strlen(boot_id) + 1;
	return *boot_id && *ret_len >= *ret_at && moves->text[*ret_len - 1] == '\0' &&
	       strcmp(moves->text, boot_id) == 0;
}

/* Adds a name of a file. 0 or -ENOMEM. */
static int moves_add_name(void *ctx, uint64_t inode, const char *path, size_t len)
{
	struct moves *moves = ctx;

	if (!array_reserve(&moves->name, moves->count, &moves->room))
		return -ENOMEM;
	moves->name[moves->count++] = (struct moves_name){.inode = inode, .path = path, .len = len};
	return 0;
}

/* Adds what the file says: pairs, and names of files with several. 0 or -ENOMEM. */
static int moves_add_pairs(struct moves *moves, size_t at, size_t len)
{
	int r = 0;

	while (r == 0 && at < len) {
		const char *from = moves->text + at, *to = from + strlen(from) + 1;

		if (to >= moves->text + len) /* one that was not wholly written, before its rename */
			break;
		if (*to == VIEW_MOVES_INODE)
			r = moves_add_name(moves, strtoull(to + 1, NULL, 10), from, strlen(from));
		else if (!joined_add(&moves->joined, from, to))
			r = -ENOMEM;
		at = (size_t)(to - moves->text) + strlen(to) + 1;
	}
	return r;
}

static int moves_compare_names(const void *left, const void *right)
{
	const struct moves_name *a = left, *b = right;
	const size_t shorter = a->len < b->len ? a->len : b->len;
	int r = (a->inode > b->inode) - (a->inode < b->inode);

	if (r == 0)
		r = memcmp(a->path, b->path, shorter);
	return r ? r : (a->len > b->len) - (a->len < b->len);
}

/* The path of a name, with its NUL. NULL: no memory. */
static const char *moves_copy_path(struct moves *moves, const struct moves_name *name)
{
	if (!array_reserve(&moves->copy, moves->copies, &moves->copies_room))
		return NULL;
	moves->copy[moves->copies] = strndup(name->path, name->len);
	return moves->copy[moves->copies] ? moves->copy[moves->copies++] : NULL;
}

/* Makes pairs of the names of one inode number. 0 or -ENOMEM. */
static int moves_join_inodes(struct moves *moves)
{
	const struct moves_name *last;
	const char *last_path = NULL;

	if (moves->count == 0)
		return 0;
	qsort(moves->name, moves->count, sizeof(*moves->name), moves_compare_names);
	last = moves->name;
	for (const struct moves_name *name = moves->name + 1; name < moves->name + moves->count; name++) {
		const char *path;

		if (name->inode == last->inode && moves_compare_names(name, last) != 0) {
			if (!last_path)
				last_path = moves_copy_path(moves, last);
			path = last_path ? moves_copy_path(moves, name) : NULL;
			if (!path || !joined_add(&moves->joined, last_path, path))
				return -ENOMEM;
			last_path = path;
		} else if (name->inode != last->inode) {
			last_path = NULL;
		}
		last = name;
	}
	return 0;
}

/* Finds which new entries are files that the directory has by another name. 0 or -ENOMEM. */
static int moves_find_old_names(const struct moves *moves, const struct workspace_layer *layer,
				struct workspace_changes *changes)
{
	_cleanup_old_names_ struct old_names old = {.count = 0};
	int r = old_names_init(&old, layer, changes);

	for (size_t i = 0; r == 0 && old.count > 0 && i < moves->joined.count; i++)
		old_names_look(&old, joined_find(&moves->joined, moves->joined.name[i]), moves->joined.name[i]);
	if (r == 0)
		old_names_set(&old, changes);
	return r;
}

static void moves_set_files(const struct moves *moves, struct workspace_changes *changes)
{
	for (size_t i = 0; i < changes->count; i++) {
		struct workspace_change *change = &changes->item[i];
		const uint64_t file = joined_find(&moves->joined, change->path);

		change->old_file = change->base.exists ? file : 0;
		change->new_file = change->upper.exists ? file : 0;
	}
}

/* Sets the files of all changes of an overlay. 1; 0: they are not known; or -ENOMEM. */
static int moves_find_by_names(const struct workspace_layer *layer, const struct workspace_bases *bases,
			       struct workspace_changes *changes)
{
	_cleanup_moves_ struct moves moves = {.count = 0};
	size_t at = 0, len = 0;
	int r = bases->is_incomplete ? 0 : moves_read(layer, &moves, &len, &at);

	if (r <= 0)
		return r;
	r = moves_add_pairs(&moves, at, len);
	if (r == 0)
		r = workspace_bases_visit(bases, moves_add_name, &moves);
	for (size_t i = 0; r == 0 && i < changes->count; i++)
		if (changes->item[i].base.exists)
			r = moves_add_name(&moves, changes->item[i].base.ino, changes->item[i].path,
					   strlen(changes->item[i].path));
	if (r == 0)
		r = moves_join_inodes(&moves);
	if (r == 0)
		r = joined_unite(&moves.joined);
	if (r == 0) {
		moves_set_files(&moves, changes);
		r = moves_find_old_names(&moves, layer, changes); /* of those that are known */
	}
	if (r == 0)
		r = same_names_join(layer, bases, changes, &moves.joined);
	if (r == 0)
		r = joined_unite(&moves.joined);
	if (r == 0)
		moves_set_files(&moves, changes);
	return r < 0 ? r : 1;
}

/* ---- of a copy: inode numbers ---- */

/* Sets the files of a change in the layer of a copy. */
static void moves_set_inodes(const struct workspace_layer *layer, struct workspace_change *change)
{
	const struct workspace_record *record = workspace_records_find(layer->records, change->path);
	_cleanup_close_ int fd = -1;

	change->old_file = record && change->base.exists ? record->kept.inode : 0;
	if (!change->upper.exists || !workspace_records_have_inode(layer->records, change->upper.ino))
		return;
	fd = workspace_open_entry(layer->upper_fd, change->path);
	if (fd < 0 || workspace_records_have_file(layer->records, fd))
		change->new_file = change->upper.ino;
	if (change->new_file == change->old_file) /* it has its name still; in the directory it may have others */
		change->old_file = 0;
}

/* Finds which new entries are files that the directory has by another name. 0 or -ENOMEM. */
static int moves_find_old_inodes(const struct workspace_layer *layer, struct workspace_changes *changes)
{
	_cleanup_old_names_ struct old_names old = {.count = 0};
	int r = old_names_init(&old, layer, changes);

	for (size_t i = 0; r == 0 && old.count > 0 && i < layer->records->count; i++)
		old_names_look(&old, layer->records->item[i].kept.inode, layer->records->item[i].path);
	if (r == 0)
		old_names_set(&old, changes);
	return r;
}

/* ---- both ---- */

static int moves_compare_files(const void *left, const void *right)
{
	const uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;

	return (a > b) - (a < b);
}

/* Lists the new files of all changes, sorted. Owned by the caller; NULL: no memory. */
static uint64_t *moves_list_new_files(const struct workspace_changes *changes, size_t *ret_count)
{
	uint64_t *list = malloc((changes->count + 1) * sizeof(*list));
	size_t count = 0;

	for (size_t i = 0; list && i < changes->count; i++)
		if (workspace_change_is_new_name(&changes->item[i]))
			list[count++] = changes->item[i].new_file;
	if (count > 0)
		qsort(list, count, sizeof(*list), moves_compare_files);
	*ret_count = count;
	return list;
}

/* Leaves no old file that has no new name but that of the change itself. 0 or -ENOMEM. */
static int moves_drop_single(struct workspace_changes *changes)
{
	size_t count;
	_cleanup_free_ uint64_t *list = moves_list_new_files(changes, &count);

	for (size_t i = 0; list && i < changes->count; i++) {
		struct workspace_change *change = &changes->item[i];
		const uint64_t *found = count > 0 && change->old_file != 0 ? bsearch(&change->old_file, list, count,
										     sizeof(*list), moves_compare_files)
									   : NULL;
		const bool is_own = found && change->new_file == change->old_file;

		if (!found || (is_own && (found == list || found[-1] != *found) &&
			       (found + 1 == list + count || found[1] != *found)))
			change->old_file = 0;
	}
	return list ? 0 : -ENOMEM;
}

/* ---- of any, where nothing is known ---- */

/* Lets all changes be of one file. Of equal contents the old name is known. */
static void moves_set_unknown(struct workspace_changes *changes)
{
	for (size_t i = 0; i < changes->count; i++) {
		changes->item[i].old_file = changes->item[i].base.exists;
		changes->item[i].new_file = changes->item[i].upper.exists && !changes->item[i].old_path;
	}
}

int workspace_moves_find(const struct workspace_layer *layer, const struct workspace_bases *bases,
			 struct workspace_changes *changes)
{
	int r = layer->records != NULL;

	if (!layer->was_restored && !layer->records)
		r = moves_find_by_names(layer, bases, changes);
	if (r < 0)
		return r;
	changes->knows_moves = r > 0 && !layer->was_restored;
	if (!changes->knows_moves)
		moves_set_unknown(changes);
	for (size_t i = 0; i < changes->count; i++) {
		struct workspace_change *change = &changes->item[i];

		if (changes->knows_moves && layer->records)
			moves_set_inodes(layer, change);
		if (change->base.exists && S_ISDIR(change->base.mode)) /* what is in it has changes of its own */
			change->old_file = 0;
		if (change->upper.exists && S_ISDIR(change->upper.mode))
			change->new_file = 0;
	}
	r = changes->knows_moves && layer->records ? moves_find_old_inodes(layer, changes) : 0;
	return r < 0 ? r : moves_drop_single(changes);
}
