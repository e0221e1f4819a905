#include "workspace/names/same-names.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/array.h"
#include "base/cleanup.h"

/* A path by its last part. */
struct same_name {
	const char *name, *path; /* borrowed */
	bool is_new;             /* it is a new entry of the layer, and not an old one of the directory */
};

struct same_names {
	struct same_name *item; /* owned */
	size_t count, room;
};

static bool same_names_add(struct same_names *names, const char *path, bool is_new)
{
	const char *slash = strrchr(path, '/');

	if (!array_reserve(&names->item, names->count, &names->room))
		return false;
	names->item[names->count++] =
		(struct same_name){.name = slash ? slash + 1 : path, .path = path, .is_new = is_new};
	return true;
}

/* True if the program has removed a directory that a path is in, and perhaps made it again. */
static bool same_names_is_in_removed_dir(const struct workspace_layer *layer, const char *path)
{
	char dir[PATH_MAX];
	char *slash;
	bool is_removed = false;

	(void)snprintf(dir, sizeof(dir), "%s", path);
	while (!is_removed && (slash = strrchr(dir, '/'))) {
		_cleanup_close_ int fd = -1;
		struct stat st;

		*slash = '\0';
		fd = workspace_open_entry(layer->upper_fd, dir);
		is_removed =
			fd < 0 || fstat(fd, &st) < 0 || !S_ISDIR(st.st_mode) || workspace_is_opaque(layer, fd) != 0;
	}
	return is_removed;
}

/* True for a change that removes a file which may have been copied with its directory. */
static bool same_names_is_old(const struct workspace_layer *layer, const struct workspace_change *change)
{
	return change->base.exists && !S_ISDIR(change->base.mode) && same_names_is_in_removed_dir(layer, change->path);
}

/* True for a file that may be a copy. What the directory has there may have been put there since. */
static bool same_names_is_new(const struct workspace_layer *layer, const struct workspace_bases *bases,
			      const struct workspace_change *change)
{
	if (!change->upper.exists || S_ISDIR(change->upper.mode))
		return false;
	return change->kind != WORKSPACE_MODIFIED || !workspace_bases_has(bases, layer, change->path) ||
	       same_names_is_in_removed_dir(layer, change->path);
}

static int same_names_compare(const void *left, const void *right)
{
	const struct same_name *a = left, *b = right;

	return strcmp(a->name, b->name);
}

/* Adds the pairs of names that are equal, from `at` on to `end`, if some are new and some are old. */
static bool same_names_join_some(const struct same_names *names, size_t at, size_t end, struct joined *joined)
{
	size_t new = 0;

	for (size_t i = at; i < end; i++)
		new += names->item[i].is_new;
	for (size_t i = at + 1; new > 0 && new < end - at &&i < end; i++)
		if (!joined_add(joined, names->item[at].path, names->item[i].path))
			return false;
	return true;
}

/* Lists the names. False: no memory. */
static bool same_names_list(const struct workspace_layer *layer, const struct workspace_bases *bases,
			    const struct workspace_changes *changes, const struct joined *joined,
			    struct same_names *names)
{
	bool has_memory = true;

	for (size_t i = 0; has_memory && i < changes->count; i++) {
		const struct workspace_change *change = &changes->item[i];

		if (same_names_is_new(layer, bases, change))
			has_memory = same_names_add(names, change->path, true);
		if (has_memory && same_names_is_old(layer, change))
			has_memory = same_names_add(names, change->path, false);
	}
	for (size_t i = 0; has_memory && i < joined->count; i++) /* a file may have had them before it was copied */
		if (same_names_is_in_removed_dir(layer, joined->name[i]))
			has_memory = same_names_add(names, joined->name[i], false);
	return has_memory;
}

int same_names_join(const struct workspace_layer *layer, const struct workspace_bases *bases,
		    const struct workspace_changes *changes, struct joined *joined)
{
	struct same_names names = {.count = 0};
	bool has_memory = same_names_list(layer, bases, changes, joined, &names);

	if (names.count > 0)
		qsort(names.item, names.count, sizeof(*names.item), same_names_compare);
	for (size_t at = 0, end; has_memory && at < names.count; at = end) {
		for (end = at + 1; end < names.count && strcmp(names.item[end].name, names.item[at].name) == 0;)
			end++;
		has_memory = same_names_join_some(&names, at, end, joined);
	}
	free(names.item);
	return has_memory ? 0 : -ENOMEM;
}
