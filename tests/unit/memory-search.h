/* Whether this process has some bytes anywhere in its writable memory. */
#ifndef CALLGATE_TESTS_MEMORY_SEARCH_H
#define CALLGATE_TESTS_MEMORY_SEARCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Not with sanitizers, whose shadow is terabytes and whose freed memory is kept. */
bool memory_search_possible(void);
/* How often; the bytes are given with each bit turned over, so that asking does not put them there. */
size_t memory_search(const uint8_t *inverted, size_t len);
/* Turns over what is in memory, in place. */
void memory_invert(uint8_t *bytes, size_t len);

#endif
