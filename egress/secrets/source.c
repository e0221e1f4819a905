/* Where values come from. Each source sets value and len; it returns NULL, or why it failed, with errno. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/text.h"
#include "base/times.h"
#include "egress/secrets/private.h"

/* Sets errno, and returns the reason that a secret cannot be loaded. */
static const char *secret_fail_load(int error, const char *why)
{
	errno = error;
	return why;
}

/* Sets errno to EFBIG, and returns the reason. */
static const char *secret_fail_too_long(void)
{
	return secret_fail_load(EFBIG, "its value is longer than 16384 bytes");
}

/* Waits until fd is readable. 0; -ETIMEDOUT; -EINTR and others of poll(2). */
static int secret_wait_until_readable(int fd, uint64_t until_ns)
{
	struct pollfd ready = {.fd = fd, .events = POLLIN};
	uint64_t now = io_read_clock_ns();
	int count = now < until_ns ? poll(&ready, 1, (int)((until_ns - now) / NS_PER_MS) + 1) : 0;

	return count > 0 ? 0 : count < 0 ? -errno : -ETIMEDOUT;
}

/* Reads until the end of file, directly into the protected memory. */
static const char *secret_read_all(struct secret *secret, int fd, const char *why)
{
	uint64_t until = io_read_clock_ns() + (uint64_t)SECRET_SOURCE_TIMEOUT_MS * NS_PER_MS;

	for (;;) {
		char more;
		bool full = secret->len == SECRET_VALUE_BYTES_MAX;
		int error = secret_wait_until_readable(fd, until);
		ssize_t got;

		if (error == -EINTR)
			continue;
		if (error)
			return secret_fail_load(-error,
						error == -ETIMEDOUT ? "it did not come within 10 seconds" : why);
		got = read(fd, full ? &more : secret->value + secret->len,
			   full ? 1 : SECRET_VALUE_BYTES_MAX - secret->len);
		if (got == 0)
			return NULL;
		if (got < 0 && errno != EINTR && errno != EAGAIN)
			return why;
		if (got > 0 && full)
			return secret_fail_too_long();
		if (got > 0)
			secret->len += (size_t)got;
	}
}

/* Reads a secret from a variable. Returns why it cannot, with errno set, or NULL. */
static const char *secret_read_env(struct secret *secret, const char *name)
{
	const char *value = getenv(name);
	size_t len = value ? strlen(value) : 0;

	if (!value)
		return secret_fail_load(ENOENT, "that variable is not set");
	if (len > SECRET_VALUE_BYTES_MAX)
		return secret_fail_too_long();
	memcpy(secret->value, value, len);
	secret->len = len;
	return NULL;
}

/* Reads a secret from a file. Returns why it cannot, with errno set, or NULL. */
static const char *secret_read_file(struct secret *secret, const char *path)
{
	/* The policy has the canonical name. With O_NONBLOCK the time limit holds for a FIFO, too. */
	_cleanup_close_ int fd = io_open_without_links(path, O_RDONLY | O_NOCTTY | O_NONBLOCK);

	if (fd < 0)
		return secret_fail_load(-fd, "that file cannot be opened");
	return secret_read_all(secret, fd, "that file cannot be read");
}

/* Reads a secret from a descriptor, and closes it unless it is a standard one. Returns why it cannot, or NULL. */
static const char *secret_read_fd(struct secret *secret, const char *number)
{
	_cleanup_close_ int taken = -1;
	uint64_t fd;

	if (text_parse_number(number, 0, 1 << 20, &fd))
		return secret_fail_load(EINVAL, "that is no descriptor");
	if (fd > STDERR_FILENO)
		taken = (int)fd; /* closed after reading, because the program must not inherit it */
	return secret_read_all(secret, (int)fd, "that descriptor cannot be read");
}

/*
 * Executes a secret's command in a process group of its own, so that its children can be killed, too; it cannot read
 * the terminal. It runs in the root directory, because git, make and python3 -m read files of their working directory,
 * which an earlier run may have written.
 */
static _Noreturn void secret_run_command(const char *command, int output_fd)
{
	int input_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	sigset_t none;

	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	(void)signal(SIGPIPE, SIG_DFL); /* ignored signals stay ignored over execve(2) */
	if (!setpgid(0, 0) && !chdir("/") && input_fd >= 0 && dup2(input_fd, STDIN_FILENO) >= 0 &&
	    dup2(output_fd, STDOUT_FILENO) >= 0)
		(void)execl("/bin/sh", "sh", "-c", command, (char *)NULL);
	_exit(127);
}

/*
 * Waits for the command until the end of the time limit, because it may close its output early. With WNOWAIT it is not
 * reaped, so that its process group id stays valid.
 */
static const char *secret_wait_for_command(pid_t pid, uint64_t until_ns)
{
	static const struct timespec pause = {.tv_nsec = 5 * NS_PER_MS};

	for (;;) {
		siginfo_t end = {0};

		if (waitid(P_PID, (id_t)pid, &end, WEXITED | WNOHANG | WNOWAIT) < 0 && errno != EINTR)
			return "its command cannot be waited for";
		if (end.si_pid == pid)
			return end.si_code == CLD_EXITED && !end.si_status
				       ? NULL
				       : secret_fail_load(EIO, "its command failed");
		if (io_read_clock_ns() >= until_ns)
			return secret_fail_load(ETIMEDOUT, "its command did not end within 10 seconds");
		(void)nanosleep(&pause, NULL);
	}
}

/* Reads a secret from the output of its command. Returns why it cannot, with errno set, or NULL. */
static const char *secret_read_command(struct secret *secret, const char *command)
{
	uint64_t until = io_read_clock_ns() + (uint64_t)SECRET_SOURCE_TIMEOUT_MS * NS_PER_MS;
	const char *why;
	int pipe_fd[2], error;
	pid_t pid;

	if (pipe2(pipe_fd, O_CLOEXEC) < 0)
		return "no pipe can be made";
	pid = fork();
	if (pid == 0)
		secret_run_command(command, pipe_fd[1]);
	(void)close(pipe_fd[1]);
	if (pid < 0) {
		(void)close(pipe_fd[0]);
		return secret_fail_load(EAGAIN, "its command cannot be started");
	}
	(void)setpgid(pid, pid); /* parent and child both call it, because either may run first */
	why = secret_read_all(secret, pipe_fd[0], "its command's output cannot be read");
	cleanup_close(&pipe_fd[0]);
	if (!why)
		why = secret_wait_for_command(pid, until);
	error = errno;
	(void)kill(-pid, SIGKILL); /* kills what remains of the command's process group */
	(void)waitpid(pid, NULL, 0);
	errno = error;
	return why;
}

static const struct {
	const char *prefix;
	const char *(*read)(struct secret *secret, const char *rest);
} sources[] = {
	{"env:", secret_read_env},
	{"file:", secret_read_file},
	{"fd:", secret_read_fd},
	{"command:", secret_read_command},
};

/* Drops the final line end of a value, and refuses an empty value and control characters. */
static const char *secret_check_value(struct secret *secret)
{
	char *end = secret->value + secret->len;

	if (secret->len && end[-1] == '\n')
		*--end = '\0';
	if (end > secret->value && end[-1] == '\r')
		*--end = '\0';
	secret->len = (size_t)(end - secret->value);
	if (!secret->len)
		return secret_fail_load(EINVAL, "its value is empty");
	for (const char *at = secret->value; at < end; at++)
		if (((unsigned char)*at < ' ' && *at != '\t') || *at == 0x7f)
			return secret_fail_load(EINVAL, "its value has a line end or another control character in it");
	return NULL;
}

const char *secret_read_value(struct secret *secret)
{
	const char *from = secret->definition->value_source, *why;

	for (size_t i = 0; i < sizeof(sources) / sizeof(sources[0]); i++) {
		size_t len = strlen(sources[i].prefix);

		if (strncmp(from, sources[i].prefix, len) != 0)
			continue;
		why = sources[i].read(secret, from + len);
		return why ? why : secret_check_value(secret);
	}
	return secret_fail_load(EINVAL, "its source is not known");
}

void secret_wipe_env(const struct net_secret *secret)
{
	char *value;

	if (strncmp(secret->value_source, "env:", 4) != 0)
		return;
	value = getenv(secret->value_source + 4);
	if (!value)
		return;
	explicit_bzero(value, strlen(value)); /* these are the bytes that /proc/PID/environ shows */
	(void)unsetenv(secret->value_source + 4);
}
