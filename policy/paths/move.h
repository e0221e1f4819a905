/*
 * What the rules say about a directory that is renamed: whether a name below it is judged differently at the old and
 * at the new place. Decided from the rules alone as far as possible, so that a tree need not be listed. Called by
 * syscalls/.
 */
#ifndef CALLGATE_POLICY_PATHS_MOVE_H
#define CALLGATE_POLICY_PATHS_MOVE_H

#include <stdbool.h>
#include <stddef.h>

#include "policy/policy.h"

#define POLICY_MOVE_NAMES 16 /* differing names that are told one by one; with more, the directory is listed */

enum policy_move_kind {
	POLICY_MOVE_SAME,  /* the rights to read and write are the same for every name below, whatever exists */
	POLICY_MOVE_NAMED, /* a difference can only be at or below the names in name[] */
	POLICY_MOVE_ANY,   /* any name may make a difference: the directory has to be listed */
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
 * Compares what the rules say below two canonical virtual directories, neither of which is denied or holds a mount
 * below it. Only the entries of these directories are told: ask again for each that is a directory itself. Pure;
 * about as expensive as judging one name for each rule.
 */
void policy_move_below(const struct policy *policy, const char *from, const char *to, struct policy_move *ret_move);

/*
 * True when the rights to read and write these two names are not the same: an object must not go from one to the
 * other.
 */
bool policy_move_differs(const struct policy *policy, const char *from, const char *to);

/*
 * Whether a symbolic link with this text may stand at a canonical virtual path. Not on the way to a denied name, nor
 * where a glob denies names below one directory: other programs would follow the link from there to what the run put
 * elsewhere. Allowed are texts that lead to where the same names are denied, and, for globs, to what the run cannot
 * write. False with *ret_rule, the rule's label, which lives as long as the policy; it is set to nothing of use when
 * true. Pure.
 */
bool policy_link_allowed(const struct policy *policy, const char *path, const char *text, const char **ret_rule);

#endif
