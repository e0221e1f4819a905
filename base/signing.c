#include "base/signing.h"

#include <errno.h>
#include <nettle/base64.h>
#include <nettle/eddsa.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

/* What DER has before the key: RFC 8410, sections 4 and 7. */
static const uint8_t private_start[] = {0x30, 0x2e, 0x02, 0x01, 0x00, 0x30, 0x05, 0x06,
					0x03, 0x2b, 0x65, 0x70, 0x04, 0x22, 0x04, 0x20};
static const uint8_t public_start[] = {0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00};

/* of an Ed25519 key in the form of PKCS #8 */
#define PRIVATE_KEY_DER_BYTES (sizeof(private_start) + SIGNING_KEY_BYTES)
#define DER_BASE64_DIGITS_MAX 64u /* PRIVATE_KEY_DER_BYTES bytes in base64 */
#define PEM_DECODED_BYTES_MAX 49u /* bytes of an Ed25519 key in DER, with one to spare */

static void signing_compute_public_key(struct signing_key *key)
{
	ed25519_sha512_public_key(key->public, key->private);
	(void)signing_write_base64(key->public_text, key->public, sizeof(key->public));
}

int signing_make_key(struct signing_key *ret_key)
{
	ssize_t n = TEMP_FAILURE_RETRY(getrandom(ret_key->private, sizeof(ret_key->private), 0));

	if (n != (ssize_t)sizeof(ret_key->private))
		return n < 0 ? -errno : -EIO;
	signing_compute_public_key(ret_key);
	return 0;
}

void signing_wipe_key(struct signing_key *key)
{
	explicit_bzero(key, sizeof(*key));
}

size_t signing_write_base64(char *out, const void *bytes, size_t len)
{
	size_t written = BASE64_ENCODE_RAW_LENGTH(len);

	base64_encode_raw(out, len, bytes);
	out[written] = '\0';
	return written;
}

int signing_read_base64(const char *text, size_t len, void *out, size_t cap)
{
	struct base64_decode_ctx context;
	size_t written = cap;
	bool whole;

	if (len % 4 != 0 || cap < signing_measure_decoded(len))
		return -EBADMSG;
	for (size_t i = 0; i < len; i++) /* nettle skips blanks */
		if (text[i] == ' ' || (text[i] >= '\t' && text[i] <= '\r'))
			return -EBADMSG;
	base64_decode_init(&context);
	whole = base64_decode_update(&context, &written, out, len, text) && base64_decode_final(&context);
	explicit_bzero(&context, sizeof(context));
	return whole ? (int)written : -EBADMSG;
}

/* Finds the one block of a PEM text, and decodes it. Returns the number of bytes, or -EBADMSG. */
static int signing_decode_pem(const char *text, size_t len, const char *label, uint8_t der[PEM_DECODED_BYTES_MAX])
{
	char start[64], end[64], digits[SIGNING_PEM_BYTES];
	const char *at, *stop;
	size_t count = 0;

	(void)snprintf(start, sizeof(start), "-----BEGIN %s-----", label);
	(void)snprintf(end, sizeof(end), "-----END %s-----", label);
	at = memmem(text, len, start, strlen(start));
	stop = at ? memmem(at, len - (size_t)(at - text), end, strlen(end)) : NULL;
	if (!stop)
		return -EBADMSG;
	for (at += strlen(start); at < stop; at++) {
		if (*at == '\n' || *at == '\r')
			continue;
		if (count == DER_BASE64_DIGITS_MAX)
			return -EBADMSG;
		digits[count++] = *at;
	}
	count = (size_t)signing_read_base64(digits, count, der, PEM_DECODED_BYTES_MAX);
	explicit_bzero(digits, sizeof(digits));
	return (int)count;
}

int signing_parse_private(const char *pem, size_t len, struct signing_key *ret_key)
{
	uint8_t der[PEM_DECODED_BYTES_MAX];
	int n = signing_decode_pem(pem, len, "PRIVATE KEY", der);
	bool known = n == (int)(sizeof(private_start) + SIGNING_KEY_BYTES) &&
		     memcmp(der, private_start, sizeof(private_start)) == 0;

	if (known) {
		memcpy(ret_key->private, der + sizeof(private_start), SIGNING_KEY_BYTES);
		signing_compute_public_key(ret_key);
	}
	explicit_bzero(der, sizeof(der));
	return known ? 0 : -EBADMSG;
}

int signing_parse_public(const char *text, size_t len, uint8_t ret_public[SIGNING_KEY_BYTES])
{
	uint8_t der[PEM_DECODED_BYTES_MAX];
	int n = signing_decode_pem(text, len, "PUBLIC KEY", der);

	if (n == (int)(sizeof(public_start) + SIGNING_KEY_BYTES) &&
	    memcmp(der, public_start, sizeof(public_start)) == 0) {
		memcpy(ret_public, der + sizeof(public_start), SIGNING_KEY_BYTES);
		return 0;
	}
	if (n >= 0 || len != SIGNING_KEY_BASE64_SIZE - 1 ||
	    signing_read_base64(text, len, der, sizeof(der)) != SIGNING_KEY_BYTES)
		return -EBADMSG;
	memcpy(ret_public, der, SIGNING_KEY_BYTES);
	return 0;
}

static void signing_write_pem(const char *label, const uint8_t *start, size_t start_len, const uint8_t *key,
			      char *ret_pem)
{
	uint8_t der[PRIVATE_KEY_DER_BYTES];
	char digits[DER_BASE64_DIGITS_MAX + 1];

	memcpy(der, start, start_len);
	memcpy(der + start_len, key, SIGNING_KEY_BYTES);
	(void)signing_write_base64(digits, der, start_len + SIGNING_KEY_BYTES);
	(void)snprintf(ret_pem, SIGNING_PEM_BYTES, "-----BEGIN %s-----\n%s\n-----END %s-----\n", label, digits, label);
	explicit_bzero(der, sizeof(der));
	explicit_bzero(digits, sizeof(digits));
}

void signing_write_private(const struct signing_key *key, char ret_pem[SIGNING_PEM_BYTES])
{
	signing_write_pem("PRIVATE KEY", private_start, sizeof(private_start), key->private, ret_pem);
}

void signing_write_public(const uint8_t public[SIGNING_KEY_BYTES], char ret_pem[SIGNING_PEM_BYTES])
{
	signing_write_pem("PUBLIC KEY", public_start, sizeof(public_start), public, ret_pem);
}

void signing_sign(const struct signing_key *key, const void *bytes, size_t len,
		  uint8_t ret_signature[SIGNING_SIGNATURE_BYTES])
{
	ed25519_sha512_sign(key->public, key->private, len, bytes, ret_signature);
}

bool signing_verify(const uint8_t public[SIGNING_KEY_BYTES], const void *bytes, size_t len,
		    const uint8_t signature[SIGNING_SIGNATURE_BYTES])
{
	return ed25519_sha512_verify(public, len, bytes, signature) != 0;
}
