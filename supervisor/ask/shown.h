/* Lines of a question by which people decide, with text that the program has chosen. For details.c and request.c. */
#ifndef CALLGATE_SUPERVISOR_ASK_SHOWN_H
#define CALLGATE_SUPERVISOR_ASK_SHOWN_H

#include <jansson.h>
#include <stdbool.h>

/*
 * Adds the line 'name: "text"', in which control characters of the text are escaped. Where the text is too long for
 * that, its middle is left out, and the line says how many bytes these are, with the SHA-256 of all of it.
 */
void shown_add_text(json_t *lines, const char *name, const char *text);

/* Whether shown_add_text() leaves out nothing. An answer must not hold for longer when it is for what is not shown. */
bool shown_is_whole(const char *text);

#endif
