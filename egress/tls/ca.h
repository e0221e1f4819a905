/*
 * The run's own certificate authority: P-256, made for the run, its key in the egress process only. Leaves are made when
 * first needed, share one key, and are kept in a small least-recently-used cache.
 */
#ifndef CALLGATE_EGRESS_TLS_CA_H
#define CALLGATE_EGRESS_TLS_CA_H

#include <openssl/ssl.h>

struct ca;

/* 0 or -ENOMEM, -EIO (OpenSSL). */
int ca_create(const char *run_id, struct ca **ret_ca);
void ca_free(struct ca *ca);
/* Its certificate, PEM. Borrowed. */
const char *ca_pem(const struct ca *ca);
/* Destroys the key and keeps the certificate: for the keeper, after egress has been forked. */
void ca_forget(struct ca *ca);

/* Puts a leaf for a canonical name or address, signed by it, on a server's SSL. 0, -ENOMEM or -EIO. */
int ca_use_leaf(struct ca *ca, const char *host, SSL *ssl);

#endif
