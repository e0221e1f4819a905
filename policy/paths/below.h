/* What the rules say about whole trees: for mounting them. */
#ifndef CALLGATE_POLICY_PATHS_BELOW_H
#define CALLGATE_POLICY_PATHS_BELOW_H

#include "policy/policy.h"

/* False when nothing at or below the canonical virtual path can be granted for writing. */
bool policy_may_write(const struct policy *policy, const char *path);

/*
 * Calls take with each canonical virtual path that a deny rule names with everything below it (globs are left out),
 * until it returns < 0. 0 or that.
 */
int policy_each_deny(const struct policy *policy, int (*take)(void *ctx, const char *path), void *ctx);

/*
 * True when what may be seen is whole trees: no rule denies reading anything (at all, or by now), and none grants names
 * by their form.
 */
bool policy_sees_whole(const struct policy *policy);

#endif
