/* Adds fields of JSON objects to a buffer. Keys are literals such as `,"pid":`. */
#ifndef CALLGATE_CLI_AUDIT_EXPORT_JSON_H
#define CALLGATE_CLI_AUDIT_EXPORT_JSON_H

#include <jansson.h>

#include "audit/scan.h"
#include "base/buf.h"

/* Adds a text of a record, or nothing if the record lacks the text. */
void json_put_text(struct buf *out, const char *key, const struct scan_text *text);
/* Adds a UTF-8 text; NULL adds nothing. */
void json_put_string(struct buf *out, const char *key, const char *text);
/* Adds a text field of a header or trailer, or nothing if the line lacks it. */
void json_put_field(struct buf *out, const char *key, const json_t *line, const char *name);
void json_put_int(struct buf *out, const char *key, int64_t number);
/* Adds nanoseconds as microseconds with three decimal places. */
void json_put_microseconds(struct buf *out, const char *key, uint64_t ns);

/* Returns the last component of a path; the whole text if the path is "/" or "". */
struct scan_text json_get_basename(const struct scan_text *path);

#endif
