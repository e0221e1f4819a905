/*
 * Patterns over path components: "*" stands for any text within one component, a component "**" for any number of
 * components, none included. Everything else is literal; there is no escape.
 */
#ifndef CALLGATE_POLICY_PATHS_GLOB_H
#define CALLGATE_POLICY_PATHS_GLOB_H

#include <stdbool.h>
#include <stddef.h>

#include "policy/arena.h"

/* Bounds the work of one match: components of a path (at most 2048) times these. */
#define GLOB_PARTS_MAX 64

enum glob_kind {
	GLOB_LITERAL,
	GLOB_PREFIX, /* "name*" */
	GLOB_SUFFIX, /* "*name" */
	GLOB_WILD,   /* any other text with "*" */
	GLOB_ANY,    /* "*" */
	GLOB_DEEP,   /* "**" */
};

struct glob_part {
	enum glob_kind kind;
	const char *text; /* without the star for PREFIX and SUFFIX; not NUL-terminated */
	size_t len;
};

struct glob {
	const struct glob_part *part;
	size_t parts;
};

/* True when the component has a "*" in it. */
bool glob_is_wild(const char *name, size_t len);

/*
 * Compiles a pattern without a leading slash. With `below`, whatever lies below a match is matched as well. Borrows the
 * text. 0, -EINVAL ("**" inside a word, no component, an empty one), -E2BIG (more than GLOB_PARTS_MAX), -ENOMEM.
 */
int glob_compile(struct arena *arena, const char *pattern, bool below, struct glob *ret_glob);

/* True when the pattern matches all of the path, a text without leading slash ("" is no component). No allocation. */
bool glob_match(const struct glob *glob, const char *path, size_t len);

/* True when the path, or some path below it, could match. */
bool glob_may_match_below(const struct glob *glob, const char *path, size_t len);

/* One component against one part. */
bool glob_part_match(const struct glob_part *part, const char *name, size_t len);

#endif
