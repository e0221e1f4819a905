/* The terminal of the caller (/dev/tty) as a front: one question at a time, answered by its number and a word. */
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include "approval/private.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/io.h"

#define TERMINAL_LINE_BYTES_MAX 255u /* a line of input; a longer one, read in parts, is no answer */

/* Closes the terminal. Open questions, and later ones at once, are answered with APPROVAL_GONE. */
static void terminal_give_up(struct approver *approver)
{
	close_fd(&approver->options.terminal_fd);
	buf_release(&approver->output);
	approver->shown = NULL;
	questions_answer_all_gone(approver);
}

/*
 * Writes what the terminal takes now. The rest waits until it takes more: a long question needs several writes, and a
 * person may stop the output with Ctrl-S to read. 0, or -errno: the terminal is gone.
 */
static int terminal_write_output(struct approver *approver)
{
	const int fd = approver->options.terminal_fd;
	struct buf *output = &approver->output;
	size_t done = 0;

	while (done < output->len) {
		ssize_t written;

		/* What was typed before the whole question was there is no answer to it. */
		if (approver->is_showing && tcflush(fd, TCIFLUSH) < 0)
			return -errno;
		written = write(fd, output->data + done, output->len - done);
		if (written < 0 && errno == EINTR)
			continue;
		if (written < 0 && errno == EAGAIN)
			break;
		if (written <= 0)
			return written < 0 ? -errno : -EIO;
		done += (size_t)written;
	}
	buf_drop(output, done);
	approver->is_showing = approver->is_showing && output->len > 0;
	return 0;
}

/* Writes a text behind what the terminal has not taken yet. 0, or -errno. */
static int terminal_write(struct approver *approver, const char *text)
{
	const int r = approver_add_output(approver, text, "");

	return r == 0 ? terminal_write_output(approver) : r;
}

/* The lines for people, the answers, and how to give one. All of it is printable ASCII. */
static void terminal_make_text(const json_t *object, struct buf *text)
{
	const json_int_t number = json_integer_value(json_object_get(object, "seq"));
	const json_t *line, *answer;
	size_t i;

	buf_printf(text, "\ncallgate: question %" JSON_INTEGER_FORMAT "\n", number);
	json_array_foreach(json_object_get(object, "shown"), i, line)
	{
		buf_printf(text, "  %s\n", json_string_value(line));
	}
	buf_printf(text, "answer");
	json_array_foreach(json_object_get(object, "answers"), i, answer)
	{
		buf_printf(text, "%s \"%" JSON_INTEGER_FORMAT " %s\"", i ? "," : "", number, json_string_value(answer));
	}
	buf_puts(text, ": ");
}

/*
 * Shows the oldest open question, when there is one and none is shown. Waits until the terminal has taken what came
 * before: while its output is stopped, questions that come and go must not pile up.
 */
static void terminal_show_next(struct approver *approver)
{
	struct approver_question *oldest = NULL;
	_cleanup_buf_ struct buf text = {0};
	json_t *object;
	int r = -ENOMEM;

	if (approver->shown || approver->output.len > 0 || approver->options.terminal_fd < 0)
		return;
	for (size_t i = 0; i < APPROVAL_OPEN_QUESTIONS_MAX; i++)
		if (approver->question[i].is_open && (!oldest || approver->question[i].order < oldest->order))
			oldest = &approver->question[i];
	if (!oldest)
		return;
	object = json_loads(oldest->text, 0, NULL);
	if (object)
		terminal_make_text(object, &text);
	json_decref(object);
	approver->shown = oldest;
	approver->is_within_line = false;
	approver->is_showing = true;
	if (object && !text.failed)
		r = terminal_write(approver, text.data);
	if (r < 0)
		terminal_give_up(approver);
}

/* Says that a question is closed, if it is the one that is shown. */
static void terminal_close_question(struct approver *approver, struct approver_question *question, const char *why)
{
	_cleanup_buf_ struct buf text = {0};

	if (approver->shown != question)
		return;
	approver->shown = NULL;
	if (strcmp(why, APPROVAL_CLOSED_WITHDRAWN) == 0 && io_read_clock_ns() >= question->head.deadline_ns)
		why = "no answer came in time";
	buf_printf(&text, "callgate: the question is closed: %s\n", why);
	if (approver->options.terminal_fd >= 0 && !text.failed)
		(void)terminal_write(approver, text.data); /* the next question is shown, or given up */
}

/* Whether a line names the shown question and a word that is offered. *ret_word: owned by the object. */
static bool terminal_read_answer(const json_t *object, const char *line, const char **ret_word)
{
	const json_int_t number = json_integer_value(json_object_get(object, "seq"));
	const json_t *answer;
	char expected[64];
	size_t i;

	json_array_foreach(json_object_get(object, "answers"), i, answer)
	{
		(void)snprintf(expected, sizeof(expected), "%" JSON_INTEGER_FORMAT " %s", number,
			       json_string_value(answer));
		if (strcmp(line, expected) == 0) {
			*ret_word = json_string_value(answer);
			return true;
		}
	}
	return false;
}

/* Handles a line that was typed while a question is shown. Another text than an answer has no effect. */
static int terminal_handle_line(struct approver *approver, const char *line)
{
	struct approver_question *question = approver->shown;
	json_t *object = question ? json_loads(question->text, 0, NULL) : NULL;
	static const char again[] = "that is none of these answers; write one as it stands there: ";
	const char *word;
	json_t *answer;
	int r = 0;

	if (object && terminal_read_answer(object, line, &word)) {
		answer = json_pack("{s:s, s:s}", "id", question->head.id, "answer", word);
		r = answer ? 0 : -ENOMEM;
		if (answer)
			(void)questions_take_answer(approver, question, answer, geteuid());
		json_decref(answer);
	} else if (object) {
		r = terminal_write(approver, again);
	}
	json_decref(object);
	return r;
}

static void terminal_read(struct approver *approver)
{
	char line[TERMINAL_LINE_BYTES_MAX];
	/* a line at most, as terminals give it; 0: end of input (Ctrl-D); EIO: callgate is in the background */
	ssize_t got = read(approver->options.terminal_fd, line, TERMINAL_LINE_BYTES_MAX);
	bool is_whole;

	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (got == 0)
		(void)terminal_write(approver,
				     "\ncallgate: nothing more is asked here: this and later questions are refused\n");
	if (got <= 0) {
		terminal_give_up(approver);
		return;
	}
	is_whole = !approver->is_within_line && line[got - 1] == '\n' && !memchr(line, '\0', (size_t)got);
	approver->is_within_line = line[got - 1] != '\n';
	line[is_whole ? got - 1 : 0] = '\0';
	if (terminal_handle_line(approver, line) < 0)
		terminal_give_up(approver);
}

/* watch() shows the question, when its turn comes. */
static int terminal_ask(struct approver *approver, struct approver_question *question)
{
	(void)question;
	return approver->options.terminal_fd >= 0 ? 0 : -1;
}

/*
 * Nothing is read while nothing is asked, so that the shell after the run gets what is typed; nor while a part of the
 * question is not there yet.
 */
static void terminal_watch(struct approver *approver, struct pollfd fds[FRONT_FDS_MAX])
{
	terminal_show_next(approver);
	if (approver->output.len > 0)
		fds[0] = (struct pollfd){.fd = approver->options.terminal_fd, .events = POLLOUT};
	else if (approver->shown)
		fds[0] = (struct pollfd){.fd = approver->options.terminal_fd, .events = POLLIN};
}

static void terminal_handle(struct approver *approver, const struct pollfd fds[FRONT_FDS_MAX])
{
	if (!fds[0].revents || approver->options.terminal_fd < 0)
		return;
	if (approver->output.len > 0 && terminal_write_output(approver) < 0)
		terminal_give_up(approver);
	else if (approver->shown && fds[0].revents & ~POLLOUT)
		terminal_read(approver);
}

const struct approver_front front_terminal = {
	.way = APPROVAL_BY_TERMINAL,
	.ask = terminal_ask,
	.close = terminal_close_question,
	.watch = terminal_watch,
	.handle = terminal_handle,
};
