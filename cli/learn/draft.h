/*
 * The draft: the policy that is being learnt, as JSON, with the profile that it extends, its rules with their reasons,
 * and the rules that were left out. The draft is written to a temporary file, which is renamed.
 */
#ifndef CALLGATE_CLI_LEARN_DRAFT_H
#define CALLGATE_CLI_LEARN_DRAFT_H

#include <jansson.h>
#include <stdbool.h>

#include "cli/learn/needs.h"
#include "cli/learn/scan.h"
#include "policy/policy.h"

/* The policy that `callgate learn` writes, as JSON. */
struct draft {
	json_t *root;    /* owned */
	json_t *ungrantable;       /* array of {"path", "right", "why"}: accesses that no option can grant; owned */
	json_t *disabled_paths;    /* array of paths whose rules were left out; owned */
};

/*
 * Starts a policy. old: the policy to which rules are added, borrowed; NULL: a new policy that extends `base` (NULL:
 * nothing). 0 or -ENOMEM.
 */
int draft_init(struct draft *draft, const json_t *old, const char *name, const char *base);
void draft_release(struct draft *draft);

/*
 * Adds a rule to filesystem.read, write or exec (`right`: one POLICY_ right), unless the list has it. because_taken:
 * reason of the rule, owned by the draft from then on; NULL means that memory ran out. found: further files that the
 * rule grants; may be NULL. disabled: why the rule is left out; NULL: it applies. 0 or -ENOMEM.
 */
int draft_add_path_rule(struct draft *draft, unsigned right, const char *path, char *because_taken,
			const struct scan_found *found, const char *disabled);

/* Adds a pattern to filesystem.deny, with its reason. 0 or -ENOMEM. */
int draft_add_deny_rule(struct draft *draft, const char *pattern, const char *because);

/* Adds an access that callgate never grants to draft->ungrantable. 0 or -ENOMEM. */
int draft_add_ungrantable_path(struct draft *draft, unsigned right, const char *path, const char *why);

/* Adds the path of a rule with "disabled". 0 or -ENOMEM. */
int draft_add_disabled_path(struct draft *draft, const char *path);

/*
 * Returns the array at "section"."key" of the policy; adds the section and the array if they are missing. NULL: no
 * memory.
 */
json_t *draft_get_list(struct draft *draft, const char *section, const char *key);

/* True when the policy, or a file that it extends, grants writing outside the working directory. */
bool draft_writes_outside_workdir(const struct draft *draft);

/* Returns the number of rules, without those that are left out. */
size_t draft_count_rules(const struct draft *draft);

/*
 * Writes the policy to a temporary file, which is then renamed to `path`. must_be_new: fails with -EEXIST, and changes
 * nothing, if that file exists. 0 or -errno; -EINVAL: the policy is invalid, and messages say why.
 */
int draft_write(const struct draft *draft, const char *path, bool must_be_new);

/* Gives the policy a network that grants no endpoint, so that the program can make sockets. 0 or -ENOMEM. */
int draft_add_network_denying_all(struct draft *draft);

#endif
