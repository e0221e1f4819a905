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
#include "egress/secrets/secret.h"
#include "egress/secrets/source.h"

#include "base/banned.h"

#define NS_PER_MS 1000000u

struct sink {
	char *value;
	size_t cap, len;
	const char *why;
};

static int refuse(struct sink *sink, int error, const char *why)
{
	sink->why = why;
	return error;
}

static int too_long(struct sink *sink)
{
	return refuse(sink, -EFBIG, "its value is longer than 16384 bytes");
}

static int wait_readable(int fd, uint64_t until_ns)
{
	struct pollfd ready = {.fd = fd, .events = POLLIN};

	for (;;) {
		uint64_t now = io_now_ns();
		int count = now < until_ns ? poll(&ready, 1, (int)((until_ns - now) / NS_PER_MS) + 1) : 0;

		if (count > 0)
			return 0;
		if (count == 0)
			return -ETIMEDOUT;
		if (errno != EINTR)
			return -errno;
	}
}

/* To the end, straight into the protected memory. */
static int read_all(struct sink *sink, int fd, const char *what)
{
	uint64_t until = io_now_ns() + (uint64_t)SECRET_WAIT_MS * NS_PER_MS;

	for (;;) {
		char more;
		ssize_t got;
		int error = wait_readable(fd, until);

		if (error == -ETIMEDOUT)
			return refuse(sink, error, "it did not come within 10 seconds");
		if (error)
			return refuse(sink, error, what);
		got = sink->len < sink->cap ? read(fd, sink->value + sink->len, sink->cap - sink->len)
					    : read(fd, &more, 1);
		if (got == 0)
			return 0;
		if (got < 0 && errno != EINTR && errno != EAGAIN)
			return refuse(sink, -errno, what);
		if (got > 0 && sink->len == sink->cap)
			return too_long(sink);
		if (got > 0)
			sink->len += (size_t)got;
	}
}

static int from_env(struct sink *sink, const char *name)
{
	const char *value = getenv(name);

	if (!value)
		return refuse(sink, -ENOENT, "that variable is not set");
	sink->len = strlen(value);
	if (sink->len > sink->cap) {
		sink->len = 0;
		return too_long(sink);
	}
	memcpy(sink->value, value, sink->len);
	return 0;
}

static int from_file(struct sink *sink, const char *path)
{
	/* the policy has its canonical name; a FIFO has its 10 seconds as well */
	_cleanup_close_ int fd = io_open_plain(path, O_RDONLY | O_NOCTTY | O_NONBLOCK);

	if (fd < 0)
		return refuse(sink, fd, "that file cannot be opened");
	return read_all(sink, fd, "that file cannot be read");
}

static int from_fd(struct sink *sink, const char *number)
{
	uint64_t fd;
	int error;

	if (text_number(number, 0, 1 << 20, &fd))
		return refuse(sink, -EINVAL, "that is no descriptor");
	error = read_all(sink, (int)fd, "that descriptor cannot be read");
	if (fd > STDERR_FILENO)
		(void)close((int)fd); /* the program must not find it */
	return error;
}

/*
 * In a group of its own, so that what it left behind can be ended with it; it cannot ask at the terminal. In the root
 * directory: what git, make, python3 -m and the like find where they are started may be an earlier run's.
 */
static _Noreturn void run_command(const char *command, int output_fd)
{
	int input_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	sigset_t none;

	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	(void)signal(SIGPIPE, SIG_DFL); /* ignored ones stay so over execve(2) */
	if (!setpgid(0, 0) && !chdir("/") && input_fd >= 0 && dup2(input_fd, STDIN_FILENO) >= 0 &&
	    dup2(output_fd, STDOUT_FILENO) >= 0)
		(void)execl("/bin/sh", "sh", "-c", command, (char *)NULL);
	_exit(127);
}

/* Its output may end long before it does: the rest of its time. It is left unreaped, so that its group's number stays its own. */
static int wait_command(struct sink *sink, pid_t pid, uint64_t until_ns)
{
	static const struct timespec pause = {.tv_nsec = 5 * NS_PER_MS};

	for (;;) {
		siginfo_t end = {0};

		if (waitid(P_PID, (id_t)pid, &end, WEXITED | WNOHANG | WNOWAIT) < 0 && errno != EINTR)
			return refuse(sink, -errno, "its command cannot be waited for");
		if (end.si_pid == pid)
			return end.si_code == CLD_EXITED && !end.si_status ? 0
									   : refuse(sink, -EIO, "its command failed");
		if (io_now_ns() >= until_ns)
			return refuse(sink, -ETIMEDOUT, "its command did not end within 10 seconds");
		(void)nanosleep(&pause, NULL);
	}
}

static int from_command(struct sink *sink, const char *command)
{
	uint64_t until = io_now_ns() + (uint64_t)SECRET_WAIT_MS * NS_PER_MS;
	int pipe_fd[2], error;
	pid_t pid;

	if (pipe2(pipe_fd, O_CLOEXEC) < 0)
		return refuse(sink, -errno, "no pipe can be made");
	pid = fork();
	if (pid == 0)
		run_command(command, pipe_fd[1]);
	(void)close(pipe_fd[1]);
	if (pid < 0) {
		(void)close(pipe_fd[0]);
		return refuse(sink, -EAGAIN, "its command cannot be started");
	}
	(void)setpgid(pid, pid); /* whoever comes first */
	error = read_all(sink, pipe_fd[0], "its command's output cannot be read");
	(void)close(pipe_fd[0]);
	if (!error)
		error = wait_command(sink, pid, until);
	(void)kill(-pid, SIGKILL); /* whatever still runs of it */
	(void)waitpid(pid, NULL, 0);
	return error;
}

static const struct {
	const char *prefix;
	int (*read)(struct sink *sink, const char *rest);
} sources[] = {
	{"env:", from_env},
	{"file:", from_file},
	{"fd:", from_fd},
	{"command:", from_command},
};

static int check(struct sink *sink)
{
	if (sink->len && sink->value[sink->len - 1] == '\n')
		sink->len--;
	if (sink->len && sink->value[sink->len - 1] == '\r')
		sink->len--;
	if (!sink->len)
		return refuse(sink, -EINVAL, "its value is empty");
	for (size_t i = 0; i < sink->len; i++) {
		unsigned char byte = (unsigned char)sink->value[i];

		if ((byte < ' ' && byte != '\t') || byte == 0x7f)
			return refuse(sink, -EINVAL, "its value has a line end or another control character in it");
	}
	return 0;
}

int secret_source_read(const struct net_secret *secret, char *value, size_t cap, size_t *ret_len, const char **ret_why)
{
	struct sink sink = {.value = value, .cap = cap, .why = "its source is not known"};
	int error = -EINVAL;

	for (size_t i = 0; i < sizeof(sources) / sizeof(sources[0]); i++)
		if (!strncmp(secret->from, sources[i].prefix, strlen(sources[i].prefix)))
			error = sources[i].read(&sink, secret->from + strlen(sources[i].prefix));
	if (!error)
		error = check(&sink);
	if (error) {
		explicit_bzero(value, cap);
		*ret_why = sink.why;
		return error;
	}
	if (sink.len < cap)
		explicit_bzero(value + sink.len, cap - sink.len); /* the newline */
	*ret_len = sink.len;
	return 0;
}

void secret_source_wipe(const struct net_secret *secret)
{
	char *value;

	if (strncmp(secret->from, "env:", 4) != 0)
		return;
	value = getenv(secret->from + 4);
	if (!value)
		return;
	explicit_bzero(value, strlen(value)); /* the very bytes /proc/PID/environ shows */
	(void)unsetenv(secret->from + 4);
}
