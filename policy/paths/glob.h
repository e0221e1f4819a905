/*
 * Globs in the paths of rules. "*" matches any text within one component. A component "**" matches any number of
 * components, also none. All else is literal; there is no escape character.
 */
#ifndef CALLGATE_POLICY_PATHS_GLOB_H
#define CALLGATE_POLICY_PATHS_GLOB_H

#include <stdbool.h>
#include <stddef.h>

#include "policy/arena.h"

/* Parts of a glob. Matching takes at most this number of steps for each component of the path (at most 2048). */
#define GLOB_PARTS_MAX 64

enum glob_kind {
	GLOB_LITERAL,
	GLOB_ONE_ANY_NAME,  /* "*" */
	GLOB_NAME_WITH_STAR, /* a component that contains "*" and other text */
	GLOB_ANY_NAMES, /* "**" */
};

/* A component of a pattern, such as "*.txt" or "**". */
struct glob_part {
	enum glob_kind kind;
	const char *text; /* not NUL-terminated */
	size_t len;
};

/* A compiled pattern of paths, one part for each component. */
struct glob {
	const struct glob_part *part;
	size_t part_count;
};

/* True when the component contains a "*". */
bool glob_is_wild(const char *name, size_t len);

/*
 * Compiles a glob, which has no leading slash. With `below`, everything below a match is matched as well. Borrows the
 * text. 0, -EINVAL ("**" inside a component, or an empty component), -E2BIG (more than GLOB_PARTS_MAX), -ENOMEM.
 */
int glob_compile(struct arena *arena, const char *pattern, bool below, struct glob *ret_glob);

/* True when the glob matches the whole path, which has no leading slash ("" has no component). No allocation. */
bool glob_matches(const struct glob *glob, const char *path, size_t len);

/* True when the glob matches the path, or could match a path below it. */
bool glob_may_match_below(const struct glob *glob, const char *path, size_t len);

/* True when one part of a glob matches one component of a path. */
bool glob_part_matches(const struct glob_part *part, const char *name, size_t len);

#endif
