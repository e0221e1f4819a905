/*
 * What the rules say about whole trees. view/ asks which mounts are read-only and which names must be covered.
 * syscalls/ and supervisor/ ask whether names need to be judged one by one.
 */
#ifndef CALLGATE_POLICY_PATHS_BELOW_H
#define CALLGATE_POLICY_PATHS_BELOW_H

#include "policy/policy.h"

/* False when no name at or below the canonical virtual path is writable. */
bool policy_may_write(const struct policy *policy, const char *path);

/* True when a name directly in this directory may be writable: not only names in directories below. */
bool policy_may_write_in_dir(const struct policy *policy, const char *path);

/*
 * Calls visit() with paths below `path`, so that each writable name below `path` is at or below one of them. Names
 * directly in `path` are left out: policy_may_write_in_dir() tells of them. Stops when visit() does not return 0, and
 * returns its value.
 */
int policy_visit_writable_below(const struct policy *policy, const char *path,
				int (*visit)(void *ctx, const char *path), void *ctx);

/*
 * Calls visit() with each canonical virtual path that a deny rule without globs names. Stops when visit() returns < 0.
 * Returns 0 or that value.
 */
int policy_visit_denied_paths(const struct policy *policy, int (*visit)(void *ctx, const char *path), void *ctx);

struct glob;

/* A path that a deny or private rule hides: mounts must hide it, too, from calls that the kernel alone performs. */
struct policy_hidden_path {
	const char *path;        /* canonical virtual path; of a glob: the directory that the glob starts in */
	const struct glob *glob; /* what is hidden below `path`; NULL: `path` itself is hidden */
	bool is_private;         /* withholds only what a RULE_PUBLIC would grant */
	const char *rule;        /* label of the rule; owned by the policy */
};

/*
 * Calls visit() with each path of each deny and private rule. Stops when visit() does not return 0. Returns its value.
 */
int policy_visit_hidden_paths(const struct policy *policy,
			      int (*visit)(void *ctx, const struct policy_hidden_path *hidden), void *ctx);

/* True when only whole trees are granted: no rule denies reading, and no grant has a glob or is RULE_PUBLIC. */
bool policy_grants_only_whole_trees(const struct policy *policy);

#endif
