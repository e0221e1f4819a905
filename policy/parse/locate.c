/* A scanner for JSON that jansson has accepted. It only finds positions, and checks nothing. */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "policy/parse/locate.h"

/* A place in a JSON text and its line number. */
struct json_text_cursor {
	const char *at;
	unsigned line;
};

static void locate_skip_space(struct json_text_cursor *cursor)
{
	for (; *cursor->at == ' ' || *cursor->at == '\t' || *cursor->at == '\r' || *cursor->at == '\n'; cursor->at++)
		if (*cursor->at == '\n')
			cursor->line++;
}

/* Moves past a string. Its closing quote is the first that follows an even number of backslashes. */
static void locate_skip_string(struct json_text_cursor *cursor)
{
	const char *begin = cursor->at + 1, *end = begin, *before;

	do {
		end = strchrnul(end, '"');
		for (before = end; before > begin && before[-1] == '\\';)
			before--;
	} while (*end && (end - before) % 2 && end++);
	cursor->at = *end ? end + 1 : end;
}

/* Moves from the start of an item to the comma or bracket that ends it. */
static void locate_skip_item(struct json_text_cursor *cursor)
{
	for (size_t depth = 0; *cursor->at && (depth > 0 || !strchr(",]}", *cursor->at)); locate_skip_space(cursor)) {
		depth += *cursor->at == '{' || *cursor->at == '[';
		depth -= *cursor->at == '}' || *cursor->at == ']';
		if (*cursor->at == '"')
			locate_skip_string(cursor);
		else
			cursor->at++;
	}
}

/* Moves from item `index` of a container to item `wanted`, and stores its place in memo. False: no such item. */
static bool locate_find_item(struct json_text_cursor *cursor, size_t wanted, size_t index,
			     struct json_last_line_search *memo)
{
	for (;; index++) {
		locate_skip_space(cursor);
		if (!*cursor->at || *cursor->at == '}' || *cursor->at == ']')
			return false;
		memo->found_item = cursor->at;
		memo->found_item_line = cursor->line;
		memo->found_index = index;
		if (index == wanted)
			return true;
		locate_skip_item(cursor);
		cursor->at += *cursor->at == ',';
	}
}

/* Moves from the start of an item to the first item of its value. False when the value is no container. */
static bool locate_enter_item(struct json_text_cursor *cursor, bool member)
{
	if (member) {
		locate_skip_string(cursor);
		locate_skip_space(cursor);
		cursor->at += *cursor->at == ':';
		locate_skip_space(cursor);
	}
	if (*cursor->at != '{' && *cursor->at != '[')
		return false;
	cursor->at++;
	return true;
}

/* Whether `path` is exactly one step longer than `parent`, with the same indices up to there. */
static bool locate_has_same_parent(const struct json_path *path, const struct json_path *parent)
{
	if (path->depth != parent->depth + 1)
		return false;
	for (size_t i = 0; i < parent->depth; i++)
		if (path->steps[i].index != parent->steps[i].index)
			return false;
	return true;
}

/* Continues the last search, if that was in the same container and did not pass the wanted item. False otherwise. */
static bool locate_find_next(const struct json_path *path, struct json_last_line_search *memo)
{
	size_t wanted = path->steps[path->depth - 1].index;
	struct json_text_cursor cursor = {memo->found_item, memo->found_item_line};

	return memo->found_item && locate_has_same_parent(path, &memo->container) && wanted >= memo->found_index &&
	       locate_find_item(&cursor, wanted, memo->found_index, memo);
}

unsigned locate_find_line(const char *text, const struct json_path *path, struct json_last_line_search *memo)
{
	struct json_text_cursor cursor = {text, 1};
	unsigned found;

	if (path->depth > 0 && locate_find_next(path, memo))
		return memo->found_item_line;
	locate_skip_space(&cursor);
	found = cursor.line;
	for (size_t i = 0; i < path->depth; i++) {
		if (!locate_enter_item(&cursor, i > 0 && path->steps[i - 1].name) ||
		    !locate_find_item(&cursor, path->steps[i].index, 0, memo)) {
			memo->found_item = NULL;
			return found;
		}
		found = memo->found_item_line;
	}
	memo->container = *path;
	if (path->depth > 0)
		memo->container.depth--;
	else
		memo->found_item = NULL;
	return found;
}

/* Whether a JSON key can be printed bare in "file:line: key". */
static bool locate_name_needs_no_quotes(const char *name)
{
	const char *at = name;

	while ((*at >= 'a' && *at <= 'z') || (*at >= 'A' && *at <= 'Z') || (*at >= '0' && *at <= '9') || *at == '_' ||
	       *at == '$' || *at == '-')
		at++;
	return *name && !*at;
}

/* Appends text to the `used` bytes of out, as much as fits in cap - 1 bytes. Returns the new length. */
static size_t locate_put_text(char *out, size_t used, size_t cap, const char *text)
{
	size_t len = strnlen(text, cap - 1 - used);

	memcpy(out + used, text, len);
	return used + len;
}

/* Appends "[INDEX]". The position of each rule is printed, which snprintf(3) would make slow. */
static size_t locate_put_index(char *out, size_t used, size_t cap, size_t index)
{
	char text[24], *at = text + sizeof(text); /* 24 bytes hold any index */

	*--at = '\0';
	*--at = ']';
	do
		*--at = (char)('0' + index % 10);
	while ((index /= 10) > 0);
	*--at = '[';
	return locate_put_text(out, used, cap, at);
}

size_t locate_print_path(const struct json_path *path, char *out, size_t cap)
{
	size_t used = 0;

	for (size_t i = 0; i < path->depth; i++) {
		const struct json_path_step *step = &path->steps[i];
		const bool plain = step->name && locate_name_needs_no_quotes(step->name);

		if (!step->name) {
			used = locate_put_index(out, used, cap, step->index);
			continue;
		}
		used = locate_put_text(out, used, cap, !plain ? "[\"" : i > 0 ? "." : "");
		used = locate_put_text(out, used, cap, step->name);
		used = locate_put_text(out, used, cap, plain ? "" : "\"]");
	}
	out[used] = '\0';
	return used;
}
