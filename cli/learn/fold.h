/*
 * Turns the needs of a program into rules of a policy. Each path that the policy does not grant yet is of one of three
 * tiers: it is granted; or it is left out, as a rule with "disabled", unless --allow-risky is given; or it is never
 * granted. Granted paths are folded: several become one rule, as callgate(1) describes.
 */
#ifndef CALLGATE_CLI_LEARN_FOLD_H
#define CALLGATE_CLI_LEARN_FOLD_H

#include "cli/learn/draft.h"
#include "cli/learn/inodes.h"
#include "cli/learn/packages.h"

/* The home and working directory of the program that was run. All pointers are borrowed. */
struct fold_context {
	const char *home;            /* home directory of the user; NULL: none */
	const char *workdir_in_view; /* path of the working directory in the view */
	const char *workdir_host_path;      /* host path of the working directory; NULL: the runs have an empty one */
	const struct secret_inodes *inodes; /* secrets that have several hard links; NULL: not looked for */
	bool allows_risky;                  /* --allow-risky: secrets that the program used may be granted */
};

/* A right on a path that the program needs and the draft does not grant. */
struct unmet_need {
	const struct need *need;
	unsigned right; /* one POLICY_ right */
	bool is_link_itself; /* the target is granted, but not the symbolic link need->path_as_written */
};

/*
 * Adds rules for needs that are not met. directories: also for directories in which nothing is granted. The first calls
 * leave those out, because rules for files also show the directories above the files. 0 or -ENOMEM.
 */
int fold_add_rules_for_unmet_needs(struct draft *draft, const struct needs *needs, const struct packages *packages,
				   const struct fold_context *context, const struct unmet_need *unmet, size_t count,
				   bool directories);

/* Adds rules that deny those secrets in the working directory that the program did not use. 0 or -ENOMEM. */
int fold_deny_secrets(struct draft *draft, const struct needs *needs, const struct fold_context *context);

#endif
