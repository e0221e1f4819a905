/* Explains decisions to users, for `callgate why`. Not used while calls are judged. */
#ifndef CALLGATE_POLICY_PATHS_EXPLAIN_H
#define CALLGATE_POLICY_PATHS_EXPLAIN_H

#include <limits.h>

#include "policy/paths/suggest.h"
#include "policy/policy.h"

/* The mount that shows this canonical virtual path; NULL when none does. Borrows from the policy. */
const struct policy_mount *policy_find_mount(const struct policy *policy, const char *path);

/* Writes base + "/" + rest; rest may be empty. The length, or -ENAMETOOLONG. */
int policy_path_concat(const char *base, const char *rest, char out[PATH_MAX]);

/* Maps a virtual path to its host path. Its length; -ENOENT: no host object is mounted there; -ENAMETOOLONG. */
int policy_map_to_host(const struct policy *policy, const char *path, char out[PATH_MAX]);

/*
 * Follows the policy's own links (policy_get_links(): /lib -> /usr/lib) in a normalised absolute path. The length, or
 * -ENAMETOOLONG, -ELOOP.
 */
int policy_follow_links(const struct policy *policy, const char *path, char out[PATH_MAX]);

/*
 * A text that tells what would allow `want` on a path that was denied. Owned by the caller; NULL: it was allowed,
 * is a secret ("private"), memory ran out, or with *ret_why (owned as well) nothing should be suggested.
 */
char *policy_suggest_grant(const struct policy_decision *decision, const struct suggest_host *host, const char *path,
			   unsigned want, char **ret_why);

#endif
