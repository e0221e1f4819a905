/* Names that may be of one file, found by pairs of such names (union-find). For moves.c. */
#ifndef CALLGATE_WORKSPACE_NAMES_JOINED_H
#define CALLGATE_WORKSPACE_NAMES_JOINED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct joined {
	const char **pair; /* two names each; the array is owned, the names are borrowed */
	size_t pair_names, pair_room;
	const char **name; /* all of them, sorted, each once; owned likewise */
	size_t *next;      /* of each name: another one of its file; the last one leads to itself; owned */
	size_t count;
};

/* Adds a pair. Both names must stay until joined_release(). False: no memory. */
bool joined_add(struct joined *joined, const char *left, const char *right);

/*
 * Joins the names of all pairs. Then joined_find() can be called; and this again, after more were added. 0 or -ENOMEM.
 */
int joined_unite(struct joined *joined);

/* A number of the file that has a name; equal ones are of one file. 0: the name is in no pair. */
uint64_t joined_find(const struct joined *joined, const char *name);

void joined_release(struct joined *joined);

#endif
