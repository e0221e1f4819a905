#include "cli/learn/pattern.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"

#define RANDOM_PART 6u /* letters and digits of mkstemp(3) and its like */

static bool pattern_is_word(char byte)
{
	return isalnum((unsigned char)byte);
}

/* Letters of both cases, or letters and digits mixed: no word of a language. */
static bool pattern_is_random(const char *text, size_t len)
{
	size_t upper = 0, lower = 0, digits = 0;

	for (size_t i = 0; i < len; i++) {
		upper += !!isupper((unsigned char)text[i]);
		lower += !!islower((unsigned char)text[i]);
		digits += !!isdigit((unsigned char)text[i]);
	}
	return len >= RANDOM_PART && ((digits > 0 && upper + lower > 0) || (upper > 1 && lower > 1));
}

/* The length of the number at `text`: a random word, digits, or 0. */
static size_t pattern_get_number(const char *text)
{
	size_t len = 0, digits = strspn(text, "0123456789");

	while (pattern_is_word(text[len]))
		len++;
	return pattern_is_random(text, len) ? len : digits;
}

bool pattern_has_number(const char *path)
{
	return path[strcspn(path, "0123456789")] != '\0';
}

/* random: words that look random are numbers, too, where they begin behind a byte that is no letter. */
static char *pattern_blur(const char *text, bool random)
{
	_cleanup_buf_ struct buf out = {0};
	char before = '/';

	while (*text) {
		size_t len = random && !pattern_is_word(before) ? pattern_get_number(text)
								: strspn(text, "0123456789");

		if (len > 0) {
			if (before != '*')
				buf_puts(&out, "*");
			before = '*';
			text += len;
		} else {
			if (*text != '*' || before != '*')
				buf_add(&out, text, 1);
			before = *text++;
		}
	}
	return buf_take_text(&out);
}

char *pattern_blur_numbers(const char *path)
{
	return pattern_blur(path, false);
}

char *pattern_blur_name(const char *name)
{
	return pattern_blur(name, true);
}

char *pattern_merge(const char *a, const char *b)
{
	_cleanup_buf_ struct buf out = {0};

	while (*a || *b) {
		size_t left = strcspn(a, "/"), right = strcspn(b, "/");
		_cleanup_free_ char *part = strndup(a, left), *blurred = NULL;

		if (left == right && memcmp(a, b, left) == 0)
			buf_add(&out, a, left);
		else if (part && (blurred = pattern_blur(part, false)))
			buf_puts(&out, blurred);
		else
			return NULL;
		a += left;
		b += right;
		if (*a)
			buf_puts(&out, "/");
		a += *a == '/';
		b += *b == '/';
	}
	return buf_take_text(&out);
}

bool pattern_is_telling(const char *pattern)
{
	while (*pattern) {
		size_t len = strcspn(pattern, "/");
		bool star = memchr(pattern, '*', len), letter = false;

		for (size_t i = 0; i < len; i++)
			letter |= !!isalpha((unsigned char)pattern[i]);
		if (star && !letter)
			return false;
		pattern += len + (pattern[len] == '/');
	}
	return true;
}

char *pattern_escape(const char *top, const char *tail)
{
	_cleanup_buf_ struct buf out = {0};
	const char *open;

	buf_puts(&out, top);
	if (*top && *tail)
		buf_puts(&out, "/");
	for (; (open = strstr(tail, "${")); tail = open + 2) {
		buf_add(&out, tail, (size_t)(open - tail));
		buf_puts(&out, "$${");
	}
	buf_puts(&out, tail);
	return buf_take_text(&out);
}
