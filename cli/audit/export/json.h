/* Adds fields of JSON objects to a buffer. Keys are literals such as `,"pid":`. */
#ifndef CALLGATE_CLI_AUDIT_EXPORT_JSON_H
#define CALLGATE_CLI_AUDIT_EXPORT_JSON_H

#include <jansson.h>

#include "audit/scan.h"
#include "base/buf.h"

/* Adds a text of a record; nothing if the record does not have it. */
void json_put_text(struct buf *out, const char *key, const struct scan_text *text);
/* Adds a text that is UTF-8. NULL: nothing. */
void json_put_string(struct buf *out, const char *key, const char *text);
/* Adds a text field of a header or trailer, if it has it. */
void json_put_field(struct buf *out, const char *key, const json_t *line, const char *name);
void json_put_int(struct buf *out, const char *key, int64_t number);
/* Adds nanoseconds as microseconds with three decimal places. */
void json_put_us(struct buf *out, const char *key, uint64_t ns);

/* The last component of a path; of "/" and "" the whole text. */
struct scan_text json_get_basename(const struct scan_text *path);

#endif
