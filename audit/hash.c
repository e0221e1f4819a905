#include "audit/hash.h"

#include <string.h>

#include "audit/encode.h"

/* Spreads the nibbles of a word over eight bytes, the highest first, and makes digits of them. */
static uint64_t hash_word_to_hex_digits(uint32_t word)
{
	uint64_t nibbles = word, letters;

	nibbles = (nibbles << 16 | nibbles) & UINT64_C(0x0000ffff0000ffff);
	nibbles = (nibbles << 8 | nibbles) & UINT64_C(0x00ff00ff00ff00ff);
	nibbles = (nibbles << 4 | nibbles) & UINT64_C(0x0f0f0f0f0f0f0f0f);
	letters = (nibbles + UINT64_C(0x0606060606060606)) >> 4 & UINT64_C(0x0101010101010101);
	return __builtin_bswap64(nibbles + UINT64_C(0x3030303030303030) + letters * ('a' - '0' - 10));
}

void hash_put_digits(char out[HASH_DIGITS], const uint8_t digest[SHA256_DIGEST_SIZE])
{
	_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the digits are made for little-endian machines");
	for (size_t i = 0; i < SHA256_DIGEST_SIZE; i += sizeof(uint32_t)) {
		uint32_t word;
		uint64_t digits;

		memcpy(&word, digest + i, sizeof(word));
		digits = hash_word_to_hex_digits(__builtin_bswap32(word));
		memcpy(out + 2 * i, &digits, sizeof(digits));
	}
}

void hash_line(const char *text, size_t len, bool finished, char ret_digits[HASH_DIGITS])
{
	const size_t end = AUDIT_OUTCOME_BYTES + 2; /* the outcome, "}" and the newline */
	uint8_t digest[SHA256_DIGEST_SIZE];
	struct sha256_ctx context;

	sha256_init(&context);
	if (finished || len < end) {
		sha256_update(&context, len, (const uint8_t *)text);
	} else {
		char unknown[AUDIT_OUTCOME_BYTES + 2];

		outcome_write_unknown(unknown);
		memcpy(unknown + AUDIT_OUTCOME_BYTES, "}\n", 2);
		sha256_update(&context, len - end, (const uint8_t *)text);
		sha256_update(&context, end, (const uint8_t *)unknown);
	}
	sha256_digest(&context, sizeof(digest), digest);
	hash_put_digits(ret_digits, digest);
}

size_t hash_get_prev_offset(uint64_t seq)
{
	size_t digits = 1;

	for (; seq >= 10; seq /= 10)
		digits++;
	return sizeof(HASH_LINE_START) - 1 + digits + sizeof(HASH_LINE_PREV) - 1;
}
