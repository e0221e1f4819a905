/*
 * The host paths that a policy names, and whether the program could write a host path. cli/host/places.h uses both to
 * check that no earlier run redirected such a path, for example by a symbolic link. No I/O.
 */
#ifndef CALLGATE_POLICY_PATHS_HOST_PATHS_H
#define CALLGATE_POLICY_PATHS_HOST_PATHS_H

#include "policy/policy.h"

enum policy_host_path_kind {
	POLICY_HOST_PATH_GRANT,   /* a granted path: the view shows its object */
	POLICY_HOST_PATH_CONTENT, /* a file that callgate itself reads: the file of a secret, upstream_ca */
	POLICY_HOST_PATH_COMMAND, /* the command that prints a secret, run outside the sandbox */
};

/* A path of the host, or a command, that the policy names. */
struct policy_host_path {
	enum policy_host_path_kind kind;
	const char *source_location; /* "file:line: key", for messages */
	/* a grant by a profile or @interpreter: a bad path drops the grant and is no error */
	bool bad_path_drops_grant;
	const char *text;  /* the command; or a path with its links unresolved (CONTENT: may be relative) */
};

/* All host paths and commands that the policy names. Borrowed. */
const struct policy_host_path *policy_get_host_paths(const struct policy *policy, size_t *ret_count);

/* True when the program could write this canonical host path, under any of its names. */
bool policy_host_path_is_writable(const struct policy *policy, const char *host);

/*
 * True when a single rule grants writing both canonical host paths, and the program could write both. A rule for
 * exactly `other` does not count: it may exist only because a link led there.
 */
bool policy_host_paths_are_writable(const struct policy *policy, const char *host, const char *other);

/* True when some file of the policy has a section for this phase. */
bool policy_has_phase(const struct policy *policy, enum policy_phase phase);

#endif
