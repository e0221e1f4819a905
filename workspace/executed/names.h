/* The list of names of what tools run or obey by themselves. Used by workspace/executed.c. */
#ifndef CALLGATE_WORKSPACE_EXECUTED_NAMES_H
#define CALLGATE_WORKSPACE_EXECUTED_NAMES_H

#include <stdbool.h>
#include <stddef.h>

#include "policy/arena.h"

#define EXECUTED_GIT_REASON "git runs or obeys it"

struct executed_name;

struct executed_names {
	struct executed_name *name; /* of the arena */
	size_t count;
};

/* What a path is of. */
enum executed_match {
	EXECUTED_MATCH_ENTRY,    /* anything but a directory */
	EXECUTED_MATCH_DIR,      /* a directory, with all that is below */
	EXECUTED_MATCH_HOST_DIR, /* the same, above the workspace, where "configure*" may be what a project is called */
};

/* Compiles the patterns. 0 or -ENOMEM. */
int executed_names_init(struct executed_names *names, struct arena *arena);

/* Why a path, without a leading slash, is one that a tool runs by itself (static). NULL: it is none. */
const char *executed_names_find(const struct executed_names *names, const char *path, enum executed_match match);

#endif
