#include "egress/tls/warm.h"

#include <errno.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <string.h>

#include "base/banned.h"

#define HOST "warm.invalid"
#define ROUNDS 10

static int add_root(SSL *ssl, struct ca *ca)
{
	BIO *bio = BIO_new_mem_buf(ca_pem(ca), -1);
	X509 *root = bio ? PEM_read_bio_X509(bio, NULL, NULL, NULL) : NULL;
	X509_STORE *store = X509_STORE_new();
	int done = root && store && X509_STORE_add_cert(store, root) && SSL_set1_verify_cert_store(ssl, store);

	X509_STORE_free(store);
	X509_free(root);
	BIO_free(bio);
	return done ? 0 : -EIO;
}

/* Both ends in turn until neither waits for the other. */
static int shake(SSL *client, SSL *server)
{
	char byte = 'x';

	for (int round = 0; round < ROUNDS; round++) {
		int here = SSL_do_handshake(client), there = SSL_do_handshake(server);

		if (here == 1 && there == 1)
			return SSL_write(client, &byte, 1) == 1 && SSL_read(server, &byte, 1) == 1 ? 0 : -EIO;
	}
	return -EIO;
}

static int handshake(struct tls *tls, struct ca *ca, int version)
{
	SSL *client = tls_client(tls, HOST, "h2"), *server = tls_server(tls, HOST, "h2");
	BIO *here = NULL, *there = NULL;
	int error = -EIO;

	if (client && server && !add_root(client, ca) && SSL_set_max_proto_version(client, version) &&
	    BIO_new_bio_pair(&here, 0, &there, 0)) {
		SSL_set_bio(client, here, here);
		SSL_set_bio(server, there, there);
		error = shake(client, server);
	}
	SSL_free(client);
	SSL_free(server);
	return error;
}

int tls_warm(struct tls *tls, struct ca *ca)
{
	int error = handshake(tls, ca, TLS1_3_VERSION);

	if (!error)
		error = handshake(tls, ca, TLS1_2_VERSION);
	ERR_clear_error();
	return error;
}
