/*
 * The Connect protocol for remote procedure calls (https://connectrpc.com/docs/protocol), with messages as JSON. A
 * unary call is a plain HTTP request and answer. In a stream each message comes after an envelope of 5 bytes, and the
 * last message says that the stream has ended.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agents/base64.h"
#include "agents/e2b/private.h"
#include "base/cleanup.h"
#include "base/text.h"

#define CONNECT_PING_INTERVAL_DEFAULT_S 90u
#define CONNECT_PING_INTERVAL_MIN_S 1u
#define CONNECT_ERROR_MESSAGE_SIZE 512

static const struct {
	const char *name;
	unsigned status;
} connect_codes[CONNECT_CODE_COUNT] = {
	[CONNECT_CANCELED] = {"canceled", 499},
	[CONNECT_UNKNOWN] = {"unknown", 500},
	[CONNECT_INVALID_ARGUMENT] = {"invalid_argument", 400},
	[CONNECT_DEADLINE_EXCEEDED] = {"deadline_exceeded", 504},
	[CONNECT_NOT_FOUND] = {"not_found", 404},
	[CONNECT_ALREADY_EXISTS] = {"already_exists", 409},
	[CONNECT_PERMISSION_DENIED] = {"permission_denied", 403},
	[CONNECT_RESOURCE_EXHAUSTED] = {"resource_exhausted", 429},
	[CONNECT_FAILED_PRECONDITION] = {"failed_precondition", 400},
	[CONNECT_UNIMPLEMENTED] = {"unimplemented", 501},
	[CONNECT_INTERNAL] = {"internal", 500},
	[CONNECT_UNAVAILABLE] = {"unavailable", 503},
	[CONNECT_UNAUTHENTICATED] = {"unauthenticated", 401},
};

enum connect_code connect_code_from_errno(int error)
{
	switch (error) {
	case ENOENT:
		return CONNECT_NOT_FOUND;
	case EEXIST:
		return CONNECT_ALREADY_EXISTS;
	case EACCES:
	case EPERM:
	case EROFS:
		return CONNECT_PERMISSION_DENIED;
	case ENOSPC:
	case EDQUOT:
	case EUSERS: /* as sandbox_look_start() says it */
	case EMFILE:
	case ENFILE:
	case EAGAIN:
		return CONNECT_RESOURCE_EXHAUSTED;
	case ENOTDIR:
	case EISDIR:
	case EINVAL:
	case ENAMETOOLONG:
	case EMSGSIZE: /* the session takes no message of that size: a program's arguments and variables are too long */
	case ELOOP:
	case ENOTEMPTY:
		return CONNECT_INVALID_ARGUMENT;
	case ENOTCONN:
		return CONNECT_UNAVAILABLE;
	default:
		return CONNECT_INTERNAL;
	}
}

/* ---- messages ---- */

const json_t *connect_get_member(const json_t *message, const char *camel_name, const char *snake_name)
{
	const json_t *value = json_object_get(message, camel_name);

	if (!value && snake_name)
		value = json_object_get(message, snake_name);
	return json_is_null(value) ? NULL : value;
}

/* The text of a member that clients may write in camel case or in snake case. NULL: none. */
const char *connect_get_text(const json_t *message, const char *camel_name, const char *snake_name)
{
	return json_string_value(connect_get_member(message, camel_name, snake_name));
}

/* Returns an integer member of a message in proto3 JSON, where an integer is a number or a text. */
int64_t connect_get_integer(const json_t *message, const char *camel_name, const char *snake_name,
			    int64_t default_value)
{
	const json_t *value = connect_get_member(message, camel_name, snake_name);
	uint64_t number;

	if (json_is_integer(value))
		return json_integer_value(value);
	if (json_is_string(value) && text_parse_number(json_string_value(value), 0, INT64_MAX, &number) == 0)
		return (int64_t)number;
	return default_value;
}

static int connect_decode_base64_digit(char letter)
{
	if (letter >= 'A' && letter <= 'Z')
		return letter - 'A';
	if (letter >= 'a' && letter <= 'z')
		return letter - 'a' + 26;
	if (letter >= '0' && letter <= '9')
		return letter - '0' + 52;
	if (letter == '+' || letter == '-')
		return 62;
	return letter == '/' || letter == '_' ? 63 : -1;
}

char *connect_decode_base64(const char *text, size_t len, size_t *ret_len)
{
	char *bytes = malloc(len / 4 * 3 + 4);
	size_t count = 0;
	unsigned held = 0, bits = 0;

	while (len > 0 && text[len - 1] == '=')
		len--;
	for (size_t i = 0; bytes && i < len; i++) {
		int digit = connect_decode_base64_digit(text[i]);

		if (digit < 0) {
			free(bytes);
			return NULL;
		}
		held = (held << 6 | (unsigned)digit) & 0xffffu;
		bits += 6;
		if (bits >= 8) {
			bits -= 8;
			bytes[count++] = (char)(unsigned char)(held >> bits & 0xffu);
		}
	}
	*ret_len = count;
	return bytes;
}

json_t *connect_encode_base64(const char *bytes, size_t len)
{
	_cleanup_free_ char *text = base64_make_text(bytes, len);

	return text ? json_string(text) : NULL;
}

/* ---- answers ---- */

bool connect_request_is_stream(struct http_request *request)
{
	const char *type = http_get_header(request, "Content-Type");

	return type && strncmp(type, "application/connect+", strlen("application/connect+")) == 0;
}

/* Sends a message of a Connect stream. *ret_has_room: false: the client reads too slowly. */
static void connect_put_message(struct http_request *request, unsigned flags, const char *text, size_t len,
				bool *ret_has_room)
{
	const char head[CONNECT_ENVELOPE_BYTES] = {(char)flags, (char)(unsigned char)(len >> 24),
						   (char)(unsigned char)(len >> 16), (char)(unsigned char)(len >> 8),
						   (char)(unsigned char)len};

	(void)http_write_stream(request, head, sizeof(head));
	*ret_has_room = http_write_stream(request, text, len);
}

/* Sends the last message of a Connect stream, which tells of the error or of success. */
static void connect_put_end_message(struct http_request *request, const json_t *error)
{
	_cleanup_json_ json_t *end = error ? json_pack("{s:O}", "error", error) : json_object();
	_cleanup_free_ char *text = end ? json_dumps(end, JSON_COMPACT) : NULL;
	bool has_room;

	connect_put_message(request, CONNECT_FLAG_END_OF_STREAM, text ? text : "{}", text ? strlen(text) : 2,
			    &has_room);
	http_end_stream(request);
}

json_t *connect_make_error(enum connect_code code, const char *message)
{
	return json_pack("{s:s, s:s}", "code", connect_codes[code].name, "message", message);
}

void connect_answer(struct http_request *request, json_t *message)
{
	http_answer_json(request, 200, message);
}

void connect_answer_error(struct http_request *request, enum connect_code code, const char *format, ...)
{
	_cleanup_json_ json_t *error = NULL;
	char message[CONNECT_ERROR_MESSAGE_SIZE];
	va_list args;

	va_start(args, format);
	(void)vsnprintf(message, sizeof(message), format, args);
	va_end(args);
	error = connect_make_error(code, message);
	if (!error) /* not UTF-8: the message was cut within a character */
		error = connect_make_error(code, connect_codes[code].name);
	if (!connect_request_is_stream(request)) {
		http_answer_json(request, connect_codes[code].status, json_incref(error));
		return;
	}
	http_begin_stream(request, 200, "application/connect+json", -1, NULL, NULL);
	connect_put_end_message(request, error);
}

static void connect_on_stream_room(void *data)
{
	struct e2b_call *call = data;

	if (call->on_room)
		call->on_room(call->data);
}

/* Sends a ping to the client, and sets the timer for the next one. */
static void connect_on_ping_timer(void *data)
{
	struct e2b_call *call = data;

	call->ping_timer = loop_add_timer(call->box->e2b->loop, call->ping_interval_ms, connect_on_ping_timer, call);
	(void)connect_send_message(call, json_incref(call->ping_message));
}

void connect_begin_stream(struct e2b_call *call, json_t *ping, void (*on_room)(void *data))
{
	const char *wish = http_get_header(call->request, "Keepalive-Ping-Interval");
	uint64_t seconds = CONNECT_PING_INTERVAL_DEFAULT_S;

	if (wish)
		(void)text_parse_number(wish, CONNECT_PING_INTERVAL_MIN_S, CONNECT_PING_INTERVAL_DEFAULT_S, &seconds);
	call->on_room = on_room;
	call->ping_message = ping;
	call->ping_interval_ms = seconds * 1000;
	call->ping_timer = loop_add_timer(call->box->e2b->loop, call->ping_interval_ms, connect_on_ping_timer, call);
	http_begin_stream(call->request, 200, "application/connect+json", -1, connect_on_stream_room, call);
}

bool connect_send_message(struct e2b_call *call, json_t *message)
{
	_cleanup_free_ char *text = message ? json_dumps(message, JSON_COMPACT) : NULL;
	bool has_room = true;

	json_decref(message);
	if (text)
		connect_put_message(call->request, 0, text, strlen(text), &has_room);
	return has_room;
}

void connect_end_stream(struct e2b_call *call, enum connect_code code, const char *message)
{
	_cleanup_json_ json_t *error = message ? connect_make_error(code, message) : NULL;

	connect_put_end_message(call->request, error);
	e2b_call_finish(call);
}

/* ---- requests ---- */

bool connect_check_basic_auth_user(struct http_request *request)
{
	const char *header = http_get_header(request, "Authorization");
	_cleanup_free_ char *name = NULL;
	size_t len = 0;

	if (!header || strncmp(header, "Basic ", 6) != 0)
		return true;
	name = connect_decode_base64(header + 6, strlen(header + 6), &len);
	if (name && len > 0 && name[len - 1] == ':')
		len--;
	if (name && len == strlen("user") && memcmp(name, "user", len) == 0)
		return true;
	connect_answer_error(request, CONNECT_UNAUTHENTICATED,
			     "invalid user: programs and files of a sandbox belong to \"user\", there is no other");
	return false;
}

uint64_t connect_get_timeout_ms(struct http_request *request)
{
	const char *text = http_get_header(request, "Connect-Timeout-Ms");
	uint64_t timeout_ms = 0;

	if (text)
		(void)text_parse_number(text, 0, UINT32_MAX, &timeout_ms);
	return timeout_ms;
}
