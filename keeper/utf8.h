/* Conversion of arbitrary bytes to valid UTF-8. */
#ifndef CALLGATE_KEEPER_UTF8_H
#define CALLGATE_KEEPER_UTF8_H

#include <stdbool.h>
#include <stddef.h>

/*
 * A NUL-terminated copy with each malformed part replaced by U+FFFD. NUL bytes stay, hence *ret_len. *ret_changed tells
 * whether anything was replaced. Owned by the caller; NULL: out of memory.
 */
char *utf8_copy_repaired(const char *bytes, size_t len, size_t *ret_len, bool *ret_changed);

#endif
