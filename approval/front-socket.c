/* A Unix socket as a front: questions and answers are lines of JSON, and several questions are open at a time. */
#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "approval/private.h"
#include "base/cleanup.h"

/* Closes the socket. Open questions, and later ones at once, are answered with APPROVAL_GONE. */
static void socket_give_up(struct approver *approver)
{
	close_fd(&approver->options.socket_fd);
	buf_release(&approver->output);
	questions_answer_all_gone(approver);
}

static void socket_write_output(struct approver *approver)
{
	struct buf *output = &approver->output;
	ssize_t sent = send(approver->options.socket_fd, output->data, output->len, MSG_NOSIGNAL | MSG_DONTWAIT);

	if (sent < 0 && errno != EAGAIN && errno != EINTR) {
		socket_give_up(approver);
		return;
	}
	if (sent <= 0)
		return;
	buf_drop(output, (size_t)sent);
}

static int socket_ask(struct approver *approver, struct approver_question *question)
{
	if (approver->options.socket_fd < 0 || approver_add_output(approver, question->text, "\n") < 0)
		return -1;
	question->was_sent = true;
	return 0;
}

static void socket_close_question(struct approver *approver, struct approver_question *question, const char *why)
{
	json_t *object;
	char *text;

	if (approver->options.socket_fd < 0 || !question->was_sent)
		return;
	object = json_pack("{s:s, s:s, s:s}", "type", "closed", "id", question->head.id, "why", why);
	text = object ? json_dumps(object, JSON_COMPACT) : NULL;
	if (text)
		(void)approver_add_output(approver, text, "\n"); /* it only informs: an answer to it has no effect */
	free(text);
	json_decref(object);
}

#define SOCKET_LINES_AT_A_TIME 16 /* then the supervisor's messages are received, also when more lines wait */

static void socket_read_answers(struct approver *approver)
{
	const int fd = approver->options.socket_fd;
	int r = 0;

	for (unsigned i = 0; i < SOCKET_LINES_AT_A_TIME && (r = questions_read_line(fd, &approver->line)) == 1; i++) {
		bool is_answer =
			questions_take_answer_line(approver, NULL, &approver->line, approver->options.socket_uid);

		approver->line.len = 0;
		if (!is_answer) {
			r = -EBADMSG; /* it does not speak the protocol, so nothing that it says can be trusted */
			break;
		}
	}
	if (r < 0)
		socket_give_up(approver);
}

static void socket_watch(struct approver *approver, struct pollfd fds[FRONT_FDS_MAX])
{
	fds[0].fd = approver->options.socket_fd;
	fds[0].events = (short)(POLLIN | (approver->output.len ? POLLOUT : 0));
}

static void socket_handle(struct approver *approver, const struct pollfd fds[FRONT_FDS_MAX])
{
	if (fds[0].revents & POLLOUT)
		socket_write_output(approver);
	if (fds[0].revents & ~POLLOUT && approver->options.socket_fd >= 0)
		socket_read_answers(approver);
}

#define SOCKET_FUNCTIONS \
	.ask = socket_ask, .close = socket_close_question, .watch = socket_watch, .handle = socket_handle

const struct approver_front front_socket = {.way = APPROVAL_BY_SOCKET, SOCKET_FUNCTIONS};
const struct approver_front front_client = {.way = APPROVAL_BY_CLIENT, SOCKET_FUNCTIONS};
