/* The two forms of SHA-256's one step. */
#ifndef CALLGATE_BASE_SHA256_PRIVATE_H
#define CALLGATE_BASE_SHA256_PRIVATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SHA256_BLOCK_BYTES 64

extern const uint32_t sha256_constants[64];

/* Takes `count` blocks into the state. */
void sha256_blocks_plain(uint32_t state[8], const unsigned char *bytes, size_t count);

/* Whether this processor has instructions for it; the same by these. */
bool sha256_has_x86(void);
void sha256_blocks_x86(uint32_t state[8], const unsigned char *bytes, size_t count);

#endif
