/*
 * Judges names that a run's view shows although no rule grants them. Called by view/ while the program runs, and by
 * replay/ afterwards.
 */
#ifndef CALLGATE_POLICY_PATHS_SHOWN_H
#define CALLGATE_POLICY_PATHS_SHOWN_H

#include <errno.h>

#include "policy/policy.h"

/* A directory that is there only because something below it is granted: it may be read. */
static inline struct policy_decision policy_decide_ancestor(unsigned want)
{
	if (want & POLICY_EXEC)
		return (struct policy_decision){VERDICT_DENY, EACCES, NULL, "not_executable", want};
	if (want & POLICY_WRITE)
		return (struct policy_decision){VERDICT_DENY, EROFS, NULL, "read_only", want};
	return (struct policy_decision){VERDICT_PROVIDE, 0, NULL, "ancestor", want};
}

/* A device, or another file of the run: it may be read, and a device written, unless a rule denies it. */
static inline struct policy_decision policy_decide_run_file(const struct policy *policy, const char *path, size_t len,
							    unsigned want, bool device)
{
	struct policy_decision rule = policy_decide_access(policy, path, len, POLICY_READ);

	rule.want = want;
	if (rule.verdict == VERDICT_DENY && rule.error == EACCES)
		return rule;
	if (want & POLICY_EXEC)
		return (struct policy_decision){VERDICT_DENY, EACCES, NULL, "not_executable", want};
	if (want & POLICY_WRITE && !device)
		return (struct policy_decision){VERDICT_DENY, EROFS, NULL, "read_only", want};
	return (struct policy_decision){VERDICT_PROVIDE, 0, NULL, device ? "device" : "network", want};
}

#endif
