/* Parses what users type, and formats it: numbers with units. Finds the word that a mistyped word is closest to. */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/param.h>

#include "base/text.h"

#define NEAREST_WORD_BYTES_MAX 64 /* longer words get no suggestion: did you mean …? */

/* A suffix of a number in a policy or an option, as "M" or "ms". */
struct text_unit {
	const char *name;    /* the suffix */
	uint64_t multiplier; /* what the number is multiplied by */
};

static const struct text_unit sizes[5] = {
	{"", 1},
	{"K", UINT64_C(1) << 10},
	{"M", UINT64_C(1) << 20},
	{"G", UINT64_C(1) << 30},
	{"T", UINT64_C(1) << 40},
};

static const struct text_unit durations[5] = {
	{"", UINT64_C(1000000000)},
	{"ms", UINT64_C(1000000)},
	{"s", UINT64_C(1000000000)},
	{"m", UINT64_C(60) * 1000000000},
	{"h", UINT64_C(3600) * 1000000000},
};

/* Parses decimal digits and moves *text past them. False when there are none or the number overflows. */
static bool text_parse_digits(const char **text, uint64_t *ret_value)
{
	const char *at = *text;
	uint64_t value = 0;

	for (; *at >= '0' && *at <= '9'; at++)
		if (__builtin_mul_overflow(value, 10, &value) ||
		    __builtin_add_overflow(value, (uint64_t)(*at - '0'), &value))
			return false;
	if (at == *text)
		return false;
	*text = at;
	*ret_value = value;
	return true;
}

static const struct text_unit *text_find_unit(const char *name, const struct text_unit units[5])
{
	for (size_t i = 0; i < 5; i++)
		if (strcmp(name, units[i].name) == 0)
			return &units[i];
	return NULL;
}

void text_format_size(uint64_t bytes, char ret_text[TEXT_SIZE_SIZE])
{
	double shown = (double)bytes;
	size_t unit = 0;

	for (; shown >= 1024 && unit < sizeof(sizes) / sizeof(sizes[0]) - 1; unit++)
		shown /= 1024;
	(void)snprintf(ret_text, TEXT_SIZE_SIZE, "%.4g%s", shown, sizes[unit].name);
}

int text_parse_number(const char *text, uint64_t min, uint64_t max, uint64_t *ret_value)
{
	uint64_t value;

	if (!text_parse_digits(&text, &value) || *text || value < min || value > max)
		return -EINVAL;
	*ret_value = value;
	return 0;
}

int text_parse_size(const char *text, uint64_t *ret_bytes)
{
	const struct text_unit *unit;
	uint64_t value;

	if (!text_parse_digits(&text, &value))
		return -EINVAL;
	unit = text_find_unit(text, sizes);
	if (!unit || __builtin_mul_overflow(value, unit->multiplier, &value))
		return -EINVAL;
	*ret_bytes = value;
	return 0;
}

int text_parse_duration(const char *text, uint64_t *ret_ns)
{
	const struct text_unit *unit;
	uint64_t whole, fraction = 0, scale = 1;

	if (!text_parse_digits(&text, &whole))
		return -EINVAL;
	if (*text == '.') {
		const char *digits = ++text;

		if (!text_parse_digits(&text, &fraction) || text - digits > 6)
			return -EINVAL;
		for (; digits < text; digits++)
			scale *= 10;
	}
	unit = text_find_unit(text, durations);
	/* The fraction has at most six digits, so fraction * factor (below 1e6 * 3.6e12) cannot overflow. */
	if (!unit || __builtin_mul_overflow(whole, unit->multiplier, &whole) ||
	    __builtin_add_overflow(whole, fraction * unit->multiplier / scale, &whole))
		return -EINVAL;
	*ret_ns = whole;
	return 0;
}

/* The Levenshtein distance of a and b. Each has at most NEAREST_WORD_BYTES_MAX bytes. */
static size_t text_compute_edit_distance(const char *a, size_t a_len, const char *b, size_t b_len)
{
	size_t row[NEAREST_WORD_BYTES_MAX + 1], diagonal, above;

	for (size_t j = 0; j <= b_len; j++)
		row[j] = j;
	for (size_t i = 1; i <= a_len; i++) {
		diagonal = row[0];
		row[0] = i;
		for (size_t j = 1; j <= b_len; j++) {
			above = row[j];
			row[j] = MIN(MIN(above, row[j - 1]) + 1, diagonal + (a[i - 1] != b[j - 1]));
			diagonal = above;
		}
	}
	return row[b_len];
}

const char *text_find_nearest_word(const char *word, const char *const *words)
{
	size_t len = strlen(word), best = len / 3 + 2, edits, other; /* a word that needs more edits is not similar */
	const char *nearest = NULL;

	if (len > NEAREST_WORD_BYTES_MAX)
		return NULL;
	for (; *words; words++) {
		other = strlen(*words);
		if (other > NEAREST_WORD_BYTES_MAX)
			continue;
		edits = text_compute_edit_distance(word, len, *words, other);
		if (edits < best && edits < MIN(len, other)) { /* a word in which every letter differs is not similar */
			best = edits;
			nearest = *words;
		}
	}
	return nearest;
}
