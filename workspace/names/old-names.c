#include "workspace/names/old-names.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/cleanup.h"

static int old_names_compare(const void *left, const void *right)
{
	const uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;

	return (a > b) - (a < b);
}

/* The index of a file; names->count: it is none of these. */
static size_t old_names_find(const struct old_names *names, uint64_t file)
{
	const uint64_t *found =
		names->count > 0 ? bsearch(&file, names->file, names->count, sizeof(*names->file), old_names_compare)
				 : NULL;

	return found ? (size_t)(found - names->file) : names->count;
}

int old_names_init(struct old_names *names, const struct workspace_layer *layer,
		   const struct workspace_changes *changes)
{
	size_t count = 0;

	names->layer = layer;
	names->file = malloc((changes->count + 1) * sizeof(*names->file));
	names->is_there = calloc(changes->count + 1, sizeof(*names->is_there));
	if (!names->file || !names->is_there)
		return -ENOMEM;
	for (size_t i = 0; i < changes->count; i++)
		if (!changes->item[i].base.exists && changes->item[i].new_file != 0)
			names->file[count++] = changes->item[i].new_file;
	if (count > 0)
		qsort(names->file, count, sizeof(*names->file), old_names_compare);
	for (size_t i = 0; i < count; i++)
		if (i == 0 || names->file[i] != names->file[i - 1])
			names->file[names->count++] = names->file[i];
	return 0;
}

void old_names_release(struct old_names *names)
{
	free(names->file);
	free(names->is_there);
}

void old_names_look(struct old_names *names, uint64_t file, const char *path)
{
	const size_t at = old_names_find(names, file);
	_cleanup_close_ int fd = -1;
	struct stat st;

	if (at == names->count || names->is_there[at])
		return;
	fd = workspace_open_entry(names->layer->base_fd, path);
	names->is_there[at] = fd >= 0 && fstat(fd, &st) == 0 && !S_ISDIR(st.st_mode);
}

void old_names_set(const struct old_names *names, struct workspace_changes *changes)
{
	for (size_t i = 0; i < changes->count; i++) {
		const size_t at = old_names_find(names, changes->item[i].new_file);

		changes->item[i].has_old_name =
			at < names->count && !changes->item[i].base.exists && names->is_there[at];
	}
}
