/*
 * The host paths that a policy names, and the places that a program judged by it could write: for the check that no
 * program chose where such a path leads (cli/host/places.h). Pure, as all policy code.
 */
#ifndef CALLGATE_POLICY_PATHS_WAYS_H
#define CALLGATE_POLICY_PATHS_WAYS_H

#include "policy/policy.h"

enum policy_way_kind {
	POLICY_WAY_GRANT,   /* what lies there becomes part of the view */
	POLICY_WAY_CONTENT, /* callgate itself reads it: a secret's file, upstream_ca */
	POLICY_WAY_COMMAND, /* a secret's command, run outside the sandbox */
};

struct policy_way {
	enum policy_way_kind kind;
	const char *where; /* "file:line: key", for messages */
	bool optional;     /* a grant by a profile or @interpreter, which the user has not written and does without */
	const char *text;  /* a path before links are resolved, for CONTENT perhaps relative to the current directory; a
			      command */
};

/* All of them. Borrows. */
const struct policy_way *policy_ways(const struct policy *policy, size_t *ret_count);

/* True when the program could write this canonical host path by some name. */
bool policy_host_writable(const struct policy *policy, const char *host);

/*
 * True when one single rule lets the program write both canonical host paths, and nothing denies it either. A rule for
 * `other` itself does not count: where a link led to it, the rule may be there because of that link.
 */
bool policy_hosts_writable(const struct policy *policy, const char *host, const char *other);

/* True when some file of the policy says something for this phase alone. */
bool policy_has_phase(const struct policy *policy, enum policy_phase phase);

#endif
