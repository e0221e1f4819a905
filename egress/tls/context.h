/*
 * TLS for interception: a server towards the program, a client towards the endpoint. Called in the egress process by
 * main.c, intercept.c and http1-forward.c.
 */
#ifndef CALLGATE_EGRESS_TLS_CONTEXT_H
#define CALLGATE_EGRESS_TLS_CONTEXT_H

#include <openssl/ssl.h>
#include <stdbool.h>
#include <stddef.h>

#include "egress/tls/ca.h"

struct tls;

#define TLS_ERROR_TEXT_SIZE 160

/*
 * Creates the contexts and makes handshakes in memory, after which OpenSSL opens no files. To be called before
 * lock-down. roots: PEM text, parsed at first use, borrowed for the life of the process. 0, -ENOMEM or -EIO.
 */
int tls_create(struct ca *ca, const char *roots, size_t roots_len, struct tls **ret_tls);
void tls_free(struct tls *tls);

/*
 * Creates an SSL object for a server, with a leaf for `host`. alpn: the protocol that it selects ("h2", "http/1.1"; "":
 * none), borrowed until the handshake is done. Owned. NULL: it cannot be created.
 */
SSL *tls_create_server(struct tls *tls, const char *host, const char *alpn);
/*
 * Creates an SSL object for a client, which sends `host` as SNI and verifies it. alpn: the list that it offers
 * ("h2,http/1.1"; "": none). Owned. NULL: it cannot be created.
 */
SSL *tls_create_client(struct tls *tls, const char *host, const char *alpn);
/* The ALPN protocol that was negotiated: "h2", "http/1.1" or "". */
void tls_get_chosen_alpn(const SSL *ssl, char *ret_alpn, size_t cap);
/*
 * Why a handshake or the first read failed; to be called right after the failure. error: as returned by the channel.
 * Returns a static code: client_rejected_ca (the program sent an alert about the certificate or closed when it saw it),
 * client_tls or upstream_tls. text: one line for the user.
 */
const char *tls_describe_error(SSL *ssl, bool server, int error, char text[TLS_ERROR_TEXT_SIZE]);

#endif
