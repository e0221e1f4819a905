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
#define JKS_ENTRY_COUNT_OFFSET 8u
#define JKS_SALT "Mighty Aphrodite"
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

/* Decodes the body of a certificate into `der`, of BASE64_DECODE_LENGTH(len) bytes. 0: it is not base64. */
static size_t truststore_decode(const char *text, size_t len, uint8_t *der)
{
	struct base64_decode_ctx decode;
	size_t der_len = BASE64_DECODE_LENGTH(len);

	base64_decode_init(&decode);
	return base64_decode_update(&decode, &der_len, der, len, text) && base64_decode_final(&decode) ? der_len : 0;
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
		der_len = truststore_decode(text, len, der);
		if (der_len > 0)
			truststore_put_certificate(&store->buf, ++store->certificate_count, der, der_len);
		pem = end;
	}
	return store->buf.failed ? -ENOMEM : 0;
}

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
	*store = (struct truststore){.certificate_count = 0};
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
