/* What the files that fold share: where names lead, which tier they are of, and how a rule is added for them. */
#ifndef CALLGATE_CLI_LEARN_RULES_H
#define CALLGATE_CLI_LEARN_RULES_H

#include "cli/learn/draft.h"
#include "cli/learn/fold.h"
#include "cli/learn/scan.h"

/* A file that is still to be granted. */
struct fold_item {
	const struct unmet *unmet;
	const char *path;    /* in the view; as a rule would name it */
	char *key;           /* items with equal keys become one rule in this step; owned; NULL: the item stays alone */
	const char *package; /* of the unit in `key` */
	bool is_granted;
};

struct fold {
	struct draft *draft;
	const struct needs *needs;
	const struct packages *packages;
	const struct fold_place *place;
	struct fold_item *item;
	size_t items;
};

/* The part of a path of the view below the working directory. NULL: it is elsewhere. */
const char *rules_get_rest_in_workdir(const struct fold_place *place, const char *path);

/* The host path of a name in the view. */
void rules_get_host_path(const struct fold_place *place, const char *path, char host[PATH_MAX]);

/* The name by which a rule grants what is needed: as the program wrote it, where that leads there on the host, too. */
const char *rules_get_name(const struct fold_place *place, const struct need *need);

/* Notes what no rule can name. *ret_refused: it is so. 0 or -ENOMEM. */
int rules_refuse_unwritable(const struct fold *fold, const struct unmet *unmet, bool *ret_refused);

/* Adds what must not be granted unasked as a rule that is left out, or notes it. *ret_done: it is. 0 or -ENOMEM. */
int rules_sort_by_tier(const struct fold *fold, const struct unmet *unmet, bool *ret_done);

/*
 * Why a rule for several names, or for what does not exist yet, must not be: it would cover part of a home directory or
 * of a directory of the whole system, or could match the name of a secret. Static; NULL: it may be.
 */
const char *rules_find_objection(const struct fold_place *place, const char *pattern, unsigned right);

/*
 * Adds a rule for one item. wide: `path` is a directory or has "*", so that more is granted than was asked for; that is
 * noted, and where it must not be, the rule is left out. 0 or -ENOMEM.
 */
int rules_add(const struct fold *fold, const struct unmet *unmet, const char *path, bool wide);

/* Adds a rule that is left out for a reason of the caller's. 0 or -ENOMEM. */
int rules_leave_out(const struct fold *fold, const struct unmet *unmet, const char *path, const char *why);

/*
 * Adds a rule for several names unless there is an objection, or it would grant more than `most` files that were not
 * asked for. because_taken: taken. *ret_added: it is added. 0 or -ENOMEM.
 */
int rules_try_group(const struct fold *fold, unsigned right, const char *path, char *because_taken, uint64_t most,
		    bool *ret_added);

/* Adds a rule that shows that a directory is there, and nothing that is in it. 0 or -ENOMEM. */
int rules_add_directory_only(const struct fold *fold, const struct need *need);

#endif
