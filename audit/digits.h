/* Decimal digits, eight at a time: each step halves the groups that the digits are in, for all groups at once. */
#ifndef CALLGATE_AUDIT_DIGITS_H
#define CALLGATE_AUDIT_DIGITS_H

#include <stdint.h>
#include <string.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the first digit is the lowest byte");

/* Of a number below 10^8, one a byte, the first in the lowest. */
static inline uint64_t digits_of(uint32_t value)
{
	uint64_t word = value / 10000 | (uint64_t)(value % 10000) << 32, high;

	high = (word * 10486 >> 20) & UINT64_C(0x0000007f0000007f); /* by 100 */
	word = high | (word - 100 * high) << 16;
	high = (word * 103 >> 10) & UINT64_C(0x000f000f000f000f); /* by 10 */
	return high | (word - 10 * high) << 8;
}

static inline char *digits_put_8(char *out, uint32_t value)
{
	uint64_t word = digits_of(value) | UINT64_C(0x3030303030303030);

	memcpy(out, &word, sizeof(word));
	return out + sizeof(word);
}

#endif
