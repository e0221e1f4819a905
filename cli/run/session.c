/*
 * callgate session create: a run of which the keeper stays in the background, until the session ends. The process that
 * the user started waits until the session serves clients, and prints its id.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/ending.h"
#include "base/text.h"
#include "cli/run/private.h"
#include "cli/session/session.h"
#include "keeper/session-client.h"
#include "supervisor/process.h"

#define SESSION_BACKLOG 128

/* Makes the listening socket. A descriptor owned by the caller, or -errno. */
static int session_listen(int base_fd, const char *name)
{
	_cleanup_close_ int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct sockaddr_un address = {.sun_family = AF_UNIX};

	if (fd < 0)
		return -errno;
	(void)snprintf(address.sun_path, sizeof(address.sun_path), "/proc/self/fd/%d/%s", base_fd, name);
	if (bind(fd, (struct sockaddr *)&address, sizeof(address)) < 0 || listen(fd, SESSION_BACKLOG) < 0)
		return -errno;
	return steal_fd(&fd);
}

/* ---- the process in the background ---- */

/* Leaves the user's terminal. stdout becomes the file for the result. */
static int session_detach(const struct run *run, int stderr_fd)
{
	_cleanup_close_ int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	_cleanup_close_ int result = scratch_make_result_file(&run->scratch, "json");

	if (null < 0 || result < 0 || setsid() < 0 || dup2(null, STDIN_FILENO) < 0 || dup2(result, STDOUT_FILENO) < 0 ||
	    dup2(stderr_fd, STDERR_FILENO) < 0)
		return -errno;
	return 0;
}

/* The background process of `callgate session create`: serves clients until the session ends. */
static _Noreturn void session_run_in_background(struct run *run, const struct process_session *session,
						const char *socket_name, int stderr_fd)
{
	int exit_code = CLI_EXIT_ERROR, base_fd = fcntl(run->scratch.base_fd, F_DUPFD_CLOEXEC, 3);

	run->session = session;
	run->options.json = true; /* the result is a file, and the spawner has no output */
	if (session_detach(run, stderr_fd) < 0)
		cli_print_error("session", "cannot go to the background: %s", strerror(errno));
	else
		exit_code = run_program_to_end(run);
	run_release(run);
	(void)unlinkat(base_fd, socket_name, 0); /* removed last: `callgate session stop` waits for that */
	(void)fflush(NULL);
	exit_quickly(exit_code);
}

/* ---- the process that the user started ---- */

/*
 * A signalfd of the signals that end the wait, or -errno. Signals that were ignored at the start stay ignored. The
 * others stay blocked: the background process reads them from a signalfd as well.
 */
static int session_open_signals(void)
{
	static const int wanted[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
	struct sigaction before;
	sigset_t set;

	(void)sigemptyset(&set);
	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++)
		if (sigaction(wanted[i], NULL, &before) == 0 && before.sa_handler != SIG_IGN)
			(void)sigaddset(&set, wanted[i]);
	if (sigprocmask(SIG_BLOCK, &set, NULL) < 0)
		return -errno;
	return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

/*
 * Copies to stderr what the background process prints, until that process serves clients or has ended, or a signal ends
 * the wait. True: it serves.
 */
static bool session_await_start(int base_fd, const char *socket_name, int stderr_fd, int signal_fd)
{
	_cleanup_close_ int socket_fd = session_client_connect(base_fd, socket_name, 0);
	_cleanup_json_ json_t *answer = NULL;
	struct pollfd poll_set[] = {{.fd = socket_fd, .events = POLLIN},
				    {.fd = stderr_fd, .events = POLLIN},
				    {.fd = signal_fd, .events = POLLIN}};
	char text[4096];
	ssize_t got;

	if (socket_fd < 0 || session_client_send(socket_fd, json_pack("{s:s}", "op", "list"), NULL, 0) < 0)
		return false;
	while ((poll(poll_set, 3, -1) > 0 || errno == EINTR) && !poll_set[2].revents) {
		got = poll_set[1].revents ? read(stderr_fd, text, sizeof(text)) : -1;
		if (got > 0)
			(void)!write(STDERR_FILENO, text, (size_t)got);
		else if (poll_set[0].revents && session_client_receive(socket_fd, &answer, NULL) == 0)
			return true;
		else if (got == 0)
			return false;
		else if (poll_set[0].revents)
			poll_set[0].fd = -1;
	}
	return false;
}

/* Ends the background process by the signal that has ended the wait, or by SIGTERM if there is none. */
static void session_end_background(pid_t pid, int signal_fd)
{
	struct signalfd_siginfo info;
	const bool is_one = read(signal_fd, &info, sizeof(info)) == (ssize_t)sizeof(info);

	(void)kill(pid, is_one ? (int)info.ssi_signo : SIGTERM);
}

/* Waits until the session in the background serves clients, and prints its id. Returns the exit status. */
static int session_wait_and_print_id(const struct run *run, pid_t pid, const char *socket_name, int stderr_fd,
				     int signal_fd)
{
	int status = 0;

	if (session_await_start(run->scratch.base_fd, socket_name, stderr_fd, signal_fd))
		return cli_print_text("session", run->scratch.id) == CLI_EXIT_OK ? cli_print_text("session", "\n")
										 : CLI_EXIT_ERROR;
	session_end_background(pid, signal_fd); /* it may have ended already */
	(void)waitpid(pid, &status, 0);
	return WIFEXITED(status) && WEXITSTATUS(status) ? WEXITSTATUS(status) : CLI_EXIT_ERROR;
}

static int session_start(struct run *run)
{
	_cleanup_free_ char *name = text_format(SESSION_SOCKET_PREFIX "%s", run->scratch.id);
	struct process_session session = {.idle_limit_ns = run->options.session_idle_ns, .listen_fd = -1,
					  .holding_client_fd = run->options.session_holder_fd};
	int signal_fd = session_open_signals(), pipe_fd[2], exit_code;
	pid_t pid;

	if (signal_fd < 0)
		return run_report_refusal(run, "session_failed", "cannot wait for signals: %s", strerror(-signal_fd));
	session.listen_fd = name ? session_listen(run->scratch.base_fd, name) : -ENOMEM;
	if (session.listen_fd < 0)
		return run_report_refusal(run, "session_failed", "cannot make the session's socket in %s: %s",
					  run->scratch.base_path, strerror(-session.listen_fd));
	if (pipe2(pipe_fd, O_CLOEXEC) < 0 || (pid = fork()) < 0)
		return run_report_refusal(run, "session_failed", "cannot start the session: %s", strerror(errno));
	if (pid == 0) {
		(void)close(signal_fd);
		session_run_in_background(run, &session, name, pipe_fd[1]);
	}
	(void)close(pipe_fd[1]);
	(void)close(session.listen_fd);
	exit_code = session_wait_and_print_id(run, pid, name, pipe_fd[0], signal_fd);
	(void)fflush(NULL);
	exit_quickly(exit_code); /* what `run` holds belongs to the background process now */
}

int session_main_create(int argc, char **argv)
{
	struct run run = RUN_INIT;
	int exit_code = run_parse_session_options(argc, argv, &run.options);

	run.is_session = true;
	if (exit_code == CLI_OPTIONS_PARSED) {
		exit_code = run_prepare_process(&run);
		if (exit_code == 0 && run.options.names_program && !cli_host_find_program(&run.host))
			exit_code = run_report_refusal(&run, "not_found",
						       "%s: not found; name what @interpreter stands for, or nothing",
						       run.options.argv[0]);
		if (exit_code == 0)
			exit_code = session_start(&run);
	}
	run_release(&run);
	(void)fflush(NULL);
	exit_quickly(exit_code);
}
