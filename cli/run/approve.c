/*
 * --approve WHERE, --approvals FILE: opens the socket, terminal or file, and starts the approver (approval/), which
 * asks there about denied calls.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "approval/approver.h"
#include "approval/remembered.h"
#include "base/cleanup.h"
#include "base/io.h"
#include "base/path.h"
#include "base/text.h"
#include "cli/load.h"
#include "cli/run/private.h"

static int approve_refuse(struct run *run, const char *option, const char *value, const char *why)
{
	return run_report_refusal(run, "ask_failed", "%s %s: %s", option, value, why);
}

/* The process at the other end decides what the program may do, so its user must be the caller or root. */
static int approve_check_peer(struct run *run, int fd, uid_t *ret_uid)
{
	struct ucred peer;
	socklen_t len = sizeof(peer);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) < 0)
		return approve_refuse(run, "--approve", run->options.approve, strerror(errno));
	if (peer.uid != 0 && peer.uid != geteuid())
		return approve_refuse(run, "--approve", run->options.approve,
				      "another user listens there, and could answer; name a socket of your own");
	*ret_uid = peer.uid;
	return 0;
}

static int approve_connect(struct run *run, const char *named, struct approver_options *ret_options)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	_cleanup_free_ char *real = NULL;
	_cleanup_close_ int fd = -1;

	if (access(named, F_OK) < 0 && errno == ENOENT)
		return approve_refuse(run, "--approve", run->options.approve,
				      "there is no such socket; start the approver first");
	real = run_find_unreachable_path(run, "--approve", named, "place");
	if (!real)
		return CLI_EXIT_ERROR;
	if (strlen(real) >= sizeof(address.sun_path))
		return approve_refuse(run, "--approve", run->options.approve, "the path is too long for a socket");
	(void)stpcpy(address.sun_path, real);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0 || connect(fd, (const struct sockaddr *)&address, sizeof(address)) < 0)
		return approve_refuse(run, "--approve", run->options.approve,
				      errno == ECONNREFUSED ? "no process listens there; start the approver first"
							    : strerror(errno));
	if (approve_check_peer(run, fd, &ret_options->socket_uid) != 0)
		return CLI_EXIT_ERROR;
	ret_options->socket_fd = steal_fd(&fd);
	run->ask.socket_path = steal_pointer(&real);
	return 0;
}

/* Takes a socket that was inherited from the process that has started callgate, which answers there. */
static int approve_take_socket(struct run *run, const char *number, struct approver_options *ret_options)
{
	_cleanup_close_ int fd = -1;
	int type = 0;
	socklen_t len = sizeof(type);
	uint64_t named;

	if (text_parse_number(number, 3, INT_MAX, &named) < 0 ||
	    getsockopt((int)named, SOL_SOCKET, SO_TYPE, &type, &len) < 0 || type != SOCK_STREAM)
		return approve_refuse(run, "--approve", run->options.approve,
				      "must be the number, 3 or more, of a connected unix socket (SOCK_STREAM)");
	fd = fcntl((int)named, F_DUPFD_CLOEXEC, 3); /* run_close_inherited_fds() closes the one that was inherited */
	if (fd < 0 || fcntl(fd, F_SETFL, O_NONBLOCK) < 0)
		return approve_refuse(run, "--approve", run->options.approve, strerror(errno));
	if (approve_check_peer(run, fd, &ret_options->socket_uid) != 0)
		return CLI_EXIT_ERROR;
	ret_options->socket_is_starters = true;
	ret_options->socket_fd = steal_fd(&fd);
	return 0;
}

/* Refuses the command of --approve if a program of the run could write to it: it would then answer for itself. */
static int approve_judge_command(struct run *run, const char *command)
{
	const struct writable_places places = run_collect_writable_places(run);
	struct places_refusal why = {""};

	return places_judge_command(&places, command, &why) < 0
		       ? approve_refuse(run, "--approve", run->options.approve, why.text)
		       : 0;
}

/* Opens the file of --approvals, and makes it if it is missing. */
static int approve_open_file(struct run *run, struct approver_options *ret_options)
{
	const char *named = run->options.approvals_file, *why;
	_cleanup_close_ int fd = remembered_open(named, &why);

	if (fd < 0)
		return approve_refuse(run, "--approvals", named, why);
	run->ask.approvals_path = run_find_unreachable_path(run, "--approvals", named, "place");
	if (!run->ask.approvals_path)
		return CLI_EXIT_ERROR;
	ret_options->remembered_fd = steal_fd(&fd);
	ret_options->remembered_path = run->ask.approvals_path;
	return 0;
}

/*
 * Opens the caller's terminal. Refused where the program could write or read there as well: what it writes could look
 * like a question, or hide one, and both would read what is typed.
 */
static int approve_open_terminal(struct run *run, struct approver_options *ret_options)
{
	const struct run_options *options = &run->options;

	if (!options->json && (isatty(STDOUT_FILENO) || isatty(STDERR_FILENO)))
		return approve_refuse(run, "--approve", options->approve,
				      "the program's output goes to a terminal, where it could imitate a question or "
				      "hide one; add --json, or send standard output and standard error elsewhere");
	if (options->reads_stdin && isatty(STDIN_FILENO))
		return approve_refuse(run, "--approve", options->approve,
				      "the program would read what is typed as an answer; leave out -i, or give it "
				      "another standard input");
	ret_options->terminal_fd = open("/dev/tty", O_RDWR | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	return ret_options->terminal_fd < 0
		       ? approve_refuse(run, "--approve", options->approve,
					errno == ENXIO ? "callgate has no terminal" : strerror(errno))
		       : 0;
}

static int approve_start(struct run *run, const struct approver_options *options)
{
	int r = approver_start(options, &run->ask.approver_fd);

	return r < 0 ? approve_refuse(run, "--approve", run->options.approve, strerror(-r)) : 0;
}

int run_start_approver(struct run *run)
{
	const char *where = run->options.approve;
	struct approver_options options = {
		.socket_fd = -1, .terminal_fd = -1, .remembered_fd = -1, .is_in_background = run->is_session};
	int exit_code = 0;

	if (run->options.approvals_file)
		exit_code = approve_open_file(run, &options);
	if (exit_code == 0 && strncmp(where, "socket:", 7) == 0) {
		exit_code = approve_connect(run, where + 7, &options);
	} else if (exit_code == 0 && strncmp(where, "fd:", 3) == 0) {
		exit_code = approve_take_socket(run, where + 3, &options);
	} else if (exit_code == 0 && strcmp(where, "tty") == 0) {
		exit_code = approve_open_terminal(run, &options);
	} else if (exit_code == 0) {
		options.command = where + 8; /* "command:": options.c has checked it */
		exit_code = approve_judge_command(run, options.command);
	}
	if (exit_code == 0)
		exit_code = approve_start(run, &options);
	run->ask.can_be_remembered = options.remembered_fd >= 0;
	cleanup_close(&options.socket_fd);
	cleanup_close(&options.terminal_fd);
	cleanup_close(&options.remembered_fd);
	return exit_code;
}
