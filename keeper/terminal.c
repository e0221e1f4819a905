#include "keeper/terminal.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/cleanup.h"

#include "base/banned.h"

#ifndef TIOCGPTPEER
#define TIOCGPTPEER _IO('T', 0x41) /* Linux 4.13 */
#endif

/* For the handler of a crash, which is handed nothing. owner 0: the modes are as they were found. */
static struct {
	volatile pid_t owner;
	int fd;
	struct termios modes;
} raw;

/* A terminal that is not our session's has no background for us. */
static bool in_background(int fd)
{
	pid_t foreground = tcgetpgrp(fd);

	return foreground >= 0 && foreground != getpgrp();
}

/* Async-signal-safe. */
static void restore_modes(void)
{
	if (raw.owner != getpid()) /* a fork of ours: the terminal is none of its business */
		return;
	raw.owner = 0;
	if (!in_background(raw.fd))
		(void)tcsetattr(raw.fd, TCSANOW, &raw.modes); /* it is gone: nobody sees it */
}

static void on_crash(int signal_number)
{
	restore_modes();
	(void)raise(signal_number); /* SA_RESETHAND: for good now */
}

static void watch_crashes(void)
{
	static const int crash[] = {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL};
	const struct sigaction action = {.sa_handler = on_crash, .sa_flags = (int)SA_RESETHAND};
	struct sigaction before;

	for (size_t i = 0; i < sizeof(crash) / sizeof(crash[0]); i++)
		if (sigaction(crash[i], NULL, &before) == 0 && before.sa_handler == SIG_DFL) /* else a sanitizer's */
			(void)sigaction(crash[i], &action, NULL);
}

/* The size of ours, or what docker and others give those who have none. */
static int set_size(const struct terminal *terminal)
{
	struct winsize size = {.ws_row = 24, .ws_col = 80};

	if (terminal->size_fd >= 0)
		(void)ioctl(terminal->size_fd, TIOCGWINSZ, &size); /* hung up: the last one is good enough */
	return ioctl(terminal->master_fd, TIOCSWINSZ, &size) < 0 ? -errno : 0;
}

static void find_outer(struct terminal *terminal, bool keys)
{
	for (int fd = STDERR_FILENO; fd >= STDIN_FILENO; fd--)
		if (isatty(fd))
			terminal->size_fd = fd;
	if (!keys || !isatty(STDIN_FILENO))
		return;
	if (in_background(STDIN_FILENO))
		(void)raise(SIGTTOU); /* now its modes are those of the shell's own line editor */
	if (tcgetattr(STDIN_FILENO, &terminal->modes) == 0)
		terminal->keys_fd = STDIN_FILENO;
}

int terminal_open(struct terminal *terminal, bool keys, int *ret_slave_fd)
{
	_cleanup_close_ int slave = -1;
	int unlock = 0, error;

	*terminal = (struct terminal)TERMINAL_NONE;
	find_outer(terminal, keys);
	terminal->master_fd = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK);
	if (terminal->master_fd < 0 || ioctl(terminal->master_fd, TIOCSPTLCK, &unlock) < 0)
		return -errno;
	/* By the master, not by its name, which in a container may be another instance's. */
	slave = ioctl(terminal->master_fd, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (slave < 0)
		return -errno;
	if (terminal->keys_fd >= 0 && tcsetattr(slave, TCSANOW, &terminal->modes) < 0)
		return -errno;
	error = set_size(terminal);
	if (error == 0)
		*ret_slave_fd = steal_fd(&slave);
	return error;
}

void terminal_done(struct terminal *terminal)
{
	terminal_restore(terminal);
	cleanup_close(&terminal->master_fd);
	*terminal = (struct terminal)TERMINAL_NONE;
}

int terminal_master(const struct terminal *terminal)
{
	int fd = fcntl(terminal->master_fd, F_DUPFD_CLOEXEC, 3);

	return fd < 0 ? -errno : fd;
}

void terminal_raw(struct terminal *terminal)
{
	struct termios modes = terminal->modes;

	if (terminal->keys_fd < 0)
		return;
	raw.fd = terminal->keys_fd;
	raw.modes = terminal->modes;
	raw.owner = getpid();
	watch_crashes();
	cfmakeraw(&modes);
	(void)tcsetattr(terminal->keys_fd, TCSANOW, &modes); /* it is gone: reading says so */
}

void terminal_restore(struct terminal *terminal)
{
	sigset_t background, before;

	if (terminal->keys_fd < 0)
		return;
	/* Blocked, the signal that would stop us in the background is not sent. */
	(void)sigemptyset(&background);
	(void)sigaddset(&background, SIGTTOU);
	(void)sigprocmask(SIG_BLOCK, &background, &before);
	restore_modes();
	(void)sigprocmask(SIG_SETMASK, &before, NULL);
}

void terminal_resize(const struct terminal *terminal)
{
	if (terminal->master_fd >= 0)
		(void)set_size(terminal); /* the size it had stays */
}
