/* callgate why --open and --exec: decides one access to a path. */
#ifndef CALLGATE_CLI_WHY_PATH_H
#define CALLGATE_CLI_WHY_PATH_H

#include <limits.h>

#include "policy/policy.h"

/* A question about a path, and the answer. */
struct why_path_question {
	char asked_path[PATH_MAX];    /* the question's path, made absolute */
	char resolved_path[PATH_MAX]; /* canonical path in the view */
	char host_path[PATH_MAX];     /* host path; "": the path leads to no file of the host */
	bool is_private_to_run;       /* it leads to the scratch directory, which each run has for itself */
	unsigned wanted_rights;       /* POLICY_ rights */
	struct policy_decision decision;
	const struct policy_mount *mount;
};

/*
 * Decides the access that "PATH:r", "PATH:w" or "PATH:x" names ("PATH": reading), or with `exec` executing "PATH".
 * Looks at the host as a run would: symbolic links, and the permissions of what only a public rule grants. 0, or
 * -errno of a path that cannot be resolved.
 */
int why_decide_path(const struct policy *policy, const char *text, bool exec, struct why_path_question *ret_question);

/*
 * The option or rule that would allow a denied access; owned. NULL with *ret_why (owned as well): nothing should be
 * suggested. NULL without it: the access is allowed, or no memory.
 */
char *why_suggest_grant(const struct policy *policy, const struct why_path_question *question, char **ret_why);

#endif
