/*
 * Chooses what to suggest as a grant for a path that was refused: the path, or its nearest parent that exists. Suggests
 * nothing that contains secrets or a whole system directory. No I/O of its own. Used by `callgate why`, for the denials
 * of a result by the supervisor, and for those of a log by `callgate audit`.
 */
#ifndef CALLGATE_POLICY_PATHS_SUGGEST_H
#define CALLGATE_POLICY_PATHS_SUGGEST_H

#include <stdbool.h>
#include <sys/types.h>

struct buf;

/* What suggesting a grant needs to know of the host. */
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

/* A denial, as a call or its record in the log describes it. Borrows. */
struct suggest_denial {
	const char *reason; /* NULL: unknown */
	const char *rule;   /* the rule that denied; NULL: none */
	unsigned wanted_right;      /* the right that was refused (enum policy_right); 0: no path was refused */
	bool changes_names; /* the call makes or removes a name, for which its directory must be writable */
	bool is_granted_by_run; /* `resolved_path` is in a place of the run's own, which is granted as it is */
	const char *resolved_path; /* the canonical path, as far as it was resolved; NULL: unknown */
	const char *path_as_written;  /* the path as the program wrote it; NULL: unknown */
	const char *host;             /* host of a denied connection or request; NULL: no network access was denied */
	unsigned port;        /* 0: unknown or, with `accepts_connections`, any */
	bool accepts_connections; /* the port is one to listen on */
	const char *http_method;  /* of a denied HTTP request, with `http_path`; NULL: none was denied */
	const char *http_path;    /* its path, normalised; a query behind it is ignored */
	bool is_websocket;        /* the request would open a websocket */
	const char
		*addresses_not_dialled; /* addresses of the host that may not be dialled, as in the log; NULL: none */
};

/*
 * The smallest grant that would allow the attempt, as an option of `callgate run`, or what else to do; owned by the
 * caller. NULL: no grant would, or memory ran out; with *ret_why (static): none should be suggested.
 */
char *suggest_make_grant(const struct suggest_host *host, const struct suggest_denial *denial, const char **ret_why);

/*
 * What would show a package that "libraries" hides, by the label of the hiding rule, such as "data.json:
 * libraries.python lacks pandas". Owned by the caller. NULL: nothing would, or no memory.
 */
char *suggest_library(const char *rule);

/*
 * Takes such a label apart: "python" and "pandas", owned by the caller. False: it is another label, or there is no
 * memory.
 */
bool suggest_find_library(const char *rule, char **ret_language, char **ret_name);

/* What would show packages of a language. names: with quotes and commas. Owned by the caller; NULL: no memory. */
char *suggest_libraries(const char *language, const char *names);

/* Adds a path, quoted for the shell if necessary: users paste suggestions there. */
void suggest_put_shell_word(struct buf *buf, const char *word);

#endif
