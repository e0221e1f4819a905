/*
 * GET and POST of /files: who may, and downloads; upload.c has uploads. A file is read or written by a program in the
 * sandbox (fileop.h). The answer to a download begins late, so that a file that cannot be read gets an error status.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agents/sandbox/fileop.h"
#include "agents/e2b/private.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/text.h"

#define DOWNLOAD_HELD_BYTES_MAX (256u << 10) /* a file up to this size is read as a whole before its download begins */

/* ---- download ---- */

/* A client's request to read a file of the sandbox. */
struct download {
	struct e2b_call *call;
	struct fileop *fileop;
	struct buf held_content; /* what was read before the answer begins */
	bool answer_has_begun;   /* the status was sent, so an error can only cut the content off */
};

static void download_free(struct download *download)
{
	buf_release(&download->held_content);
	free(download);
}

static void download_on_room(void *data)
{
	struct download *download = data;

	fileop_pause_output(download->fileop, false);
}

static void download_on_data(void *data, const char *bytes, size_t len)
{
	struct download *download = data;

	if (!download->answer_has_begun && download->held_content.len + len <= DOWNLOAD_HELD_BYTES_MAX) {
		buf_add(&download->held_content, bytes, len);
		return;
	}
	if (!download->answer_has_begun) {
		download->answer_has_begun = true;
		http_begin_stream(download->call->request, 200, "application/octet-stream", -1, download_on_room,
				  download);
		(void)http_write_stream(download->call->request, download->held_content.data,
					download->held_content.len);
		buf_release(&download->held_content);
	}
	if (!http_write_stream(download->call->request, bytes, len))
		fileop_pause_output(download->fileop, true);
}

static void download_on_answer(void *data, int error, const char *message, const json_t *answer)
{
	struct download *download = data;
	struct e2b_call *call = download->call;
	struct http_request *request = call->request;

	(void)answer;
	if (download->answer_has_begun && error) {
		e2b_call_abort(call); /* a partial answer must not look complete */
	} else {
		e2b_call_finish(call);
		if (download->answer_has_begun)
			http_end_stream(request);
		else if (error)
			e2b_answer_error(request, files_get_http_status(error), "%s", message);
		else
			http_answer(request, 200, "application/octet-stream",
				    download->held_content.data ? download->held_content.data : "",
				    download->held_content.len);
	}
	download_free(download);
}

/* The client is gone, or the sandbox has ended. */
static void download_on_cancel(void *data)
{
	struct download *download = data;

	fileop_cancel(download->fileop);
	download_free(download);
}

static void files_download(struct e2b_sandbox *box, struct http_request *request, const char *path)
{
	struct download *download = calloc(1, sizeof(*download));
	const struct fileop_handler handler = {
		.on_data = download_on_data, .on_answer = download_on_answer, .data = download};
	int error = -ENOMEM;

	if (download)
		download->call = e2b_call_create(box, request, download_on_cancel, download);
	if (download && download->call)
		error = fileop_start(box->sandbox, json_pack("{s:s, s:s}", "op", "read", "path", path), &handler,
				     &download->fileop);
	if (error == 0) {
		fileop_end_content(download->fileop);
		return;
	}
	if (download && download->call)
		e2b_call_finish(download->call);
	free(download);
	e2b_answer_error(request, files_get_http_status(-error), "the file cannot be read: %s",
			 sandbox_describe_error(-error));
}

/* ---- signatures ---- */

/*
 * Whether the URL has a valid signature: base64 of a SHA-256 over path, operation, user, the sandbox's token and the
 * expiration time. A sandbox without a token accepts none.
 */
static bool files_signature_is_valid(const struct e2b_sandbox *box, struct http_request *request, const char *path,
				     const char *operation)
{
	const char *given = http_get_query_parameter(request, "signature"),
		   *end = http_get_query_parameter(request, "signature_expiration");
	const char *user = http_get_query_parameter(request, "username");
	_cleanup_buf_ struct buf text = {0};
	char hex[SHA256_HEX_SIZE];
	char bytes[32];
	_cleanup_json_ json_t *expected = NULL;
	_cleanup_free_ char *right = NULL;

	if (!given || strncmp(given, "v1_", 3) != 0 || !box->envd_token[0])
		return false;
	buf_printf(&text, "%s:%s:%s:%s%s%s", path ? path : "", operation, user ? user : "", box->envd_token,
		   end ? ":" : "", end ? end : "");
	if (text.failed)
		return false;
	sha256_hash_bytes(text.data, text.len, hex);
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (char)(text_parse_hex_digit(hex[2 * i]) << 4 | text_parse_hex_digit(hex[2 * i + 1]));
	expected = connect_encode_base64(bytes, sizeof(bytes));
	/* Without the last character, which is base64's padding. */
	right = expected ? strndup(json_string_value(expected), json_string_length(expected) - 1) : NULL;
	return right && keys_equal_in_constant_time(given + 3, right);
}

/* Whether the URL's signature is still valid now. False: it has expired, and an error was answered. */
static bool files_check_signature_expiration(struct http_request *request)
{
	const char *end = http_get_query_parameter(request, "signature_expiration");

	if (!end || strtoll(end, NULL, 10) > e2b_get_real_time_ms() / 1000)
		return true;
	e2b_answer_error(request, 401, "signature is already expired");
	return false;
}

static void files_serve_request(struct e2b_sandbox *box, struct http_request *request)
{
	const char *path = http_get_query_parameter(request, "path"),
		   *user = http_get_query_parameter(request, "username");
	_cleanup_free_ char *resolved = path && *path ? e2b_make_path_absolute(path) : NULL;
	bool is_get = strcmp(http_get_method(request), "GET") == 0;

	if (user && *user && strcmp(user, "user") != 0)
		e2b_answer_error(request, 401, "invalid username: \"%.64s\": the files belong to \"user\"", user);
	else if (is_get && !resolved)
		e2b_answer_error(request, 400, "path is missing");
	else if (is_get)
		files_download(box, request, resolved);
	else
		files_upload(box, request, resolved);
}

void files_handle_request(struct e2b_sandbox *box, struct http_request *request)
{
	const char *token = http_get_header(request, "X-Access-Token");
	const char *operation = strcmp(http_get_method(request), "GET") == 0 ? "read" : "write";

	if (!box->envd_token[0] || (token && keys_equal_in_constant_time(token, box->envd_token))) {
		files_serve_request(box, request);
	} else if (!files_signature_is_valid(box, request, http_get_query_parameter(request, "path"), operation)) {
		box->e2b->denied_request_count++;
		e2b_answer_error(request, 401, "missing or invalid signature, and no X-Access-Token of the sandbox");
	} else if (files_check_signature_expiration(request)) {
		files_serve_request(box, request);
	}
}

void files_handle_signed_request(struct e2b *e2b, struct http_request *request)
{
	const char *operation = strcmp(http_get_method(request), "GET") == 0 ? "read" : "write";

	for (struct e2b_sandbox *box = e2b->sandboxes; box; box = box->next)
		if (box->is_ready &&
		    files_signature_is_valid(box, request, http_get_query_parameter(request, "path"), operation)) {
			if (files_check_signature_expiration(request) && !pause_refuses_request(box, request))
				files_serve_request(box, request);
			return;
		}
	e2b->denied_request_count++;
	e2b_answer_error(request, 401,
			 "the request names no sandbox: neither by headers nor by a signature that is right");
}
