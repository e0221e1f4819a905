/*
 * Chooses what to suggest as a grant for a path that was refused: the path, or its nearest parent that exists. Suggests
 * nothing that contains secrets or a whole system directory. No I/O of its own. Used by `callgate why` and, for the
 * denials of a result, by the supervisor.
 */
#ifndef CALLGATE_POLICY_PATHS_SUGGEST_H
#define CALLGATE_POLICY_PATHS_SUGGEST_H

#include <sys/types.h>

struct buf;

struct suggest_host {
	const char *home; /* home directory of the user; NULL: unknown, only the usual places count */
	/* Returns the file type (S_IFMT) of a host path, following links; 0: it does not exist. */
	mode_t (*type)(void *ctx, const char *path);
	void *ctx;
};

/*
 * Shortens the absolute `path` to what a grant of `want` (enum policy_right) should name. Returns NULL; or, static, why
 * nothing should be suggested, and then `path` is undefined.
 */
const char *suggest_shorten_path(const struct suggest_host *host, char *path, unsigned want);

/* Adds a path, quoted for the shell if necessary: users paste suggestions there. */
void suggest_put_word(struct buf *buf, const char *word);

#endif
