#include "agents/sandbox/host-command.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/proc/stat.h"

#define HOST_COMMAND_REPLY_BYTES_MAX (1u << 20)
#define HOST_COMMAND_CHECKS 8 /* in the time limit, of how far the command has come */

/* A process, whose output is collected. */
struct host_command {
	pid_t pid;
	int fd; /* reading end of its stdout and stderr */
	struct loop *loop;
	struct loop_source *source;
	struct loop_timer *timer; /* until it is looked at how far it has come */
	uint64_t limit_ms, deadline_ms;
	uint64_t last_deadline_ms; /* which no progress moves; 0: progress does not count */
	uint64_t progress; /* as of host_command_measure_progress(), at the last check */
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

/* The bytes that a process has read and written, by proc_pid_io(5). 0 when that cannot be read. */
static uint64_t host_command_count_io_bytes(pid_t pid)
{
	char text[512];
	unsigned long long read_bytes, written_bytes;

	return procstat_read_file(pid, "io", text, sizeof(text)) > 0 &&
			       sscanf(text, "rchar: %llu wchar: %llu", &read_bytes, &written_bytes) == 2
		       ? read_bytes + written_bytes
		       : 0;
}

/*
 * A number that grows as long as the command does something. Its output does not tell: `callgate ws apply` prints all
 * of it at the end.
 */
static uint64_t host_command_measure_progress(const struct host_command *command)
{
	struct procstat stat = {0};

	(void)procstat_read(command->pid, &stat); /* it ends just now, and has no further progress */
	return command->reply.len + stat.own_ticks + host_command_count_io_bytes(command->pid);
}

static void host_command_on_timer(void *data);

/* Sets the next check. It gets the memory of the last timer, and so cannot fail, but for the first one. */
static void host_command_set_timer(struct host_command *command)
{
	const uint64_t delay_ms = command->limit_ms / HOST_COMMAND_CHECKS;

	command->timer = loop_add_timer(command->loop, delay_ms > 0 ? delay_ms : 1, host_command_on_timer, command);
}

static void host_command_on_timer(void *data)
{
	struct host_command *command = data;
	const uint64_t now_ms = loop_get_now_ms(command->loop);
	const uint64_t progress = command->last_deadline_ms > 0 ? host_command_measure_progress(command) : 0;

	command->timer = NULL;
	if (progress != command->progress)
		command->deadline_ms = now_ms + command->limit_ms < command->last_deadline_ms
					       ? now_ms + command->limit_ms
					       : command->last_deadline_ms;
	command->progress = progress;
	if (now_ms < command->deadline_ms) {
		host_command_set_timer(command);
		return;
	}
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

int host_command_start(struct loop *loop, const struct host_command_options *options, struct host_command **ret_command)
{
	struct host_command *command = calloc(1, sizeof(*command));
	const uint64_t now_ms = loop_get_now_ms(loop);
	int error;

	if (!command)
		return -ENOMEM;
	*command = (struct host_command){.fd = -1,
					 .loop = loop,
					 .limit_ms = options->limit_ms,
					 .deadline_ms = now_ms + options->limit_ms,
					 .last_deadline_ms =
						 options->total_limit_ms > 0 ? now_ms + options->total_limit_ms : 0,
					 .on_reply = options->on_reply,
					 .data = options->data};
	error = host_command_spawn(options->argv, options->stdin_fd, &command->pid, &command->fd);
	if (error == 0) {
		command->source = loop_add_source(loop, command->fd, EPOLLIN, host_command_on_readable, command);
		host_command_set_timer(command);
		error = command->source && command->timer ? 0 : -ENOMEM;
	}
	if (error < 0)
		host_command_free(command);
	else
		*ret_command = command;
	return error;
}
