#include "egress/tls/authority.h"

#include <errno.h>
#include <nettle/base64.h>
#include <nettle/bignum.h>
#include <nettle/ecc-curve.h>
#include <nettle/ecdsa.h>
#include <nettle/sha1.h>
#include <nettle/sha2.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

/*
 * Validity of the certificate. Its key is deleted with the run, so that the period protects nothing. It must outlast
 * runs of months and stay below the 398 days that clients accept. It starts an hour early for programs whose clock
 * differs.
 */
#define CERTIFICATE_VALID_BEFORE_NOW_SECONDS (60 * 60)
#define CERTIFICATE_VALID_FROM_NOW_SECONDS (365L * 24 * 60 * 60)
#define EC_COORDINATE_BYTES 32u
#define CERTIFICATE_SERIAL_BYTES 16u
#define DER_BYTES_MAX 1024u /* most bytes of a certificate or key in DER */
#define COMMON_NAME_MAX 64 /* bytes of a common name (ub-common-name, RFC 5280) */

/* Tags of DER (X.690). */
enum der_tag {
	DER_INTEGER = 0x02,
	DER_BIT_STRING = 0x03,
	DER_UTF8_STRING = 0x0c,
	DER_SEQUENCE = 0x30,
	DER_SET = 0x31,
	DER_UTC_TIME = 0x17,
	DER_GENERALIZED_TIME = 0x18,
	DER_CONTEXT_0 = 0xa0,
	DER_CONTEXT_3 = 0xa3,
};

/* A DER text that is written from its end to its beginning, because a length comes before what it measures. */
struct der {
	uint8_t bytes[DER_BYTES_MAX];
	size_t content_start; /* the text begins here, and ends with `bytes` */
	bool has_overflowed;
};

static size_t der_get_len(const struct der *der)
{
	return sizeof(der->bytes) - der->content_start;
}

/* Writes bytes before those that are there, because DER is written from its end. */
static void der_put(struct der *der, const void *bytes, size_t len)
{
	if (len > der->content_start) {
		der->has_overflowed = true;
		return;
	}
	der->content_start -= len;
	memcpy(der->bytes + der->content_start, bytes, len);
}

/* Puts tag and length before what was written since the text had `before` bytes. */
static void der_wrap(struct der *der, enum der_tag tag, size_t before)
{
	const size_t len = der_get_len(der) - before;
	const uint8_t head[] = {(uint8_t)tag, 0x82, (uint8_t)(len >> 8), (uint8_t)len};
	const uint8_t middle[] = {(uint8_t)tag, 0x81, (uint8_t)len}, small[] = {(uint8_t)tag, (uint8_t)len};

	if (len < 0x80)
		der_put(der, small, sizeof(small));
	else if (len < 0x100)
		der_put(der, middle, sizeof(middle));
	else
		der_put(der, head, sizeof(head));
}

/* Writes a value with its tag and length before those that are there. */
static void der_put_value(struct der *der, enum der_tag tag, const void *bytes, size_t len)
{
	const size_t before = der_get_len(der);

	der_put(der, bytes, len);
	der_wrap(der, tag, before);
}

/* Puts a number that is not negative: without zeros at its beginning, but with one where its first bit is set. */
static void der_put_integer(struct der *der, const uint8_t *bytes, size_t len)
{
	const size_t before = der_get_len(der);
	static const uint8_t zero = 0;

	for (; len > 1 && bytes[0] == 0; len--)
		bytes++;
	der_put(der, bytes, len);
	if (bytes[0] & 0x80)
		der_put(der, &zero, 1);
	der_wrap(der, DER_INTEGER, before);
}

/* ecdsa-with-SHA256 (RFC 5758) */
static const uint8_t signature_algorithm[] = {0x30, 0x0a, 0x06, 0x08, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 0x02};
/* DER before the point of the public key: id-ecPublicKey with prime256v1, and the head of a BIT STRING (RFC 5480). */
static const uint8_t public_key_start[] = {0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2a, 0x86, 0x48,
					   0xce, 0x3d, 0x02, 0x01, 0x06, 0x08, 0x2a, 0x86, 0x48,
					   0xce, 0x3d, 0x03, 0x01, 0x07, 0x03, 0x42, 0x00};
#define EC_POINT_BYTES (1 + 2 * EC_COORDINATE_BYTES)
static const uint8_t common_name_type[] = {0x06, 0x03, 0x55, 0x04, 0x03};
/* Extensions of RFC 5280: basicConstraints CA:TRUE, pathlen 0; keyUsage keyCertSign and cRLSign; both critical. */
static const uint8_t fixed_extensions[] = {0x30, 0x12, 0x06, 0x03, 0x55, 0x1d, 0x13, 0x01, 0x01, 0xff, 0x04, 0x08,
					   0x30, 0x06, 0x01, 0x01, 0xff, 0x02, 0x01, 0x00, 0x30, 0x0e, 0x06, 0x03,
					   0x55, 0x1d, 0x0f, 0x01, 0x01, 0xff, 0x04, 0x04, 0x03, 0x02, 0x01, 0x06};
/* subjectKeyIdentifier and authorityKeyIdentifier, before the SHA-1 of the point. */
static const uint8_t subject_id_start[] = {0x30, 0x1d, 0x06, 0x03, 0x55, 0x1d, 0x0e, 0x04, 0x16, 0x04, 0x14};
static const uint8_t issuer_id_start[] = {0x30, 0x1f, 0x06, 0x03, 0x55, 0x1d, 0x23,
					  0x04, 0x18, 0x30, 0x16, 0x80, 0x14};

/* Writes a distinguished name that has only a common name. */
static void certificate_put_name(struct der *der, const char *common_name)
{
	const size_t before = der_get_len(der);

	der_put_value(der, DER_UTF8_STRING, common_name, strlen(common_name));
	der_put(der, common_name_type, sizeof(common_name_type));
	der_wrap(der, DER_SEQUENCE, before);
	der_wrap(der, DER_SET, before);
	der_wrap(der, DER_SEQUENCE, before);
}

/* RFC 5280, 4.1.2.5: up to 2049 the year has two digits. */
static void certificate_put_time(struct der *der, time_t when)
{
	char text[32];
	struct tm utc;
	size_t len, left_out;

	(void)gmtime_r(&when, &utc);
	len = strftime(text, sizeof(text), "%Y%m%d%H%M%SZ", &utc);
	left_out = utc.tm_year < 150 ? 2 : 0;
	der_put_value(der, left_out ? DER_UTC_TIME : DER_GENERALIZED_TIME, text + left_out, len - left_out);
}

/* Writes from when to when the certificate is valid. DER is written backwards, so the end comes first. */
static void certificate_put_validity(struct der *der)
{
	const size_t before = der_get_len(der);
	const time_t now = time(NULL);

	certificate_put_time(der, now + CERTIFICATE_VALID_FROM_NOW_SECONDS);
	certificate_put_time(der, now - CERTIFICATE_VALID_BEFORE_NOW_SECONDS);
	der_wrap(der, DER_SEQUENCE, before);
}

/* Writes the extensions of an authority's certificate. The key's id is the hash of its point. */
static void certificate_put_extensions(struct der *der, const uint8_t point[EC_POINT_BYTES])
{
	const size_t before = der_get_len(der);
	uint8_t id[SHA1_DIGEST_SIZE];
	struct sha1_ctx hash;

	sha1_init(&hash);
	sha1_update(&hash, EC_POINT_BYTES, point);
	sha1_digest(&hash, sizeof(id), id);
	der_put(der, id, sizeof(id));
	der_put(der, issuer_id_start, sizeof(issuer_id_start));
	der_put(der, fixed_extensions, sizeof(fixed_extensions));
	der_put(der, id, sizeof(id));
	der_put(der, subject_id_start, sizeof(subject_id_start));
	der_wrap(der, DER_SEQUENCE, before);
	der_wrap(der, DER_CONTEXT_3, before);
}

/* Puts the part of the certificate that is signed (TBSCertificate). */
static void certificate_put_signed_part(struct der *der, const char *common_name,
					const uint8_t serial[CERTIFICATE_SERIAL_BYTES],
					const uint8_t point[EC_POINT_BYTES])
{
	static const uint8_t version_3[] = {0xa0, 0x03, 0x02, 0x01, 0x02};
	const size_t before = der_get_len(der);

	certificate_put_extensions(der, point);
	der_put(der, point, EC_POINT_BYTES);
	der_put(der, public_key_start, sizeof(public_key_start));
	certificate_put_name(der, common_name);
	certificate_put_validity(der);
	certificate_put_name(der, common_name);
	der_put(der, signature_algorithm, sizeof(signature_algorithm));
	der_put_integer(der, serial, CERTIFICATE_SERIAL_BYTES);
	der_put(der, version_3, sizeof(version_3));
	der_wrap(der, DER_SEQUENCE, before);
}

/* nettle's callback for random bytes; *ctx becomes true if there are none. */
static void authority_get_random(void *ctx, size_t len, uint8_t *bytes)
{
	bool *failed = ctx;

	while (len > 0) { /* getrandom(2) returns up to 256 bytes in full */
		const size_t part = len < 256 ? len : 256;

		if (getrandom(bytes, part, 0) != (ssize_t)part) {
			*failed = true;
			memset(bytes, 1, part); /* so that nettle ends its search for a number in range */
		}
		bytes += part;
		len -= part;
	}
}

/* Writes a number as EC_COORDINATE_BYTES bytes. False: it is larger. */
static bool authority_write_number(const mpz_t number, uint8_t out[EC_COORDINATE_BYTES])
{
	if (nettle_mpz_sizeinbase_256_u(number) > EC_COORDINATE_BYTES)
		return false;
	nettle_mpz_get_str_256(EC_COORDINATE_BYTES, out, number);
	return true;
}

/* Puts the BIT STRING with the signature of the bytes (RFC 3279, 2.2.3). */
static bool authority_put_signature(struct der *der, const struct ecc_scalar *key, const struct der *what, bool *failed)
{
	const size_t before = der_get_len(der);
	uint8_t digest[SHA256_DIGEST_SIZE], r[EC_COORDINATE_BYTES], s[EC_COORDINATE_BYTES];
	static const uint8_t no_unused_bits = 0;
	struct dsa_signature signature;
	struct sha256_ctx hash;
	bool fits;

	sha256_init(&hash);
	sha256_update(&hash, der_get_len(what), what->bytes + what->content_start);
	sha256_digest(&hash, sizeof(digest), digest);
	dsa_signature_init(&signature);
	ecdsa_sign(key, failed, authority_get_random, sizeof(digest), digest, &signature);
	fits = authority_write_number(signature.r, r) && authority_write_number(signature.s, s);
	dsa_signature_clear(&signature);
	if (!fits)
		return false;
	der_put_integer(der, s, sizeof(s));
	der_put_integer(der, r, sizeof(r));
	der_wrap(der, DER_SEQUENCE, before);
	der_put(der, &no_unused_bits, 1);
	der_wrap(der, DER_BIT_STRING, before);
	return true;
}

/* Writes the certificate as PEM. 0, or -EMSGSIZE if it did not fit into `der`. */
static int authority_write_pem(const struct der *der, char pem[AUTHORITY_PEM_SIZE])
{
	char digits[BASE64_ENCODE_RAW_LENGTH(DER_BYTES_MAX) + 1];
	const size_t len = der_get_len(der), count = BASE64_ENCODE_RAW_LENGTH(len);
	size_t used;

	if (der->has_overflowed)
		return -EMSGSIZE;
	base64_encode_raw(digits, len, der->bytes + der->content_start);
	used = (size_t)snprintf(pem, AUTHORITY_PEM_SIZE, "-----BEGIN CERTIFICATE-----\n");
	for (size_t at = 0; at < count; at += 64)
		used += (size_t)snprintf(pem + used, AUTHORITY_PEM_SIZE - used, "%.*s\n",
					 (int)(count - at < 64 ? count - at : 64), digits + at);
	(void)snprintf(pem + used, AUTHORITY_PEM_SIZE - used, "-----END CERTIFICATE-----\n");
	return 0;
}
_Static_assert(BASE64_ENCODE_RAW_LENGTH(DER_BYTES_MAX) * 65 / 64 + 64 < AUTHORITY_PEM_SIZE, "a certificate fits");

/* Writes an ECPrivateKey. */
static void authority_write_key(const uint8_t number[EC_COORDINATE_BYTES], const uint8_t point[EC_POINT_BYTES],
				uint8_t key[AUTHORITY_DER_KEY_BYTES])
{
	static const uint8_t start[] = {0x30, 0x77, 0x02, 0x01, 0x01, 0x04, 0x20};
	static const uint8_t middle[] = {0xa0, 0x0a, 0x06, 0x08, 0x2a, 0x86, 0x48, 0xce, 0x3d,
					 0x03, 0x01, 0x07, 0xa1, 0x44, 0x03, 0x42, 0x00};

	_Static_assert(sizeof(start) + EC_COORDINATE_BYTES + sizeof(middle) + EC_POINT_BYTES == AUTHORITY_DER_KEY_BYTES,
		       "fits");
	memcpy(key, start, sizeof(start));
	memcpy(key + sizeof(start), number, EC_COORDINATE_BYTES);
	memcpy(key + sizeof(start) + EC_COORDINATE_BYTES, middle, sizeof(middle));
	memcpy(key + sizeof(start) + EC_COORDINATE_BYTES + sizeof(middle), point, EC_POINT_BYTES);
}

/* Exports the key pair: the private number and the uncompressed point. */
static bool authority_export_pair(const struct ecc_scalar *key, const struct ecc_point *public,
				  uint8_t number[EC_COORDINATE_BYTES], uint8_t point[EC_POINT_BYTES])
{
	struct dsa_signature pair; /* two numbers of GMP: only nettle's functions are called for them, none of GMP's */
	bool fits;

	dsa_signature_init(&pair);
	ecc_point_get(public, pair.r, pair.s);
	point[0] = 4;
	fits = authority_write_number(pair.r, point + 1) &&
	       authority_write_number(pair.s, point + 1 + EC_COORDINATE_BYTES);
	ecc_scalar_get(key, pair.r);
	fits = fits && authority_write_number(pair.r, number);
	dsa_signature_clear(&pair); /* not wiped: the memory is gone when the process executes callgate-egress */
	return fits;
}

/*
 * Makes the certificate of the run's own authority, signed by itself, as PEM. Sets *failed if there are no random
 * bytes.
 */
static int authority_sign(const struct ecc_scalar *key, const uint8_t point[EC_POINT_BYTES], const char *run_id,
			  bool *failed, char pem[AUTHORITY_PEM_SIZE])
{
	struct der certificate = {.content_start = DER_BYTES_MAX}, part = {.content_start = DER_BYTES_MAX};
	char common_name[COMMON_NAME_MAX + 1];
	uint8_t serial[CERTIFICATE_SERIAL_BYTES];

	(void)snprintf(common_name, sizeof(common_name), "callgate run %s", run_id);
	authority_get_random(failed, sizeof(serial), serial);
	certificate_put_signed_part(&part, common_name, serial, point);
	if (part.has_overflowed || !authority_put_signature(&certificate, key, &part, failed))
		return -EMSGSIZE;
	der_put(&certificate, signature_algorithm, sizeof(signature_algorithm));
	der_put(&certificate, part.bytes + part.content_start, der_get_len(&part));
	der_wrap(&certificate, DER_SEQUENCE, 0);
	return authority_write_pem(&certificate, pem);
}

int authority_make(const char *run_id, struct authority *ret_authority)
{
	const struct ecc_curve *curve = nettle_get_secp_256r1();
	uint8_t number[EC_COORDINATE_BYTES], point[EC_POINT_BYTES];
	struct ecc_point public;
	struct ecc_scalar key;
	bool failed = false;
	int error = -EIO;

	ecc_point_init(&public, curve);
	ecc_scalar_init(&key, curve);
	ecdsa_generate_keypair(&public, &key, &failed, authority_get_random);
	if (authority_export_pair(&key, &public, number, point)) {
		authority_write_key(number, point, ret_authority->key);
		error = authority_sign(&key, point, run_id, &failed, ret_authority->pem);
	}
	ecc_point_clear(&public);
	ecc_scalar_clear(&key);
	explicit_bzero(number, sizeof(number));
	if (failed || error < 0)
		authority_wipe(ret_authority);
	return failed ? -EIO : error;
}
