#include "workspace/names/renames.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/sha256.h"
#include "workspace/changes.h"

/* A file that was deleted or added. */
struct renames_file {
	struct workspace_change *change;
	uint64_t size;
	char hash[SHA256_HEX_SIZE]; /* "": not hashed, or not readable */
};

/* The files that can be two halves of a rename, and how much may still be hashed. */
struct renames {
	const struct workspace_layer *layer;
	struct renames_file *deleted, *added; /* owned; sorted by size */
	size_t deleted_count, added_count;
	uint64_t bytes_left;
};

static int renames_compare(const void *left, const void *right)
{
	const struct renames_file *a = left, *b = right;

	if (a->size != b->size)
		return (a->size > b->size) - (a->size < b->size);
	if (strcmp(a->hash, b->hash) != 0)
		return strcmp(a->hash, b->hash);
	return strcmp(a->change->path, b->change->path);
}

/* True for a change by which a name has other content, although there was something of that name. */
static bool renames_is_other_content(const struct workspace_change *change)
{
	return change->kind == WORKSPACE_REPLACED ||
	       (change->kind == WORKSPACE_MODIFIED && change->differences & WORKSPACE_CONTENT_DIFFERS);
}

/*
 * The file of a change that can be half of a rename; NULL: it has none. is_new: the half that was added. by_others:
 * also what took the place of something else.
 */
static const struct workspace_entry *renames_get_half(const struct workspace_change *change, bool is_new,
						      bool by_others)
{
	const struct workspace_entry *entry = is_new ? &change->upper : &change->base;
	bool is_half = change->kind == (is_new ? WORKSPACE_ADDED : WORKSPACE_DELETED);

	if (by_others && is_new)
		is_half = !change->old_path && (is_half || renames_is_other_content(change));
	else if (by_others)
		is_half = !change->new_path && (is_half || change->kind == WORKSPACE_REPLACED);
	return is_half && S_ISREG(entry->mode) && entry->size > 0 ? entry : NULL;
}

/* Lists the files that can be one half. Owned by the caller; NULL: no memory. */
static struct renames_file *renames_list(struct workspace_changes *changes, bool is_new, bool by_others,
					 size_t *ret_count)
{
	struct renames_file *list = calloc(changes->count + 1, sizeof(*list));
	size_t count = 0;

	for (size_t i = 0; list && i < changes->count; i++) {
		const struct workspace_entry *entry = renames_get_half(&changes->item[i], is_new, by_others);

		if (entry)
			list[count++] = (struct renames_file){.change = &changes->item[i], .size = entry->size};
	}
	if (count > 0)
		qsort(list, count, sizeof(*list), renames_compare);
	*ret_count = count;
	return list;
}

/* Hashes a file, unless too much was hashed already. */
static void renames_hash(struct renames *renames, struct renames_file *file, int root_fd)
{
	_cleanup_close_ int entry = -1, fd = -1;
	uint64_t bytes;

	if (file->size > renames->bytes_left)
		return;
	renames->bytes_left -= file->size;
	entry = workspace_open_entry(root_fd, file->change->path);
	fd = entry < 0 ? entry : workspace_open_content(entry);
	if (fd < 0 || sha256_hash_fd(fd, file->hash, &bytes) < 0 || bytes != file->size)
		file->hash[0] = '\0';
}

/* Hashes the files of a list whose size is also in the other list. Both are sorted. */
static void renames_hash_common_sizes(struct renames *renames, struct renames_file *list, size_t count,
				      const struct renames_file *other, size_t other_count, int root_fd)
{
	size_t at = 0;

	for (size_t i = 0; i < count; i++) {
		while (at < other_count && other[at].size < list[i].size)
			at++;
		if (at < other_count && other[at].size == list[i].size)
			renames_hash(renames, &list[i], root_fd);
	}
}

/* Hashes all files that can be half of a rename, and sorts the lists again. */
static void renames_hash_lists(struct renames *renames)
{
	renames_hash_common_sizes(renames, renames->deleted, renames->deleted_count, renames->added,
				  renames->added_count, renames->layer->base_fd);
	renames_hash_common_sizes(renames, renames->added, renames->added_count, renames->deleted,
				  renames->deleted_count, renames->layer->upper_fd);
	qsort(renames->deleted, renames->deleted_count, sizeof(*renames->deleted), renames_compare);
	qsort(renames->added, renames->added_count, sizeof(*renames->added), renames_compare);
}

/* Makes one change of two. The deletion is marked by its path, which becomes NULL. */
static void renames_join(struct workspace_change *deleted, struct workspace_change *added)
{
	added->kind = WORKSPACE_RENAMED;
	added->old_path = steal_pointer(&deleted->path);
	added->base = deleted->base;
	added->differences = workspace_compare_entries(&added->base, &added->upper); /* not its attributes */
}

/* Lets two changes name each other. False: no memory. */
static bool renames_link(struct workspace_change *deleted, struct workspace_change *added)
{
	added->old_path = strdup(deleted->path);
	deleted->new_path = strdup(added->path);
	return added->old_path && deleted->new_path;
}

/* Joins or links the files with equal hashes. Both lists are sorted by size and hash. False: no memory. */
static bool renames_join_equal(struct renames *renames, bool keeps_apart)
{
	size_t deleted = 0, added = 0;

	while (deleted < renames->deleted_count && added < renames->added_count) {
		struct renames_file *old = &renames->deleted[deleted], *new = &renames->added[added];
		int order = (old->size > new->size) - (old->size < new->size);

		if (order == 0)
			order = strcmp(old->hash, new->hash);
		if (order == 0 && old->hash[0] && !keeps_apart)
			renames_join(old->change, new->change);
		else if (order == 0 && old->hash[0] && !renames_link(old->change, new->change))
			return false;
		deleted += order <= 0;
		added += order >= 0;
	}
	return true;
}

/* Removes the changes that renames_join() has marked. */
static void renames_drop_joined(struct workspace_changes *changes)
{
	size_t count = 0;

	for (size_t i = 0; i < changes->count; i++)
		if (changes->item[i].path)
			changes->item[count++] = changes->item[i];
	changes->count = count;
}

/* Finds renames of one sort: by_others as of renames_get_half(). False: no memory. */
static bool renames_find(struct renames *renames, struct workspace_changes *changes, bool by_others)
{
	bool has_memory;

	renames->deleted = renames_list(changes, false, by_others, &renames->deleted_count);
	renames->added = renames_list(changes, true, by_others, &renames->added_count);
	has_memory = renames->deleted && renames->added;
	if (has_memory && renames->deleted_count > 0 && renames->added_count > 0) {
		renames_hash_lists(renames);
		has_memory = renames_join_equal(renames, changes->keeps_renames_apart);
	}
	free(renames->deleted);
	free(renames->added);
	return has_memory;
}

int workspace_renames_find(const struct workspace_layer *layer, struct workspace_changes *changes)
{
	struct renames renames = {.layer = layer, .bytes_left = RENAMES_HASHED_BYTES_MAX};
	bool has_memory = renames_find(&renames, changes, false);

	if (has_memory && changes->keeps_renames_apart)
		has_memory = renames_find(&renames, changes, true);
	else if (has_memory)
		renames_drop_joined(changes);
	return has_memory ? 0 : -ENOMEM;
}
