/*
 * Reads a log, also one that is being written: line by line, tolerating a torn tail. What is read was written on behalf
 * of a hostile program and may have been edited: every line is parsed strictly and bounded.
 */
#ifndef CALLGATE_AUDIT_READ_H
#define CALLGATE_AUDIT_READ_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define AUDIT_LINE_MAX_BYTES (1u << 20) /* a record holds at most four paths and a few texts */

struct audit_reader;

struct audit_line {
	json_t *json;     /* an object; borrowed, valid until the next call */
	const char *text; /* the line without its newline; likewise */
	size_t len;
	bool filled; /* json has more than text: what a compact log said before */
	uint64_t number; /* from 1 */
	uint64_t offset; /* in the file */
};

/* 0 with an owned reader, or -errno. audit_reader_create takes fd, which must be a regular file open for reading. */
int audit_reader_open(const char *path, struct audit_reader **ret_reader);
int audit_reader_create(int fd, struct audit_reader **ret_reader);
void audit_reader_free(struct audit_reader *reader);

/*
 * 1 with a line; 0 at the end (or before a torn tail: see audit_reader_torn); -EBADMSG for a line that is no JSON
 * object of a log (ret_line->number and offset are set, and the next call goes on behind it); -errno.
 */
int audit_reader_next(struct audit_reader *reader, struct audit_line *ret_line);

/* Bytes after the last whole line that are not the zeros of unused room: what a killed writer left. */
uint64_t audit_reader_torn(const struct audit_reader *reader);
/* Where the last whole line ends. */
uint64_t audit_reader_end(const struct audit_reader *reader);

/* "header", "record" or "trailer". */
const char *audit_line_type(const json_t *line);

/*
 * The bytes of a text field: the log's escapes undone, NUL-terminated, owned by the caller; NULL when the field is
 * absent (resolved falls back to path and tid to pid by audit_line_resolved and audit_line_tid) or memory ran out.
 */
char *audit_line_bytes(const json_t *line, const char *key, size_t *ret_len);
/* resolved (second: resolved2), which is left out where it equals path. */
char *audit_line_resolved(const json_t *line, int second, size_t *ret_len);
int64_t audit_line_tid(const json_t *line);

#endif
