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

/* The names, as strings of the file. Those of one file lead to the same last one, which leads to itself. */
struct moves_names {
	char *text;        /* owned */
	const char **name; /* sorted; owned */
	size_t *next;      /* of each name; owned */
	size_t count;
};

static void moves_names_release(struct moves_names *names)
{
	free(names->text);
	free((void *)names->name);
	free(names->next);
}
#define _cleanup_moves_names_ __attribute__((cleanup(moves_names_release)))

static int moves_compare_names(const void *left, const void *right)
{
	return strcmp(*(const char *const *)left, *(const char *const *)right);
}

/* The index of a name; names->count: there is none. */
static size_t moves_find_name(const struct moves_names *names, const char *name)
{
	const char **found =
		names->count > 0 ? bsearch(&name, names->name, names->count, sizeof(*names->name), moves_compare_names)
				 : NULL;

	return found ? (size_t)(found - names->name) : names->count;
}

/* The last name of those of one file. Shortens the way there. */
static size_t moves_find_last(const struct moves_names *names, size_t at)
{
	while (names->next[at] != at) {
		names->next[at] = names->next[names->next[at]];
		at = names->next[at];
	}
	return at;
}

/* Reads the file. 1; 0: it is not complete, or of another start of the machine; or -ENOMEM. */
static int moves_read(const struct workspace_layer *layer, struct moves_names *names, size_t *ret_len, size_t *ret_at)
{
	char boot_id[COPY_BOOT_ID_SIZE];
	struct stat st;
	int r;

	if (fstatat(layer->dir_fd, VIEW_MOVES_NAME, &st, AT_SYMLINK_NOFOLLOW) < 0 || st.st_mode & S_ISVTX)
		return 0;
	r = io_read_file(layer->dir_fd, VIEW_MOVES_NAME, MOVES_BYTES_MAX, &names->text, ret_len);
	if (r < 0)
		return r == -ENOMEM ? r : 0;
	copy_read_boot_id(boot_id);
	*ret_at = strlen(boot_id) + 1;
	return *boot_id && *ret_len >= *ret_at && names->text[*ret_len - 1] == '\0' &&
	       strcmp(names->text, boot_id) == 0;
}

/* Sorts the names that begin at `at`, each once. 0 or -ENOMEM. */
static int moves_sort_names(struct moves_names *names, size_t at, size_t len)
{
	size_t room = 0, all = 0;

	for (; at < len; at += strlen(names->text + at) + 1) {
		if (!array_reserve(&names->name, all, &room))
			return -ENOMEM;
		names->name[all++] = names->text + at;
	}
	if (all > 0)
		qsort(names->name, all, sizeof(*names->name), moves_compare_names);
	for (size_t i = 0; i < all; i++)
		if (names->count == 0 || strcmp(names->name[names->count - 1], names->name[i]) != 0)
			names->name[names->count++] = names->name[i];
	names->next = malloc((names->count + 1) * sizeof(*names->next));
	if (!names->next)
		return -ENOMEM;
	for (size_t i = 0; i < names->count; i++)
		names->next[i] = i;
	return 0;
}

/* Lets the names of each pair lead to the same one. */
static void moves_unite_pairs(const struct moves_names *names, size_t at, size_t len)
{
	while (at < len) {
		const char *from = names->text + at, *to = from + strlen(from) + 1;

		if (to >= names->text + len) /* one that was not wholly written, before its rename */
			return;
		names->next[moves_find_last(names, moves_find_name(names, from))] =
			moves_find_last(names, moves_find_name(names, to));
		at = (size_t)(to - names->text) + strlen(to) + 1;
	}
}

/* Sets the files of all changes of an overlay. 0 or -ENOMEM. */
static int moves_find_by_names(const struct workspace_layer *layer, struct workspace_changes *changes)
{
	_cleanup_moves_names_ struct moves_names names = {.count = 0};
	size_t at = 0, len = 0;
	int r = moves_read(layer, &names, &len, &at);

	if (r <= 0)
		return r;
	r = moves_sort_names(&names, at, len);
	if (r < 0)
		return r;
	moves_unite_pairs(&names, at, len);
	for (size_t i = 0; i < changes->count; i++) {
		struct workspace_change *change = &changes->item[i];
		const size_t found = moves_find_name(&names, change->path);

		if (found == names.count)
			continue;
		change->old_file = change->base.exists ? moves_find_last(&names, found) + 1 : 0;
		change->new_file = change->upper.exists ? moves_find_last(&names, found) + 1 : 0;
	}
	changes->knows_moves = true;
	return 0;
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
	if (change->new_file == change->old_file) /* it has its name still */
		change->new_file = change->old_file = 0;
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

int workspace_moves_find(const struct workspace_layer *layer, struct workspace_changes *changes)
{
	int r = 0;

	changes->knows_moves = layer->records != NULL;
	if (!layer->records)
		r = moves_find_by_names(layer, changes);
	for (size_t i = 0; i < changes->count; i++) {
		struct workspace_change *change = &changes->item[i];

		if (layer->records)
			moves_set_inodes(layer, change);
		if (change->base.exists && S_ISDIR(change->base.mode)) /* what is in it has changes of its own */
			change->old_file = 0;
		if (change->upper.exists && S_ISDIR(change->upper.mode))
			change->new_file = 0;
	}
	if (layer->was_restored)
		changes->knows_moves = false;
	return r < 0 ? r : moves_drop_single(changes);
}
