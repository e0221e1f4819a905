/*
 * The list of paths that usually hold secrets: keys, tokens, passwords, histories. suggest.c never suggests to grant
 * them, a run with --mode observe cannot read them, and `callgate learn` leaves them out. No I/O.
 */
#ifndef CALLGATE_POLICY_PATHS_SECRETS_H
#define CALLGATE_POLICY_PATHS_SECRETS_H

#include <stddef.h>

enum secret_certainty {
	SECRET_CERTAIN,  /* only secrets have such a name */
	SECRET_POSSIBLE, /* other files have such a name, too: a directory called "private" */
};

/* A pattern of paths that are secrets. */
struct secret_pattern {
	enum secret_certainty certainty;
	/*
	 * A path and everything below it: absolute; in any home directory ("~/…"); or one name in any directory. "*"
	 * matches any text within a name.
	 */
	const char *pattern;
	const char *kind; /* kind of the secret, for messages: "ssh key" */
};

/* Returns all patterns. Static. */
const struct secret_pattern *secrets_get_patterns(size_t *ret_count);

/*
 * Finds the pattern that the absolute path, or a directory above it, matches; certain ones first. NULL: none. home:
 * home directory of the user; NULL: only /root and the directories in /home are known.
 */
const struct secret_pattern *secret_find_pattern(const char *home, const char *path);

#endif
