/* Writes numbers and texts eight bytes at a time: an audit record has some hundred bytes of each. */
#include <stdbool.h>

#include "audit/put.h"

#include "base/text.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the first digit is the lowest byte");

/*
 * Splits a value below 10^8 into eight digits, one a byte, the first in the lowest byte. Each step splits all groups of
 * digits in two at once: 8 digits, 2 groups of 4, 4 groups of 2, 8 groups of 1. The factors are 2^20/100 and 2^10/10.
 */
static inline uint64_t put_split_digits(uint32_t value)
{
	uint64_t word = value / 10000 | (uint64_t)(value % 10000) << 32, high;

	high = (word * 10486 >> 20) & UINT64_C(0x0000007f0000007f); /* each of the two 4-digit groups divided by 100 */
	word = high | (word - 100 * high) << 16;
	high = (word * 103 >> 10) & UINT64_C(0x000f000f000f000f); /* divided by 10 */
	return high | (word - 10 * high) << 8;
}

char *put_8_digits(char *out, uint32_t value)
{
	uint64_t word = put_split_digits(value) | UINT64_C(0x3030303030303030);

	memcpy(out, &word, sizeof(word));
	return out + sizeof(word);
}

/* Writes a number below 10^8 without leading zeros. Always stores eight bytes: blanks follow the digits. */
static char *put_short_uint(char *out, uint32_t value)
{
	uint64_t word = put_split_digits(value);
	unsigned zeros = value > 0 ? (unsigned)__builtin_ctzll(word) & ~7u : 56; /* 8 bits for each leading zero */

	word = (word | UINT64_C(0x3030303030303030)) >> zeros;
	if (zeros > 0)
		word |= UINT64_C(0x2020202020202020) << (64 - zeros);
	memcpy(out, &word, sizeof(word));
	return out + sizeof(word) - zeros / 8;
}

char *put_uint(char *out, uint64_t value)
{
	const uint32_t eight = 100000000;

	if (value < eight)
		return put_short_uint(out, (uint32_t)value);
	return put_8_digits(put_uint(out, value / eight), (uint32_t)(value % eight));
}

char *put_int(char *out, int64_t value)
{
	if (value >= 0)
		return put_uint(out, (uint64_t)value);
	*out++ = '-';
	return put_uint(out, -(uint64_t)value);
}

/* True when no byte of a word needs an escape: all are in 0x20-0x7e, and none is a quote or a backslash. */
static inline bool put_is_plain_word(uint64_t word)
{
	const uint64_t ones = 0x0101010101010101u, highs = ones * 0x80;
	uint64_t quote = word ^ ones * '"', backslash = word ^ ones * '\\', delete = word ^ ones * 0x7f;
	/* Sets the high bit of each byte that needs an escape: subtracting makes a 0 or a control character borrow. */
	uint64_t odd = word | (word - ones * 0x20) | (quote - ones) | (backslash - ones) | (delete - ones);

	return (odd & highs) == 0;
}

/* Copy 8 or 4 bytes. False when one of these bytes needs an escape. */
static inline bool put_plain_8_bytes(char *out, const char *text)
{
	uint64_t word;

	memcpy(&word, text, sizeof(word));
	memcpy(out, &word, sizeof(word));
	return put_is_plain_word(word);
}

/* Copies 4 bytes, and returns whether none of them needs an escape in JSON. */
static inline bool put_plain_4_bytes(char *out, const char *text)
{
	uint32_t half;

	memcpy(&half, text, sizeof(half));
	memcpy(out, &half, sizeof(half));
	return put_is_plain_word(half | UINT64_C(0x2020202000000000)); /* blanks fill the word */
}

/* Copies a text of at least 4 bytes. False when it is shorter, or a byte needs an escape. The last word may overlap. */
static inline bool put_plain_text(char *out, const char *text, size_t len)
{
	if (len >= 8) {
		for (size_t at = 0; len - at > 8; at += 8)
			if (!put_plain_8_bytes(out + at, text + at))
				return false;
		return put_plain_8_bytes(out + len - 8, text + len - 8);
	}
	return len >= 4 && put_plain_4_bytes(out, text) && put_plain_4_bytes(out + len - 4, text + len - 4);
}

char *put_text(char *out, const char *text, size_t len)
{
	return out + (put_plain_text(out, text, len) ? len : text_escape_for_json(out, text, len));
}

/* Writes the text, escaped, and the closing quotation mark. */
char *put_quoted(char *out, const char *text, size_t len)
{
	out = put_text(out, text, len);
	*out++ = '"';
	return out;
}
