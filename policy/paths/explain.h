/* Explains decisions to users, for `callgate why`. Not used while calls are judged. */
#ifndef CALLGATE_POLICY_PATHS_EXPLAIN_H
#define CALLGATE_POLICY_PATHS_EXPLAIN_H

#include <limits.h>

#include "policy/paths/suggest.h"
#include "policy/policy.h"

/* Finds the mount that shows this canonical virtual path. Borrowed from the policy; NULL: no mount does. */
const struct policy_mount *policy_find_mount(const struct policy *policy, const char *path);

/* Writes base + "/" + rest; rest may be empty. Returns the length, or -ENAMETOOLONG. */
int policy_path_concat(const char *base, const char *rest, char out[PATH_MAX]);

/* Maps a virtual path to its host path. Returns the length; -ENOENT: the path shows no host object; -ENAMETOOLONG. */
int policy_map_to_host(const struct policy *policy, const char *path, char out[PATH_MAX]);

/*
 * Follows the links of the policy (policy_get_links(): /lib -> /usr/lib) in a normalised absolute path. Returns the
 * length, -ENAMETOOLONG or -ELOOP.
 */
int policy_follow_links(const struct policy *policy, const char *path, char out[PATH_MAX]);

/*
 * Makes a text that says what would allow `want` on a path that was denied. Owned by the caller. NULL when the path was
 * allowed, or memory ran out. NULL with *ret_why (owned as well) when nothing should be suggested.
 */
char *policy_suggest_grant(const struct policy_decision *decision, const struct suggest_host *host, const char *path,
			   unsigned want, char **ret_why);

#endif
