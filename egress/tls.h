/* TLS on both sides of a connection that is opened: server towards the program, client towards the endpoint. */
#ifndef CALLGATE_EGRESS_TLS_H
#define CALLGATE_EGRESS_TLS_H

#include <openssl/ssl.h>
#include <stdbool.h>
#include <stddef.h>

#include "egress/ca.h"

struct tls;

/* roots: PEM text, kept until first needed; borrowed for the process's life. 0, -ENOMEM, -EIO. */
int tls_create(struct ca *ca, const char *roots, size_t roots_len, struct tls **ret_tls);
void tls_free(struct tls *tls);

/* A server's, with a leaf for host, that will choose this ALPN ("": none). NULL with errno. */
SSL *tls_server(struct tls *tls, const char *host, const char *alpn);
/* A client's, that offers this ALPN list ("h2,http/1.1"; "": none), sends host as SNI and verifies it. NULL with errno. */
SSL *tls_client(struct tls *tls, const char *host, const char *alpn);
/* What was chosen: "h2", "http/1.1" or "". */
void tls_alpn(const SSL *ssl, char *ret_alpn, size_t cap);
/*
 * Why a handshake failed, as a code: client_rejected_ca (an alert about certificates came from the program's side),
 * upstream_tls; and in text one line for the record, from the verification when there was one.
 */
const char *tls_error(SSL *ssl, bool server, char *text, size_t cap);

#endif
