/*
 * Tells whether renaming a directory would change the rights to any name below it. Looks only at the rules where
 * possible, so that the tree need not be listed. Also judges where a symbolic link may be made. Called by syscalls/.
 */
#ifndef CALLGATE_POLICY_PATHS_MOVE_H
#define CALLGATE_POLICY_PATHS_MOVE_H

#include <stdbool.h>
#include <stddef.h>

#include "policy/policy.h"

/* room in policy_move.name[]; more names than that make POLICY_MOVE_DIFFERS_ANYWHERE */
#define POLICY_MOVE_DIFFERING_NAMES_MAX 16

enum policy_move_kind {
	POLICY_MOVE_RIGHTS_SAME,  /* every possible name below the directory has the same rights at both paths */
	POLICY_MOVE_DIFFERS_AT_NAMES, /* rights can differ only at or below the entries in name[] */
	POLICY_MOVE_DIFFERS_ANYWHERE,   /* rights can differ at any name: the caller must list the directory */
};

/* How rights below two directories differ. */
struct policy_move {
	enum policy_move_kind kind;
	size_t differing_name_count; /* number of entries in `name` */
	struct {
		const char *name; /* a component of the path of a rule; borrowed from the policy, not NUL-terminated */
		size_t len;
	} name[POLICY_MOVE_DIFFERING_NAMES_MAX];
};

/*
 * Compares the rights below two canonical virtual directories. Neither may be denied or contain a mount. The result is
 * about the direct entries: call again for each entry that is a directory. No I/O. Takes about as long as judging one
 * path for each rule.
 */
void policy_compare_rights(const struct policy *policy, const char *from, const char *to, struct policy_move *ret_move);

/* True when the rights to read or write two paths differ: an object must not be moved from one to the other. */
bool policy_rights_differ(const struct policy *policy, const char *from, const char *to);

/*
 * True when a symbolic link with this text may be made at a canonical virtual path. A link must not replace a directory
 * below which a rule denies names: a program outside the run would follow it to files that the run wrote elsewhere. Two
 * cases are allowed all the same:
 *   - below the target the same names are denied;
 *   - the rule matches the directory only by a glob, and the run cannot write the target.
 * When false, *ret_rule is the label of the rule, which lives as long as the policy; otherwise it is undefined. No I/O.
 */
bool policy_link_is_allowed(const struct policy *policy, const char *path, const char *text, const char **ret_rule);

/*
 * Whether a rule of filesystem.deny whose denials do not have this mode denies something below a canonical virtual
 * directory that it would not deny if the directory had another name. What "**" alone leads to is denied in every
 * directory.
 */
bool policy_has_deny_below(const struct policy *policy, const char *dir, enum policy_on_deny mode);

#endif
