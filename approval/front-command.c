/* A front that starts a command for each question: the question is its input, the answer its output. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "approval/private.h"
#include "base/cleanup.h"
#include "base/io.h"
#include "base/text.h"

/* Executes the command by a shell: the question is its input, the answer its output. Never returns. */
static _Noreturn void command_run(const char *command, int input_fd, int output_fd)
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
static int command_make_input(const char *text)
{
	_cleanup_close_ int fd = memfd_create("question", MFD_CLOEXEC);

	if (fd < 0 || io_write_all(fd, text, strlen(text)) < 0 || io_write_all(fd, "\n", 1) < 0 ||
	    lseek(fd, 0, SEEK_SET) < 0)
		return -1;
	return steal_fd(&fd);
}

static int command_ask(struct approver *approver, struct approver_question *question)
{
	_cleanup_close_ int input = command_make_input(question->text), output = -1, answer = -1;
	int pair[2];

	if (input < 0 || pipe2(pair, O_CLOEXEC) < 0)
		return -1;
	answer = pair[0];
	output = pair[1];
	if (fcntl(answer, F_SETFL, O_NONBLOCK) < 0)
		return -1;
	question->command = fork();
	if (question->command == 0)
		command_run(approver->options.command, input, output);
	if (question->command < 0) {
		question->command = 0;
		return -1;
	}
	(void)setpgid(question->command, question->command); /* the child does so too; EACCES: it has */
	question->answer_fd = steal_fd(&answer);
	return 0;
}

static void command_close(struct approver *approver, struct approver_question *question, const char *why)
{
	(void)approver;
	(void)why;
	close_fd(&question->answer_fd);
	if (question->command <= 0)
		return;
	(void)kill(-question->command, SIGKILL);
	(void)TEMP_FAILURE_RETRY(waitpid(question->command, NULL, 0));
	question->command = 0;
}

static void command_watch(struct approver *approver, struct pollfd fds[FRONT_FDS_MAX])
{
	for (size_t i = 0; i < APPROVAL_OPEN_QUESTIONS_MAX; i++)
		fds[i] = (struct pollfd){.fd = approver->question[i].answer_fd, .events = POLLIN};
}

/* Reads what the command of a question has written. */
static void command_read(struct approver *approver, struct approver_question *question)
{
	int r = questions_read_line(question->answer_fd, &question->line);
	struct approver_line line = question->line;

	if (r < 0 && line.len == 0) {
		(void)text_printf(stderr, "callgate: --approve: the command gave no answer, which refuses: %s\n",
				  approver->options.command);
		questions_answer(approver, question, APPROVAL_GONE, APPROVAL_BY_COMMAND, 0);
	} else if (r < 0 && r != -EPIPE) {
		questions_answer(approver, question, APPROVAL_MALFORMED, APPROVAL_BY_COMMAND, geteuid());
	} else if (r != 0) {
		(void)questions_take_answer_line(approver, question, &line, geteuid());
	}
}

static void command_handle(struct approver *approver, const struct pollfd fds[FRONT_FDS_MAX])
{
	for (size_t i = 0; i < APPROVAL_OPEN_QUESTIONS_MAX; i++)
		if (fds[i].revents && approver->question[i].answer_fd == fds[i].fd)
			command_read(approver, &approver->question[i]);
}

const struct approver_front front_command = {
	.way = APPROVAL_BY_COMMAND,
	.ask = command_ask,
	.close = command_close,
	.watch = command_watch,
	.handle = command_handle,
};
