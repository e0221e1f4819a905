/* A scanner for JSON that jansson has accepted: it only finds positions and checks nothing. */
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "policy/parse/locate.h"

#include "base/banned.h"

struct cursor {
	const char *at;
	unsigned line;
};

static void locate_skip_space(struct cursor *cursor)
{
	for (; *cursor->at == ' ' || *cursor->at == '\t' || *cursor->at == '\r' || *cursor->at == '\n'; cursor->at++)
		if (*cursor->at == '\n')
			cursor->line++;
}

static unsigned locate_hex4(const char *text)
{
	unsigned value = 0;

	for (int i = 0; i < 4 && text[i]; i++) {
		char c = text[i];

		value = value << 4 | (unsigned)(c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10);
	}
	return value;
}

/* Appends a code point as UTF-8 while it fits. */
static size_t locate_put_utf8(char *out, size_t len, size_t cap, uint32_t point)
{
	unsigned char byte[4];
	size_t size = point < 0x80 ? 1 : point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;
	static const unsigned char lead[] = {0, 0, 0xc0, 0xe0, 0xf0};

	for (size_t i = size - 1; i > 0; i--, point >>= 6)
		byte[i] = (unsigned char)(0x80 | (point & 0x3f));
	byte[0] = (unsigned char)(lead[size] | point);
	if (len + size < cap) {
		memcpy(out + len, byte, size);
		return len + size;
	}
	return len;
}

/* Moves past an escape sequence (the cursor is on the backslash) and appends the character. */
static size_t locate_take_escape(struct cursor *cursor, char *out, size_t len, size_t cap)
{
	static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
	char c = *++cursor->at;
	const char *known;
	uint32_t point;

	if (!c)
		return len;
	cursor->at++;
	if (c != 'u') {
		known = strchr(from, c);
		return locate_put_utf8(out, len, cap, known ? (unsigned char)to[known - from] : (unsigned char)c);
	}
	if (strlen(cursor->at) < 4)
		return len;
	point = locate_hex4(cursor->at);
	cursor->at += 4;
	if (point >= 0xd800 && point < 0xdc00 && cursor->at[0] == '\\' && cursor->at[1] == 'u' &&
	    strlen(cursor->at) >= 6) {
		point = 0x10000 + ((point - 0xd800) << 10) + (locate_hex4(cursor->at + 2) - 0xdc00);
		cursor->at += 6;
	}
	return locate_put_utf8(out, len, cap, point & 0x1fffff);
}

/* Moves past a string (the cursor is on its quote) and copies it, cut to `cap` bytes. */
static void locate_take_string(struct cursor *cursor, char *out, size_t cap)
{
	size_t len = 0;

	for (cursor->at++; *cursor->at && *cursor->at != '"';) {
		if (*cursor->at == '\\') {
			len = locate_take_escape(cursor, out, len, cap);
			continue;
		}
		if (len + 1 < cap)
			out[len++] = *cursor->at;
		cursor->at++;
	}
	if (*cursor->at)
		cursor->at++;
	out[len] = '\0';
}

/* Moves past a string. The closing quote is the one after an even number of backslashes. */
static void locate_skip_string(struct cursor *cursor)
{
	const char *begin = cursor->at + 1, *end = begin, *before;

	do {
		end = strchrnul(end, '"');
		for (before = end; before > begin && before[-1] == '\\';)
			before--;
	} while (*end && (end - before) % 2 && end++);
	cursor->at = *end ? end + 1 : end;
}

/* Moves past one value of any depth, without recursion. */
static void locate_skip_value(struct cursor *cursor)
{
	size_t depth = 0;

	locate_skip_space(cursor);
	do {
		switch (*cursor->at) {
		case '\0':
			return;
		case '"':
			locate_skip_string(cursor);
			break;
		case '{':
		case '[':
			depth++;
			cursor->at++;
			break;
		case '}':
		case ']':
			depth--;
			cursor->at++;
			break;
		default:
			cursor->at++;
			break;
		}
		/* numbers, true, false and null end before a delimiter */
		if (depth == 0 && (!*cursor->at || strchr(",]} \t\r\n", *cursor->at) || cursor->at[-1] == '"' ||
				   cursor->at[-1] == '}' || cursor->at[-1] == ']'))
			return;
		locate_skip_space(cursor);
	} while (true);
}

/* Moves from the item at `index` of a container to the value of the wanted one, and remembers that in memo. */
static bool locate_find_item(struct cursor *cursor, const struct locate_step *step, size_t index,
			     struct locate_memo *memo)
{
	char name[512];

	for (;; index++) {
		locate_skip_space(cursor);
		if (!*cursor->at || *cursor->at == '}' || *cursor->at == ']')
			return false;
		memo->at = cursor->at;
		memo->line = cursor->line;
		memo->index = index;
		if (step->name) {
			if (*cursor->at != '"')
				return false;
			locate_take_string(cursor, name, sizeof(name));
			locate_skip_space(cursor);
			if (*cursor->at == ':')
				cursor->at++;
			locate_skip_space(cursor);
		}
		if (step->name ? strncmp(step->name, name, sizeof(name) - 1) == 0 : index == step->index)
			return true;
		locate_skip_value(cursor);
		locate_skip_space(cursor);
		if (*cursor->at == ',')
			cursor->at++;
	}
}

/* Moves into a container (the cursor is on its bracket), to the value of the wanted member or item. */
static bool locate_enter(struct cursor *cursor, const struct locate_step *step, struct locate_memo *memo)
{
	if (*cursor->at != (step->name ? '{' : '['))
		return false;
	cursor->at++;
	return locate_find_item(cursor, step, 0, memo);
}

static bool locate_same_parent(const struct locate_path *path, const struct locate_path *parent)
{
	if (path->depth != parent->depth + 1)
		return false;
	for (size_t i = 0; i < parent->depth; i++)
		if (path->step[i].name != parent->step[i].name || path->step[i].index != parent->step[i].index)
			return false;
	return true;
}

/* Continues the last search when that was in the same container and did not pass the wanted item. */
static bool locate_find_next(const struct locate_path *path, struct locate_memo *memo)
{
	const struct locate_step *step = &path->step[path->depth - 1];
	struct cursor cursor = {memo->at, memo->line};

	return memo->at && locate_same_parent(path, &memo->parent) && (step->name || step->index >= memo->index) &&
	       locate_find_item(&cursor, step, memo->index, memo);
}

unsigned locate_line(const char *text, const struct locate_path *path, struct locate_memo *memo)
{
	struct cursor cursor = {text, 1};
	unsigned found;

	if (path->depth > 0 && locate_find_next(path, memo))
		return memo->line;
	locate_skip_space(&cursor);
	found = cursor.line;
	memo->at = NULL;
	for (size_t i = 0; i < path->depth; i++) {
		if (!locate_enter(&cursor, &path->step[i], memo)) {
			memo->at = NULL;
			return found;
		}
		found = memo->line;
	}
	memo->parent = *path;
	if (path->depth > 0)
		memo->parent.depth--;
	return found;
}

static bool locate_is_plain(const char *name)
{
	if (!*name)
		return false;
	for (; *name; name++)
		if (!(*name >= 'a' && *name <= 'z') && !(*name >= 'A' && *name <= 'Z') &&
		    !(*name >= '0' && *name <= '9') && *name != '_' && *name != '$' && *name != '-')
			return false;
	return true;
}

size_t locate_put(char *out, size_t used, size_t cap, const char *text)
{
	size_t len = strlen(text), room = cap - 1 - used;

	if (len > room)
		len = room;
	memcpy(out + used, text, len);
	return used + len;
}

size_t locate_put_number(char *out, size_t used, size_t cap, size_t number)
{
	char digits[24], *at = digits + sizeof(digits) - 1;

	*at = '\0';
	do
		*--at = (char)('0' + number % 10);
	while (number /= 10);
	return locate_put(out, used, cap, at);
}

size_t locate_print(const struct locate_path *path, char *out, size_t cap)
{
	size_t used = 0;

	for (size_t i = 0; i < path->depth; i++) {
		const struct locate_step *step = &path->step[i];

		if (!step->name) {
			used = locate_put(out, used, cap, "[");
			used = locate_put_number(out, used, cap, step->index);
			used = locate_put(out, used, cap, "]");
		} else if (locate_is_plain(step->name)) {
			used = locate_put(out, used, cap, i ? "." : "");
			used = locate_put(out, used, cap, step->name);
		} else {
			used = locate_put(out, used, cap, "[\"");
			used = locate_put(out, used, cap, step->name);
			used = locate_put(out, used, cap, "\"]");
		}
	}
	out[used] = '\0';
	return used;
}
