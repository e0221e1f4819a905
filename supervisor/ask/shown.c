#include "supervisor/ask/shown.h"

#include <stdarg.h>
#include <string.h>

#include "approval/show.h"
#include "base/sha256.h"

#define SCREEN_COLUMNS 80u
#define SCREEN_ROWS 20u  /* of 24: the others are the number of the question, and the prompt */
#define SCREEN_INDENT 2u /* approval/front-terminal.c */

void shown_add_json(struct shown_lines *lines, json_t *value)
{
	if (json_array_append_new(lines->list, value) < 0)
		lines->failed = true;
}

void shown_add(struct shown_lines *lines, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	shown_add_json(lines, json_vsprintf(format, args));
	va_end(args);
}

json_t *shown_take(struct shown_lines *lines)
{
	json_t *list = lines->list;

	lines->list = NULL;
	if (!lines->failed)
		return list;
	json_decref(list);
	return NULL;
}

void shown_add_text(struct shown_lines *lines, const char *name, const char *text)
{
	char shown[SHOW_LONG_BYTES_MAX], sha256[SHA256_HEX_SIZE];
	const size_t len = strlen(text), hidden = show_long_text(shown, text, len);

	if (hidden == 0) {
		shown_add(lines, "%s: %s", name, shown);
		return;
	}
	sha256_hash_bytes(text, len, sha256);
	shown_add(lines, "%s: %s (%zu of %zu bytes are not shown; SHA-256 of all: %s)", name, shown, hidden, len,
		  sha256);
}

void shown_add_again(struct shown_lines *lines, const char *name, const char *text, size_t len)
{
	char shown[SHOW_BYTES_MAX];

	show_short_text(shown, text, len);
	shown_add(lines, "again: %s: %s", name, shown);
}

bool shown_exceed_screen(const struct shown_lines *lines)
{
	const json_t *line;
	size_t i, rows = 0;

	json_array_foreach(lines->list, i, line)
	{
		rows += (json_string_length(line) + SCREEN_INDENT) / SCREEN_COLUMNS + 1;
	}
	return rows > SCREEN_ROWS;
}

bool shown_is_whole(const char *text)
{
	char shown[SHOW_LONG_BYTES_MAX];

	return show_long_text(shown, text, strlen(text)) == 0;
}
