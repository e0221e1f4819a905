/*
 * The host paths that a policy names, and whether the program could write a host path. cli/host/places.h uses both to
 * check that no earlier run redirected such a path, for example by a symbolic link. No I/O.
 */
#ifndef CALLGATE_POLICY_PATHS_WAYS_H
#define CALLGATE_POLICY_PATHS_WAYS_H

#include "policy/policy.h"

enum policy_way_kind {
	POLICY_WAY_GRANT,   /* a granted path: its object becomes part of the view */
	POLICY_WAY_CONTENT, /* a file that callgate itself reads: a secret's, upstream_ca */
	POLICY_WAY_COMMAND, /* a secret's command, run outside the sandbox */
};

struct policy_way {
	enum policy_way_kind kind;
	const char *where; /* "file:line: key", for messages */
	bool optional;     /* a grant by a profile or @interpreter: dropped instead of an error */
	const char *text;  /* COMMAND: the command; else a path before links are resolved (CONTENT: may be relative) */
};

/* All host paths and commands that the policy names. Borrows. */
const struct policy_way *policy_get_host_paths(const struct policy *policy, size_t *ret_count);

/* True when the program could write this canonical host path by some name. */
bool policy_host_path_is_writable(const struct policy *policy, const char *host);

/*
 * True when a single rule grants writing both canonical host paths, and both are writable. A rule whose path is `other`
 * does not count: it may exist only because a link led there.
 */
bool policy_host_paths_are_writable(const struct policy *policy, const char *host, const char *other);

/* True when some file of the policy has a section for this phase. */
bool policy_has_phase(const struct policy *policy, enum policy_phase phase);

#endif
