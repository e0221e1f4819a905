/* Commands of callgate's own that a tool call needs an answer of: outside of the sandbox, without waiting. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agents/mcp/private.h"
#include "base/cleanup.h"

#define HOST_COMMAND_REPLY_BYTES_MAX (1u << 20)
#define HOST_COMMAND_TIMEOUT_MS 30000

/* A process, whose output is collected in call->reply_or_content. */
struct host_command {
	pid_t pid;
	int fd; /* reading end of its stdout and stderr */
	struct loop_source *source;
	bool is_cut_off; /* the reply was too long, and has only the beginning of it */
	void (*on_reply)(struct tool_call *call);
};

/* Waits for the end of a process that has closed its output, and notes its exit status. */
static void host_command_reap(struct tool_call *call)
{
	int status;

	if (waitpid(call->host_command->pid, &status, 0) > 0 && WIFEXITED(status))
		call->host_command_status = WEXITSTATUS(status);
	call->host_command->pid = -1;
}

void host_command_stop(struct tool_call *call)
{
	struct host_command *command = call->host_command;

	call->host_command = NULL;
	loop_cancel_timer(call->host_command_timer);
	call->host_command_timer = NULL;
	if (!command)
		return;
	loop_remove_source(command->source);
	if (command->pid > 0) {
		(void)kill(command->pid, SIGKILL);
		(void)waitpid(command->pid, NULL, 0);
	}
	close_fd(&command->fd);
	free(command);
}

static void host_command_on_readable(void *data, uint32_t events)
{
	struct tool_call *call = data;
	struct host_command *command = call->host_command;
	void (*on_reply)(struct tool_call * call) = command->on_reply;
	char bytes[4096];
	ssize_t got = read(command->fd, bytes, sizeof(bytes));

	(void)events;
	if (got < 0 && (errno == EINTR || errno == EAGAIN))
		return;
	if (got > 0) {
		/* What is too much is read nevertheless: the command is to end by itself. */
		command->is_cut_off |= call->reply_or_content.len + (size_t)got > HOST_COMMAND_REPLY_BYTES_MAX;
		if (!command->is_cut_off)
			buf_add(&call->reply_or_content, bytes, (size_t)got);
		return;
	}
	host_command_reap(call);
	host_command_stop(call);
	on_reply(call);
}

static void host_command_on_timeout(void *data)
{
	struct tool_call *call = data;
	void (*on_reply)(struct tool_call *call) = call->host_command->on_reply;

	call->host_command_timer = NULL;
	host_command_stop(call);
	call->reply_or_content.len = 0;
	buf_puts(&call->reply_or_content, "callgate gives no answer in time"); /* which is no answer, either */
	on_reply(call);
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

int host_command_start(struct tool_call *call, const char *const *argv, int stdin_fd,
		       void (*on_reply)(struct tool_call *call))
{
	struct host_command *command = calloc(1, sizeof(*command));
	int error;

	if (!command)
		return -ENOMEM;
	*command = (struct host_command){.fd = -1, .on_reply = on_reply};
	call->host_command = command;
	call->reply_or_content.len = 0;
	call->host_command_status = -1;
	error = host_command_spawn(argv, stdin_fd, &command->pid, &command->fd);
	if (error < 0)
		return error;
	command->source = loop_add_source(call->mcp->loop, command->fd, EPOLLIN, host_command_on_readable, call);
	call->host_command_timer =
		loop_add_timer(call->mcp->loop, HOST_COMMAND_TIMEOUT_MS, host_command_on_timeout, call);
	return command->source && call->host_command_timer ? 0 : -ENOMEM;
}
