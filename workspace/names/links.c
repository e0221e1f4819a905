#include "workspace/names/links.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

int workspace_links_add(struct workspace_links *links, ino_t ino, const char *path)
{
	char *copy;

	if (links->count == WORKSPACE_LINKS_MAX)
		return 0;
	copy = strdup(path);
	if (!copy || !array_reserve(&links->item, links->count, &links->room)) {
		free(copy);
		return -ENOMEM;
	}
	links->item[links->count++] = (struct workspace_link){.ino = ino, .path = copy};
	return 0;
}

void workspace_links_release(struct workspace_links *links)
{
	for (size_t i = 0; i < links->count; i++)
		free(links->item[i].path);
	free(links->item);
	*links = (struct workspace_links){0};
}

static int links_compare(const void *left, const void *right)
{
	const struct workspace_link *a = left, *b = right;

	return a->ino != b->ino ? (a->ino > b->ino) - (a->ino < b->ino) : strcmp(a->path, b->path);
}

void workspace_links_sort(struct workspace_links *links)
{
	if (links->count > 0)
		qsort(links->item, links->count, sizeof(*links->item), links_compare);
}

const struct workspace_link *workspace_links_find(const struct workspace_links *links, ino_t ino, size_t *ret_count)
{
	size_t first = 0, end = links->count, count = 0;

	while (first < end) {
		const size_t middle = first + (end - first) / 2;

		if (links->item[middle].ino < ino)
			first = middle + 1;
		else
			end = middle;
	}
	while (first + count < links->count && links->item[first + count].ino == ino)
		count++;
	*ret_count = count;
	return count > 1 ? &links->item[first] : NULL;
}
