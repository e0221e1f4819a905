/*
 * What follows a denial, or the reading of a decoy, besides its record ("on_deny", "on_read"); who judges calls that
 * only read ("judge"); and where writes go ("workspace.mode").
 */
#ifndef CALLGATE_POLICY_MODES_H
#define CALLGATE_POLICY_MODES_H

#include <stdbool.h>

struct policy;

/* What a denial does to the process that made the call: "on_deny". The call fails, unless an answer allows it. */
enum policy_on_deny {
	ON_DENY_UNSET,
	ON_DENY_ERRNO, /* nothing */
	ON_DENY_KILL,  /* SIGKILL */
	ON_DENY_STOP,  /* SIGSTOP: the user may look at the process with a debugger, and continue it */
	/* a call that names files waits for the answer to a question file (supervisor/ask/); other calls fail */
	ON_DENY_ASK_FILE,
	ON_DENY_ASK, /* as ON_DENY_ASK_FILE, but an approver is asked, not a directory (approval/) */
	ON_DENY_MAX,
};

/* Whether a denial of this mode is a question to an approver. */
static inline bool policy_on_deny_asks(enum policy_on_deny mode)
{
	return mode == ON_DENY_ASK_FILE || mode == ON_DENY_ASK;
}

/* Who judges calls that only read: "judge". */
enum policy_judge {
	POLICY_JUDGE_UNSET,   /* a file does not say; as POLICY_JUDGE_ALL */
	POLICY_JUDGE_ALL,     /* the supervisor judges and records each call with a path */
	POLICY_JUDGE_CHANGES, /* where possible, calls that only read are left to the kernel: paths/reads.h */
	POLICY_JUDGE_MAX,
};

/* The words of "judge", NULL-ended: those of enum policy_judge from POLICY_JUDGE_ALL on. */
extern const char *const policy_judge_names[];
const char *policy_judge_get_name(enum policy_judge judge);

/* POLICY_JUDGE_ALL or POLICY_JUDGE_CHANGES, as the policy asks. */
enum policy_judge policy_get_judge_mode(const struct policy *policy);

/* Where what the program writes to the directory of -w goes: "workspace.mode". */
enum policy_workspace {
	POLICY_WORKSPACE_UNSET,  /* a file does not say; as POLICY_WORKSPACE_DIRECT */
	POLICY_WORKSPACE_DIRECT, /* there */
	POLICY_WORKSPACE_COW,    /* to a workspace; the directory stays as it is */
	POLICY_WORKSPACE_MAX,
};

/* The words of "workspace.mode", NULL-ended: those of enum policy_workspace from POLICY_WORKSPACE_DIRECT on. */
extern const char *const policy_workspace_names[];

/* The words of the policy, NULL-ended: those of enum policy_on_deny from ON_DENY_ERRNO on; those of "on_read". */
extern const char *const policy_on_deny_names[], *const policy_on_read_names[];
const char *policy_on_deny_get_name(enum policy_on_deny mode);

/*
 * The mode of a denial: that of its rule, else that of the policy. `rule` is the rule's name in the record; NULL: no
 * rule denied. Never ON_DENY_UNSET.
 */
enum policy_on_deny policy_find_on_deny(const struct policy *policy, const char *rule);

/* Whether some denial does more to the process than the errno. */
bool policy_has_on_deny_actions(const struct policy *policy);

/* Whether some denial has this mode. */
bool policy_asks_in_mode(const struct policy *policy, enum policy_on_deny mode);
/* Whether some denial has the mode ON_DENY_ASK_FILE or ON_DENY_ASK. */
bool policy_asks_about_denials(const struct policy *policy);

/* Whether reading the decoy of this rule, named as in a record, ends the run. */
bool policy_decoy_read_ends_run(const struct policy *policy, const char *rule);

#endif
