/* Declarations shared by the source files of `callgate audit`. */
#ifndef CALLGATE_CLI_AUDIT_AUDIT_H
#define CALLGATE_CLI_AUDIT_AUDIT_H

#include <stdbool.h>
#include <stdint.h>

#include "audit/read.h"
#include "policy/arena.h"
#include "policy/paths/glob.h"

/* Selects records. All conditions must hold. */
struct audit_filter {
	bool denied;
	const char *syscall; /* name of a system call; NULL: any record */
	const char *event;   /* name of a network event; NULL: any record; "any": any network event */
	const char *host;    /* host pattern, as in a network rule; NULL: any host */
	int64_t pid;         /* pid or tid of the record's process or thread; -1: any */
	bool by_path;
	struct glob path; /* matched against a record's path: the resolved path, if the record has it */
	struct arena arena;
};

/* True for a record that the filter selects; false for the log's header and trailer. */
bool audit_filter_matches(const struct audit_filter *filter, const json_t *line);
/* True for a record whose verdict is deny or kill. */
bool audit_record_is_denied(const json_t *line);

/*
 * Calls `each` for every line that can be parsed. Reports damaged lines and an incomplete last line on stderr. CLI_OK,
 * or CLI_ERROR when the log could not be read or a line was damaged.
 */
int audit_read_lines(const char *path, void (*each)(void *ctx, const struct audit_line *line), void *ctx);

/* A field's text, escaped as in the log, safe for a terminal. Owned; NULL: no such field, or no memory. */
char *audit_get_field_for_display(const json_t *line, const char *key);

/* The integer of a field; 0: no such field. */
long long audit_get_field_number(const json_t *line, const char *key);

/* Flushes stdout. Returns `status`, or CLI_ERROR with a message when stdout could not be written. */
int audit_flush_stdout(int status);

int audit_show_log(const char *path, const struct audit_filter *filter, bool json);
int audit_print_stats(const char *path, const struct audit_filter *filter, bool json);

#endif
