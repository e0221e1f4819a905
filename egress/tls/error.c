#include <errno.h>
#include <openssl/err.h>
#include <stdio.h>
#include <string.h>

#include "egress/tls/context.h"

#include "base/banned.h"

/* Alerts of RFC 8446, 6.2, by which a client says that it does not like our certificate. */
static bool rejects_certificate(unsigned long error)
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

static const char *server_error(SSL *ssl, int error, unsigned long queued, char text[TLS_ERROR_SIZE])
{
	if (rejects_certificate(queued)) {
		(void)snprintf(text, TLS_ERROR_SIZE, "the program does not accept the run's certificate: %s",
			       ERR_reason_error_string(queued));
		return "client_rejected_ca";
	}
	if ((error == -ECONNRESET || error == -EPIPE) && SSL_in_init(ssl) && !SSL_in_before(ssl)) {
		(void)snprintf(text, TLS_ERROR_SIZE,
			       "the program closed the connection when it saw the run's certificate");
		return "client_rejected_ca";
	}
	(void)snprintf(text, TLS_ERROR_SIZE, "handshake with the program: %s",
		       queued ? ERR_reason_error_string(queued) : strerror(-error));
	return "client_tls";
}

const char *tls_error(SSL *ssl, bool server, int error, char text[TLS_ERROR_SIZE])
{
	unsigned long queued = ERR_peek_last_error();
	long verified;

	if (server)
		return server_error(ssl, error, queued, text);
	verified = SSL_get_verify_result(ssl);
	if (verified != X509_V_OK)
		(void)snprintf(text, TLS_ERROR_SIZE, "the server's certificate: %s",
			       X509_verify_cert_error_string(verified));
	else if (queued && ERR_reason_error_string(queued))
		(void)snprintf(text, TLS_ERROR_SIZE, "handshake with the server: %s", ERR_reason_error_string(queued));
	else
		(void)snprintf(text, TLS_ERROR_SIZE, "handshake with the server: %s", strerror(-error));
	return "upstream_tls";
}
