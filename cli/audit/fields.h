/* Fields of records and lines of a log, as text that is safe for a terminal and for JSON. */
#ifndef CALLGATE_CLI_AUDIT_FIELDS_H
#define CALLGATE_CLI_AUDIT_FIELDS_H

#include <jansson.h>
#include <stdbool.h>

#include "audit/scan.h"

struct buf;

/* A field's text, escaped as in the log, safe for a terminal. Owned; NULL: no such field, or no memory. */
char *audit_get_field_for_display(const json_t *line, const char *key);

/* The integer of a field; 0: no such field. */
long long audit_get_field_number(const json_t *line, const char *key);

/* True for a record whose verdict is deny or kill. */
bool audit_record_is_denied(const json_t *line);
bool record_is_denied(const struct scan_record *record);

/* True for a record about an internet address: a network event, or a call such as connect(2). */
bool record_names_network(const struct scan_record *record);

/* Returns the thread id of a record. A thread id that is not in the log equals the pid. */
int64_t record_get_tid(const struct scan_record *record);

/* Returns the name of a record's system call or network event. */
const struct scan_text *record_get_call(const struct scan_record *record);

/*
 * What a path leads to: the canonical path, or the path as the program wrote it. The member `at` of the returned text
 * is NULL if the record has no path. *ret_known is false if the path was not resolved.
 */
const struct scan_text *record_get_path_argument(const struct scan_path *path, bool *ret_known);

/* Adds a text, escaped as in JSON, without quotes, safe for a terminal. Adds nothing if the record lacks the text. */
void audit_put_text(struct buf *out, const struct scan_text *text);

/* Adds an endpoint, "api.test:443". */
void audit_put_endpoint(struct buf *out, const struct scan_record *record);

/*
 * Adds what a call was about, for listings: the endpoint, after an HTTP request's method and with its path; or the
 * canonical path. False: the record names neither.
 */
bool audit_put_object(struct buf *out, const struct scan_record *record);

/* Returns the logs that the command line names after its options. NULL, with a message: no log is named. */
const char *const *audit_get_log_paths(char **argv, const char *verb);

/* Flushes stdout. Returns `status`, or CLI_EXIT_ERROR with a message when stdout could not be written. */
int audit_flush_stdout(int status);

#endif
