/*
 * The run's certificate authority (P-256) for TLS interception. Created by the keeper before it forks; its key is used
 * in the egress process only. Leaves are created on demand, share one key and are kept in a least-recently-used cache.
 */
#ifndef CALLGATE_EGRESS_TLS_CA_H
#define CALLGATE_EGRESS_TLS_CA_H

#include <openssl/ssl.h>

struct ca;

/* Makes keys and the authority's certificate. 0, -ENOMEM or -EIO (OpenSSL). */
int ca_create(const char *run_id, struct ca **ret_ca);
/* Wipes the keys. */
void ca_free(struct ca *ca);
/* The authority's certificate as PEM. Borrowed. */
const char *ca_get_pem(const struct ca *ca);

/* Sets the certificate of a server's SSL: a leaf for a canonical name or address. 0 or -EIO. */
int ca_use_leaf(struct ca *ca, const char *host, SSL *ssl);

#endif
