/*
 * Rename of a directory: whether any name below it would have other rights at the new path than at the old one.
 * Decided from the rules alone as far as possible, so that the tree need not be listed. Also decides where a symbolic
 * link may stand. Called by syscalls/.
 */
#ifndef CALLGATE_POLICY_PATHS_MOVE_H
#define CALLGATE_POLICY_PATHS_MOVE_H

#include <stdbool.h>
#include <stddef.h>

#include "policy/policy.h"

#define POLICY_MOVE_NAMES 16 /* capacity of policy_move.name[]; with more names the result is POLICY_MOVE_ANY */

enum policy_move_kind {
	POLICY_MOVE_SAME,  /* every possible name below has the same rights to read and write at both paths */
	POLICY_MOVE_NAMED, /* rights can differ only at or below the entries in name[] */
	POLICY_MOVE_ANY,   /* rights can differ at any name: the directory has to be listed */
};

struct policy_move {
	enum policy_move_kind kind;
	size_t count;
	struct {
		const char *name; /* one component of a rule's text; borrowed from the policy, not NUL-terminated */
		size_t len;
	} name[POLICY_MOVE_NAMES];
};

/*
 * Compares the rights below two canonical virtual directories. Neither may be denied or contain a mount. The result is
 * about direct entries only: call again for each entry that is a directory. No I/O; costs about as much as judging one
 * name for each rule.
 */
void policy_compare_below(const struct policy *policy, const char *from, const char *to, struct policy_move *ret_move);

/* True when the rights to read and write differ between these two names: an object must not be moved between them. */
bool policy_rights_differ(const struct policy *policy, const char *from, const char *to);

/*
 * True when a symbolic link with this text may stand at a canonical virtual path. A link must not replace a directory
 * below which a rule denies names: a program outside the run would follow it to files that the run wrote elsewhere.
 * Allowed all the same are
 *   - a target below which the same names are denied;
 *   - where only a glob matches the directory: a target that the run cannot write.
 * When false, *ret_rule is the rule's label, which lives as long as the policy. When true it is undefined. No I/O.
 */
bool policy_link_is_allowed(const struct policy *policy, const char *path, const char *text, const char **ret_rule);

#endif
