#include "agents/sandbox/fileop.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "agents/json-bounds.h"
#include "agents/sandbox/private.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/installed.h"

#define FILEOP_PROGRAM_NAME "callgate-files" /* see agents/files/ */
#define FILEOP_ANSWER_JSON_VALUES_MAX 4000000     /* JSON values in an answer; enough to list 100,000 entries */
#define FILEOP_ANSWER_JSON_DEPTH_MAX 16

/* A file operation: a run of callgate-files in a sandbox, for a client. */
struct fileop {
	struct sandbox_program *program;
	struct fileop_handler handler;
	struct buf request_line; /* the request as JSON, which is written before any content */
	size_t request_line_sent_bytes; /* so many bytes of request_line are written */
	struct buf answer_line; /* the incomplete last line of the program's stderr */
	json_t *answer;         /* the program's answer; NULL: not received yet */
	bool content_has_ended, is_paused;
};

int fileop_find_program(char ret_path[PATH_MAX])
{
	return installed_find_file(FILEOP_PROGRAM_NAME, ret_path);
}

/* ---- input ---- */

/* Writes the request line as far as there is room. True: all of it is written. */
static bool fileop_write_request_line(struct fileop *fileop)
{
	ssize_t taken = 0;

	while (fileop->request_line_sent_bytes < fileop->request_line.len) {
		taken = sandbox_program_write(fileop->program,
					      fileop->request_line.data + fileop->request_line_sent_bytes,
					      fileop->request_line.len - fileop->request_line_sent_bytes);
		if (taken <= 0)
			return false; /* no room, or the program has ended, which on_end reports */
		fileop->request_line_sent_bytes += (size_t)taken;
	}
	if (fileop->content_has_ended)
		sandbox_program_close_stdin(fileop->program);
	return true;
}

static void fileop_on_room(void *data)
{
	struct fileop *fileop = data;

	if (fileop_write_request_line(fileop) && !fileop->content_has_ended && fileop->handler.on_room)
		fileop->handler.on_room(fileop->handler.data);
}

ssize_t fileop_write(struct fileop *fileop, const char *bytes, size_t len)
{
	if (fileop->request_line_sent_bytes < fileop->request_line.len)
		return 0;
	return sandbox_program_write(fileop->program, bytes, len);
}

/* Tells that the content to be written has been given in full. */
void fileop_end_content(struct fileop *fileop)
{
	fileop->content_has_ended = true;
	(void)fileop_write_request_line(fileop);
}

/* Pauses or resumes the output of the operation. */
void fileop_pause_output(struct fileop *fileop, bool is_paused)
{
	sandbox_program_pause_output(fileop->program, is_paused);
}

/* ---- output ---- */

/* Handles a line of the program's stderr. An event of a watch is reported at once, the answer when the program ends. */
static void fileop_handle_line(struct fileop *fileop, const char *text, size_t len)
{
	const bool is_small =
		json_is_within_bounds(text, len, FILEOP_ANSWER_JSON_VALUES_MAX, FILEOP_ANSWER_JSON_DEPTH_MAX);
	json_t *message = is_small ? json_loadb(text, len, JSON_REJECT_DUPLICATES, NULL) : NULL;
	const json_t *event = json_object_get(message, "event");

	if (json_is_object(event) && fileop->handler.on_event)
		fileop->handler.on_event(fileop->handler.data, event);
	else if (message && !fileop->answer)
		fileop->answer = json_incref(message);
	json_decref(message);
}

/* Splits the output of callgate-files into lines, and handles each complete one. */
static void fileop_parse_answer_lines(struct fileop *fileop, const char *bytes, size_t len)
{
	struct buf *line = &fileop->answer_line;
	size_t begin = 0, searched = line->len; /* searched: so many bytes are known to have no newline */
	const char *end;

	if (line->len + len > FILEOP_ANSWER_BYTES_MAX)
		return; /* the answer is too long: it becomes invalid, and fileop_on_end() reports that */
	buf_add(line, bytes, len);
	while (!line->failed && (end = memchr(line->data + searched, '\n', line->len - searched))) {
		fileop_handle_line(fileop, line->data + begin, (size_t)(end - line->data) - begin);
		begin = searched = (size_t)(end - line->data) + 1;
	}
	buf_drop(line, begin);
}

static void fileop_on_output(void *data, enum sandbox_stream stream, const char *bytes, size_t len)
{
	struct fileop *fileop = data;

	if (stream == SANDBOX_STDERR)
		fileop_parse_answer_lines(fileop, bytes, len);
	else if (fileop->handler.on_data)
		fileop->handler.on_data(fileop->handler.data, bytes, len);
}

static void fileop_free(struct fileop *fileop)
{
	sandbox_program_free(fileop->program);
	buf_release(&fileop->request_line);
	buf_release(&fileop->answer_line);
	json_decref(fileop->answer);
	free(fileop);
}

void fileop_cancel(struct fileop *fileop)
{
	if (fileop)
		fileop_free(fileop);
}

static void fileop_on_end(void *data, const json_t *result)
{
	struct fileop *fileop = data;
	const json_t *answer = json_object_get(fileop->answer, "answer");
	const json_t *error = json_object_get(fileop->answer, "error");
	const char *message = json_string_value(json_object_get(fileop->answer, "message"));
	const char *session_error = json_string_value(json_object_get(json_object_get(result, "error"), "message"));
	int number = json_is_integer(error) && json_integer_value(error) > 0 && json_integer_value(error) < 4096
			     ? (int)json_integer_value(error)
			     : EIO;

	if (json_is_object(answer))
		fileop->handler.on_answer(fileop->handler.data, 0, NULL, answer);
	else
		fileop->handler.on_answer(fileop->handler.data, number,
					  message         ? message
					  : session_error ? session_error
							  : "the sandbox gave no answer",
					  NULL);
	fileop_free(fileop);
}

/* ---- start ---- */

/* Starts callgate-files in the sandbox. 0 or -errno. */
static int fileop_start_program(struct fileop *fileop, struct sandbox *sandbox)
{
	char path[PATH_MAX];
	const char *const argv[] = {path, NULL};
	const struct sandbox_program_options options = {.argv = argv,
							.stdin_is_open = true,
							.on_output = fileop_on_output,
							.on_room = fileop_on_room,
							.on_end = fileop_on_end,
							.data = fileop};
	int error = fileop_find_program(path);

	return error < 0 ? error : sandbox_start_program(sandbox, &options, &fileop->program);
}

int fileop_start(struct sandbox *sandbox, json_t *request, const struct fileop_handler *handler,
		 struct fileop **ret_fileop)
{
	_cleanup_free_ char *text = request ? json_dumps(request, JSON_COMPACT) : NULL;
	struct fileop *fileop = calloc(1, sizeof(*fileop));
	int error = fileop && text ? 0 : -ENOMEM;

	json_decref(request);
	if (error == 0) {
		fileop->handler = *handler;
		buf_puts(&fileop->request_line, text);
		buf_puts(&fileop->request_line, "\n");
		error = fileop->request_line.failed ? -ENOMEM : fileop_start_program(fileop, sandbox);
	}
	if (error < 0) {
		if (fileop)
			fileop_free(fileop);
		return error;
	}
	(void)fileop_write_request_line(fileop);
	*ret_fileop = fileop;
	return 0;
}
