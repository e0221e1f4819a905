/* Text that a program has chosen, made harmless for people who decide by it. */
#ifndef CALLGATE_APPROVAL_SHOW_H
#define CALLGATE_APPROVAL_SHOW_H

#include <jansson.h>
#include <stddef.h>

#define SHOW_BYTES_MAX 512u       /* room for what show_text() writes, with the NUL */
#define SHOW_LONG_BYTES_MAX 2056u /* likewise, show_long_text() */

/*
 * Writes bytes as printable ASCII within quotation marks. Other characters become \u{HEX}, so that look-alikes,
 * bidirectional and invisible characters are seen as such; bytes that are not UTF-8 become \xHH, and '"' and '\' get a
 * '\'. Of a long text the middle is replaced by \...N bytes...\, which no text can imitate.
 */
void show_text(char out[SHOW_BYTES_MAX], const char *bytes, size_t len);

/*
 * The same of a text on which the answer depends: it is whole unless it is longer than 2048 characters, as escaped.
 * Returns how many bytes are left out.
 */
size_t show_long_text(char out[SHOW_LONG_BYTES_MAX], const char *bytes, size_t len);

/* As show_text(), in at most three rows of a terminal of 80 columns, with a name before it. */
void show_short_text(char out[SHOW_BYTES_MAX], const char *bytes, size_t len);

/*
 * json_dumps(), but everything but printable ASCII is escaped: JSON_ENSURE_ASCII alone leaves DEL (0x7f) as it is, a
 * control character of terminals. Owned by the caller, to be freed with free(); NULL: no memory, or no value.
 */
char *show_as_json(const json_t *value, size_t flags);

#endif
