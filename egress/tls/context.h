/*
 * TLS for interception: server towards the program, client towards the endpoint. Called in the egress process by
 * main.c, intercept.c and http1-forward.c.
 */
#ifndef CALLGATE_EGRESS_TLS_CONTEXT_H
#define CALLGATE_EGRESS_TLS_CONTEXT_H

#include <openssl/ssl.h>
#include <stdbool.h>
#include <stddef.h>

#include "egress/tls/ca.h"

struct tls;

#define TLS_ERROR_SIZE 160

/*
 * Creates the contexts and makes handshakes in memory, after which OpenSSL opens no file any more; call it before
 * lock-down. roots: PEM text, parsed on first use, borrowed for the life of the process. 0, -ENOMEM or -EIO.
 */
int tls_create(struct ca *ca, const char *roots, size_t roots_len, struct tls **ret_tls);
void tls_free(struct tls *tls);

/*
 * A server's SSL with a leaf for host, which selects this ALPN protocol ("h2", "http/1.1"; "": none), borrowed for the
 * handshake. Owned. NULL: it cannot be made.
 */
SSL *tls_create_server(struct tls *tls, const char *host, const char *alpn);
/*
 * A client's SSL that offers this ALPN list ("h2,http/1.1"; "": none), sends host as SNI and verifies it. Owned. NULL:
 * it cannot be made.
 */
SSL *tls_create_client(struct tls *tls, const char *host, const char *alpn);
/* The protocol that was negotiated: "h2", "http/1.1" or "". */
void tls_get_chosen_alpn(const SSL *ssl, char *ret_alpn, size_t cap);
/*
 * Why a handshake or the first read failed, called right after it. error: of the channel. Returns a static code:
 * client_rejected_ca (the program sent an alert about the certificate or closed on seeing it), client_tls or
 * upstream_tls. text: one line for people.
 */
const char *tls_describe_error(SSL *ssl, bool server, int error, char text[TLS_ERROR_SIZE]);

#endif
