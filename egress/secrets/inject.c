/*
 * Inserts secrets into a recorded request: inside TLS only, and each only for its hosts. Called in the egress process
 * by the HTTP modes.
 */
#include <errno.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "egress/egress.h"
#include "egress/http/http1.h"
#include "egress/http/request.h"
#include "egress/state.h"

/* The secrets that may be put into a request: only if TLS protects the connection to the server. */
static const struct secrets *request_get_secrets(const struct conn *conn)
{
	return conn->upstream.ssl ? conn->egress->options->secrets : NULL;
}

int request_make_credential(const struct conn *conn, const struct request_verdict *verdict, const char **ret_name,
			    char **ret_value)
{
	const struct secrets *secrets = request_get_secrets(conn);
	int error;

	*ret_name = NULL;
	*ret_value = NULL;
	if (!verdict->is_allowed || !verdict->rule || !verdict->rule->credential_header)
		return 0;
	if (!secrets) /* a request without its credential means something else to the server */
		return -EACCES;
	error = secrets_fill_template(secrets, verdict->rule->credential_value, conn->host, ret_value);
	if (!error)
		*ret_name = verdict->rule->credential_header;
	return error;
}

void request_wipe_text(char *text, size_t len)
{
	if (text)
		OPENSSL_cleanse(text, len);
	free(text);
}

/* Decodes base64. Returns the length, -EINVAL or -ENOMEM. */
static ssize_t basic_decode_base64(const char *text, size_t len, char **ret_plain)
{
	char *plain = len % 4 == 0 && len <= HTTP_HEAD_BYTES_MAX ? malloc(len / 4 * 3 + 1) : NULL;
	int got;

	if (!plain)
		return len % 4 == 0 && len <= HTTP_HEAD_BYTES_MAX ? -ENOMEM : -EINVAL;
	got = EVP_DecodeBlock((unsigned char *)plain, (const unsigned char *)text, (int)len);
	while (got > 0 && len && text[len - 1] == '=') { /* EVP_DecodeBlock counts padding as zero bytes */
		got--;
		len--;
	}
	if (got <= 0) {
		free(plain);
		return -EINVAL;
	}
	*ret_plain = plain;
	return got;
}

static char *basic_encode_base64(const char *plain, size_t len, size_t *ret_len)
{
	size_t size = 6 + (len + 2) / 3 * 4;
	char *value = malloc(size + 1);

	if (!value)
		return NULL;
	memcpy(value, "Basic ", 6);
	(void)EVP_EncodeBlock((unsigned char *)value + 6, (const unsigned char *)plain, (int)len);
	*ret_len = size;
	return value;
}

/* Replaces placeholders in Basic credentials, which git, pip and curl make of a URL's user and password. */
static int fill_basic_credentials(const struct secrets *secrets, const char *host, const struct http_field *field,
				  char **ret_value, size_t *ret_len)
{
	char *plain, *filled;
	size_t filled_len;
	ssize_t len;
	int found;

	len = basic_decode_base64(field->value + 6, field->value_len - 6, &plain);
	if (len < 0)
		return len == -ENOMEM ? -ENOMEM : 0;
	found = secrets_replace_placeholders(secrets, host, plain, (size_t)len, &filled, &filled_len);
	free(plain);
	if (found <= 0)
		return found;
	*ret_value = basic_encode_base64(filled, filled_len, ret_len);
	request_wipe_text(filled, filled_len);
	return *ret_value ? 1 : -ENOMEM;
}

int request_replace_placeholders(const struct conn *conn, const struct http_field *field, char **ret_value,
			      size_t *ret_len)
{
	const struct secrets *secrets = request_get_secrets(conn);

	if (!secrets)
		return 0;
	if (http1_name_equals(field->name, field->name_len, "authorization") && field->value_len > 6 &&
	    strncasecmp(field->value, "basic ", 6) == 0)
		return fill_basic_credentials(secrets, conn->host, field, ret_value, ret_len);
	return secrets_replace_placeholders(secrets, conn->host, field->value, field->value_len, ret_value, ret_len);
}
