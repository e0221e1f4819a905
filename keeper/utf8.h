/* Conversion of arbitrary bytes to valid UTF-8. */
#ifndef CALLGATE_KEEPER_UTF8_H
#define CALLGATE_KEEPER_UTF8_H

#include <stdbool.h>
#include <stddef.h>

/*
 * The length of the well-formed sequence at `bytes` (1-4), or 0. *ret_bad: how many bytes one U+FFFD replaces, by the
 * Unicode Standard, 3.9, "substitution of maximal subparts".
 */
size_t utf8_step(const unsigned char *bytes, size_t len, size_t *ret_bad);

/*
 * A NUL-terminated copy with each malformed part replaced by U+FFFD. NUL bytes stay, hence *ret_len. *ret_changed tells
 * whether anything was replaced. Owned by the caller; NULL: out of memory.
 */
char *utf8_text(const char *bytes, size_t len, size_t *ret_len, bool *ret_changed);

#endif
