/*
 * Reads a log line by line, for `callgate audit` and recover.c. The log may still be written to; its last line may be
 * incomplete. The contents are not trusted: lines have a limited length and are parsed strictly.
 */
#ifndef CALLGATE_AUDIT_READ_H
#define CALLGATE_AUDIT_READ_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define AUDIT_LINE_MAX_BYTES (1u << 20) /* enough for a record: at most four paths and a few texts */

struct audit_reader;

/* A line of a log that was read. */
struct audit_line {
	json_t *json;     /* a JSON object; borrowed, valid until the next line is read */
	const char *text; /* the line without its newline; borrowed like json */
	size_t len;
	bool has_expanded_fields; /* `json` has fields from earlier lines of a compact log, `text` has not */
	uint64_t line_number;     /* number of the line, from 1 */
	uint64_t offset; /* offset of the line in the file */
};

/* 0 with a reader, owned by the caller, or -errno. audit_reader_create takes fd, a regular file, also on failure. */
int audit_reader_open(const char *path, struct audit_reader **ret_reader);
int audit_reader_create(int fd, struct audit_reader **ret_reader);
void audit_reader_free(struct audit_reader *reader);

/*
 * Reads the next line. Returns 1 with a line. Returns 0 at the end or at an incomplete last line, with the end of the
 * last complete line in ret_line->offset. Returns -EBADMSG for a line that is not a JSON object with a seq, with
 * ret_line->line_number and offset set; the next call goes on after that line. Or returns another -errno.
 */
int audit_reader_read_line(struct audit_reader *reader, struct audit_line *ret_line);

/*
 * Reads the next line as audit_reader_read_line does, but does not parse it: ret_line->json is NULL.
 * audit_reader_parse_line makes the JSON of such a line later, for callers that cannot use its text: 0 or -EBADMSG.
 * Text and JSON are valid until the next line is read.
 */
int audit_reader_read_unparsed(struct audit_reader *reader, struct audit_line *ret_line);
int audit_reader_parse_line(struct audit_reader *reader, struct audit_line *line);

/*
 * Goes back to the start of the line with this number, at this offset: to read a line again, or to go on at the end of
 * a log that grows.
 */
void audit_reader_seek(struct audit_reader *reader, uint64_t offset, uint64_t number);

/* Returns the file's descriptor, borrowed. */
int audit_reader_get_fd(const struct audit_reader *reader);

/* Returns the length of the incomplete last line that a killed writer left, without the NULs of unused space. */
uint64_t audit_reader_get_torn_bytes(const struct audit_reader *reader);

/*
 * Whether a header is of a run with "judge": "changes". Its log does not have the calls that only read, so a file that
 * the log does not mention may have been read.
 */
bool audit_header_lacks_records_of_reads(const json_t *header);

/* Returns the type of a line: "header", "record" or "trailer". */
const char *audit_line_get_type(const json_t *line);

/*
 * Returns the bytes of a text field, with the log's escapes undone, NUL-terminated, owned by the caller. NULL when the
 * field is absent or memory ran out.
 */
char *audit_line_get_bytes(const json_t *line, const char *key, size_t *ret_len);
/*
 * Returns the bytes of "resolved" (second: of "resolved2") or, where it is absent because it equals the absolute path,
 * of that path. NULL: not resolved, or no memory. Owned by the caller.
 */
char *audit_line_get_resolved_path(const json_t *line, int second, size_t *ret_len);
/* Returns the thread id of a record, even where the log leaves it out because it equals the pid. */
int64_t audit_line_get_tid(const json_t *line);

#endif
