#include "keeper/terminal.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/cleanup.h"

#ifndef TIOCGPTPEER
#define TIOCGPTPEER _IO('T', 0x41) /* since Linux 4.13; old headers lack it */
#endif

/* The terminal modes that the crash handler restores, in the process `owner`. 0: the modes were not changed. */
static struct {
	volatile pid_t owner;
	int fd;
	struct termios modes;
} terminal_saved;

/* Whether this process is in the background of the terminal. False if it is not this session's controlling terminal. */
static bool terminal_is_in_background(int fd)
{
	pid_t foreground = tcgetpgrp(fd);

	return foreground >= 0 && foreground != getpgrp();
}

/* Restores the terminal modes. Async-signal-safe. */
static void terminal_restore_modes(void)
{
	if (terminal_saved.owner != getpid()) /* a forked child must not change the modes of the parent's terminal */
		return;
	terminal_saved.owner = 0;
	if (!terminal_is_in_background(terminal_saved.fd))
		(void)tcsetattr(terminal_saved.fd, TCSANOW, &terminal_saved.modes); /* EIO: the terminal hung up */
}

static void terminal_on_crash(int signal_number)
{
	terminal_restore_modes();
	(void)raise(signal_number); /* kills this process, because of SA_RESETHAND */
}

/* Lets a crash of the keeper restore the user's terminal first. */
static void terminal_catch_crashes(void)
{
	static const int crash[] = {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL};
	const struct sigaction action = {.sa_handler = terminal_on_crash, .sa_flags = (int)SA_RESETHAND};
	struct sigaction before;

	for (size_t i = 0; i < sizeof(crash) / sizeof(crash[0]); i++)
		if (sigaction(crash[i], NULL, &before) == 0 && before.sa_handler == SIG_DFL) /* leaves other handlers */
			(void)sigaction(crash[i], &action, NULL);
}

/* Gives the run's terminal the size of callgate's terminal or, without one, 24 rows of 80 columns. */
static int terminal_copy_size(const struct terminal *terminal)
{
	struct winsize size = {.ws_row = 24, .ws_col = 80};

	if (terminal->size_source_fd >= 0)
		(void)ioctl(terminal->size_source_fd, TIOCGWINSZ, &size); /* EIO: the terminal hung up */
	return ioctl(terminal->master_fd, TIOCSWINSZ, &size) < 0 ? -errno : 0;
}

/* Finds the user's terminal among callgate's standard streams. */
static void terminal_find_own_terminal(struct terminal *terminal, bool keys)
{
	for (int fd = STDERR_FILENO; fd >= STDIN_FILENO; fd--)
		if (isatty(fd))
			terminal->size_source_fd = fd;
	if (!keys || !isatty(STDIN_FILENO))
		return;
	if (terminal_is_in_background(STDIN_FILENO))
		/* Stops in the background, where the terminal has the modes of the shell's line editor. */
		(void)raise(SIGTTOU);
	if (tcgetattr(STDIN_FILENO, &terminal->modes_before_raw) == 0)
		terminal->keyboard_fd = STDIN_FILENO;
}

/* Gives the run's terminal the modes and the size of callgate's. The modes of a master are those of its slave. */
static int terminal_copy_modes(const struct terminal *terminal)
{
	if (terminal->keyboard_fd >= 0 && tcsetattr(terminal->master_fd, TCSANOW, &terminal->modes_before_raw) < 0)
		return -errno;
	return terminal_copy_size(terminal);
}

int terminal_open(struct terminal *terminal, bool keys, int *ret_slave_fd)
{
	_cleanup_close_ int slave = -1;
	int unlock = 0, error;

	*terminal = (struct terminal)TERMINAL_NONE;
	terminal_find_own_terminal(terminal, keys);
	terminal->master_fd = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK);
	if (terminal->master_fd < 0 || ioctl(terminal->master_fd, TIOCSPTLCK, &unlock) < 0)
		return -errno;
	/* Not opened by its path, which in a container may be in another instance of devpts. */
	slave = ioctl(terminal->master_fd, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (slave < 0)
		return -errno;
	error = terminal_copy_modes(terminal);
	if (error == 0)
		*ret_slave_fd = steal_fd(&slave);
	return error;
}

int terminal_use_master(struct terminal *terminal, bool keys, int master_fd)
{
	*terminal = (struct terminal)TERMINAL_NONE;
	terminal->master_fd = master_fd;
	terminal_find_own_terminal(terminal, keys);
	return terminal_copy_modes(terminal);
}

void terminal_release(struct terminal *terminal)
{
	terminal_leave_raw_mode(terminal);
	cleanup_close(&terminal->master_fd);
	*terminal = (struct terminal)TERMINAL_NONE;
}

int terminal_dup_master(const struct terminal *terminal)
{
	int fd = fcntl(terminal->master_fd, F_DUPFD_CLOEXEC, 3);

	return fd < 0 ? -errno : fd;
}

void terminal_set_raw_mode(struct terminal *terminal)
{
	struct termios modes = terminal->modes_before_raw;

	if (terminal->keyboard_fd < 0)
		return;
	terminal_saved.fd = terminal->keyboard_fd;
	terminal_saved.modes = terminal->modes_before_raw;
	terminal_saved.owner = getpid();
	terminal_catch_crashes();
	cfmakeraw(&modes);
	(void)tcsetattr(terminal->keyboard_fd, TCSANOW,
			&modes); /* EIO: the terminal hung up, which read(2) will report */
}

void terminal_leave_raw_mode(struct terminal *terminal)
{
	sigset_t background, before;

	if (terminal->keyboard_fd < 0)
		return;
	/* While SIGTTOU is blocked, a background process may set the modes. */
	(void)sigemptyset(&background);
	(void)sigaddset(&background, SIGTTOU);
	(void)sigprocmask(SIG_BLOCK, &background, &before);
	terminal_restore_modes();
	(void)sigprocmask(SIG_SETMASK, &before, NULL);
}

void terminal_update_size(const struct terminal *terminal)
{
	if (terminal->master_fd >= 0)
		(void)terminal_copy_size(terminal); /* on failure the run's terminal keeps its size */
}
