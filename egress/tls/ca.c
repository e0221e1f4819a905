#include "egress/tls/ca.h"

#include <errno.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "egress/conn/sockaddr.h"
#include "policy/network/net.h"

/*
 * Validity of the certificates. Their keys are deleted with the run, so that the period protects nothing. It must
 * outlast runs of months and stay below the 398 days that clients accept. It starts an hour early for programs whose
 * clock differs.
 */
#define CERTIFICATE_VALID_BEFORE_NOW_SECONDS (60 * 60)
#define CERTIFICATE_VALID_FROM_NOW_SECONDS (365L * 24 * 60 * 60)
#define CERTIFICATE_SERIAL_BITS 128
#define LEAF_CERTIFICATES_MAX 256 /* most host certificates that are kept for later connections */
#define COMMON_NAME_MAX 64 /* bytes of a common name (ub-common-name, RFC 5280) */

/* A certificate that was made for a host, kept for its next connection. */
struct leaf_certificate {
	char host[NET_HOST_SIZE];
	X509 *certificate; /* NULL: the entry is free */
	uint64_t last_use; /* value of ca->leaf_use_counter when it was last used; the smallest is replaced first */
};

struct ca {
	EVP_PKEY *key;
	EVP_PKEY *leaf_key; /* the key of all leaves */
	X509 *certificate;
	char *pem;
	uint64_t leaf_use_counter; /* how often a leaf was used; orders them by their last use */
	struct leaf_certificate leaf[LEAF_CERTIFICATES_MAX]; /* entries in use come first */
};

/* Sets a random serial number. false: no random bytes, or no memory. */
static bool certificate_set_serial(X509 *certificate)
{
	BIGNUM *number = BN_new();
	bool done = number && BN_rand(number, CERTIFICATE_SERIAL_BITS, BN_RAND_TOP_ANY, BN_RAND_BOTTOM_ANY) &&
		    BN_to_ASN1_INTEGER(number, X509_get_serialNumber(certificate));

	BN_free(number);
	return done;
}

/* Adds an X.509 extension. `value` must be trusted: OpenSSL parses it as configuration syntax. */
static bool certificate_add_extension(X509 *certificate, X509 *issuer, int nid, const char *value)
{
	X509_EXTENSION *extension;
	X509V3_CTX context;
	bool done;

	X509V3_set_ctx_nodb(&context);
	X509V3_set_ctx(&context, issuer, certificate, NULL, NULL, 0);
	extension = X509V3_EXT_conf_nid(NULL, &context, nid, value);
	done = extension && X509_add_ext(certificate, extension, -1);
	X509_EXTENSION_free(extension);
	return done;
}

/* Fills in version, serial number, validity, key and subject; issuer and signature are left to the caller. */
static bool certificate_init(X509 *certificate, EVP_PKEY *key, const char *common_name)
{
	X509_NAME *subject = X509_get_subject_name(certificate);

	return X509_set_version(certificate, X509_VERSION_3) && certificate_set_serial(certificate) &&
	       X509_gmtime_adj(X509_getm_notBefore(certificate), -CERTIFICATE_VALID_BEFORE_NOW_SECONDS) &&
	       X509_gmtime_adj(X509_getm_notAfter(certificate), CERTIFICATE_VALID_FROM_NOW_SECONDS) &&
	       X509_set_pubkey(certificate, key) &&
	       X509_NAME_add_entry_by_NID(subject, NID_commonName, MBSTRING_UTF8, (const unsigned char *)common_name,
					  -1, -1, 0) &&
	       certificate_add_extension(certificate, certificate, NID_subject_key_identifier, "hash");
}

/* Reads key and certificate, which authority_make() has made. */
static bool ca_read(struct ca *ca, const struct authority *authority)
{
	const unsigned char *der = authority->key;
	BIO *bio = BIO_new_mem_buf(authority->pem, -1);

	ca->key = d2i_PrivateKey(EVP_PKEY_EC, NULL, &der, sizeof(authority->key));
	ca->certificate = bio ? PEM_read_bio_X509(bio, NULL, NULL, NULL) : NULL;
	ca->pem = strdup(authority->pem);
	BIO_free(bio);
	return ca->key && ca->certificate && ca->pem && X509_check_private_key(ca->certificate, ca->key) == 1;
}

int ca_create(const struct authority *authority, struct ca **ret_ca)
{
	struct ca *ca = calloc(1, sizeof(*ca));

	if (!ca)
		return -ENOMEM;
	/* OpenSSL reads no configuration file: it could load modules later, when lock-down lets no file be opened. */
	if (!OPENSSL_init_crypto(OPENSSL_INIT_NO_LOAD_CONFIG, NULL) || !ca_read(ca, authority) ||
	    !(ca->leaf_key = EVP_EC_gen("P-256"))) {
		ca_free(ca);
		return -EIO;
	}
	*ret_ca = ca;
	return 0;
}

/* The private keys are wiped as they are freed (BN_clear_free), because nothing else holds a reference to them. */
void ca_free(struct ca *ca)
{
	if (!ca)
		return;
	for (size_t i = 0; i < LEAF_CERTIFICATES_MAX; i++)
		X509_free(ca->leaf[i].certificate);
	EVP_PKEY_free(ca->key);
	EVP_PKEY_free(ca->leaf_key);
	X509_free(ca->certificate);
	free(ca->pem);
	free(ca);
}

const char *ca_get_pem(const struct ca *ca)
{
	return ca->pem;
}

/* Adds the host name, without OpenSSL's configuration syntax, in which a comma in a name would add another name. */
static bool certificate_add_name(X509 *certificate, const char *host)
{
	struct sockaddr_storage address;
	int bytes = sockaddr_parse(host, &address) ? (int)sockaddr_get_address_len(address.ss_family) : 0;
	ASN1_STRING *value = ASN1_STRING_type_new(bytes ? V_ASN1_OCTET_STRING : V_ASN1_IA5STRING);
	GENERAL_NAMES *names = GENERAL_NAMES_new();
	GENERAL_NAME *name = GENERAL_NAME_new();
	bool done = false;

	if (value && names && name &&
	    ASN1_STRING_set(value, bytes ? sockaddr_get_bytes(&address) : host, bytes ? bytes : -1)) {
		GENERAL_NAME_set0_value(name, bytes ? GEN_IPADD : GEN_DNS, value);
		value = NULL;
		if (sk_GENERAL_NAME_push(names, name)) {
			name = NULL;
			done = X509_add1_ext_i2d(certificate, NID_subject_alt_name, names, 0, X509V3_ADD_DEFAULT) == 1;
		}
	}
	ASN1_STRING_free(value);
	GENERAL_NAME_free(name);
	GENERAL_NAMES_free(names);
	return done;
}

/*
 * Makes the certificate for a host by which egress plays that server: signed by the run's own authority. NULL: failed.
 */
static X509 *leaf_make(const struct ca *ca, const char *host)
{
	X509 *certificate = X509_new();

	if (certificate &&
	    certificate_init(certificate, ca->leaf_key, strlen(host) <= COMMON_NAME_MAX ? host : "callgate") &&
	    X509_set_issuer_name(certificate, X509_get_subject_name(ca->certificate)) &&
	    certificate_add_extension(certificate, ca->certificate, NID_basic_constraints, "critical,CA:FALSE") &&
	    certificate_add_extension(certificate, ca->certificate, NID_key_usage, "critical,digitalSignature") &&
	    certificate_add_extension(certificate, ca->certificate, NID_ext_key_usage, "serverAuth") &&
	    certificate_add_extension(certificate, ca->certificate, NID_authority_key_identifier, "keyid:always") &&
	    certificate_add_name(certificate, host) && X509_sign(certificate, ca->key, EVP_sha256()))
		return certificate;
	X509_free(certificate);
	return NULL;
}

/* Finds a host's leaf, else a free entry, else the leaf that was used least recently. */
static struct leaf_certificate *leaf_find(struct ca *ca, const char *host)
{
	struct leaf_certificate *oldest = ca->leaf;

	for (struct leaf_certificate *leaf = ca->leaf; leaf < ca->leaf + LEAF_CERTIFICATES_MAX; leaf++) {
		if (!leaf->certificate || !strcmp(leaf->host, host))
			return leaf;
		if (leaf->last_use < oldest->last_use)
			oldest = leaf;
	}
	return oldest;
}

int ca_set_leaf_certificate(struct ca *ca, const char *host, SSL *ssl)
{
	struct leaf_certificate *leaf = leaf_find(ca, host);

	if (strlen(host) >= NET_HOST_SIZE)
		return -EIO;
	if (!leaf->certificate || strcmp(leaf->host, host) != 0) {
		X509 *certificate = leaf_make(ca, host);

		if (!certificate)
			return -EIO;
		X509_free(leaf->certificate);
		leaf->certificate = certificate;
		(void)snprintf(leaf->host, sizeof(leaf->host), "%s", host);
	}
	leaf->last_use = ++ca->leaf_use_counter;
	return SSL_use_certificate(ssl, leaf->certificate) && SSL_use_PrivateKey(ssl, ca->leaf_key) ? 0 : -EIO;
}
