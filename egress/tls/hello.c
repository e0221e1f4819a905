#include "egress/tls/hello.h"

#include <errno.h>
#include <string.h>

enum {
	TLS_RECORD_TYPE_HANDSHAKE = 22,
	TLS_RECORD_HEAD_BYTES = 5,
	TLS_RECORD_PAYLOAD_BYTES_MAX = 16384, /* limit for a record in the clear (RFC 8446, 5.1) */
	TLS_MESSAGE_TYPE_CLIENT_HELLO = 1,
	TLS_MESSAGE_HEAD_BYTES = 4,
	TLS_EXTENSION_SERVER_NAME = 0,
	TLS_EXTENSION_ALPN = 16,
	TLS_EXTENSION_ESNI = 0xffce, /* number in the drafts before Encrypted ClientHello */
	TLS_EXTENSION_ECH = 0xfe0d,
};

/* Unread bytes of a message. Each span_take_ function checks the length; after a failure all of them return nothing. */
struct byte_span {
	const uint8_t *at;
	size_t bytes_left;
	bool has_failed; /* more was asked for than there is */
};

/* Takes the next bytes off the span. NULL: there are too few, and all later calls fail. */
static const uint8_t *span_take_bytes(struct byte_span *span, size_t len)
{
	const uint8_t *bytes = span->at;

	if (span->has_failed || len > span->bytes_left) {
		span->has_failed = true;
		span->bytes_left = 0;
		return NULL;
	}
	span->at += len;
	span->bytes_left -= len;
	return bytes;
}

/* Takes a big-endian number of `size` bytes off the span. 0 if there are too few. */
static unsigned span_take_number(struct byte_span *span, size_t size)
{
	const uint8_t *bytes = span_take_bytes(span, size);
	unsigned number = 0;

	for (size_t i = 0; bytes && i < size; i++)
		number = number << 8 | bytes[i];
	return number;
}

/* Takes a vector (RFC 8446, 3.4) whose length field has `size` bytes. */
static struct byte_span span_take_tls_vector(struct byte_span *span, size_t size)
{
	struct byte_span vector = {.bytes_left = span_take_number(span, size)};

	vector.at = span_take_bytes(span, vector.bytes_left);
	vector.has_failed = span->has_failed;
	if (vector.has_failed)
		vector.bytes_left = 0;
	return vector;
}

/*
 * Reads the SNI (RFC 6066, 3): one entry of type host_name. Any other form is an error, as it could name another
 * server.
 */
static void read_server_name(struct byte_span body, struct client_hello *hello)
{
	struct byte_span list = span_take_tls_vector(&body, 2);
	unsigned type = span_take_number(&list, 1);
	struct byte_span name = span_take_tls_vector(&list, 2);

	if (hello->sni[0] || hello->has_bad_sni || type != 0 || name.has_failed || list.has_failed || body.has_failed ||
	    list.bytes_left || body.bytes_left ||
	    net_host_canonicalise((const char *)name.at, name.bytes_left, hello->sni) < 0) {
		hello->sni[0] = '\0';
		hello->has_bad_sni = true;
	}
}

/* Lists the ALPN protocols, as far as they fit. False: malformed. Unprintable bytes (GREASE) become "?". */
static bool read_alpn(struct byte_span body, struct client_hello *hello)
{
	struct byte_span list = span_take_tls_vector(&body, 2);
	size_t len = 0;

	if (hello->alpn[0] || body.bytes_left)
		return false;
	while (list.bytes_left) {
		struct byte_span name = span_take_tls_vector(&list, 1);

		if (name.has_failed || name.bytes_left == 0)
			return false;
		if (len + name.bytes_left + 2 > sizeof(hello->alpn))
			continue;
		if (len)
			hello->alpn[len++] = ',';
		for (size_t i = 0; i < name.bytes_left; i++) {
			bool plain = name.at[i] > ' ' && name.at[i] < 0x7f && name.at[i] != ',';

			hello->alpn[len++] = plain ? (char)name.at[i] : '?';
		}
		hello->alpn[len] = '\0';
	}
	return !list.has_failed && !body.has_failed;
}

/* Reads the server name, ALPN, and whether there is an encrypted ClientHello. Returns false if malformed. */
static bool read_extensions(struct byte_span *body, struct client_hello *hello)
{
	struct byte_span list = span_take_tls_vector(body, 2);

	while (list.bytes_left) {
		unsigned type = span_take_number(&list, 2);
		struct byte_span extension = span_take_tls_vector(&list, 2);

		if (extension.has_failed)
			return false;
		if (type == TLS_EXTENSION_SERVER_NAME)
			read_server_name(extension, hello);
		else if (type == TLS_EXTENSION_ALPN && !read_alpn(extension, hello))
			return false;
		else if (type == TLS_EXTENSION_ECH || type == TLS_EXTENSION_ESNI)
			hello->ech = true;
	}
	return !list.has_failed;
}

/* Reads the body of a ClientHello message. Returns false if it is malformed. */
static bool hello_read_message(struct byte_span body, struct client_hello *hello)
{
	struct byte_span session, ciphers, compressions;

	if (span_take_number(&body, 2) >> 8 != 3)
		return false;
	(void)span_take_bytes(&body, 32); /* skips the field "random" */
	session = span_take_tls_vector(&body, 1);
	ciphers = span_take_tls_vector(&body, 2);
	compressions = span_take_tls_vector(&body, 1);
	if (body.has_failed || session.bytes_left > 32 || ciphers.bytes_left < 2 || ciphers.bytes_left % 2 ||
	    compressions.bytes_left < 1)
		return false;
	return body.bytes_left == 0 || (read_extensions(&body, hello) && !body.has_failed && body.bytes_left == 0);
}

/*
 * Joins the bytes of the ClientHello from its records. 1: complete; 0: more bytes are needed. The message must end
 * where its last record ends, because the server would read the rest under other rules.
 */
static int hello_gather_tls_records(const uint8_t *data, size_t len, uint8_t *message, size_t *ret_len)
{
	size_t at = 0, have = 0;

	while (at < len) {
		size_t room = len - at, payload, part, whole;

		if (data[at] != TLS_RECORD_TYPE_HANDSHAKE || (room > 1 && data[at + 1] != 3))
			return -EPROTO;
		if (room < TLS_RECORD_HEAD_BYTES)
			return 0;
		payload = (size_t)data[at + 3] << 8 | data[at + 4];
		if (payload == 0 || payload > TLS_RECORD_PAYLOAD_BYTES_MAX)
			return -EPROTO;
		part = room - TLS_RECORD_HEAD_BYTES < payload ? room - TLS_RECORD_HEAD_BYTES : payload;
		memcpy(message + have, data + at + TLS_RECORD_HEAD_BYTES,
		       part); /* fits: never more bytes than were read */
		have += part;
		at += TLS_RECORD_HEAD_BYTES + part;
		if (have > 0 && message[0] != TLS_MESSAGE_TYPE_CLIENT_HELLO)
			return -EPROTO;
		if (have < TLS_MESSAGE_HEAD_BYTES)
			continue;
		whole = TLS_MESSAGE_HEAD_BYTES + ((size_t)message[1] << 16 | (size_t)message[2] << 8 | message[3]);
		if (whole > CLIENT_HELLO_BYTES_MAX)
			return -EMSGSIZE;
		if (have > whole || (have == whole && part < payload))
			return -EPROTO;
		if (have == whole) {
			*ret_len = whole;
			return 1;
		}
	}
	return 0;
}

int hello_parse(const uint8_t *data, size_t len, struct client_hello *ret_hello)
{
	uint8_t message[CLIENT_HELLO_BYTES_MAX];
	struct client_hello hello = {0};
	size_t have;
	int whole = hello_gather_tls_records(data, len < CLIENT_HELLO_BYTES_MAX ? len : CLIENT_HELLO_BYTES_MAX, message,
					     &have);

	if (whole < 0)
		return whole;
	if (whole == 0)
		return len < CLIENT_HELLO_BYTES_MAX ? 0 : -EMSGSIZE;
	if (!hello_read_message((struct byte_span){.at = message + TLS_MESSAGE_HEAD_BYTES,
						   .bytes_left = have - TLS_MESSAGE_HEAD_BYTES},
				&hello))
		return -EPROTO;
	*ret_hello = hello;
	return 1;
}
