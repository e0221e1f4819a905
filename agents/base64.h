/* Bytes as base64 (RFC 4648), with padding. */
#ifndef CALLGATE_AGENTS_BASE64_H
#define CALLGATE_AGENTS_BASE64_H

#include <stddef.h>

/* Encodes len bytes. Returns a NUL-terminated text owned by the caller; NULL: out of memory. */
char *base64_make_text(const char *bytes, size_t len);

#endif
