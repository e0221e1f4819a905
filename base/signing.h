/*
 * Ed25519 keys (RFC 8032) and signatures, by nettle's libhogweed. Private keys are files in PEM of PKCS #8, public keys
 * in PEM of SubjectPublicKeyInfo (RFC 8410), as openssl(1) reads and writes them.
 */
#ifndef CALLGATE_BASE_SIGNING_H
#define CALLGATE_BASE_SIGNING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SIGNING_KEY_BYTES 32
#define SIGNING_SIGNATURE_BYTES 64
#define SIGNING_KEY_BASE64_SIZE 45       /* a public key in base64, with NUL */
#define SIGNING_SIGNATURE_BASE64_SIZE 89 /* a signature in base64, with NUL */
#define SIGNING_PEM_BYTES 256     /* more than each PEM text of these keys, with NUL */

/* An Ed25519 key pair, by which the log is signed. */
struct signing_key {
	uint8_t private[SIGNING_KEY_BYTES];
	uint8_t public[SIGNING_KEY_BYTES];
	char public_text[SIGNING_KEY_BASE64_SIZE]; /* the public key in base64 */
};

/* Makes a new key. 0 or -errno of getrandom(2). signing_wipe_key removes it from memory. */
int signing_make_key(struct signing_key *ret_key);
void signing_wipe_key(struct signing_key *key);

/* Reads a private key from its PEM text. 0 or -EBADMSG: no private key of this kind. */
int signing_parse_private(const char *pem, size_t len, struct signing_key *ret_key);
/* Reads a public key: PEM, or 44 digits of base64. 0 or -EBADMSG. */
int signing_parse_public(const char *text, size_t len, uint8_t ret_public[SIGNING_KEY_BYTES]);
/* Write the PEM texts of a key. The caller wipes the private one. */
void signing_write_private(const struct signing_key *key, char ret_pem[SIGNING_PEM_BYTES]);
void signing_write_public(const uint8_t public[SIGNING_KEY_BYTES], char ret_pem[SIGNING_PEM_BYTES]);

void signing_sign(const struct signing_key *key, const void *bytes, size_t len,
		  uint8_t ret_signature[SIGNING_SIGNATURE_BYTES]);
bool signing_verify(const uint8_t public[SIGNING_KEY_BYTES], const void *bytes, size_t len,
		    const uint8_t signature[SIGNING_SIGNATURE_BYTES]);

/* Writes bytes in base64, with NUL. Returns the length without it. `out` has room for signing_measure_base64(len). */
size_t signing_write_base64(char *out, const void *bytes, size_t len);
static inline size_t signing_measure_base64(size_t len)
{
	return (len + 2) / 3 * 4 + 1;
}
/* Returns the size of a buffer for the bytes that `len` digits of base64 encode. */
static inline size_t signing_measure_decoded(size_t len)
{
	return len / 4 * 3 + 1;
}
/* Reads base64 without blanks. Returns the number of bytes, or -EBADMSG. cap: at least signing_measure_decoded(len). */
int signing_read_base64(const char *text, size_t len, void *out, size_t cap);

#endif
