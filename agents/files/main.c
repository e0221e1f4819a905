/* Reads the request, calls the function that does it, and writes the answer. */
#include "agents/files/files.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"

static const struct {
	const char *name;
	int (*run)(struct files_job *job);
} files_requests[] = {
	{"stat", files_stat},           {"list", files_list},       {"mkdir", files_mkdir}, {"move", files_move},
	{"remove", files_remove},       {"read", files_read},       {"write", files_write}, {"watch", files_watch},
	{"usage", files_measure_usage}, {"connect", files_connect},
};

/* ---- input: the request, and the content that came with it ---- */

static struct {
	char bytes[FILES_CHUNK_BYTES];
	size_t at, end;
} input;

ssize_t files_read_input(char *bytes, size_t size)
{
	size_t held = input.end - input.at;
	ssize_t got;

	if (held > 0) {
		size = held < size ? held : size;
		memcpy(bytes, input.bytes + input.at, size);
		input.at += size;
		return (ssize_t)size;
	}
	do {
		got = read(STDIN_FILENO, bytes, size);
	} while (got < 0 && errno == EINTR);
	return got < 0 ? -errno : got;
}

/* Reads the request: stdin up to the first newline, which is left out. False: no complete request came. */
static bool main_read_request(struct buf *text)
{
	for (;;) {
		ssize_t got = files_read_input(input.bytes, sizeof(input.bytes));
		const char *end = got > 0 ? memchr(input.bytes, '\n', (size_t)got) : NULL;
		size_t len = end ? (size_t)(end - input.bytes) : got > 0 ? (size_t)got : 0;

		if (got <= 0 || text->len + len > FILES_REQUEST_BYTES_MAX)
			return false;
		buf_add(text, input.bytes, len);
		if (!end)
			continue;
		input.at = len + 1;
		input.end = (size_t)got;
		return !text->failed;
	}
}

/* ---- the answer ---- */

int job_fail(struct files_job *job, int error, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	(void)vsnprintf(job->error_message, sizeof(job->error_message), format, args);
	va_end(args);
	return -error;
}

int job_fail_with_path(struct files_job *job, int error, const char *path)
{
	return job_fail(job, error, "%s: %s", strerror(error), path);
}

int job_set_answer(struct files_job *job, json_t *answer)
{
	_cleanup_free_ char *text = answer ? json_dumps(answer, JSON_COMPACT) : NULL;

	json_decref(answer);
	if (text)
		buf_puts(&job->answer, text);
	return text && !job->answer.failed ? 0 : -ENOMEM;
}

const char *job_get_request_text(const struct files_job *job, const char *name)
{
	return json_string_value(json_object_get(job->request, name));
}

/* Writes to stderr. A failure means that callgate-agents has ended; the sandbox, and this process, end with it. */
static void main_write_to_stderr(const char *text, size_t len)
{
	(void)io_write_all(STDERR_FILENO, text, len);
}

void files_write_message(json_t *message)
{
	_cleanup_free_ char *text = message ? json_dumps(message, JSON_COMPACT) : NULL;
	_cleanup_buf_ struct buf line = {0};

	json_decref(message);
	buf_puts(&line, text ? text : "{}");
	buf_puts(&line, "\n");
	if (!line.failed)
		main_write_to_stderr(line.data, line.len);
}

static void main_write_answer(struct files_job *job)
{
	static const char begin[] = "{\"answer\":", end[] = "}\n";

	main_write_to_stderr(begin, strlen(begin));
	main_write_to_stderr(job->answer.len > 0 ? job->answer.data : "{}", job->answer.len > 0 ? job->answer.len : 2);
	main_write_to_stderr(end, strlen(end));
}

static int main_run_requested_operation(struct files_job *job)
{
	const char *name = job_get_request_text(job, "op");

	for (size_t i = 0; name && i < sizeof(files_requests) / sizeof(files_requests[0]); i++)
		if (strcmp(files_requests[i].name, name) == 0)
			return files_requests[i].run(job);
	return job_fail(job, EINVAL, "there is no such request");
}

/* callgate-files: reads one request from stdin, performs it, and writes its answer or error. */
int main(void)
{
	_cleanup_buf_ struct buf text = {0};
	struct files_job job = {.path = ""};
	json_t *request;
	int r = -EINVAL;

	if (!main_read_request(&text))
		return 0; /* stdin has ended before the request: the client has gone */
	request = json_loadb(text.data ? text.data : "", text.len, JSON_REJECT_DUPLICATES, NULL);
	job.request = request;
	if (job_get_request_text(&job, "path"))
		job.path = job_get_request_text(&job, "path");
	if (json_is_object(request))
		r = main_run_requested_operation(&job);
	if (r == 0)
		main_write_answer(&job);
	else
		files_write_message(
			json_pack("{s:i, s:o}", "error", -r, "message",
				  files_make_json_text(job.error_message[0] ? job.error_message : strerror(-r))));
	buf_release(&job.answer);
	json_decref(request);
	return 0;
}
