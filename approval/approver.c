#include "approval/approver.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "approval/private.h"
#include "approval/remembered.h"
#include "base/cleanup.h"
#include "confine/descriptors.h"

static void approver_end_all_questions(struct approver *approver)
{
	for (size_t i = 0; i < APPROVAL_OPEN_QUESTIONS_MAX; i++)
		if (approver->question[i].is_open)
			questions_close(approver, &approver->question[i], APPROVAL_CLOSED_WITHDRAWN);
}

static void approver_run(struct approver *approver)
{
	for (;;) {
		struct pollfd ready[1 + FRONT_FDS_MAX] = {{.fd = approver->channel_fd, .events = POLLIN}};
		int r = 1;

		for (size_t i = 1; i <= FRONT_FDS_MAX; i++)
			ready[i].fd = -1;
		approver->front->watch(approver, ready + 1);
		if (poll(ready, 1 + FRONT_FDS_MAX, -1) < 0)
			continue;
		/* First, and all: an answer to what was withdrawn meanwhile is none. */
		while (ready[0].revents && r > 0)
			r = questions_receive(approver);
		if (r < 0)
			return;
		approver->front->handle(approver, ready + 1);
	}
}

static const struct approver_front *approver_choose_front(const struct approver_options *options)
{
	return options->command              ? &front_command
	       : options->terminal_fd >= 0   ? &front_terminal
	       : options->socket_is_starters ? &front_client
					     : &front_socket;
}

/* Reads nothing from standard input. Messages go to standard error, or nowhere if the process is in the background. */
static bool approver_detach_stdio(bool is_in_background)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	return null >= 0 && dup2(null, STDIN_FILENO) == 0 && (!is_in_background || dup2(null, STDERR_FILENO) >= 0) &&
	       dup2(STDERR_FILENO, STDOUT_FILENO) >= 0;
}

static _Noreturn void approver_main(const struct approver_options *options, int channel_fd)
{
	struct approver *approver = calloc(1, sizeof(*approver));
	int keep[] = {channel_fd, options->socket_fd, options->terminal_fd, options->remembered_fd};
	static const int of_terminals[] = {SIGINT, SIGQUIT, SIGHUP, SIGTSTP, SIGTTIN, SIGTTOU};
	sigset_t none;

	if (!approver || !approver_detach_stdio(options->is_in_background) || chdir("/") < 0)
		_exit(1);
	/* Ctrl-C is meant for the run; this process ends with it */
	if (options->terminal_fd < 0)
		(void)setsid();
	for (size_t i = 0; i < sizeof(of_terminals) / sizeof(of_terminals[0]); i++)
		(void)signal(of_terminals[i], SIG_IGN); /* SIGTTIN: in the background reading fails then */
	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	(void)signal(SIGCHLD, SIG_DFL);
	(void)signal(SIGPIPE, SIG_IGN);
	descriptors_close_all_but(keep, sizeof(keep) / sizeof(keep[0]));
	approver->options = *options;
	approver->front = approver_choose_front(options);
	approver->channel_fd = channel_fd;
	for (size_t i = 0; i < APPROVAL_OPEN_QUESTIONS_MAX; i++)
		approver->question[i].answer_fd = -1;
	approver_run(approver);
	approver_end_all_questions(approver);
	_exit(0);
}

int approver_start(const struct approver_options *options, int *ret_fd)
{
	_cleanup_close_ int own = -1, other = -1;
	int pair[2];
	pid_t child;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return -errno;
	own = pair[0];
	other = pair[1];
	if (fcntl(own, F_SETFL, O_NONBLOCK) < 0)
		return -errno;
	child = fork();
	if (child < 0)
		return -errno;
	if (child == 0) {
		(void)close(own);
		if (fork() == 0)
			approver_main(options, other);
		_exit(0);
	}
	(void)TEMP_FAILURE_RETRY(waitpid(child, NULL, 0));
	*ret_fd = steal_fd(&own);
	return 0;
}
