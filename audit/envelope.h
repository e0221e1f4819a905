/*
 * Attestations: a statement in a DSSE envelope (github.com/secure-systems-lab/dsse). What is signed is the pre-
 * authentication encoding (PAE) of the very bytes that are used afterwards.
 */
#ifndef CALLGATE_AUDIT_ENVELOPE_H
#define CALLGATE_AUDIT_ENVELOPE_H

#include <stddef.h>

#include "base/signing.h"

#define ENVELOPE_PAYLOAD_TYPE "application/vnd.in-toto+json"

/* Signs the payload. Returns the envelope as JSON with a newline, owned by the caller; NULL: no memory. */
char *envelope_make(const struct signing_key *key, const char *payload, size_t len);

/*
 * Opens an envelope that has a signature by the key. 0 with the payload, owned by the caller, NUL-terminated; -EBADMSG:
 * not such an envelope; -EKEYREJECTED: no signature is by that key; -ENOMEM.
 */
int envelope_open(const char *text, size_t text_len, const uint8_t public[SIGNING_KEY_BYTES], char **ret_payload,
		  size_t *ret_len);

#endif
