#include "keeper/utf8.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/banned.h"

/* Unicode Standard, table 3-7: valid second bytes by the first. */
static bool utf8_second_fits(unsigned char first, unsigned char second)
{
	switch (first) {
	case 0xe0:
		return second >= 0xa0 && second <= 0xbf; /* no overlong forms */
	case 0xed:
		return second >= 0x80 && second <= 0x9f; /* no surrogates */
	case 0xf0:
		return second >= 0x90 && second <= 0xbf;
	case 0xf4:
		return second >= 0x80 && second <= 0x8f; /* up to U+10FFFF */
	default:
		return second >= 0x80 && second <= 0xbf;
	}
}

/*
 * The length of the well-formed sequence at `bytes` (1-4), or 0. *ret_bad: how many bytes one U+FFFD replaces, by the
 * Unicode Standard, 3.9, "substitution of maximal subparts".
 */
static size_t utf8_step(const unsigned char *bytes, size_t len, size_t *ret_bad)
{
	size_t want, have = 1;

	*ret_bad = 1;
	if (bytes[0] < 0x80)
		return 1;
	if (bytes[0] < 0xc2 || bytes[0] > 0xf4)
		return 0;
	want = bytes[0] < 0xe0 ? 2 : bytes[0] < 0xf0 ? 3 : 4;
	while (have < want && have < len &&
	       (have == 1 ? utf8_second_fits(bytes[0], bytes[1]) : (bytes[have] & 0xc0) == 0x80))
		have++;
	*ret_bad = have;
	return have == want ? want : 0;
}

char *utf8_text(const char *bytes, size_t len, size_t *ret_len, bool *ret_changed)
{
	const unsigned char *from = (const unsigned char *)bytes;
	bool changed = false;
	size_t at = 0, out = 0, step, bad;
	char *text;

	/* At worst every byte becomes the three of U+FFFD. */
	if (len > (SIZE_MAX - 1) / 3)
		return NULL;
	text = malloc(len * 3 + 1);
	if (!text)
		return NULL;
	while (at < len) {
		step = utf8_step(from + at, len - at, &bad);
		memcpy(text + out, step ? bytes + at : "\xef\xbf\xbd", step ? step : 3);
		out += step ? step : 3;
		at += step ? step : bad;
		changed |= step == 0;
	}
	text[out] = '\0';
	*ret_len = out;
	*ret_changed = changed;
	return text;
}
