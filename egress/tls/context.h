/* TLS on both sides of a connection that is opened: server towards the program, client towards the endpoint. */
#ifndef CALLGATE_EGRESS_TLS_CONTEXT_H
#define CALLGATE_EGRESS_TLS_CONTEXT_H

#include <openssl/ssl.h>
#include <stdbool.h>
#include <stddef.h>

#include "egress/tls/ca.h"

struct tls;

#define TLS_ERROR_SIZE 160

/*
 * Before the process is locked down: it makes a handshake with itself, after which OpenSSL opens nothing any more.
 * roots: PEM text, parsed when first needed; borrowed for the process's life. 0, -ENOMEM, -EIO.
 */
int tls_create(struct ca *ca, const char *roots, size_t roots_len, struct tls **ret_tls);
void tls_free(struct tls *tls);

/* A server's, with a leaf for host, that will choose this ALPN ("h2", "http/1.1", "": none). NULL with errno. */
SSL *tls_server(struct tls *tls, const char *host, const char *alpn);
/* A client's, that offers this ALPN list ("h2,http/1.1"; "": none), sends host as SNI and verifies it. NULL with errno. */
SSL *tls_client(struct tls *tls, const char *host, const char *alpn);
/* What was chosen: "h2", "http/1.1" or "". */
void tls_alpn(const SSL *ssl, char *ret_alpn, size_t cap);
/*
 * Why a handshake (or a first read) failed, as a static code, to be asked right after it: client_rejected_ca (the program's
 * side sent an alert about certificates, or went away on seeing ours), client_tls, upstream_tls; and in text one line
 * for people, from the verification when that was it. error: what the channel said.
 */
const char *tls_error(SSL *ssl, bool server, int error, char text[TLS_ERROR_SIZE]);

#endif
