#include "cli/learn/pattern.h"

#include <ctype.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"

#define PATTERN_COMPONENT_LETTERS_MIN 3u      /* least letters or digits beside "*" in a component of a learnt path */
#define TEMPORARY_NAME_DIGITS_MIN 5u          /* a name with so many digits in a row is one of a temporary file */
#define RANDOM_NAME_PART_CLASS_CHANGES_MIN 2u /* a random text changes between small, capital, digit more often */
#define RANDOM_NAME_PART_LEN_MIN 6u /* least number of letters and digits of a random text, as mkstemp(3) makes it */

static bool pattern_is_word_byte(char byte)
{
	return isalnum((unsigned char)byte);
}

enum pattern_class { CLASS_LOWER, CLASS_UPPER, CLASS_DIGIT };

/* The class of a byte in a word: digit, capital, or anything else. */
static enum pattern_class pattern_get_class(char byte)
{
	return isdigit((unsigned char)byte) ? CLASS_DIGIT : isupper((unsigned char)byte) ? CLASS_UPPER : CLASS_LOWER;
}

/* Whether a text is random and no word: digits alternate with letters, or small with capital letters, often. */
static bool pattern_text_looks_random(const char *text, size_t len)
{
	size_t changes = 0, digits = 0;

	for (size_t i = 0; i < len; i++) {
		digits += pattern_get_class(text[i]) == CLASS_DIGIT;
		changes += i > 0 && pattern_get_class(text[i]) != pattern_get_class(text[i - 1]);
	}
	return len >= RANDOM_NAME_PART_LEN_MIN && changes > (digits ? RANDOM_NAME_PART_CLASS_CHANGES_MIN : len / 2);
}

/* Returns the length of the number at the start of `text`: of digits or of a random text; 0: neither. */
static size_t pattern_get_number_len(const char *text)
{
	size_t len = 0, digits = strspn(text, "0123456789");

	while (pattern_is_word_byte(text[len]))
		len++;
	return pattern_text_looks_random(text, len) ? len : digits;
}

bool pattern_has_number(const char *path)
{
	return path[strcspn(path, "0123456789")] != '\0';
}

/* Replaces numbers in a text. random: also random texts, if they begin at a byte that follows no letter. */
static char *pattern_replace_numbers_in_text(const char *text, bool random)
{
	_cleanup_buf_ struct buf out = {0};
	char before = '/';

	while (*text) {
		size_t len = random && !pattern_is_word_byte(before) ? pattern_get_number_len(text)
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

char *pattern_replace_numbers(const char *path)
{
	return pattern_replace_numbers_in_text(path, false);
}

char *pattern_replace_random_in_name(const char *name)
{
	return pattern_replace_numbers_in_text(name, true);
}

/*
 * Returns the length of a part of a name that programs choose anew in each run: many digits or a random text. 0: `text`
 * does not begin with such a part. begins: no letter or digit precedes `text`; only then it may be a random text.
 */
static size_t pattern_get_temporary_name_len(const char *text, bool begins)
{
	size_t digits = strspn(text, "0123456789"), word = 0, run = 0, longest = 0;

	if (digits >= TEMPORARY_NAME_DIGITS_MIN)
		return digits;
	for (; begins && pattern_is_word_byte(text[word]); word++) {
		run = isdigit((unsigned char)text[word]) ? run + 1 : 0;
		longest = run > longest ? run : longest;
	}
	return longest < TEMPORARY_NAME_DIGITS_MIN && pattern_text_looks_random(text, word) ? word : 0;
}

char *pattern_replace_temporary_names(const char *path)
{
	_cleanup_buf_ struct buf out = {0};
	char before = '/';

	while (*path) {
		size_t len = pattern_get_temporary_name_len(path, !pattern_is_word_byte(before));

		buf_add(&out, len ? "*" : path, 1);
		before = len ? '*' : *path;
		path += len ? len : 1;
	}
	return buf_take_text(&out);
}

char *pattern_merge_paths(const char *a, const char *b)
{
	_cleanup_buf_ struct buf out = {0};

	while (*a || *b) {
		size_t left = strcspn(a, "/"), right = strcspn(b, "/");
		_cleanup_free_ char *part = strndup(a, left), *blurred = NULL;

		if (left == right && memcmp(a, b, left) == 0)
			buf_add(&out, a, left);
		else if (part && (blurred = pattern_replace_numbers_in_text(part, false)))
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

/*
 * Whether a component with "*" says enough: it has PATTERN_COMPONENT_LETTERS_MIN letters or digits, or an end such as
 * ".c".
 */
static bool pattern_part_is_specific(const char *part, size_t len)
{
	const char *star = memrchr(part, '*', len);
	size_t letters = 0;

	for (size_t i = 0; i < len; i++)
		letters += pattern_is_word_byte(part[i]);
	return letters >= PATTERN_COMPONENT_LETTERS_MIN ||
	       (star + 2 < part + len && star[1] == '.' && isalpha((unsigned char)star[2]));
}

bool pattern_components_are_specific(const char *pattern)
{
	while (*pattern) {
		size_t len = strcspn(pattern, "/");

		if (strcmp(pattern, "**") == 0)
			return true;
		if (memchr(pattern, '*', len) && !pattern_part_is_specific(pattern, len))
			return false;
		pattern += len + (pattern[len] == '/');
	}
	return true;
}

bool pattern_may_match_same_name(const char *a, size_t a_len, const char *b, size_t b_len)
{
	/* dynamic programming: row[j] tells whether some name matches both the rest a[i...] and the rest b[j...] */
	bool row[NAME_MAX + 2] = {0};

	if (b_len > NAME_MAX)
		return true; /* the patterns are longer than any name: assumes a match */
	for (size_t i = a_len + 1; i-- > 0;) {
		bool below_right = false; /* the value that row[j + 1] had for i + 1 */

		for (size_t j = b_len + 1; j-- > 0;) {
			const bool below = row[j], right = j < b_len && row[j + 1];

			row[j] = i == a_len && j == b_len        ? true
				 : i < a_len && a[i] == '*'      ? below || right
				 : j < b_len && b[j] == '*'      ? right || (i < a_len && below)
				 : i == a_len || j == b_len      ? false
								 : a[i] == b[j] && below_right;
			below_right = below;
		}
	}
	return row[0];
}
