/* Which names of a workspace's layer are names of one file (hard links). For changes.c; ws apply reads them. */
#ifndef CALLGATE_WORKSPACE_NAMES_LINKS_H
#define CALLGATE_WORKSPACE_NAMES_LINKS_H

#include <stddef.h>
#include <sys/types.h>

#define WORKSPACE_LINKS_MAX 1000000u /* most names; the files of further ones are copied */

/* A name of a regular file in the layer that has several. */
struct workspace_link {
	ino_t ino;
	char *path; /* owned */
};

struct workspace_links {
	struct workspace_link *item;
	size_t count, room;
};

/* Adds a name. 0 or -ENOMEM. workspace_links_release() frees. */
int workspace_links_add(struct workspace_links *links, ino_t ino, const char *path);
void workspace_links_release(struct workspace_links *links);

/* Sorts the names by file. Then workspace_links_find() can be called. */
void workspace_links_sort(struct workspace_links *links);

/* All names of a file: the first of *ret_count. NULL: it has not several. */
const struct workspace_link *workspace_links_find(const struct workspace_links *links, ino_t ino, size_t *ret_count);

#endif
