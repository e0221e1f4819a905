/*
 * The policy that is being learnt, as JSON: what it extends, its rules with their reasons, and the rules that were left
 * out. The file is written aside and renamed.
 */
#ifndef CALLGATE_CLI_LEARN_DRAFT_H
#define CALLGATE_CLI_LEARN_DRAFT_H

#include <jansson.h>
#include <stdbool.h>

#include "cli/learn/needs.h"
#include "cli/learn/scan.h"
#include "policy/policy.h"

struct draft {
	json_t *root;    /* owned */
	json_t *refused; /* array of {"path", "right", "why"}: what no option grants; owned */
	json_t *disabled_paths;    /* array of paths whose rules were left out; owned */
};

/* `old`: the policy to add to, borrowed; NULL: a new one that extends `base` (NULL: nothing). 0 or -ENOMEM. */
int draft_init(struct draft *draft, const json_t *old, const char *name, const char *base);
void draft_release(struct draft *draft);

/*
 * Adds a rule to filesystem.read, write or exec (`right`: one POLICY_ right) unless it is there. because_taken: taken,
 * NULL is no memory. found (may be NULL): what it grants beside. disabled: why it is left out; NULL: it applies. 0 or
 * -ENOMEM.
 */
int draft_add_path(struct draft *draft, unsigned right, const char *path, char *because_taken,
		   const struct scan_found *found, const char *disabled);

/* Adds a name to filesystem.deny. */
int draft_add_deny(struct draft *draft, const char *pattern, const char *because);

/* Notes what is never granted. 0 or -ENOMEM. */
int draft_add_ungrantable(struct draft *draft, unsigned right, const char *path, const char *why);

/* Notes a path whose rule has "disabled". 0 or -ENOMEM. */
int draft_add_disabled_path(struct draft *draft, const char *path);

/* The array at "section" or, with a section of its own, at section.key; made where it is missing. NULL: no memory. */
json_t *draft_get_list(struct draft *draft, const char *section, const char *key);

/* True when the policy, or one of a file that it extends, grants writing elsewhere than in the working directory. */
bool draft_writes_outside(const struct draft *draft);

/* How many rules there are, without those that are left out. */
size_t draft_count_rules(const struct draft *draft);

/*
 * Writes the policy to a new file that then gets this name. fresh: -EEXIST, and nothing is changed, where there is such
 * a file. 0 or -errno; -EINVAL: with messages about the policy.
 */
int draft_write(const struct draft *draft, const char *path, bool fresh);

/* Makes the policy offer sockets, for endpoints that it does not grant. 0 or -ENOMEM. */
int draft_add_network_denying_all(struct draft *draft);

#endif
