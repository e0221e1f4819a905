/*
 * The format of sun.security.provider.JavaKeyStore, big-endian: magic, version, number of entries; for each entry a
 * tag, an alias, a date, the certificate's type and its DER; then SHA-1 over the password in UTF-16, a fixed text and
 * all of the above.
 */
#include "egress/tls/truststore.h"

#include <errno.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"

#include "base/banned.h"

#define MAGIC 0xfeedfeedu
#define VERSION 2u
#define TRUSTED 2u /* tag of a trusted certificate */
#define COUNT_AT 8u
#define SALT "Mighty Aphrodite"
static const char password[] = "changeit"; /* Java's default password; it protects nothing */

static void put_number(struct buf *buf, uint64_t value, unsigned bytes)
{
	while (bytes-- > 0) {
		const char byte = (char)(value >> (8 * bytes));

		buf_add(buf, &byte, 1);
	}
}

static void put_text(struct buf *buf, const char *text)
{
	put_number(buf, strlen(text), 2);
	buf_puts(buf, text);
}

static void put_certificate(struct buf *buf, unsigned number, const unsigned char *der, size_t len)
{
	char alias[32];

	(void)snprintf(alias, sizeof(alias), "callgate-%u", number);
	put_number(buf, TRUSTED, 4);
	put_text(buf, alias);
	put_number(buf, 0, 8); /* date of creation */
	put_text(buf, "X.509");
	put_number(buf, len, 4);
	buf_add(buf, der, len);
}

/* Returns the number of certificates. */
static unsigned put_all(struct buf *buf, BIO *pem)
{
	unsigned char *der;
	char *name, *header;
	unsigned count = 0;
	long len;

	while (PEM_read_bio(pem, &name, &header, &der, &len) == 1) {
		if (strcmp(name, PEM_STRING_X509) == 0)
			put_certificate(buf, ++count, der, (size_t)len);
		OPENSSL_free(name);
		OPENSSL_free(header);
		OPENSSL_free(der);
	}
	return count;
}

/* 0 or -ENOMEM. */
static int put_digest(struct buf *buf)
{
	unsigned char digest[EVP_MAX_MD_SIZE], wide[2 * (sizeof(password) - 1)];
	EVP_MD_CTX *hash = EVP_MD_CTX_new();
	unsigned len = 0;
	bool good;

	for (size_t i = 0; i < sizeof(password) - 1; i++) {
		wide[2 * i] = 0;
		wide[2 * i + 1] = (unsigned char)password[i];
	}
	good = hash && EVP_DigestInit_ex(hash, EVP_sha1(), NULL) == 1 &&
	       EVP_DigestUpdate(hash, wide, sizeof(wide)) == 1 && EVP_DigestUpdate(hash, SALT, sizeof(SALT) - 1) == 1 &&
	       EVP_DigestUpdate(hash, buf->data, buf->len) == 1 && EVP_DigestFinal_ex(hash, digest, &len) == 1;
	EVP_MD_CTX_free(hash);
	if (good)
		buf_add(buf, digest, len);
	return good ? 0 : -ENOMEM;
}

int truststore_jks(const char *pem, char **ret_bytes, size_t *ret_len)
{
	_cleanup_buf_ struct buf buf = {0};
	BIO *in = BIO_new_mem_buf(pem, -1);
	unsigned count;
	size_t len;
	char *bytes;

	if (!in)
		return -ENOMEM;
	put_number(&buf, MAGIC, 4);
	put_number(&buf, VERSION, 4);
	put_number(&buf, 0, 4);
	count = put_all(&buf, in);
	BIO_free(in);
	if (buf.failed)
		return -ENOMEM;
	if (count == 0)
		return -EINVAL;
	for (unsigned i = 0; i < 4; i++)
		buf.data[COUNT_AT + i] = (char)(count >> (8 * (3 - i)));
	if (put_digest(&buf) < 0)
		return -ENOMEM;
	len = buf.len;
	bytes = buf_take(&buf);
	if (!bytes)
		return -ENOMEM;
	*ret_bytes = bytes;
	*ret_len = len;
	return 0;
}
