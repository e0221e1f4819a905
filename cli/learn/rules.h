/* Shared by the files that fold needs into rules: where a name leads, its tier, and how a rule for it is added. */
#ifndef CALLGATE_CLI_LEARN_RULES_H
#define CALLGATE_CLI_LEARN_RULES_H

#include "cli/learn/draft.h"
#include "cli/learn/fold.h"
#include "cli/learn/scan.h"

/* A needed file that is not granted yet. */
struct fold_item {
	const struct unmet_need *unmet;
	const char *grant_path; /* path by which a rule would grant the file; unmet->need->path: its own */
	/* items with equal keys get one rule together in this step; owned; NULL: the item gets no rule with others */
	char *group_key;
	const char *package; /* name of the package to which the directory group_key belongs; NULL: none */
	bool is_granted;     /* a rule for a group of items grants the file */
};

/* The folding of needs into the rules of a draft. */
struct fold {
	struct draft *draft;
	const struct needs *needs;
	const struct packages *packages;
	const struct fold_context *context;
	struct fold_item *items;
	size_t item_count;
};

/* Returns the part of a path of the view that is below the working directory. NULL: the path is elsewhere. */
const char *rules_get_rest_in_workdir(const struct fold_context *context, const char *path);

/* Gets the host path of a path in the view. */
void rules_get_host_path(const struct fold_context *context, const char *path, char host[PATH_MAX]);

/*
 * Returns the path by which a rule grants a need: as the program wrote it, if that path leads to the same file on the
 * host.
 */
const char *rules_get_grant_path(const struct fold_context *context, const struct need *need);

/*
 * Notes a need that no rule can grant, because a policy cannot express its path. *ret_refused: this is such a need. 0
 * or -ENOMEM.
 */
int rules_reject_inexpressible_path(const struct fold *fold, const struct unmet_need *unmet, bool *ret_refused);

/*
 * Handles a need that must not be granted without --allow-risky, or at all: adds a rule with "disabled", or notes the
 * need as one that no rule can grant. *ret_done: this is such a need. 0 or -ENOMEM.
 */
int rules_leave_out_if_tier_forbids(const struct fold *fold, const struct unmet_need *unmet, bool *ret_done);

/*
 * Returns why there must be no rule for several names, or for a name that does not exist yet: the rule would grant a
 * part of a home directory or of a system directory, or could match the name of a secret. Static; NULL: the rule is
 * allowed.
 */
const char *rules_find_objection_to_pattern(const struct fold_context *context, const char *pattern, unsigned right);

/*
 * Adds a rule for one item. wide: `path` is a directory or contains "*", so the rule grants more than was needed; the
 * rule says so, and has "disabled" if there is an objection. 0 or -ENOMEM.
 */
int rules_add_for_need(const struct fold *fold, const struct unmet_need *unmet, const char *path, bool wide);

/* Adds a rule with "disabled", for the reason `why`. 0 or -ENOMEM. */
int rules_add_disabled(const struct fold *fold, const struct unmet_need *unmet, const char *path, const char *why);

/*
 * Adds a rule for several names, unless there is an objection or the rule would grant more than `most` files that were
 * not used. because_taken: the reason; owned by the draft from then on. *ret_added: the rule was added. 0 or -ENOMEM.
 */
int rules_try_one_rule_for_group(const struct fold *fold, unsigned right, const char *path, char *because_taken,
				 uint64_t most, bool *ret_added);

/* Adds a rule that shows a directory without its contents. 0 or -ENOMEM. */
int rules_add_directory_only(const struct fold *fold, const struct need *need);

#endif
