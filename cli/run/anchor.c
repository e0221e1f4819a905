/* --anchor: opens the file, descriptor or command's standard input to which checkpoints of the log are written. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/text.h"
#include "cli/run/private.h"

#define ANCHOR_EVERY_LINES 1000u /* default: lines of the log between two anchors */

/* Executes the command by a shell, with its output on standard error. Never returns. */
static _Noreturn void anchor_run_command(const char *command, int input_fd)
{
	sigset_t none;

	(void)setsid(); /* Ctrl-C is meant for the run; the command ends when its input ends */
	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	/* closes other inherited descriptors: they may be secrets, or pipes whose readers wait for an end of file */
	if (dup2(input_fd, STDIN_FILENO) < 0 || dup2(STDERR_FILENO, STDOUT_FILENO) < 0 ||
	    syscall(SYS_close_range, 3U, ~0U, 0U) < 0)
		_exit(126);
	(void)execl("/bin/sh", "sh", "-c", command, (char *)NULL);
	_exit(127);
}

/*
 * Starts the command, not as a child of callgate, so that it may outlive the run. Returns the descriptor of its input,
 * or -errno.
 */
static int anchor_start_command(const char *command)
{
	_cleanup_close_ int read_fd = -1, write_fd = -1;
	int pair[2];
	pid_t child;

	if (pipe2(pair, O_CLOEXEC) < 0)
		return -errno;
	read_fd = pair[0];
	write_fd = pair[1];
	child = fork();
	if (child < 0)
		return -errno;
	if (child == 0) {
		if (fork() == 0)
			anchor_run_command(command, read_fd);
		_exit(0);
	}
	(void)TEMP_FAILURE_RETRY(waitpid(child, NULL, 0));
	return fcntl(write_fd, F_SETFL, O_NONBLOCK) < 0 ? -errno : steal_fd(&write_fd);
}

/*
 * Opens the place for checkpoints: "command:..." starts a command, "fd:N" is duplicated, any other names a file. -1
 * with errno.
 */
static int anchor_open_file(const char *named, const char *path)
{
	uint64_t number;

	if (strncmp(named, "command:", 8) == 0)
		return anchor_start_command(named + 8);
	if (strncmp(named, "fd:", 3) != 0)
		return open(path, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0600);
	if (text_parse_number(named + 3, 0, INT_MAX, &number) < 0) {
		errno = EBADF;
		return -1;
	}
	return fcntl((int)number, F_DUPFD_CLOEXEC, 3);
}

bool run_anchor_is_file(const char *named)
{
	return strncmp(named, "command:", 8) != 0 && strncmp(named, "fd:", 3) != 0;
}

int run_open_anchor(struct run *run)
{
	const char *named = run->options.anchor_place;
	int fd = anchor_open_file(named, run->anchor_path);

	if (fd < 0)
		return run_report_refusal(run, "audit_failed", "--anchor %s: %s", named,
					  strerror(fd < -1 ? -fd : errno));
	run->anchor_fd = fd;
	if (run->options.anchor_every_lines == 0 && run->options.anchor_every_ns == 0)
		run->options.anchor_every_lines = ANCHOR_EVERY_LINES;
	return 0;
}
