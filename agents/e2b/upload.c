/*
 * POST of /files: uploads. A file is written by a program in the sandbox (fileop.h), and read from the client only as
 * fast as that program writes it.
 */
#include <errno.h>
#include <microhttpd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "agents/sandbox/fileop.h"
#include "agents/e2b/private.h"
#include "agents/slist.h"
#include "base/buf.h"
#include "base/text.h"

#define UPLOAD_FILES_MAX 1000u
#define UPLOAD_OPEN_FILES_MAX 4u /* while more files are being written, no content of an upload is read */
/* an uploaded HTML form is parsed in pieces of this size, so that UPLOAD_OPEN_FILES_MAX is checked often */
#define UPLOAD_FORM_SLICE_BYTES 1024u
#define UPLOAD_METADATA_BYTES_MAX 4096u
#define UPLOAD_METADATA_KEY_BYTES_MAX 246u

struct upload;

/* One file of an upload: the program that writes it, and content that the program has not taken yet. */
struct upload_file {
	struct upload_file *next;
	struct upload *upload;
	struct fileop *fileop;
	char *path;
	struct buf pending_content;
	size_t pending_sent_bytes;
	size_t entry_index; /* index of the file in upload.written_entries */
	bool has_content, content_is_complete;
};

/* A client's upload of one or several files. */
struct upload {
	struct e2b_call *call;
	struct MHD_PostProcessor *form_parser; /* NULL: the body is no form, but one file's content */
	char *url_path;                        /* path in the URL's query; NULL: the form names a path of each file */
	json_t *metadata;                      /* name-value pairs to store with each file */
	bool is_gzipped;                       /* the content is compressed by gzip */
	struct upload_file *open_files; /* being written; the content that arrives next is for the first one */
	size_t file_count;              /* files that were begun, the written ones included */
	uint64_t received_bytes;        /* of the request's body */
	json_t *written_entries;        /* the answer: an EntryInfo of each file, null until the file is written */
	char last_form_file_name[4096]; /* name in the form of the file that was begun last */
	bool body_has_ended;            /* the whole request body has arrived */
	int failure_errno;              /* why the upload has failed; 0: it has not */
};

static void upload_file_free(struct upload_file *file)
{
	buf_release(&file->pending_content);
	free(file->path);
	free(file);
}

static void upload_free(struct upload *upload)
{
	while (upload->open_files) {
		struct upload_file *file = upload->open_files;

		upload->open_files = file->next;
		fileop_cancel(file->fileop);
		upload_file_free(file);
	}
	if (upload->form_parser)
		(void)MHD_destroy_post_processor(upload->form_parser);
	json_decref(upload->metadata);
	json_decref(upload->written_entries);
	free(upload->url_path);
	free(upload);
}

static void upload_on_cancel(void *data)
{
	upload_free(data);
}

/* Answers with an error, and frees the upload. Files that were written stay. */
static void upload_fail(struct upload *upload, unsigned status, const char *message)
{
	struct http_request *request = upload->call->request;

	e2b_call_finish(upload->call);
	upload_free(upload);
	e2b_answer_error(request, status, "%s", message);
}

/* Ends the upload with the error that has occurred. */
static void upload_fail_by_errno(struct upload *upload)
{
	upload_fail(upload, files_get_http_status(upload->failure_errno),
		    upload->failure_errno == E2BIG ? "there are too many files in one upload"
						   : sandbox_describe_error(upload->failure_errno));
}

/* Answers once the body has ended and all its files are written. */
static void upload_answer_if_complete(struct upload *upload)
{
	struct http_request *request = upload->call->request;
	json_t *written;

	if (!upload->body_has_ended || upload->open_files)
		return;
	if (upload->file_count == 0) {
		upload_fail(upload, 400, "the request has no file");
		return;
	}
	written = json_incref(upload->written_entries);
	e2b_call_finish(upload->call);
	upload_free(upload);
	http_answer_json(request, 200, written);
}

/* Whether more of the body may be read: no file waits with unsent content, and not too many are open. */
static bool upload_can_take_content(const struct upload *upload)
{
	size_t count = 0;

	for (const struct upload_file *file = upload->open_files; file; file = file->next) {
		if (file->pending_sent_bytes < file->pending_content.len)
			return false;
		count++;
	}
	return count <= UPLOAD_OPEN_FILES_MAX;
}

/* Gives content to the program that writes the file, as far as it takes it. */
static void upload_file_flush(struct upload_file *file)
{
	ssize_t taken;

	while (file->pending_sent_bytes < file->pending_content.len) {
		taken = fileop_write(file->fileop, file->pending_content.data + file->pending_sent_bytes,
				     file->pending_content.len - file->pending_sent_bytes);
		if (taken <= 0)
			break;
		file->pending_sent_bytes += (size_t)taken;
	}
	if (file->pending_sent_bytes < file->pending_content.len)
		return;
	file->pending_content.len = file->pending_sent_bytes = 0;
	if (file->content_is_complete)
		fileop_end_content(file->fileop);
}

static void upload_file_on_room(void *data)
{
	struct upload_file *file = data;

	upload_file_flush(file);
	if (upload_can_take_content(file->upload))
		http_resume_body(file->upload->call->request);
}

static void upload_file_on_answer(void *data, int error, const char *message, const json_t *answer)
{
	struct upload_file *file = data;
	struct upload *upload = file->upload;
	const json_t *metadata = json_object_get(answer, "metadata");
	size_t index = file->entry_index;
	json_t *entry;

	slist_remove(upload->open_files, file, next);
	upload_file_free(file);
	if (error) {
		upload_fail(upload, files_get_http_status(error), message);
		return;
	}
	entry = json_pack("{s:O*, s:O*, s:s}", "name", json_object_get(answer, "name"), "path",
			  json_object_get(answer, "path"), "type", "file");
	if (json_object_size(metadata) > 0)
		(void)json_object_set(entry, "metadata", upload->metadata);
	(void)json_array_set_new(upload->written_entries, index, entry);
	if (upload_can_take_content(upload))
		http_resume_body(upload->call->request);
	upload_answer_if_complete(upload);
}

/* Starts a program that writes a file. False: that failed; upload->failure_errno says why. */
static bool upload_begin_file(struct upload *upload, const char *path)
{
	struct upload_file *file = calloc(1, sizeof(*file));
	const struct fileop_handler handler = {
		.on_room = upload_file_on_room, .on_answer = upload_file_on_answer, .data = file};
	int error = upload->file_count < UPLOAD_FILES_MAX ? -ENOMEM : -E2BIG;

	if (file && upload->file_count < UPLOAD_FILES_MAX) {
		file->upload = upload;
		file->path = e2b_make_path_absolute(path);
		file->entry_index = upload->file_count;
		if (file->path)
			error = fileop_start(upload->call->box->sandbox,
					     json_pack("{s:s, s:s, s:b, s:O}", "op", "write", "path", file->path,
						       "gzip", upload->is_gzipped, "metadata", upload->metadata),
					     &handler, &file->fileop);
	}
	if (error < 0) {
		if (file)
			upload_file_free(file);
		upload->failure_errno = -error;
		return false;
	}
	upload->file_count++;
	(void)json_array_append_new(upload->written_entries, json_null());
	file->next = upload->open_files;
	upload->open_files = file;
	return true;
}

/* Marks the content of the file that is being received as complete. */
static void upload_end_current_file(struct upload *upload)
{
	if (!upload->open_files || upload->open_files->content_is_complete)
		return;
	upload->open_files->content_is_complete = true;
	upload_file_flush(upload->open_files);
}

/* Adds content to the file that is being uploaded. */
static void upload_add_content(struct upload *upload, const char *bytes, size_t len)
{
	struct upload_file *file = upload->open_files;

	if (len == 0 || !file || file->content_is_complete)
		return;
	file->has_content = true;
	buf_add(&file->pending_content, bytes, len);
	if (file->pending_content.failed)
		upload->failure_errno = ENOMEM;
	else
		upload_file_flush(file);
}

/* Callback of libmicrohttpd's form parser, for each piece of a form's field. offset 0: the field begins. */
static enum MHD_Result upload_on_form_part(void *cls, enum MHD_ValueKind kind, const char *key, const char *name,
					   const char *type, const char *encoding, const char *bytes, uint64_t offset,
					   size_t len)
{
	struct upload *upload = cls;
	const char *path = upload->url_path ? upload->url_path : name;
	const struct upload_file *first = upload->open_files;
	/* libmicrohttpd may report the beginning of a file twice, with no content the first time. */
	bool is_same = first && !first->content_is_complete && !first->has_content && upload->file_count > 0 &&
		       strcmp(upload->last_form_file_name, name ? name : "") == 0;

	(void)kind;
	(void)type;
	(void)encoding;
	if (!path || (!name && strcmp(key, "file") != 0))
		return MHD_YES; /* ignores a field that is no file */
	if (offset == 0 && !is_same) {
		upload_end_current_file(upload);
		(void)snprintf(upload->last_form_file_name, sizeof(upload->last_form_file_name), "%s",
			       name ? name : "");
		if (!upload_begin_file(upload, path))
			return MHD_NO;
	}
	upload_add_content(upload, bytes, len);
	return upload->failure_errno ? MHD_NO : MHD_YES;
}

/* Takes a part of the request's body. False: the upload has failed, was answered, and is freed. */
static bool upload_take_bytes(struct upload *upload, const char *bytes, size_t len)
{
	bool is_good = true;

	upload->received_bytes += len;
	if (upload->received_bytes > upload->call->box->template->disk_limit_bytes) {
		upload_fail(upload, 507, "the sandbox has no room for that much");
		return false;
	}
	if (upload->form_parser)
		is_good = MHD_post_process(upload->form_parser, bytes, len) == MHD_YES;
	else
		upload_add_content(upload, bytes, len);
	if (is_good && !upload->failure_errno)
		return true;
	if (upload->failure_errno)
		upload_fail_by_errno(upload);
	else
		upload_fail(upload, 400, "the form is malformed");
	return false;
}

/* Takes a part of an upload's body as far as its files take content. Returns how many bytes. */
static size_t upload_on_body_bytes(void *data, const char *bytes, size_t len)
{
	struct upload *upload = data;
	const size_t slice = upload->form_parser ? UPLOAD_FORM_SLICE_BYTES : len;
	size_t taken = 0;

	while (taken < len && upload_can_take_content(upload)) {
		size_t part = len - taken < slice ? len - taken : slice;

		if (!upload_take_bytes(upload, bytes + taken, part))
			return len;
		taken += part;
	}
	return taken;
}

static void upload_on_body_end(void *data)
{
	struct upload *upload = data;
	struct MHD_PostProcessor *parser = upload->form_parser;

	upload->form_parser = NULL;
	if (parser && MHD_destroy_post_processor(parser) != MHD_YES) {
		upload_fail(upload, 400, "the form is malformed");
		return;
	}
	upload_end_current_file(upload);
	upload->body_has_ended = true;
	upload_answer_if_complete(upload);
}

/* ---- start of an upload ---- */

/* Collects the metadata that an upload's headers have. */
struct metadata_collector {
	json_t *pairs;
	size_t pairs_bytes; /* length of all names and values */
	bool is_invalid;    /* a pair is malformed, or there is too much */
};

/* Collects a header X-Metadata-KEY. The key is brought to lower case; the value must be printable ASCII. */
static void metadata_collect_header(void *data, const char *name, const char *value)
{
	static const char prefix[] = "X-Metadata-";
	struct metadata_collector *collector = data;
	char key[UPLOAD_METADATA_KEY_BYTES_MAX + 1];
	size_t len;

	if (strncasecmp(name, prefix, sizeof(prefix) - 1) != 0)
		return;
	name += sizeof(prefix) - 1;
	len = strlen(name);
	for (const char *at = value; *at; at++)
		collector->is_invalid |= *at < 0x20 || *at > 0x7e;
	collector->pairs_bytes += len + strlen(value) + strlen("user.e2b.");
	if (len == 0 || len > UPLOAD_METADATA_KEY_BYTES_MAX || collector->pairs_bytes > UPLOAD_METADATA_BYTES_MAX) {
		collector->is_invalid = true;
		return;
	}
	for (size_t i = 0; i <= len; i++)
		key[i] = (char)(name[i] >= 'A' && name[i] <= 'Z' ? name[i] + 32 : name[i]);
	if (!json_object_get(collector->pairs, key))
		(void)json_object_set_new(collector->pairs, key, json_string(value));
}

/* Makes an upload with the metadata of the request's headers. NULL: failed, and an error was answered. */
static struct upload *upload_create(struct e2b_sandbox *box, struct http_request *request, const char *path)
{
	struct metadata_collector collector = {.pairs = json_object()};
	const char *encoding = http_get_header(request, "Content-Encoding");
	struct upload *upload;

	http_for_each_header(request, metadata_collect_header, &collector);
	if (collector.is_invalid) {
		json_decref(collector.pairs);
		e2b_answer_error(request, 400,
				 "keys and values of X-Metadata-… must be printable ASCII, at most %u bytes",
				 UPLOAD_METADATA_BYTES_MAX);
		return NULL;
	}
	upload = calloc(1, sizeof(*upload));
	if (upload)
		upload->call = e2b_call_create(box, request, upload_on_cancel, upload);
	if (!upload || !upload->call) {
		json_decref(collector.pairs);
		free(upload);
		e2b_answer_error(request, 503, "the server has no memory");
		return NULL;
	}
	upload->metadata = collector.pairs;
	upload->written_entries = json_array();
	upload->url_path = path ? strdup(path) : NULL;
	upload->is_gzipped = encoding && strcasecmp(encoding, "gzip") == 0;
	return upload;
}

void files_upload(struct e2b_sandbox *box, struct http_request *request, const char *path)
{
	const char *type = http_get_header(request, "Content-Type"),
		   *length = http_get_header(request, "Content-Length");
	bool is_form = type && strncasecmp(type, "multipart/form-data", strlen("multipart/form-data")) == 0;
	struct http_body_handler handler = {.on_bytes = upload_on_body_bytes, .on_end = upload_on_body_end};
	struct upload *upload;
	uint64_t bytes;

	if (length && text_parse_number(length, 0, UINT64_MAX, &bytes) == 0 &&
	    bytes > box->template->disk_limit_bytes) {
		e2b_answer_error(request, 507, "the sandbox has no room for that much");
		return;
	}
	if (!is_form && !path) {
		e2b_answer_error(request, 400, "path is missing");
		return;
	}
	upload = upload_create(box, request, path);
	if (!upload)
		return;
	handler.data = upload;
	if (is_form)
		upload->form_parser = http_create_form_parser(request, upload_on_form_part, upload);
	if (is_form && !upload->form_parser)
		upload_fail(upload, 400, "the form has no boundary");
	else if (!is_form && !upload_begin_file(upload, path))
		upload_fail_by_errno(upload);
	else
		http_stream_body(request, &handler);
}
