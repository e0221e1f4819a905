/*
 * The run's certificate authority (P-256) for TLS interception, used in the egress process only. authority.h makes its
 * key and certificate. Leaf certificates are created on demand, share one key and are kept in a least-recently-used
 * cache.
 */
#ifndef CALLGATE_EGRESS_TLS_CA_H
#define CALLGATE_EGRESS_TLS_CA_H

#include <openssl/ssl.h>

#include "egress/tls/authority.h"

struct ca;

/* Takes over key and certificate, and makes the key of the leaves. 0, -ENOMEM or -EIO (OpenSSL). */
int ca_create(const struct authority *authority, struct ca **ret_ca);
/* Frees the authority and wipes its keys. */
void ca_free(struct ca *ca);
/* The authority's certificate as PEM. Borrowed. */
const char *ca_get_pem(const struct ca *ca);

/* Sets the certificate of a server's SSL object: a leaf for a canonical name or address. 0 or -EIO. */
int ca_set_leaf_certificate(struct ca *ca, const char *host, SSL *ssl);

#endif
