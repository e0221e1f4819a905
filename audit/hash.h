/*
 * The hashes of the chain: each line has the SHA-256 of the line before, newline included, as hexadecimal digits.
 * callgate-audit(5), CHAIN. For the writer and for those who check logs.
 */
#ifndef CALLGATE_AUDIT_HASH_H
#define CALLGATE_AUDIT_HASH_H

#include <nettle/sha2.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HASH_DIGITS 64
#define HASH_BLANK "----------------------------------------------------------------" /* the digits are not known yet */
_Static_assert(sizeof(HASH_BLANK) == HASH_DIGITS + 1, "a blank is as long as the digits");

#define HASH_LINE_START "{\"seq\":"    /* at the beginning of each line, before its number */
#define HASH_LINE_PREV ",\"prev\":\"" /* behind the number, before the digits */

/* Writes the digits of a hash, without NUL. */
void hash_put_digits(char out[HASH_DIGITS], const uint8_t digest[SHA256_DIGEST_SIZE]);

/* Hashes the text of a line with its newline. Without `finished`, as if the outcome at its end was not known. */
void hash_line(const char *text, size_t len, bool finished, char ret_digits[HASH_DIGITS]);

/* Returns the offset, in the line with this number, of the digits of the line before. */
size_t hash_get_prev_offset(uint64_t seq);

#endif
