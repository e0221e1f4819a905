/*
 * "judge": "changes": whether a policy can do without judging the calls that only read. The supervisor asks before a
 * run, `callgate check` and `callgate show` ask about the policy alone. Pure: the view decides about the rest
 * (view_prepare_kernel_reads() in view/view.h).
 */
#ifndef CALLGATE_POLICY_PATHS_READS_H
#define CALLGATE_POLICY_PATHS_READS_H

#include "policy/policy.h"

/* A rule or setting that affects reading in a way that mounts of the kernel cannot: it prevents "judge": "changes". */
struct policy_kernel_reads_obstacle {
	const char *rule; /* label of the rule or setting: "data.json: filesystem.decoy[0] ~/x"; owned by the policy */
	const char *why;  /* the rest of a sentence: "is a decoy, and only a judged call tells …"; static */
};

/*
 * Finds the first rule or setting because of which reading has to be judged. True with *ret_obstacle. False: mounts
 * that show what is granted, with covers over what is denied, private or not public, decide about reading as the policy
 * does. Does not ask for policy_get_judge_mode().
 */
bool policy_find_kernel_reads_obstacle(const struct policy *policy, struct policy_kernel_reads_obstacle *ret_obstacle);

#endif
