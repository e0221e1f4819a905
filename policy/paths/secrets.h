/*
 * The one list of names that hold secrets: keys, tokens, passwords, histories. suggest.c never suggests granting them,
 * a run with --mode observe does not read them, and `callgate learn` leaves them out. Pure.
 */
#ifndef CALLGATE_POLICY_PATHS_SECRETS_H
#define CALLGATE_POLICY_PATHS_SECRETS_H

#include <stddef.h>

enum secret_certainty {
	SECRET_CERTAIN,  /* nothing else has that name */
	SECRET_POSSIBLE, /* other things have it, too: a directory called "private" */
};

struct secret_pattern {
	enum secret_certainty certainty;
	/*
	 * A path with all below it: absolute; below any home directory ("~/…"); or one name in any directory. "*"
	 * stands for any text within a name.
	 */
	const char *pattern;
	const char *kind; /* for people: "ssh key" */
};

/* All patterns. Static. */
const struct secret_pattern *secrets_get_patterns(size_t *ret_count);

/*
 * The pattern that the absolute path, or a directory above it, matches; certain ones first. NULL: none. home: of the
 * user; NULL: only /root and the directories of /home are known.
 */
const struct secret_pattern *secret_find_pattern(const char *home, const char *path);

#endif
