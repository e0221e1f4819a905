/* More than the hot path needs to know about a decision, for people. */
#ifndef CALLGATE_POLICY_PATHS_EXPLAIN_H
#define CALLGATE_POLICY_PATHS_EXPLAIN_H

#include <limits.h>
#include <stddef.h>

#include "policy/policy.h"

/* The mount that shows this canonical virtual path; NULL when none does. Borrows from the policy. */
const struct policy_mount *policy_mount_of(const struct policy *policy, const char *path);

/* The host path behind a virtual one. Its length; -ENOENT: nothing of the host is there; -ENAMETOOLONG. */
int policy_host_path(const struct policy *policy, const char *path, char out[PATH_MAX]);

/*
 * Follows the links the policy knows (/lib -> /usr/lib) in a lexically clean absolute path. The length, or
 * -ENAMETOOLONG, -ELOOP.
 */
int policy_follow_links(const struct policy *policy, const char *path, char out[PATH_MAX]);

/*
 * What would allow `want` on a path the decision refused, in words. Owned by the caller; NULL when it is allowed or
 * memory ran out.
 */
char *policy_suggest(const struct policy_decision *decision, const char *path, unsigned want);

#endif
