/*
 * Enumerates paths: for each combination of patterns that some path can match, one such path, if it consists of the
 * names that are tried. Finds the witnesses of what two policies judge differently: policy/diff/paths.c for files,
 * endpoints.c for HTTP requests. No I/O. Memory comes from an arena whose no_memory is set.
 *
 * The patterns run as automata over the components of a path. A state is the set of their positions. From each state
 * the search tries every name that a pattern can match next:
 *   - literal names;
 *   - for a name with "*": each star empty, and each star as "x";
 *   - for each two names with "*": the shortest name that matches both, and the same with "x" where both have a star;
 *   - one name that no literal equals.
 * Below a state that was reached before, nothing new can happen: it is not searched again.
 */
#ifndef CALLGATE_POLICY_DIFF_WALK_H
#define CALLGATE_POLICY_DIFF_WALK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "policy/arena.h"
#include "policy/paths/glob.h"

/* A pattern of a walk, and the facts that it sets for the paths that it matches. */
struct walk_pattern {
	struct glob glob; /* the glob from "/" on; ends in "**" when the pattern also matches everything below */
	/*
	 * Facts about all paths below a match, in the lower 32 bits: those that become true and those that become
	 * false. Only for patterns that end in "**". Patterns of the same effect share a fact, which keeps the number
	 * of states small.
	 */
	uint64_t sets, clears;
	uint64_t facts_that_disable_pattern; /* the pattern has no effect where one of these facts is true */
};

/* A search for paths that patterns of two policies match. */
struct pattern_walk {
	struct arena *arena;
	const struct walk_pattern *pattern; /* array of patterns; where several match, the facts of the last one win */
	size_t pattern_count;
	/* below a path where all these facts are true nothing is searched; 0: search everywhere */
	uint64_t facts_that_end_search;
	/*
	 * Called for each path, which begins with "/" and fits in PATH_MAX. Returns facts in the upper 32 bits: paths
	 * with different ones are different states, even if all patterns have the same positions.
	 */
	uint64_t (*visit)(void *ctx, const char *path);
	void *ctx;
};

#define WALK_STATES_MAX 20000 /* most states that one search for witnesses keeps */
/* Calls walk->visit for the paths to try. False: the search ended early, with more than WALK_STATES_MAX states. */
bool walk_visit_paths(const struct pattern_walk *walk);

/* Splits an absolute path or pattern into components; `below` adds everything below it. In the arena. */
struct glob walk_split_path(struct arena *arena, const char *path, bool below);
/* Appends the components of b to those of a. In the arena. */
struct glob walk_join_globs(struct arena *arena, const struct glob *a, const struct glob *b);

#endif
