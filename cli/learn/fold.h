/*
 * From what a program asked for to the rules of a policy. Each path that the policy does not grant yet belongs to one
 * of three tiers: granted; left out, as a rule with "disabled", unless --allow-risky is given; never granted. What is
 * granted is folded by the rules of callgate(1).
 */
#ifndef CALLGATE_CLI_LEARN_FOLD_H
#define CALLGATE_CLI_LEARN_FOLD_H

#include "cli/learn/draft.h"
#include "cli/learn/inodes.h"
#include "cli/learn/packages.h"

/* Where the program ran. Borrows. */
struct fold_place {
	const char *home;         /* of the user; NULL: none */
	const char *workdir;      /* name of the working directory in the view */
	const char *workdir_host; /* where that is on the host; NULL: an empty one */
	const struct inodes *inodes; /* secrets that have other names, too; NULL: not looked for */
	bool risky;
};

/* A right on a path that the draft does not grant. */
struct unmet {
	const struct need *need;
	unsigned right; /* one POLICY_ right */
	bool is_link_itself;      /* only the link in need->written is not shown */
};

/*
 * Adds rules for what is unmet. directories: also for directories of which nothing below is granted; before, they are
 * left to a later call, because rules of files show the directories above them. 0 or -ENOMEM.
 */
int fold_add_rules_for_unmet(struct draft *draft, const struct needs *needs, const struct packages *packages,
	       const struct fold_place *place, const struct unmet *unmet, size_t count, bool directories);

/* Adds rules that deny the secrets in the working directory that the program did not ask for. 0 or -ENOMEM. */
int fold_deny_secrets(struct draft *draft, const struct needs *needs, const struct fold_place *place);

#endif
