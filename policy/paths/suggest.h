/*
 * What may be suggested as a grant for a path that was refused: the path or its nearest parent that exists, and never
 * so much that a secret or the machine is granted along with it. No I/O of its own. Used by `callgate why` and, for the
 * denials of a result, by the supervisor.
 */
#ifndef CALLGATE_POLICY_PATHS_SUGGEST_H
#define CALLGATE_POLICY_PATHS_SUGGEST_H

#include <sys/types.h>

struct buf;

struct suggest_host {
	const char *home; /* of the user; NULL: only the usual places are known */
	/* The file type (S_IFMT) of a host path, links followed; 0: it does not exist. */
	mode_t (*type)(void *ctx, const char *path);
	void *ctx;
};

/*
 * Cuts the absolute `path` down to what a grant of `want` (enum policy_right) should name. NULL: `path` may be
 * suggested; else why nothing may be, static, and `path` is undefined.
 */
const char *suggest_narrow(const struct suggest_host *host, char *path, unsigned want);

/* Adds a path as a word of the shell, because a suggestion is meant to be pasted there. */
void suggest_put_word(struct buf *buf, const char *word);

#endif
