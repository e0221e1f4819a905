/*
 * Reads a log line by line, also while it is being written, for `callgate audit` and recover.c. The last line may be
 * incomplete. The contents are not trusted: lines are bounded and parsed strictly.
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
	const char *text; /* the line without its newline; borrowed as json is */
	size_t len;
	bool filled; /* json has fields from earlier lines of a compact log, which text lacks */
	uint64_t number; /* from 1 */
	uint64_t offset; /* in the file */
};

/* Returns 0 with an owned reader, or -errno. audit_reader_create takes fd, a readable regular file, also on failure. */
int audit_reader_open(const char *path, struct audit_reader **ret_reader);
int audit_reader_create(int fd, struct audit_reader **ret_reader);
void audit_reader_free(struct audit_reader *reader);

/*
 * 1 with a line; 0 at the end or at an incomplete last line, with ret_line->offset the end of the last complete one;
 * -EBADMSG for a line that is not a JSON object with a seq, with ret_line->number and offset set, after which the next
 * call reads the next line; or another -errno.
 */
int audit_reader_read_line(struct audit_reader *reader, struct audit_line *ret_line);

/*
 * As audit_reader_read_line, without parsing: ret_line->json is NULL. For a line whose text is not understood,
 * audit_reader_parse_line makes the JSON: 0, or -EBADMSG. Both pointers are valid until the next call.
 */
int audit_reader_read_text(struct audit_reader *reader, struct audit_line *ret_line);
int audit_reader_parse_line(struct audit_reader *reader, struct audit_line *line);

/* Length of the incomplete last line that a killed writer left, without the zeros of unused space. */
uint64_t audit_reader_get_torn_bytes(const struct audit_reader *reader);

/* "header", "record" or "trailer". */
const char *audit_line_get_type(const json_t *line);

/*
 * The bytes of a text field without the log's escapes, NUL-terminated, owned by the caller. NULL when the field is
 * absent or memory ran out.
 */
char *audit_line_get_bytes(const json_t *line, const char *key, size_t *ret_len);
/* audit_line_get_bytes of resolved (second: resolved2), which is absent when it equals an absolute path (path2). */
char *audit_line_get_resolved(const json_t *line, int second, size_t *ret_len);
/* The record's tid, also where the log leaves it out because it equals pid. */
int64_t audit_line_get_tid(const json_t *line);

#endif
