/* Requests of the Connect protocol: finds the method, parses the message, and calls the method. */
#include <string.h>

#include "agents/e2b/private.h"

/* Skips the envelope of a request body that is one message of a stream. NULL: the envelope is malformed. */
static const char *rpc_skip_envelope(const char *bytes, size_t *len)
{
	const unsigned char *head = (const unsigned char *)bytes;
	size_t size;

	if (*len < CONNECT_ENVELOPE_BYTES || head[0] & (CONNECT_FLAG_COMPRESSED | CONNECT_FLAG_END_OF_STREAM))
		return NULL;
	size = (size_t)head[1] << 24 | (size_t)head[2] << 16 | (size_t)head[3] << 8 | head[4];
	if (size != *len - CONNECT_ENVELOPE_BYTES)
		return NULL;
	*len = size;
	return bytes + CONNECT_ENVELOPE_BYTES;
}

static const struct connect_method *rpc_find_method(const char *path)
{
	const struct connect_method *const tables[] = {process_methods, filesystem_methods};

	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++)
		for (const struct connect_method *method = tables[i]; method->path; method++)
			if (strcmp(method->path, path) == 0)
				return method;
	return NULL;
}

static void rpc_on_body(void *data, struct http_request *request, const char *bytes, size_t len)
{
	const struct connect_method *method = rpc_find_method(http_get_path(request));
	struct e2b_call *call = data;
	struct e2b_sandbox *box = call->box;
	_cleanup_json_ json_t *message = NULL;
	json_error_t error;

	e2b_call_finish(call);
	if (method->is_stream)
		bytes = rpc_skip_envelope(bytes, &len);
	message = bytes ? json_loadb(len ? bytes : "{}", len ? len : 2, JSON_REJECT_DUPLICATES, &error) : NULL;
	if (json_is_object(message))
		method->call(box, request, message);
	else
		connect_answer_error(request, CONNECT_INVALID_ARGUMENT, "the request is no JSON object%s",
				     method->is_stream ? " in an envelope that is not compressed" : "");
}

/* Whether the Content-Type announces messages in JSON. */
static bool rpc_content_type_is_json(const char *type, bool is_stream)
{
	const char *expected = is_stream ? "application/connect+json" : "application/json";
	size_t len = strlen(expected);

	return type && strncmp(type, expected, len) == 0 && (type[len] == '\0' || type[len] == ';');
}

void rpc_handle_request(struct e2b_sandbox *box, struct http_request *request)
{
	const struct connect_method *method = rpc_find_method(http_get_path(request));
	const char *type = http_get_header(request, "Content-Type");
	bool is_stream = connect_request_is_stream(request), is_input = false;

	if (strcmp(http_get_path(request), "/process.Process/StreamInput") == 0)
		is_input = true;
	if (strcmp(http_get_method(request), "POST") != 0 || (!method && !is_input)) {
		connect_answer_error(request, CONNECT_UNIMPLEMENTED, "there is no method %s %s",
				     http_get_method(request), http_get_path(request));
	} else if (!rpc_content_type_is_json(type, is_stream)) {
		http_answer_json(request, 415,
				 connect_make_error(CONNECT_UNIMPLEMENTED,
						    "this server speaks Connect with JSON messages only"));
	} else if (is_stream != (is_input || method->is_stream)) {
		connect_answer_error(request, CONNECT_INVALID_ARGUMENT,
				     is_stream ? "this method takes no stream" : "this method takes a stream");
	} else if (is_input) {
		process_stream_input(box, request);
	} else {
		e2b_call_read_body(box, request, rpc_on_body);
	}
}
