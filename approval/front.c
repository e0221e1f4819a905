#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "approval/private.h"
#include "base/cleanup.h"
#include "base/io.h"

/* ---- a Unix socket ---- */

/* Closes the socket. Open questions, and later ones at once, are answered with APPROVAL_GONE. */
static void front_give_up_socket(struct approver *approver)
{
	close_fd(&approver->options.socket_fd);
	buf_release(&approver->output);
	approver_answer_all_gone(approver, APPROVAL_BY_SOCKET);
}

void front_write_socket(struct approver *approver)
{
	struct buf *output = &approver->output;
	ssize_t sent = send(approver->options.socket_fd, output->data, output->len, MSG_NOSIGNAL | MSG_DONTWAIT);

	if (sent < 0 && errno != EAGAIN && errno != EINTR) {
		front_give_up_socket(approver);
		return;
	}
	if (sent <= 0)
		return;
	output->len -= (size_t)sent;
	memmove(output->data, output->data + sent, output->len);
}

/* Sends a line. -errno: the reader is too slow, or there is no memory. */
static int front_queue_line(struct approver *approver, const char *text)
{
	size_t len = strlen(text);

	if (approver->output.len + len + 1 > APPROVER_OUTPUT_BYTES_MAX)
		return -ENOBUFS;
	buf_add(&approver->output, text, len);
	buf_add(&approver->output, "\n", 1);
	return approver->output.failed ? -ENOMEM : 0;
}

static void front_tell_socket_of_end(struct approver *approver, const struct approver_question *question,
				     const char *why)
{
	json_t *object = json_pack("{s:s, s:s, s:s}", "type", "closed", "id", question->head.id, "why", why);
	char *text = object ? json_dumps(object, JSON_COMPACT) : NULL;

	if (text)
		(void)front_queue_line(approver, text); /* the line only informs: an answer to it has no effect */
	free(text);
	json_decref(object);
}

void front_read_socket(struct approver *approver)
{
	const int fd = approver->options.socket_fd;
	int r;

	while ((r = approver_read_line(fd, &approver->line)) == 1) {
		bool is_answer = approver_take_answer_line(approver, NULL, &approver->line, APPROVAL_BY_SOCKET,
							   approver->options.socket_uid);

		approver->line.len = 0;
		if (!is_answer) {
			r = -EBADMSG; /* it does not speak the protocol, so nothing that it says can be trusted */
			break;
		}
	}
	if (r < 0)
		front_give_up_socket(approver);
}

/* ---- a command ---- */

/* Executes the command by a shell: the question is its input, the answer its output. Never returns. */
static _Noreturn void front_run_command(const char *command, int input_fd, int output_fd)
{
	static const int ignored[] = {SIGPIPE, SIGINT, SIGQUIT, SIGHUP, SIGTSTP, SIGTTIN, SIGTTOU};

	(void)setpgid(0, 0); /* its group is ended as a whole */
	for (size_t i = 0; i < sizeof(ignored) / sizeof(ignored[0]); i++)
		(void)signal(ignored[i], SIG_DFL);
	if (dup2(input_fd, STDIN_FILENO) < 0 || dup2(output_fd, STDOUT_FILENO) < 0)
		_exit(126);
	(void)execl("/bin/sh", "sh", "-c", command, (char *)NULL); /* other descriptors have FD_CLOEXEC */
	_exit(127);
}

/* Makes a memfd with the question, to be read from offset 0: a pipe could be too small. Returns it, or -1. */
static int front_make_input(const char *text)
{
	_cleanup_close_ int fd = memfd_create("question", MFD_CLOEXEC);

	if (fd < 0 || io_write_all(fd, text, strlen(text)) < 0 || io_write_all(fd, "\n", 1) < 0 ||
	    lseek(fd, 0, SEEK_SET) < 0)
		return -1;
	return steal_fd(&fd);
}

static int front_start_command(const struct approver *approver, struct approver_question *question)
{
	_cleanup_close_ int input = front_make_input(question->text), output = -1, answer = -1;
	int pair[2];

	if (input < 0 || pipe2(pair, O_CLOEXEC) < 0)
		return -1;
	answer = pair[0];
	output = pair[1];
	if (fcntl(answer, F_SETFL, O_NONBLOCK) < 0)
		return -1;
	question->command = fork();
	if (question->command == 0)
		front_run_command(approver->options.command, input, output);
	if (question->command < 0) {
		question->command = 0;
		return -1;
	}
	(void)setpgid(question->command, question->command); /* the child does so too; EACCES: it has */
	question->answer_fd = steal_fd(&answer);
	return 0;
}

void front_read_command(struct approver *approver, struct approver_question *question)
{
	int r = approver_read_line(question->answer_fd, &question->line);
	struct approver_line line = question->line;

	if (r < 0 && line.len == 0)
		approver_answer(approver, question, APPROVAL_GONE, APPROVAL_BY_COMMAND, 0);
	else if (r < 0 && r != -EPIPE)
		approver_answer(approver, question, APPROVAL_MALFORMED, APPROVAL_BY_COMMAND, geteuid());
	else if (r != 0)
		(void)approver_take_answer_line(approver, question, &line, APPROVAL_BY_COMMAND, geteuid());
}

/* ---- both ---- */

void front_ask(struct approver *approver, struct approver_question *question)
{
	int r = approver->options.command            ? front_start_command(approver, question)
		: approver->options.socket_fd >= 0   ? front_queue_line(approver, question->text)
		: approver->options.terminal_fd >= 0 ? 0
						     : -1;

	question->was_asked = r >= 0;
	if (r < 0)
		approver_answer(approver, question, APPROVAL_GONE, APPROVAL_BY_SOCKET, 0);
	else
		terminal_show_next(approver);
}

void front_close_question(struct approver *approver, struct approver_question *question, const char *why)
{
	close_fd(&question->answer_fd);
	if (question->command > 0) {
		(void)kill(-question->command, SIGKILL);
		(void)TEMP_FAILURE_RETRY(waitpid(question->command, NULL, 0));
		question->command = 0;
	}
	terminal_close_question(approver, question, why);
	if (approver->options.socket_fd >= 0 && question->was_asked)
		front_tell_socket_of_end(approver, question, why);
}
