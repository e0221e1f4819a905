/*
 * Runs `callgate session create`, which exits as soon as the session serves clients or could not be made. The session
 * is a process of its own.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agents/sandbox/private.h"
#include "agents/slist.h"
#include "base/cleanup.h"

#define LAUNCHER_STDERR_BYTES_MAX 4096u /* bytes kept of what the command writes to stderr */
#define LAUNCHER_ARGUMENTS_MAX 256u
#define LAUNCHER_OPEN_FILES 4u /* the process, its stderr (both ends), the session's end of the connection */
#define LAUNCHER_HOLD_FD 3     /* the launcher's descriptor of the hold connection */
#define LAUNCHER_HOLD_FD_TEXT "3" /* LAUNCHER_HOLD_FD as argument of --hold-fd */
#define LAUNCHER_APPROVER_FD 4    /* the launcher's descriptor of the approver's socket */
#define LAUNCHER_APPROVER_TEXT "fd:4" /* LAUNCHER_APPROVER_FD as argument of --approve */

/* A process `callgate session create` and what it writes to stderr. */
struct launcher {
	struct launcher *next;
	pid_t pid;
	int pid_fd, stderr_fd;
	struct loop_source *exit_source, *stderr_source;
	char stderr_text[LAUNCHER_STDERR_BYTES_MAX + 1];
	size_t stderr_len;
	void (*on_exit)(void *data, const char *text); /* NULL: launcher_detach() was called */
	void *data;
};

static struct launcher *launchers; /* all whose process was not reaped yet */

static void launcher_free(struct launcher *launcher)
{
	(void)slist_remove(launchers, launcher, next);
	open_files_give_back(LAUNCHER_OPEN_FILES);
	loop_remove_source(launcher->exit_source);
	loop_remove_source(launcher->stderr_source);
	cleanup_close(&launcher->pid_fd);
	cleanup_close(&launcher->stderr_fd);
	free(launcher);
}

/*
 * Reads the command's messages, of which the first LAUNCHER_STDERR_BYTES_MAX bytes are kept. False: nothing to read
 * now.
 */
static bool launcher_read_stderr(struct launcher *launcher)
{
	char dropped[LAUNCHER_STDERR_BYTES_MAX];
	size_t room = LAUNCHER_STDERR_BYTES_MAX - launcher->stderr_len;
	ssize_t got = read(launcher->stderr_fd, room ? launcher->stderr_text + launcher->stderr_len : dropped,
			   room ? room : sizeof(dropped)); /* O_NONBLOCK */

	if (got > 0 && room)
		launcher->stderr_len += (size_t)got;
	return got > 0;
}

static void launcher_on_stderr(void *data, uint32_t events)
{
	struct launcher *launcher = data;

	(void)events;
	if (!launcher_read_stderr(launcher)) {
		loop_remove_source(launcher->stderr_source); /* end of file */
		launcher->stderr_source = NULL;
	}
}

static void launcher_on_exit(void *data, uint32_t events)
{
	struct launcher *launcher = data;

	(void)events;
	if (waitpid(launcher->pid, NULL, WNOHANG) == 0)
		return;
	/* Reads as much as a pipe holds, and no more: another process may have stderr open and write on for ever. */
	for (int i = 0; i < 16 && launcher_read_stderr(launcher); i++)
		;
	while (launcher->stderr_len > 0 && launcher->stderr_text[launcher->stderr_len - 1] == '\n')
		launcher->stderr_len--;
	launcher->stderr_text[launcher->stderr_len] = '\0';
	if (launcher->on_exit)
		launcher->on_exit(launcher->data, launcher->stderr_text);
	launcher_free(launcher);
}

/* The launcher goes on, but its end is not reported any more. */
void launcher_detach(struct launcher *launcher)
{
	if (launcher)
		launcher->on_exit = NULL;
}

void sandbox_forget_launchers(void)
{
	while (launchers)
		launcher_free(launchers);
}

void launcher_kill(struct launcher *launcher)
{
	/* the pid is valid until launcher_on_exit(), which reaps the process and frees the launcher */
	(void)kill(launcher->pid, SIGKILL);
}

/*
 * Calls posix_spawn(3) while this process has its former limit of open files, so that the child inherits that limit.
 * Descriptors above the limit stay open. 0 or an errno.
 */
static int launcher_spawn_with_former_limit(pid_t *ret_pid, const char *path, const posix_spawn_file_actions_t *actions,
					    const posix_spawnattr_t *attributes, const char *const argv[])
{
	struct rlimit present;
	int error;

	open_files_set_former_limit(&present);
	/* posix_spawn(3) does not change the arguments */
	error = posix_spawn(ret_pid, path, actions, attributes, (char *const *)(uintptr_t)argv, environ);
	open_files_restore_limit(&present);
	return error;
}

/* Makes the command line; file_program: the path of callgate-files. 0 or -E2BIG. */
static int launcher_make_arguments(const struct sandbox_options *options, const char *file_program,
				   const char *argv[LAUNCHER_ARGUMENTS_MAX + 1])
{
	static const char *const command[] = {"callgate", "session", "create", "--hold-fd", LAUNCHER_HOLD_FD_TEXT};
	size_t count = sizeof(command) / sizeof(command[0]);

	memcpy(argv, command, sizeof(command));
	/* If callgate-files is missing, or others could have replaced it, it is not granted, and file requests fail. */
	if (file_program) {
		argv[count++] = "-x";
		argv[count++] = file_program;
	}
	if (options->approver_fd > 0) {
		argv[count++] = "--approve";
		argv[count++] = LAUNCHER_APPROVER_TEXT;
	}
	for (size_t i = 0; options->arguments && options->arguments[i]; i++) {
		if (count >= LAUNCHER_ARGUMENTS_MAX)
			return -E2BIG;
		argv[count++] = options->arguments[i];
	}
	argv[count] = NULL;
	return 0;
}

/* Starts `callgate session create` with the holding connection as one of its descriptors. 0 or -errno. */
static int launcher_spawn_command(struct launcher *launcher, const struct sandbox_options *options, int holder_fd,
				  int stderr_fd)
{
	char fileop_path[PATH_MAX];
	const char *argv[LAUNCHER_ARGUMENTS_MAX + 1];
	/* a number that no other descriptor of the child gets */
	_cleanup_close_ int approver_fd =
		options->approver_fd > 0 ? fcntl(options->approver_fd, F_DUPFD_CLOEXEC, LAUNCHER_APPROVER_FD + 1) : -1;
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	sigset_t set;
	int error = launcher_make_arguments(options, fileop_find_program(fileop_path) < 0 ? NULL : fileop_path, argv);

	if (error < 0 || (options->approver_fd > 0 && approver_fd < 0))
		return error < 0 ? error : -errno;
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
	if (error == 0 && approver_fd >= 0)
		error = posix_spawn_file_actions_adddup2(&actions, approver_fd, LAUNCHER_APPROVER_FD);
	if (error == 0)
		error = launcher_spawn_with_former_limit(&launcher->pid, options->callgate_path, &actions, &attributes,
							 argv);
	(void)posix_spawn_file_actions_destroy(&actions);
	(void)posix_spawnattr_destroy(&attributes);
	return -error;
}

/* Watches the process' end and its stderr. 0 or -errno; then the caller kills and reaps the process. */
static int launcher_watch_process(struct loop *loop, struct launcher *launcher)
{
	launcher->pid_fd = (int)syscall(SYS_pidfd_open, launcher->pid, 0U);
	if (launcher->pid_fd >= 0)
		launcher->exit_source = loop_add_source(loop, launcher->pid_fd, EPOLLIN, launcher_on_exit, launcher);
	if (launcher->exit_source)
		launcher->stderr_source =
			loop_add_source(loop, launcher->stderr_fd, EPOLLIN, launcher_on_stderr, launcher);
	return launcher->stderr_source ? 0 : -errno;
}

int launcher_start(struct loop *loop, const struct sandbox_options *options, int holder_fd,
		   void (*on_exit)(void *data, const char *text), void *data, struct launcher **ret_launcher)
{
	struct launcher *launcher;
	int pipe_fd[2], r = open_files_take(LAUNCHER_OPEN_FILES);

	if (r < 0)
		return r;
	launcher = calloc(1, sizeof(*launcher));
	if (!launcher) {
		open_files_give_back(LAUNCHER_OPEN_FILES);
		return -ENOMEM;
	}
	*launcher = (struct launcher){
		.next = launchers, .pid_fd = -1, .stderr_fd = -1, .on_exit = on_exit, .data = data};
	launchers = launcher;
	/*
	 * A descriptor of this pipe may be LAUNCHER_HOLD_FD: in the child, the pipe is duplicated to stderr before
	 * LAUNCHER_HOLD_FD is overwritten.
	 */
	r = pipe2(pipe_fd, O_CLOEXEC) < 0 ? -errno : 0;
	if (r == 0) {
		launcher->stderr_fd = pipe_fd[0];
		r = fcntl(pipe_fd[0], F_SETFL, O_NONBLOCK) < 0 ? -errno : 0;
		if (r == 0)
			r = launcher_spawn_command(launcher, options, holder_fd, pipe_fd[1]);
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
