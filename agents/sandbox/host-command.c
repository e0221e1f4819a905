#include "agents/sandbox/host-command.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"

#define HOST_COMMAND_REPLY_BYTES_MAX (1u << 20)
#define HOST_COMMAND_TIMEOUT_MS 30000

/* A process, whose output is collected. */
struct host_command {
	pid_t pid;
	int fd; /* reading end of its stdout and stderr */
	struct loop_source *source;
	struct loop_timer *timer; /* until it is given up */
	struct buf reply;
	bool is_cut_off; /* the reply was too long, and has only the beginning of it */
	host_command_on_reply *on_reply;
	void *data;
};

void host_command_free(struct host_command *command)
{
	if (!command)
		return;
	loop_cancel_timer(command->timer);
	loop_remove_source(command->source);
	if (command->pid > 0) {
		(void)kill(command->pid, SIGKILL);
		(void)waitpid(command->pid, NULL, 0);
	}
	close_fd(&command->fd);
	buf_release(&command->reply);
	free(command);
}

/* Passes the reply on, with the exit status. */
static void host_command_end(struct host_command *command, int status)
{
	host_command_on_reply *on_reply = command->on_reply;
	_cleanup_buf_ struct buf reply = command->reply;
	void *data = command->data;

	command->reply = (struct buf){0};
	buf_add(&reply, "", 1);
	host_command_free(command);
	on_reply(data, reply.failed ? "" : reply.data, reply.failed ? 0 : reply.len - 1, status);
}

/* Waits for the end of a process that has closed its output. Returns its exit status, or -1. */
static int host_command_reap(struct host_command *command)
{
	int status;
	const bool has_exited = waitpid(command->pid, &status, 0) > 0 && WIFEXITED(status);

	command->pid = -1;
	return has_exited ? WEXITSTATUS(status) : -1;
}

static void host_command_on_readable(void *data, uint32_t events)
{
	struct host_command *command = data;
	char bytes[4096];
	ssize_t got = read(command->fd, bytes, sizeof(bytes));

	(void)events;
	if (got < 0 && (errno == EINTR || errno == EAGAIN))
		return;
	if (got > 0) {
		/* What is too much is read nevertheless: the command is to end by itself. */
		command->is_cut_off |= command->reply.len + (size_t)got > HOST_COMMAND_REPLY_BYTES_MAX;
		if (!command->is_cut_off)
			buf_add(&command->reply, bytes, (size_t)got);
		return;
	}
	host_command_end(command, host_command_reap(command));
}

static void host_command_on_timeout(void *data)
{
	struct host_command *command = data;

	command->timer = NULL;
	command->reply.len = 0;
	buf_puts(&command->reply, "callgate gives no answer in time"); /* which is no answer, either */
	host_command_end(command, -1);
}

/* Starts a process. *ret_fd: the reading end of a pipe for its stdout and stderr, owned. 0 or -errno. */
static int host_command_spawn(const char *const *argv, int stdin_fd, pid_t *ret_pid, int *ret_fd)
{
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes; /* the child neither blocks nor ignores signals, unlike this process */
	sigset_t none, all;
	int pipe_fd[2], error;

	if (pipe2(pipe_fd, O_CLOEXEC) < 0)
		return -errno;
	(void)sigemptyset(&none);
	(void)sigfillset(&all);
	error = posix_spawnattr_init(&attributes);
	if (error == 0) {
		(void)posix_spawnattr_setsigmask(&attributes, &none);
		(void)posix_spawnattr_setsigdefault(&attributes, &all);
		(void)posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
		error = posix_spawn_file_actions_init(&actions);
		if (error != 0)
			(void)posix_spawnattr_destroy(&attributes);
	}
	if (error == 0) {
		if (stdin_fd >= 0)
			(void)posix_spawn_file_actions_adddup2(&actions, stdin_fd, STDIN_FILENO);
		else
			(void)posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
		(void)posix_spawn_file_actions_adddup2(&actions, pipe_fd[1], STDOUT_FILENO);
		(void)posix_spawn_file_actions_adddup2(&actions, pipe_fd[1], STDERR_FILENO);
		error = posix_spawn(ret_pid, argv[0], &actions, &attributes, (char *const *)(uintptr_t)argv, environ);
		(void)posix_spawn_file_actions_destroy(&actions);
		(void)posix_spawnattr_destroy(&attributes);
	}
	(void)close(pipe_fd[1]);
	if (error == 0)
		*ret_fd = steal_fd(&pipe_fd[0]);
	cleanup_close(&pipe_fd[0]);
	return -error;
}

int host_command_start(struct loop *loop, const char *const *argv, int stdin_fd, host_command_on_reply *on_reply,
		       void *data, struct host_command **ret_command)
{
	struct host_command *command = calloc(1, sizeof(*command));
	int error;

	if (!command)
		return -ENOMEM;
	*command = (struct host_command){.fd = -1, .on_reply = on_reply, .data = data};
	error = host_command_spawn(argv, stdin_fd, &command->pid, &command->fd);
	if (error == 0) {
		command->source = loop_add_source(loop, command->fd, EPOLLIN, host_command_on_readable, command);
		command->timer = loop_add_timer(loop, HOST_COMMAND_TIMEOUT_MS, host_command_on_timeout, command);
		error = command->source && command->timer ? 0 : -ENOMEM;
	}
	if (error < 0)
		host_command_free(command);
	else
		*ret_command = command;
	return error;
}
