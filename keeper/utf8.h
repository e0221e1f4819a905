/* Converts arbitrary bytes to valid UTF-8. */
#ifndef CALLGATE_KEEPER_UTF8_H
#define CALLGATE_KEEPER_UTF8_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Returns a NUL-terminated copy with each malformed sequence replaced by U+FFFD. The text itself may contain NUL bytes,
 * so its length is in *ret_len. *ret_changed: something was replaced. Owned by the caller; NULL: out of memory.
 */
char *utf8_copy_repaired(const char *bytes, size_t len, size_t *ret_len, bool *ret_changed);

#endif
