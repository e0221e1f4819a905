/* Limits on JSON that comes from a sandbox. They are checked before parsing, because a sandbox is hostile. */
#ifndef CALLGATE_AGENTS_JSON_BOUNDS_H
#define CALLGATE_AGENTS_JSON_BOUNDS_H

#include <stdbool.h>
#include <stddef.h>

/*
 * True when a text has at most values_max JSON values, nested at most depth_max deep. Parsed values take up to a
 * hundred times the memory of their text. The text need not be valid JSON.
 */
bool json_is_within_bounds(const char *text, size_t len, size_t values_max, size_t depth_max);

#endif
