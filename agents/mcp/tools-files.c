/* The tools read_file, write_file and list_files. Each makes a file request (agents/sandbox/fileop.h). */
#include <errno.h>
#include <nettle/base64.h>
#include <stdlib.h>
#include <string.h>

#include "agents/base64.h"
#include "agents/mcp/private.h"
#include "base/cleanup.h"
#include "base/text.h"

/* ---- common parts of the three tools ---- */

/* Fails a call with an errno of the sandbox, and tells the model what it can do. */
static void file_tool_fail(struct tool_call *call, int error, const char *message)
{
	const char *path = call_get_text(call, "path");
	const char *advice = error == EACCES || error == EPERM || error == ENOENT || error == EROFS
				     ? "; what the policy does not grant does not exist either: explain_denial tells"
				     : "";

	call_fail(call, "%s: %s%s", path ? path : ".", error == EIO && message ? message : strerror(error), advice);
}

/* Makes the argument "path" absolute: a relative path is below the working directory. A new reference. */
static json_t *file_tool_resolve_path(const struct tool_call *call)
{
	const char *path = call_get_text(call, "path"), *workdir = sandbox_get_workdir(call->sandbox->sandbox);

	if (!path || !workdir || path[0] == '/')
		return json_string(path ? path : workdir);
	return json_sprintf("%s/%s", workdir, path);
}

/* Starts the file request of a call. False: it could not be started, and the call has failed. */
static bool file_tool_start(struct tool_call *call, const char *op, json_int_t depth,
			    const struct fileop_handler *handler)
{
	json_t *request = json_pack("{s:s, s:o, s:I}", "op", op, "path", file_tool_resolve_path(call), "depth", depth);
	int error = fileop_start(call->sandbox->sandbox, request, handler, &call->fileop);

	if (error < 0)
		call_fail(call, "cannot ask the sandbox: %s", sandbox_describe_error(-error));
	return error == 0;
}

/* The tool's `stop`: ends the file operation of a call. */
void tool_stop_file_operation(struct tool_call *call)
{
	fileop_cancel(call->fileop);
}

/* ---- read_file ---- */

static const struct {
	const char *magic;
	size_t len;
	const char *mime_type;
} image_kinds[] = {
	{"\x89PNG\r\n\x1a\n", 8, "image/png"},
	{"\xff\xd8\xff", 3, "image/jpeg"},
	{"GIF8", 4, "image/gif"},
};

/* Finds the MIME type of an image by its first bytes. NULL: not an image that clients show. */
static const char *image_find_mime_type(const struct buf *data)
{
	for (size_t i = 0; i < sizeof(image_kinds) / sizeof(image_kinds[0]); i++)
		if (data->len >= image_kinds[i].len &&
		    memcmp(data->data, image_kinds[i].magic, image_kinds[i].len) == 0)
			return image_kinds[i].mime_type;
	return NULL;
}

static void read_file_on_data(void *data, const char *bytes, size_t len)
{
	struct tool_call *call = data;

	if (call->reply_or_content.len + len > MCP_FILE_BYTES_MAX)
		call_fail(call, "%s has more than %u MiB; read a part of it by run_command",
			  call_get_text(call, "path"), MCP_FILE_BYTES_MAX >> 20);
	else
		buf_add(&call->reply_or_content, bytes, len);
}

/* Finishes the tool call with the file's content: as an image, as text, or as base64. */
static void read_file_finish(struct tool_call *call)
{
	const struct buf *data = &call->reply_or_content;
	const char *encoding = call_get_text(call, "encoding"), *image = image_find_mime_type(data);
	const bool as_text = !image && (!encoding || strcmp(encoding, "utf-8") == 0) &&
			     text_is_utf8(data->data ? data->data : "", data->len);
	_cleanup_free_ char *base64 = as_text ? NULL : base64_make_text(data->data ? data->data : "", data->len);
	json_t *structured = json_pack("{s:s, s:I, s:s}", "path", call_get_text(call, "path"), "size",
				       (json_int_t)data->len, "encoding", as_text ? "utf-8" : "base64");

	if (as_text)
		(void)json_object_set_new(structured, "content", json_stringn(data->data ? data->data : "", data->len));
	else if (!image)
		(void)json_object_set_new(structured, "content", json_string(base64 ? base64 : ""));
	if (image && base64)
		call_add_image(call, base64, image);
	else
		call_add_text(call, as_text ? data->data : base64, as_text ? data->len : base64 ? strlen(base64) : 0);
	call_finish(call, structured, false);
}

static void read_file_on_answer(void *data, int error, const char *message, const json_t *result)
{
	struct tool_call *call = data;

	(void)result;
	call->fileop = NULL;
	if (error == 0 && !call->reply_or_content.failed)
		read_file_finish(call);
	else
		file_tool_fail(call, error ? error : ENOMEM, message);
}

void tool_read_file(struct tool_call *call)
{
	(void)file_tool_start(
		call, "read", 0,
		&(struct fileop_handler){.on_data = read_file_on_data, .on_answer = read_file_on_answer, .data = call});
}

/* ---- write_file ---- */

static void write_file_on_answer(void *data, int error, const char *message, const json_t *result)
{
	struct tool_call *call = data;
	const char *path = call_get_text(call, "path");
	_cleanup_buf_ struct buf text = {0};

	(void)result;
	call->fileop = NULL;
	if (error) {
		file_tool_fail(call, error, message);
		return;
	}
	buf_printf(&text, "wrote %zu bytes to %s", call->reply_or_content.len, path);
	call_add_text(call, text.data ? text.data : "", text.len);
	call_finish(call, json_pack("{s:s, s:I}", "path", path, "size", (json_int_t)call->reply_or_content.len), false);
}

/* Writes content of the file, as far as there is room. Called again when there is more room. */
static void write_file_on_room(void *data)
{
	struct tool_call *call = data;

	ssize_t taken = 1;

	while (taken > 0 && call->written_bytes < call->reply_or_content.len) {
		taken = fileop_write(call->fileop, call->reply_or_content.data + call->written_bytes,
				     call->reply_or_content.len - call->written_bytes);
		call->written_bytes += taken > 0 ? (size_t)taken : 0;
	}
	if (call->written_bytes < call->reply_or_content.len || call->content_is_complete)
		return;
	call->content_is_complete = true;
	fileop_end_content(call->fileop);
}

/* Sets call->reply_or_content from the argument "content". False: it is not valid base64, or out of memory. */
static bool write_file_decode_content(struct tool_call *call)
{
	const json_t *content = json_object_get(call->arguments, "content");
	const char *encoding = call_get_text(call, "encoding"), *text = json_string_value(content);
	const size_t len = json_string_length(content);
	struct base64_decode_ctx decoder;
	size_t size = BASE64_DECODE_LENGTH(len);
	_cleanup_free_ uint8_t *bytes = NULL;

	if (!encoding || strcmp(encoding, "base64") != 0) {
		buf_add(&call->reply_or_content, text, len);
		return true;
	}
	bytes = malloc(size + 1);
	base64_decode_init(&decoder);
	if (!bytes || !base64_decode_update(&decoder, &size, bytes, len, text) || !base64_decode_final(&decoder))
		return false;
	buf_add(&call->reply_or_content, bytes, size);
	return true;
}

void tool_write_file(struct tool_call *call)
{
	const struct fileop_handler handler = {
		.on_room = write_file_on_room, .on_answer = write_file_on_answer, .data = call};

	if (!write_file_decode_content(call))
		call_fail(call, "\"content\" is not valid base64");
	else if (call->reply_or_content.failed || call->reply_or_content.len > MCP_FILE_BYTES_MAX)
		call_fail(call, "\"content\" has more than %u MiB", MCP_FILE_BYTES_MAX >> 20);
	else if (file_tool_start(call, "write", 0, &handler))
		write_file_on_room(call);
}

/* ---- list_files ---- */

/* Makes the description of a file for a model from an EntryInfo of the E2B protocol (agents/files/entry.c). */
static json_t *list_files_make_entry(const json_t *entry_info)
{
	static const struct {
		const char *e2b_type, *shown_type;
	} kinds[] = {
		{"FILE_TYPE_FILE", "file"}, {"FILE_TYPE_DIRECTORY", "directory"}, {"FILE_TYPE_SYMLINK", "symlink"}};
	const char *type = json_string_value(json_object_get(entry_info, "type")), *shown = "other";
	const char *size = json_string_value(json_object_get(entry_info, "size"));

	for (size_t i = 0; type && i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (strcmp(type, kinds[i].e2b_type) == 0)
			shown = kinds[i].shown_type;
	return json_pack("{s:O?, s:s, s:I, s:O*, s:O*}", "path", json_object_get(entry_info, "path"), "type", shown,
			 "size", (json_int_t)(size ? atoll(size) : 0), "symlink_target",
			 json_object_get(entry_info, "symlinkTarget"), "modified",
			 json_object_get(entry_info, "modifiedTime"));
}

static void list_files_add_line(struct buf *text, const json_t *entry)
{
	const char *type = json_string_value(json_object_get(entry, "type"));
	const char *path = json_string_value(json_object_get(entry, "path"));

	if (type && path)
		buf_printf(text, "%s%s  %lld\n", path, strcmp(type, "directory") == 0 ? "/" : "",
			   (long long)json_integer_value(json_object_get(entry, "size")));
}

static void list_files_on_answer(void *data, int error, const char *message, const json_t *result)
{
	struct tool_call *call = data;
	const json_t *entries = json_object_get(result, "entries"), *entry;
	const char *path = call_get_text(call, "path");
	_cleanup_buf_ struct buf text = {0};
	json_t *shown;
	size_t i;

	call->fileop = NULL;
	if (error) {
		file_tool_fail(call, error, message);
		return;
	}
	shown = json_array();
	json_array_foreach(entries, i, entry)
	{
		if (i >= MCP_LIST_ENTRIES_MAX)
			break;
		(void)json_array_append_new(shown, list_files_make_entry(entry));
		list_files_add_line(&text, json_array_get(shown, i));
	}
	call_add_text(call, text.len > 0 ? text.data : "(empty)", text.len > 0 ? text.len : strlen("(empty)"));
	call_finish(call,
		    json_pack("{s:s, s:o, s:b}", "path", path ? path : ".", "entries", shown, "truncated",
			      json_array_size(entries) > MCP_LIST_ENTRIES_MAX ||
				      json_is_true(json_object_get(result, "truncated"))),
		    false);
}

void tool_list_files(struct tool_call *call)
{
	(void)file_tool_start(call, "list", call_get_number(call, "depth", 1),
			      &(struct fileop_handler){.on_answer = list_files_on_answer, .data = call});
}
