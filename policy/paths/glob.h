/*
 * Patterns of paths in rules. "*" matches any text within one component. A component "**" matches any number of
 * components, also none. Everything else is literal; there is no escape.
 */
#ifndef CALLGATE_POLICY_PATHS_GLOB_H
#define CALLGATE_POLICY_PATHS_GLOB_H

#include <stdbool.h>
#include <stddef.h>

#include "policy/arena.h"

/* A match takes at most this number times the path's components (at most 2048) steps. */
#define GLOB_PARTS_MAX 64

enum glob_kind {
	GLOB_LITERAL,
	GLOB_ANY,  /* "*" */
	GLOB_WILD, /* any other text with "*" */
	GLOB_DEEP, /* "**" */
};

struct glob_part {
	enum glob_kind kind;
	const char *text; /* not NUL-terminated */
	size_t len;
};

struct glob {
	const struct glob_part *part;
	size_t parts;
};

/* True when the component contains a "*". */
bool glob_is_wild(const char *name, size_t len);

/*
 * Compiles a pattern without a leading slash. With `below`, everything below a match is matched as well. Borrows the
 * text. 0, -EINVAL ("**" inside a component, or an empty component), -E2BIG (more than GLOB_PARTS_MAX), -ENOMEM.
 */
int glob_compile(struct arena *arena, const char *pattern, bool below, struct glob *ret_glob);

/* True when the pattern matches the whole path. The path has no leading slash; "" has no component. No allocation. */
bool glob_matches(const struct glob *glob, const char *path, size_t len);

/* True when the path or any path below it can match. */
bool glob_may_match_below(const struct glob *glob, const char *path, size_t len);

/* True when one part matches one component. */
bool glob_part_matches(const struct glob_part *part, const char *name, size_t len);

#endif
