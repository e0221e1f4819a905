/*
 * Judges names that a view shows although no rule grants them. Called by view/ during the run, and by replay/
 * afterwards.
 */
#ifndef CALLGATE_POLICY_PATHS_SHOWN_H
#define CALLGATE_POLICY_PATHS_SHOWN_H

#include <errno.h>

#include "policy/policy.h"

static inline struct policy_decision policy_make_denial(int error, const char *reason, unsigned want)
{
	return (struct policy_decision){
		.verdict = VERDICT_DENY, .error = error, .reason = reason, .wanted_rights = want};
}

/* Judges a directory that only exists because something below it is granted: it may be read. */
static inline struct policy_decision policy_decide_dir_above_grant(unsigned want)
{
	if (want & POLICY_EXEC)
		return policy_make_denial(EACCES, "not_executable", want);
	if (want & POLICY_WRITE)
		return policy_make_denial(EROFS, "read_only", want);
	return (struct policy_decision){.verdict = VERDICT_PROVIDE, .reason = "ancestor", .wanted_rights = want};
}

/* Judges a device, or a file that callgate provides: it may be read, a device also written, unless a rule denies it. */
static inline struct policy_decision policy_decide_provided(const struct policy *policy, const char *path, size_t len,
							    unsigned want, bool device)
{
	struct policy_decision rule = policy_decide_access(policy, path, len, POLICY_READ);

	rule.wanted_rights = want;
	if (rule.verdict == VERDICT_DENY && rule.error == EACCES)
		return rule;
	if (want & POLICY_EXEC)
		return policy_make_denial(EACCES, "not_executable", want);
	if (want & POLICY_WRITE && !device)
		return policy_make_denial(EROFS, "read_only", want);
	if (rule.observed_denial.error != EACCES)
		rule.observed_denial = (struct policy_observed_denial){0};
	return (struct policy_decision){.verdict = VERDICT_PROVIDE, .reason = device ? "device" : "network",
					.wanted_rights = want, .observed_denial = rule.observed_denial};
}

#endif
