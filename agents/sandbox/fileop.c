#include "agents/sandbox/fileop.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agents/json-bounds.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/installed.h"
#include "base/io.h"

#define FILEOP_SOURCE_BYTES_MAX (1u << 20)
#define FILEOP_ANSWER_VALUES_MAX 4000000 /* JSON values in an answer: a listing of 100,000 entries */
#define FILEOP_ANSWER_DEPTH_MAX 16

struct fileop {
	struct sandbox_program *program;
	struct fileop_handler handler;
	struct buf head; /* source and request, which come before content */
	size_t head_at;
	struct buf line; /* of the answers, incomplete */
	json_t *answer;  /* the last one; NULL: there is none */
	bool is_finished, is_paused;
};

/* ---- the source ---- */

/* Finds files.py in $CALLGATE_RUNNERS, the installed runners or, if callgate is not installed, the build tree. */
static int fileop_read_source(char **ret_text, size_t *ret_len)
{
	const char *variable = getenv("CALLGATE_RUNNERS");
	char path[PATH_MAX], tree[PATH_MAX];
	int error;

	(void)snprintf(path, sizeof(path), "%s/files.py", variable ? variable : PKGDATADIR "/runners");
	error = io_read_file(AT_FDCWD, path, FILEOP_SOURCE_BYTES_MAX, ret_text, ret_len);
	if (error == -ENOENT && installed_get_sibling_path("agents/runner/files.py", tree))
		error = io_read_file(AT_FDCWD, tree, FILEOP_SOURCE_BYTES_MAX, ret_text, ret_len);
	return error;
}

/* ---- input ---- */

/* Writes what comes before the content. True: it is written. */
static bool fileop_flush_head(struct fileop *fileop)
{
	ssize_t taken = 0;

	while (fileop->head_at < fileop->head.len) {
		taken = sandbox_program_write(fileop->program, fileop->head.data + fileop->head_at,
					      fileop->head.len - fileop->head_at);
		if (taken <= 0)
			return false; /* it has no room, or has ended, which on_end tells */
		fileop->head_at += (size_t)taken;
	}
	if (fileop->is_finished)
		sandbox_program_close_stdin(fileop->program);
	return true;
}

static void fileop_on_room(void *data)
{
	struct fileop *fileop = data;

	if (fileop_flush_head(fileop) && !fileop->is_finished && fileop->handler.on_room)
		fileop->handler.on_room(fileop->handler.data);
}

ssize_t fileop_write(struct fileop *fileop, const char *bytes, size_t len)
{
	if (fileop->head_at < fileop->head.len)
		return 0;
	return sandbox_program_write(fileop->program, bytes, len);
}

void fileop_finish(struct fileop *fileop)
{
	fileop->is_finished = true;
	(void)fileop_flush_head(fileop);
}

void fileop_pause(struct fileop *fileop, bool is_paused)
{
	sandbox_program_pause(fileop->program, is_paused);
}

/* ---- output ---- */

/* One line. The event of a watch is told at once, the answer at the end of the program. */
static void fileop_handle_line(struct fileop *fileop, const char *text, size_t len)
{
	const bool is_small = json_is_within_bounds(text, len, FILEOP_ANSWER_VALUES_MAX, FILEOP_ANSWER_DEPTH_MAX);
	json_t *message = is_small ? json_loadb(text, len, JSON_REJECT_DUPLICATES, NULL) : NULL;
	const json_t *event = json_object_get(message, "event");

	if (json_is_object(event) && fileop->handler.on_event)
		fileop->handler.on_event(fileop->handler.data, event);
	else if (message && !fileop->answer)
		fileop->answer = json_incref(message);
	json_decref(message);
}

static void fileop_on_line_bytes(struct fileop *fileop, const char *bytes, size_t len)
{
	struct buf *line = &fileop->line;
	size_t begin = 0, searched = line->len; /* of the bytes before there is no end of a line */
	const char *end;

	if (line->len + len > FILEOP_ANSWER_BYTES_MAX)
		return; /* it is no JSON any more: on_end says that there is no answer */
	buf_add(line, bytes, len);
	while (!line->failed && (end = memchr(line->data + searched, '\n', line->len - searched))) {
		fileop_handle_line(fileop, line->data + begin, (size_t)(end - line->data) - begin);
		begin = searched = (size_t)(end - line->data) + 1;
	}
	if (begin > 0) {
		memmove(line->data, line->data + begin, line->len - begin);
		line->len -= begin;
	}
}

static void fileop_on_output(void *data, enum sandbox_stream stream, const char *bytes, size_t len)
{
	struct fileop *fileop = data;

	if (stream == SANDBOX_STDERR)
		fileop_on_line_bytes(fileop, bytes, len);
	else if (fileop->handler.on_data)
		fileop->handler.on_data(fileop->handler.data, bytes, len);
}

static void fileop_free(struct fileop *fileop)
{
	sandbox_program_free(fileop->program);
	buf_release(&fileop->head);
	buf_release(&fileop->line);
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
	const char *why = json_string_value(json_object_get(json_object_get(result, "error"), "message"));
	int number = json_is_integer(error) && json_integer_value(error) > 0 && json_integer_value(error) < 4096
			     ? (int)json_integer_value(error)
			     : EIO;

	if (json_is_object(answer))
		fileop->handler.on_answer(fileop->handler.data, 0, NULL, answer);
	else
		fileop->handler.on_answer(fileop->handler.data, number,
					  message ? message
					  : why   ? why
						  : "the sandbox gave no answer",
					  NULL);
	fileop_free(fileop);
}

/* ---- start ---- */

static int fileop_run(struct fileop *fileop, struct sandbox *sandbox, size_t source_len)
{
	/* As agents/runner/python-boot.py: the command line, which is on record, stays short. */
	static const char boot[] = "import os,sys\ns,n=b'',int(sys.argv[1])\n"
				   "while len(s)<n:\n m=os.read(0,n-len(s))\n m or os._exit(0)\n s+=m\n"
				   "exec(compile(s,'<callgate>','exec'))";
	char len[24];
	const char *const argv[] = {"python3", "-I", "-S", "-c", boot, len, NULL};
	const struct sandbox_program_options options = {.argv = argv,
							.stdin_is_open = true,
							.on_output = fileop_on_output,
							.on_room = fileop_on_room,
							.on_end = fileop_on_end,
							.data = fileop};

	(void)snprintf(len, sizeof(len), "%zu", source_len);
	return sandbox_start_program(sandbox, &options, &fileop->program);
}

int fileop_start(struct sandbox *sandbox, json_t *request, const struct fileop_handler *handler,
		 struct fileop **ret_fileop)
{
	_cleanup_free_ char *source = NULL, *text = request ? json_dumps(request, JSON_COMPACT) : NULL;
	struct fileop *fileop = calloc(1, sizeof(*fileop));
	size_t len = 0;
	int error = fileop && text ? fileop_read_source(&source, &len) : -ENOMEM;

	json_decref(request);
	if (error == 0) {
		fileop->handler = *handler;
		buf_add(&fileop->head, source, len);
		buf_puts(&fileop->head, text);
		buf_puts(&fileop->head, "\n");
		error = fileop->head.failed ? -ENOMEM : fileop_run(fileop, sandbox, len);
	}
	if (error < 0) {
		if (fileop)
			fileop_free(fileop);
		return error;
	}
	(void)fileop_flush_head(fileop);
	*ret_fileop = fileop;
	return 0;
}
