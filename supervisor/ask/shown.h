/* Lines of a question by which people decide, with text that the program has chosen. For details.c and request.c. */
#ifndef CALLGATE_SUPERVISOR_ASK_SHOWN_H
#define CALLGATE_SUPERVISOR_ASK_SHOWN_H

#include <jansson.h>
#include <stdbool.h>

/* Lines, as a list of JSON. It begins empty: SHOWN_LINES_INIT. */
struct shown_lines {
	json_t *list;
	bool failed; /* memory was short, so a line is missing */
};
#define SHOWN_LINES_INIT             \
	(struct shown_lines)         \
	{                            \
		.list = json_array() \
	}

/* Adds a line: ASCII, without text that the program has chosen. */
void shown_add(struct shown_lines *lines, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Adds a value, which is taken, to such a list. NULL: memory was short. */
void shown_add_json(struct shown_lines *lines, json_t *value);

/* The list, owned by the caller. NULL: a line is missing, by which an answer could be another one. */
json_t *shown_take(struct shown_lines *lines);

/*
 * Adds the line 'name: "text"', in which control characters of the text are escaped. Where the text is too long for
 * that, its middle is left out, and the line says how many bytes these are, with the SHA-256 of all of it.
 */
void shown_add_text(struct shown_lines *lines, const char *name, const char *text);

/*
 * Adds the line 'again: name: "text"' for what stands above already, in at most three rows; of a long text the middle
 * is left out. To be called at the end of lines that shown_exceed_screen(): a question has at most six such lines.
 */
void shown_add_again(struct shown_lines *lines, const char *name, const char *text, size_t len);

/*
 * Whether the lines take more rows than a terminal of 24 rows and 80 columns has beside the prompt: the first ones have
 * scrolled out of sight by then. The program chooses how many variables, arguments and characters there are.
 */
bool shown_exceed_screen(const struct shown_lines *lines);

/* Whether shown_add_text() leaves out nothing. An answer must not hold for longer when it is for what is not shown. */
bool shown_is_whole(const char *text);

#endif
