/*
 * Enumerates paths so that every combination of patterns that some path matches is reached by one of them, as far as
 * the names tried can tell. Used to find witnesses of what two policies judge differently: policy/diff/paths.c for
 * files, endpoints.c for HTTP requests. Pure; memory comes from an arena whose no_memory is set.
 *
 * The patterns run as automata over the components of a path. A state is where all of them stand. From each state, the
 * search tries every name that a pattern can match next:
 *   - literal names;
 *   - for a name with "*": each star empty, and each star as "x";
 *   - for each two names with "*": the shortest name that matches both, and it with "x" where both have a star;
 *   - one name that no literal equals.
 * A state that was seen before is not searched again: nothing new can happen below.
 */
#ifndef CALLGATE_POLICY_DIFF_WALK_H
#define CALLGATE_POLICY_DIFF_WALK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "policy/arena.h"
#include "policy/paths/glob.h"

struct walk_pattern {
	struct glob glob; /* from the root on; ends in "**" when the pattern matches everything below as well */
	/*
	 * Facts about all paths below, in the lower half, for patterns that end in "**": those that it makes true and
	 * untrue when it has matched. Patterns of one effect share a fact, which keeps the number of states small.
	 */
	uint64_t sets, clears;
	uint64_t unless; /* the pattern makes no difference where one of these facts is true */
};

struct walk {
	struct arena *arena;
	const struct walk_pattern *pattern; /* where several match at once, later ones set facts last */
	size_t patterns;
	uint64_t stop; /* nothing is searched below a path where all these facts are true; 0: none */
	/*
	 * Called for each path, which begins with "/" and fits in PATH_MAX. Returns, in the upper half, what else tells
	 * paths apart at which the patterns stand alike.
	 */
	uint64_t (*visit)(void *ctx, const char *path);
	void *ctx;
};

/* False: there were more than WALK_STATES_MAX states, and the search ended early. */
#define WALK_STATES_MAX 20000
bool walk_visit_paths(const struct walk *walk);

/* Splits an absolute path or pattern into components; `below`: and everything below. In the arena. */
struct glob walk_split_path(struct arena *arena, const char *path, bool below);
/* Appends the components of b to those of a. In the arena. */
struct glob walk_join_globs(struct arena *arena, const struct glob *a, const struct glob *b);

#endif
