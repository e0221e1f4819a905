/* What the subverbs of `callgate audit` share. */
#ifndef CALLGATE_CLI_AUDIT_AUDIT_H
#define CALLGATE_CLI_AUDIT_AUDIT_H

#include <stdbool.h>
#include <stdint.h>

#include "audit/read.h"
#include "policy/arena.h"
#include "policy/paths/glob.h"

/* Which records are meant; all conditions must hold. */
struct audit_filter {
	bool denied;
	const char *syscall; /* NULL: any; likewise the next */
	const char *event;   /* of the network; "any": each */
	const char *host;    /* as a rule names it */
	int64_t pid;         /* -1: any */
	bool by_path;
	struct glob path; /* of a path of the record, resolved where it was */
	struct arena arena;
};

/* Header and trailer match no filter. */
bool audit_filter_match(const struct audit_filter *filter, const json_t *line);
/* True for a record whose verdict is deny or kill. */
bool audit_is_denied(const json_t *line);

/*
 * Calls `each` for every line that parses and tells on stderr of those that do not, and of a torn tail. Returns CLI_OK,
 * or CLI_ERROR when the log could not be read or a line of it was damaged.
 */
int audit_each_line(const char *path, void (*each)(void *ctx, const struct audit_line *line), void *ctx);

/* What stands between a text of the log and a terminal: escapes as in the log. Owned; NULL when the field is absent. */
char *audit_printable(const json_t *line, const char *key);

int audit_show(const char *path, const struct audit_filter *filter, bool json);
int audit_stats(const char *path, const struct audit_filter *filter, bool json);

#endif
