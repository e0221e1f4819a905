/*
 * Makes Java truststores, in the big-endian format of sun.security.provider.JavaKeyStore: magic, version, number of
 * entries; for each entry a tag, an alias, a date, the certificate's type and its DER; then SHA-1 over the password in
 * UTF-16, a fixed text and all bytes before.
 */
#include "supervisor/gateway/provide.h"

#include <errno.h>
#include <nettle/base64.h>
#include <nettle/sha1.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"

#define JKS_MAGIC 0xfeedfeedu
#define JKS_VERSION 2u
#define JKS_TRUSTED_TAG 2u /* tag of a trusted certificate */
#define JKS_ENTRY_COUNT_OFFSET 8u   /* where the number of entries stands in a Java keystore file */
#define JKS_SALT "Mighty Aphrodite" /* a constant of the format: hashed with the password */
#define PEM_BEGIN "-----BEGIN CERTIFICATE-----"
#define PEM_END "-----END CERTIFICATE-----"
static const char password[] = "changeit"; /* Java's default password; it protects nothing */

static void truststore_put_number(struct buf *buf, uint64_t value, unsigned bytes)
{
	while (bytes-- > 0) {
		const char byte = (char)(value >> (8 * bytes));

		buf_add(buf, &byte, 1);
	}
}

static void truststore_put_text(struct buf *buf, const char *text)
{
	truststore_put_number(buf, strlen(text), 2);
	buf_puts(buf, text);
}

static void truststore_put_certificate(struct buf *buf, unsigned number, const unsigned char *der, size_t len)
{
	char alias[32];

	(void)snprintf(alias, sizeof(alias), "callgate-%u", number);
	truststore_put_number(buf, JKS_TRUSTED_TAG, 4);
	truststore_put_text(buf, alias);
	truststore_put_number(buf, 0, 8); /* date of creation */
	truststore_put_text(buf, "X.509");
	truststore_put_number(buf, len, 4);
	buf_add(buf, der, len);
}

/*
 * Decodes the lines of a certificate that have whole groups of four digits, as all but the last one have. libnettle
 * takes five times as long, because it calls a function for each digit. Returns the number of bytes in `der`;
 * *text: what is left.
 */
static size_t truststore_decode_groups(const struct truststore *store, const char **text, const char *end, uint8_t *der)
{
	uint8_t *to = der;
	const char *at = *text;

	while (end - at >= 4) {
		const unsigned a = store->base64_value[(unsigned char)at[0]],
			       b = store->base64_value[(unsigned char)at[1]],
			       c = store->base64_value[(unsigned char)at[2]],
			       d = store->base64_value[(unsigned char)at[3]];

		if (*at == '\n') {
			at++;
			continue;
		}
		if ((a | b | c | d) & TRUSTSTORE_NO_DIGIT)
			break;
		*to++ = (uint8_t)(a << 2 | b >> 4);
		*to++ = (uint8_t)(b << 4 | c >> 2);
		*to++ = (uint8_t)(c << 6 | d);
		at += 4;
	}
	*text = at;
	return (size_t)(to - der);
}

/* Decodes the body of a certificate into `der`, of BASE64_DECODE_LENGTH(len) bytes. 0: it is not base64. */
static size_t truststore_decode(const struct truststore *store, const char *text, size_t len, uint8_t *der)
{
	const char *end = text + len;
	const size_t groups_len = truststore_decode_groups(store, &text, end, der);
	size_t rest_len = BASE64_DECODE_LENGTH((size_t)(end - text));
	struct base64_decode_ctx decode;

	base64_decode_init(&decode);
	return base64_decode_update(&decode, &rest_len, der + groups_len, (size_t)(end - text), text) &&
			       base64_decode_final(&decode)
		       ? groups_len + rest_len
		       : 0;
}

int truststore_add(struct truststore *store, const char *pem)
{
	_cleanup_free_ uint8_t *der = NULL;
	const char *end;
	size_t room = 0;

	while (pem && (pem = strstr(pem, PEM_BEGIN)) && (end = strstr(pem, PEM_END))) {
		const char *text = pem + strlen(PEM_BEGIN);
		size_t len = (size_t)(end - text), der_len;

		if (len > room) {
			free(der);
			room = len;
			der = malloc(BASE64_DECODE_LENGTH(room));
		}
		if (!der)
			return -ENOMEM;
		der_len = truststore_decode(store, text, len, der);
		if (der_len > 0)
			truststore_put_certificate(&store->buf, ++store->certificate_count, der, der_len);
		pem = end;
	}
	return store->buf.failed ? -ENOMEM : 0;
}

/* Appends the SHA-1 that ends the file: of password, salt and content. */
static void truststore_put_digest(struct buf *buf)
{
	uint8_t digest[SHA1_DIGEST_SIZE], wide[2 * (sizeof(password) - 1)];
	struct sha1_ctx hash;

	for (size_t i = 0; i < sizeof(password) - 1; i++) {
		wide[2 * i] = 0;
		wide[2 * i + 1] = (uint8_t)password[i];
	}
	sha1_init(&hash);
	sha1_update(&hash, sizeof(wide), wide);
	sha1_update(&hash, sizeof(JKS_SALT) - 1, (const uint8_t *)JKS_SALT);
	sha1_update(&hash, buf->len, (const uint8_t *)buf->data);
	sha1_digest(&hash, sizeof(digest), digest);
	buf_add(buf, digest, sizeof(digest));
}

void truststore_begin(struct truststore *store, size_t bytes)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

	*store = (struct truststore){.certificate_count = 0};
	memset(store->base64_value, TRUSTSTORE_NO_DIGIT, sizeof(store->base64_value));
	for (size_t i = 0; i < sizeof(digits) - 1; i++)
		store->base64_value[(unsigned char)digits[i]] = (uint8_t)i;
	buf_reserve(&store->buf, bytes);
	truststore_put_number(&store->buf, JKS_MAGIC, 4);
	truststore_put_number(&store->buf, JKS_VERSION, 4);
	truststore_put_number(&store->buf, 0, 4);
}

int truststore_finish(struct truststore *store, char **ret_bytes, size_t *ret_len)
{
	struct buf *buf = &store->buf;

	if (buf->failed)
		return -ENOMEM;
	if (store->certificate_count == 0)
		return -EINVAL;
	for (unsigned i = 0; i < 4; i++)
		buf->data[JKS_ENTRY_COUNT_OFFSET + i] = (char)(store->certificate_count >> (8 * (3 - i)));
	truststore_put_digest(buf);
	if (buf->failed)
		return -ENOMEM;
	*ret_len = buf->len;
	*ret_bytes = buf_take_text(buf);
	return 0;
}

void truststore_release(struct truststore *store)
{
	buf_release(&store->buf);
}
