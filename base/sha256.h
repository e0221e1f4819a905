/* SHA-256, as hexadecimal digits. */
#ifndef CALLGATE_BASE_SHA256_H
#define CALLGATE_BASE_SHA256_H

#include <stddef.h>
#include <stdint.h>

#define SHA256_HEX_SIZE 65 /* a SHA-256 digest as 64 hex digits and the NUL */

void sha256_hash_bytes(const void *bytes, size_t len, char ret_hex[SHA256_HEX_SIZE]);
/* Hashes a file from the descriptor's current offset to its end. 0 or -errno. */
int sha256_hash_fd(int fd, char ret_hex[SHA256_HEX_SIZE], uint64_t *ret_bytes);

#endif
