/*
 * The process `callgate session create`. It exits when the session serves clients, which is a process of its own then,
 * or when it could not be made.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agents/sandbox/private.h"
#include "base/cleanup.h"

#define LAUNCHER_STDERR_BYTES_MAX 4096u /* of its messages, what is kept */
#define LAUNCHER_ARGUMENTS_MAX 256u
#define LAUNCHER_HOLD_FD 3
#define LAUNCHER_HOLD_FD_TEXT "3"

struct launcher {
	pid_t pid;
	int pid_fd, stderr_fd;
	struct loop_source *exit, *stderr_data;
	char text[LAUNCHER_STDERR_BYTES_MAX + 1];
	size_t len;
	void (*on_exit)(void *data, const char *text); /* NULL: forgotten */
	void *data;
};

static void launcher_free(struct launcher *launcher)
{
	loop_remove_source(launcher->exit);
	loop_remove_source(launcher->stderr_data);
	cleanup_close(&launcher->pid_fd);
	cleanup_close(&launcher->stderr_fd);
	free(launcher);
}

/* Reads messages, of which the first ones are kept. False: there is nothing to read now. */
static bool launcher_read_stderr(struct launcher *launcher)
{
	char rest[LAUNCHER_STDERR_BYTES_MAX];
	size_t room = LAUNCHER_STDERR_BYTES_MAX - launcher->len;
	ssize_t got = read(launcher->stderr_fd, room ? launcher->text + launcher->len : rest,
			   room ? room : sizeof(rest)); /* O_NONBLOCK */

	if (got > 0 && room)
		launcher->len += (size_t)got;
	return got > 0;
}

static void launcher_on_stderr(void *data, uint32_t events)
{
	struct launcher *launcher = data;

	(void)events;
	if (!launcher_read_stderr(launcher)) {
		loop_remove_source(launcher->stderr_data); /* its end */
		launcher->stderr_data = NULL;
	}
}

static void launcher_on_exit(void *data, uint32_t events)
{
	struct launcher *launcher = data;

	(void)events;
	if (waitpid(launcher->pid, NULL, WNOHANG) == 0)
		return;
	/* A process that has kept stderr open must not keep this one busy: what fits into a pipe. */
	for (int i = 0; i < 16 && launcher_read_stderr(launcher); i++)
		;
	while (launcher->len > 0 && launcher->text[launcher->len - 1] == '\n')
		launcher->len--;
	launcher->text[launcher->len] = '\0';
	if (launcher->on_exit)
		launcher->on_exit(launcher->data, launcher->text);
	launcher_free(launcher);
}

void launcher_detach(struct launcher *launcher)
{
	if (launcher)
		launcher->on_exit = NULL;
}

void launcher_kill(struct launcher *launcher)
{
	(void)kill(launcher->pid, SIGKILL); /* not reaped yet: launcher_on_exit() frees the launcher */
}

static int launcher_spawn(struct launcher *launcher, const struct sandbox_options *options, int holder_fd,
			  int stderr_fd)
{
	char files[PATH_MAX];
	const char *const head[] = {"callgate", "session", "create", "--hold-fd", LAUNCHER_HOLD_FD_TEXT, "-x", files};
	/* Without a program for files that can be trusted, the sandbox has none, and such requests fail. */
	const size_t fixed = sizeof(head) / sizeof(head[0]) - (fileop_find_program(files) < 0 ? 2 : 0);
	const char *argv[LAUNCHER_ARGUMENTS_MAX + 1] = {NULL};
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	sigset_t set;
	int error;

	memcpy(argv, head, fixed * sizeof(head[0]));
	for (size_t i = 0; options->arguments && options->arguments[i]; i++) {
		if (fixed + i >= LAUNCHER_ARGUMENTS_MAX)
			return -E2BIG;
		argv[fixed + i] = options->arguments[i];
	}
	error = posix_spawn_file_actions_init(&actions);
	if (error)
		return -error;
	error = posix_spawnattr_init(&attributes);
	if (error) {
		(void)posix_spawn_file_actions_destroy(&actions);
		return -error;
	}
	(void)sigemptyset(&set);
	(void)posix_spawnattr_setsigmask(&attributes, &set);
	(void)sigaddset(&set, SIGPIPE);
	(void)posix_spawnattr_setsigdefault(&attributes, &set);
	(void)posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
	error = posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDWR, 0);
	if (error == 0)
		error = posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_RDWR, 0);
	if (error == 0)
		error = posix_spawn_file_actions_adddup2(&actions, stderr_fd, 2);
	if (error == 0)
		error = posix_spawn_file_actions_adddup2(&actions, holder_fd, LAUNCHER_HOLD_FD);
	if (error == 0) /* posix_spawn(3) does not change the texts */
		error = posix_spawn(&launcher->pid, options->callgate_path, &actions, &attributes,
				    (char *const *)(uintptr_t)argv, environ);
	(void)posix_spawn_file_actions_destroy(&actions);
	(void)posix_spawnattr_destroy(&attributes);
	return -error;
}

/* Watches the process. A failure leaves it unwatched: it is killed and reaped. */
static int launcher_watch_process(struct loop *loop, struct launcher *launcher)
{
	launcher->pid_fd = (int)syscall(SYS_pidfd_open, launcher->pid, 0U);
	if (launcher->pid_fd >= 0)
		launcher->exit = loop_add_source(loop, launcher->pid_fd, EPOLLIN, launcher_on_exit, launcher);
	if (launcher->exit)
		launcher->stderr_data =
			loop_add_source(loop, launcher->stderr_fd, EPOLLIN, launcher_on_stderr, launcher);
	return launcher->stderr_data ? 0 : -errno;
}

int launcher_start(struct loop *loop, const struct sandbox_options *options, int holder_fd,
		   void (*on_exit)(void *data, const char *text), void *data, struct launcher **ret_launcher)
{
	struct launcher *launcher = calloc(1, sizeof(*launcher));
	int pipe_fd[2], r;

	if (!launcher)
		return -ENOMEM;
	*launcher = (struct launcher){.pid_fd = -1, .stderr_fd = -1, .on_exit = on_exit, .data = data};
	/* posix_spawn(3) takes numbers from 4 on: LAUNCHER_HOLD_FD is overwritten before. */
	r = pipe2(pipe_fd, O_CLOEXEC) < 0 ? -errno : 0;
	if (r == 0) {
		launcher->stderr_fd = pipe_fd[0];
		r = fcntl(pipe_fd[0], F_SETFL, O_NONBLOCK) < 0 ? -errno : 0;
		if (r == 0)
			r = launcher_spawn(launcher, options, holder_fd, pipe_fd[1]);
		(void)close(pipe_fd[1]);
	}
	if (r == 0) {
		r = launcher_watch_process(loop, launcher);
		if (r < 0) {
			(void)kill(launcher->pid, SIGKILL);
			(void)waitpid(launcher->pid, NULL, 0);
		}
	}
	if (r < 0)
		launcher_free(launcher);
	else
		*ret_launcher = launcher;
	return r;
}
