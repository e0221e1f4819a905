#include "egress/tls/context.h"

#include <errno.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "egress/conn/sockaddr.h"

#define TLS_WARM_UP_HOST "warm.invalid"     /* host of a handshake with itself, by which OpenSSL loads what it needs */
#define TLS_WARM_UP_HANDSHAKE_ROUNDS_MAX 10 /* most turns of client and server in the handshake of the warm-up */

/* What TLS interception needs for all connections. */
struct tls {
	struct ca *ca;
	const char *roots; /* certificates by which servers are verified, as PEM */
	size_t roots_len;
	SSL_CTX *server, *client;
	bool has_roots; /* the certificates of `roots` were loaded */
};

/* Selects the ALPN protocol that the real server selected. A client that did not offer it gets none (RFC 7301, 3.2). */
static int select_alpn(SSL *ssl, const unsigned char **ret_chosen, unsigned char *ret_len, const unsigned char *offered,
		       unsigned offered_len, void *ctx)
{
	const char *name = SSL_get_app_data(ssl);
	size_t len = strlen(name);

	(void)ctx;
	for (unsigned at = 0; at < offered_len; at += 1u + offered[at]) {
		if (offered[at] != len || memcmp(offered + at + 1, name, len) != 0)
			continue;
		*ret_chosen = offered + at + 1;
		*ret_len = offered[at];
		return SSL_TLSEXT_ERR_OK;
	}
	return SSL_TLSEXT_ERR_NOACK;
}

/* Creates a context without session resumption, so that every connection is verified and judged by itself. */
static SSL_CTX *tls_create_context(const SSL_METHOD *method)
{
	SSL_CTX *context = SSL_CTX_new(method);

	if (!context)
		return NULL;
	(void)SSL_CTX_set_options(context, SSL_OP_NO_TICKET | SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
	(void)SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
	if (SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION) != 1 || SSL_CTX_set_num_tickets(context, 0) != 1) {
		SSL_CTX_free(context);
		return NULL;
	}
	return context;
}

/* Makes OpenSSL's contexts: `server` plays servers to the program, `client` verifies the real ones. */
static bool make_contexts(struct tls *tls)
{
	tls->server = tls_create_context(TLS_server_method());
	tls->client = tls_create_context(TLS_client_method());
	if (!tls->server || !tls->client)
		return false;
	SSL_CTX_set_alpn_select_cb(tls->server, select_alpn, NULL);
	SSL_CTX_set_verify(tls->client, SSL_VERIFY_PEER, NULL);
	/* A certificate in upstream_ca is trusted itself, even if no authority issued it. */
	return X509_VERIFY_PARAM_set_flags(SSL_CTX_get0_param(tls->client), X509_V_FLAG_PARTIAL_CHAIN) == 1;
}

SSL *tls_create_server(struct tls *tls, const char *host, const char *alpn)
{
	SSL *ssl = SSL_new(tls->server);

	if (!ssl)
		return NULL;
	SSL_set_accept_state(ssl);
	/* the macro casts const away, but select_alpn() only reads */
	if (SSL_set_app_data(ssl, (char *)(uintptr_t)alpn) && !ca_set_leaf_certificate(tls->ca, host, ssl))
		return ssl;
	SSL_free(ssl);
	return NULL;
}

/* Loads the trusted certificates at first use: parsing the system's 140 takes milliseconds. */
static void client_add_roots(struct tls *tls)
{
	X509_STORE *store = SSL_CTX_get_cert_store(tls->client);
	BIO *bio = BIO_new_mem_buf(tls->roots, (int)tls->roots_len);
	X509 *root;

	tls->has_roots = true;
	while (bio && (root = PEM_read_bio_X509(bio, NULL, NULL, NULL))) {
		(void)X509_STORE_add_cert(store, root); /* a certificate that OpenSSL rejects is not trusted */
		X509_free(root);
	}
	BIO_free(bio);
	ERR_clear_error();
}

/* Encodes an ALPN list such as "h2,http/1.1" with length prefixes (RFC 7301, 3.1). Its length; 0: empty or too long. */
static size_t alpn_encode_list(const char *list, unsigned char *wire, size_t cap)
{
	size_t at = 0;

	while (*list) {
		size_t len = strcspn(list, ",");

		if (!len || len > UINT8_MAX || at + 1 + len > cap)
			return 0;
		wire[at] = (unsigned char)len;
		memcpy(wire + at + 1, list, len);
		at += 1 + len;
		list += len + (list[len] == ',');
	}
	return at;
}

/* Sets the name or address that the server's certificate must have, and for a name the SNI. */
static bool client_set_peer_name(SSL *ssl, const char *host)
{
	struct sockaddr_storage address;
	X509_VERIFY_PARAM *param = SSL_get0_param(ssl);

	if (sockaddr_parse(host, &address))
		return X509_VERIFY_PARAM_set1_ip_asc(param, host) == 1; /* addresses have no SNI (RFC 6066, 3) */
	X509_VERIFY_PARAM_set_hostflags(param, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
	return X509_VERIFY_PARAM_set1_host(param, host, 0) == 1 &&
	       /* the macro casts const away; OpenSSL copies the text */
	       SSL_set_tlsext_host_name(ssl, (char *)(uintptr_t)host) == 1;
}

SSL *tls_create_client(struct tls *tls, const char *host, const char *alpn)
{
	unsigned char wire[64];
	size_t len = alpn_encode_list(alpn, wire, sizeof(wire));
	SSL *ssl;

	if (!tls->has_roots && tls->roots)
		client_add_roots(tls);
	ssl = SSL_new(tls->client);
	if (!ssl)
		return NULL;
	SSL_set_connect_state(ssl);
	if (*host && client_set_peer_name(ssl, host) && (!len || !SSL_set_alpn_protos(ssl, wire, (unsigned)len)))
		return ssl;
	SSL_free(ssl);
	return NULL;
}

void tls_get_chosen_alpn(const SSL *ssl, char *ret_alpn, size_t cap)
{
	const unsigned char *chosen;
	unsigned len;

	SSL_get0_alpn_selected(ssl, &chosen, &len);
	(void)snprintf(ret_alpn, cap, "%.*s", (int)len, chosen ? (const char *)chosen : "");
}

/* Whether a TLS error is an alert that clients send when they reject a certificate (RFC 8446, 6.2). */
static bool tls_alert_rejects_certificate(unsigned long error)
{
	if (ERR_GET_LIB(error) != ERR_LIB_SSL)
		return false;
	switch (ERR_GET_REASON(error)) {
	case SSL_R_SSLV3_ALERT_BAD_CERTIFICATE:
	case SSL_R_SSLV3_ALERT_UNSUPPORTED_CERTIFICATE:
	case SSL_R_SSLV3_ALERT_CERTIFICATE_REVOKED:
	case SSL_R_SSLV3_ALERT_CERTIFICATE_EXPIRED:
	case SSL_R_SSLV3_ALERT_CERTIFICATE_UNKNOWN:
	case SSL_R_TLSV1_ALERT_UNKNOWN_CA:
	case SSL_R_TLSV1_ALERT_ACCESS_DENIED:
	case SSL_R_TLSV1_BAD_CERTIFICATE_STATUS_RESPONSE:
		return true;
	default:
		return false;
	}
}

/* Explains in `text` why TLS with the program failed. Returns the reason for the record. */
static const char *describe_server_error(SSL *ssl, int error, unsigned long queued, char text[TLS_ERROR_TEXT_SIZE])
{
	if (tls_alert_rejects_certificate(queued)) {
		(void)snprintf(text, TLS_ERROR_TEXT_SIZE, "the program does not accept the run's certificate: %s",
			       ERR_reason_error_string(queued));
		return "client_rejected_ca";
	}
	if ((error == -ECONNRESET || error == -EPIPE) && SSL_in_init(ssl) && !SSL_in_before(ssl)) {
		(void)snprintf(text, TLS_ERROR_TEXT_SIZE,
			       "the program closed the connection when it saw the run's certificate");
		return "client_rejected_ca";
	}
	(void)snprintf(text, TLS_ERROR_TEXT_SIZE, "handshake with the program: %s",
		       queued ? ERR_reason_error_string(queued) : strerror(-error));
	return "client_tls";
}

const char *tls_describe_error(SSL *ssl, bool server, int error, char text[TLS_ERROR_TEXT_SIZE])
{
	unsigned long queued = ERR_peek_last_error();
	long verified = SSL_get_verify_result(ssl);
	const char *detail = queued ? ERR_reason_error_string(queued) : NULL;

	if (server)
		return describe_server_error(ssl, error, queued, text);
	if (verified != X509_V_OK)
		(void)snprintf(text, TLS_ERROR_TEXT_SIZE, "the server's certificate: %s",
			       X509_verify_cert_error_string(verified));
	else
		(void)snprintf(text, TLS_ERROR_TEXT_SIZE, "handshake with the server: %s",
			       detail ? detail : strerror(-error));
	return "upstream_tls";
}

/* Makes the client of the warm-up trust the run's authority. 0 or -EIO. */
static int tls_warm_up_add_ca(SSL *ssl, struct ca *ca)
{
	BIO *bio = BIO_new_mem_buf(ca_get_pem(ca), -1);
	X509 *root = bio ? PEM_read_bio_X509(bio, NULL, NULL, NULL) : NULL;
	X509_STORE *store = X509_STORE_new();
	int done = root && store && X509_STORE_add_cert(store, root) && SSL_set1_verify_cert_store(ssl, store);

	X509_STORE_free(store);
	X509_free(root);
	BIO_free(bio);
	return done ? 0 : -EIO;
}

/* Makes steps of both ends in turn until both handshakes are done. */
static int tls_warm_up_step_both_ends(SSL *client, SSL *server)
{
	char byte = 'x';

	for (int round = 0; round < TLS_WARM_UP_HANDSHAKE_ROUNDS_MAX; round++) {
		int here = SSL_do_handshake(client), there = SSL_do_handshake(server);

		if (here == 1 && there == 1)
			return SSL_write(client, &byte, 1) == 1 && SSL_read(server, &byte, 1) == 1 ? 0 : -EIO;
	}
	return -EIO;
}

/* Makes a TLS connection with itself, in memory, by which OpenSSL loads what it needs. 0 or -errno. */
static int warm_up_handshake(struct tls *tls, int version)
{
	SSL *client = tls_create_client(tls, TLS_WARM_UP_HOST, "h2"),
	    *server = tls_create_server(tls, TLS_WARM_UP_HOST, "h2");
	BIO *here = NULL, *there = NULL;
	int error = -EIO;

	if (client && server && !tls_warm_up_add_ca(client, tls->ca) && SSL_set_max_proto_version(client, version) &&
	    BIO_new_bio_pair(&here, 0, &there, 0)) {
		SSL_set_bio(client, here, here);
		SSL_set_bio(server, there, there);
		error = tls_warm_up_step_both_ends(client, server);
	}
	SSL_free(client);
	SSL_free(server);
	return error;
}

int tls_create(struct ca *ca, const char *roots, size_t roots_len, struct tls **ret_tls)
{
	struct tls *tls;

	if (!OPENSSL_init_ssl(OPENSSL_INIT_NO_LOAD_CONFIG | OPENSSL_INIT_LOAD_SSL_STRINGS, NULL))
		return -EIO;
	tls = calloc(1, sizeof(*tls));
	if (!tls)
		return -ENOMEM;
	tls->ca = ca;
	/* These handshakes in memory make OpenSSL load and seed everything that it would initialise on first use. */
	if (!make_contexts(tls) || warm_up_handshake(tls, TLS1_3_VERSION) || warm_up_handshake(tls, TLS1_2_VERSION)) {
		tls_free(tls);
		return -EIO;
	}
	ERR_clear_error();
	tls->roots = roots;
	tls->roots_len = roots_len;
	*ret_tls = tls;
	return 0;
}

void tls_free(struct tls *tls)
{
	if (!tls)
		return;
	SSL_CTX_free(tls->server);
	SSL_CTX_free(tls->client);
	free(tls);
}
