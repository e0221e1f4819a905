/* callgate session exec: starts a program in a session, and relays the program's standard streams until its end. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "cli/options.h"
#include "cli/session/looking.h"
#include "cli/session/request.h"
#include "cli/session/session.h"
#include "keeper/capture.h"
#include "keeper/libraries.h"
#include "keeper/session-client.h"
#include "keeper/stdin-relay.h"
#include "keeper/summary.h"
#include "keeper/terminal.h"
#include "keeper/utf8.h"
#include "policy/findings.h"

#define EXEC_JSON_OUTPUT_BYTES_MAX (UINT64_C(1) << 20) /* most bytes of each stream that --json prints */
#define EXEC_LAST_OUTPUT_WAIT_MS 200                   /* longest wait for further output after the program has ended */
#define EXIT_STATUS_KILLED (128 + SIGKILL)

/* The client of a program in a session: what callgate session exec knows of the program. */
struct exec_client {
	struct exec_options options;
	int socket_fd, signal_fd;
	struct stdin_relay stdin_relay;
	struct capture out, err;
	struct session_inspection inspection;
	struct terminal terminal; /* callgate's terminal; used with --tty after the program's start */
	json_t *environment;      /* of the request; owned */
	json_t *result;           /* the result of the program; owned; NULL: the program has not ended */
	bool no_answer_will_come;      /* the program ended or was left, or its session is gone */
	bool stops_waiting_for_output; /* do not wait for the ended program's last output */
	bool exits_before_program_ends; /* callgate exits without waiting for the program's end */
};

static int exec_set_time_limit(const struct cli_given_option *given, void *wall_ns)
{
	if (text_parse_duration(given->value, wall_ns) < 0)
		return cli_refuse_value(given, "is no time; write one such as 10s, 500ms or 2m");
	return 0;
}

#define FIELD_OFFSET(member) offsetof(struct exec_options, member)

static const struct cli_option exec_table[] = {
	CLI_LIST("env", 'e', "NAME[=VALUE]", "set a variable of the program's environment, or pass it on (repeatable)",
		 FIELD_OFFSET(env)),
	CLI_TEXT("cwd", "DIR", "start in DIR, a path in the session (default: the workdir)", FIELD_OFFSET(cwd)),
	{"timeout", 't', "TIME", "end the program, with all that it has started, after TIME", exec_set_time_limit,
	 FIELD_OFFSET(wall_ns), 0},
	CLI_FLAG("interactive", 'i', "the program reads callgate's standard input (default: empty input)",
		 FIELD_OFFSET(interactive)),
	CLI_FLAG("tty", 0, "the program gets a terminal of its own, joined to callgate's", FIELD_OFFSET(tty)),
	CLI_FLAG("detach", 'd',
		 "print the program's number, and leave it running: its input is empty, and its\n"
		 "output is lost unless it writes a file",
		 FIELD_OFFSET(detach)),
	CLI_FLAG("json", 0, "print one JSON result on stdout instead of the program's output", FIELD_OFFSET(json)),
	CLI_FLAG("inspect", 0,
		 "look at the program first (callgate inspect): warn of what is of note, refuse to start it\n"
		 "for an alarm; or what \"inspect\" of the session's policy says",
		 FIELD_OFFSET(inspects)),
	CLI_FLAG("quiet", 'q', "print only callgate's error messages", FIELD_OFFSET(quiet)),
	{0},
};

/* With --json the output is kept in memory, up to a limit, otherwise it is written to callgate's own stream. */
static struct capture_options exec_get_capture_options(const struct exec_client *exec, int stream)
{
	const bool json = exec->options.json;

	return (struct capture_options){.forward_fd = json ? -1 : stream,
					.keeps_in_memory = json,
					.limit_bytes = json ? EXEC_JSON_OUTPUT_BYTES_MAX : CAPTURE_NO_LIMIT,
					.spill_dirfd = -1,
					.spill_file_name = ""};
}

/* Makes the program's standard streams. With --tty the session makes them. */
static int exec_make_standard_streams(struct exec_client *exec, int fd[3])
{
	const struct capture_options out = exec_get_capture_options(exec, STDOUT_FILENO);
	const struct capture_options err = exec_get_capture_options(exec, STDERR_FILENO);
	int error = 0;

	if (exec->options.tty)
		return 0;
	for (int i = 0; exec->options.detach && error == 0 && i < 3; i++) {
		fd[i] = open("/dev/null", O_RDWR | O_CLOEXEC);
		error = fd[i] < 0 ? -errno : 0;
	}
	if (exec->options.detach)
		return error;
	error = stdin_relay_init(&exec->stdin_relay, exec->options.interactive ? STDIN_FILENO : -1, &fd[0]);
	if (error == 0)
		error = capture_init(&exec->out, &out, &fd[1]);
	return error == 0 ? capture_init(&exec->err, &err, &fd[2]) : error;
}

/* Connects callgate's terminal with the program's pseudoterminal. Takes master_fd. */
static int exec_begin_terminal(struct exec_client *exec, int master_fd)
{
	const struct capture_options out = exec_get_capture_options(exec, STDOUT_FILENO);
	int error = terminal_use_master(&exec->terminal, !exec->options.json, master_fd), fd;

	if (error < 0 || (error = fd = terminal_dup_master(&exec->terminal)) < 0)
		return error;
	stdin_relay_init_terminal(&exec->stdin_relay, STDIN_FILENO, fd);
	fd = terminal_dup_master(&exec->terminal);
	error = fd < 0 ? fd : capture_init_from_fd(&exec->out, &out, fd);
	if (error == 0)
		terminal_set_raw_mode(&exec->terminal);
	return error;
}

/* With --json, prints the result of a program that is not started because of what was found. Returns `exit_code`. */
static int exec_print_refusal(const struct exec_client *exec, int exit_code)
{
	const char *why = exec->inspection.program.why;
	_cleanup_free_ char *message = NULL;

	if (!exec->options.json || !why)
		return exit_code;
	message = inspect_make_refusal(why);
	(void)cli_print_json("session",
			     json_pack("{s:s, s:i, s:n, s:{s:s, s:s*}, s:o*}", "status", "refused", "exit_code",
				       exit_code, "signal", "error", "code", "inspect", "message", message, "inspect",
				       inspect_program_make_report(&exec->inspection.program, NULL)));
	return exit_code;
}

/* Looks at the program first, if the session's policy or --inspect wants that. Returns the exit status. */
static int exec_look_at_program(struct exec_client *exec, char *const *argv)
{
	const int error =
		session_inspection_init(&exec->inspection, exec->socket_fd, &exec->options, exec->environment);
	int exit_code;

	if (error < 0) {
		cli_print_error("session", "the program cannot be looked at: %s", strerror(-error));
		return CLI_EXIT_ERROR;
	}
	exec->inspection.program.findings = exec->options.json ? json_array() : NULL;
	exit_code = session_inspection_look(&exec->inspection, argv);
	return exit_code == CLI_EXIT_OK ? CLI_EXIT_OK : exec_print_refusal(exec, exit_code);
}

/* Sends the request to start the program, with its standard streams, to the session. Returns the exit status. */
static int exec_ask_for_program(struct exec_client *exec, char *const *argv)
{
	json_t *wish = exec_make_request(&exec->options, argv);
	int fd[3] = {-1, -1, -1}, error;

	if (!wish) {
		cli_print_error("session", "arguments must be UTF-8 text");
		return CLI_EXIT_ERROR;
	}
	exec->environment = json_incref(json_object_get(wish, "env"));
	error = exec_look_at_program(exec, argv);
	if (error != CLI_EXIT_OK) {
		json_decref(wish);
		return error;
	}
	error = exec_make_standard_streams(exec, fd);
	if (error == 0)
		error = session_client_send(exec->socket_fd, wish, fd, exec->options.tty ? 0 : 3);
	else
		json_decref(wish);
	for (int i = 0; i < 3; i++)
		cleanup_close(&fd[i]);
	if (error < 0)
		cli_print_error("session", "cannot ask the session: %s",
				error == -EMSGSIZE ? "the arguments are too long; pass a file" : strerror(-error));
	return error < 0 ? CLI_EXIT_ERROR : CLI_EXIT_OK;
}

/* ---- while the program runs ---- */

/* The program runs: prints its number if it is detached, else connects the terminal if it has one. */
static void exec_on_program_started(struct exec_client *exec, const json_t *answer, int master_fd)
{
	int error = 0;

	if (exec->options.detach) {
		(void)text_printf(stdout, "%lld\n", (long long)json_integer_value(json_object_get(answer, "program")));
		exec->no_answer_will_come = exec->exits_before_program_ends = true;
	} else if (exec->options.tty) {
		error = master_fd < 0 ? -ENOTTY : exec_begin_terminal(exec, master_fd);
	}
	if (error < 0) {
		cli_print_error("session", "cannot use the program's terminal: %s", strerror(-error));
		exec->no_answer_will_come = true;
	}
}

static void exec_on_session_message(struct exec_client *exec)
{
	json_t *answer;
	int master_fd;

	if (session_client_receive(exec->socket_fd, &answer, &master_fd) < 0) {
		exec->no_answer_will_come = true;
	} else if (json_object_get(answer, "status") || json_object_get(answer, "error")) {
		json_decref(exec->result);
		exec->result = answer;
		exec->no_answer_will_come = true;
	} else {
		exec_on_program_started(exec, answer, master_fd);
		json_decref(answer);
	}
}

/* Passes a signal on to the program. After the program's end, a signal ends the wait for its last output. */
static void exec_on_signal(struct exec_client *exec)
{
	struct signalfd_siginfo info;

	if (read(exec->signal_fd, &info, sizeof(info)) != (ssize_t)sizeof(info))
		return;
	if (info.ssi_signo == SIGWINCH)
		terminal_update_size(&exec->terminal);
	else if (!exec->no_answer_will_come)
		(void)session_client_send(exec->socket_fd, json_pack("{s:s, s:i}", "op", "signal", "signal",
								     (int)info.ssi_signo), NULL, 0);
	else
		exec->stops_waiting_for_output = true;
}

/* Passes input on to the program. The escape sequence ends callgate instead. */
static void exec_on_stdin_or_terminal_input(struct exec_client *exec)
{
	stdin_relay_move_bytes(&exec->stdin_relay);
	if (exec->stdin_relay.escape_was_typed)
		/* callgate exits; the session ends the program when it finds that socket_fd is closed */
		exec->no_answer_will_come = exec->exits_before_program_ends = true;
}

/* Whether no answer of the session is expected any more, and the output has ended or is not waited for. */
static bool exec_has_ended(const struct exec_client *exec)
{
	return exec->no_answer_will_come &&
	       (exec->stops_waiting_for_output || (capture_has_ended(&exec->out) && capture_has_ended(&exec->err)));
}

/* Whether bytes of the program wait to be written, or the pipe that they are forwarded to is full. */
static bool exec_has_unwritten_output(const struct capture *capture)
{
	return capture->pending_at < capture->pending_end || capture->forward_pipe_is_full;
}

/*
 * Limits the wait for output after the program's end. The program's processes are dead then, and their output can be
 * read at once. Another program that has inherited the output pipe must not keep callgate waiting.
 */
static int exec_get_poll_timeout_ms(const struct exec_client *exec)
{
	return exec->no_answer_will_come && !exec_has_unwritten_output(&exec->out) &&
			       !exec_has_unwritten_output(&exec->err)
		       ? EXEC_LAST_OUTPUT_WAIT_MS
		       : -1;
}

/* Passes input, signals and output between user and program until the program has ended. */
static void exec_relay_until_end(struct exec_client *exec)
{
	enum { ANSWER, SIGNAL, INPUT, OUT, ERR, SOURCES };
	struct pollfd poll_set[SOURCES];
	int ready;

	while (!exec_has_ended(exec)) {
		bool over = exec->no_answer_will_come;

		poll_set[ANSWER] = (struct pollfd){.fd = over ? -1 : exec->socket_fd, .events = POLLIN};
		poll_set[SIGNAL] = (struct pollfd){.fd = exec->signal_fd, .events = POLLIN};
		stdin_relay_get_pollfd(&exec->stdin_relay, &poll_set[INPUT]);
		capture_get_pollfd(&exec->out, &poll_set[OUT]);
		capture_get_pollfd(&exec->err, &poll_set[ERR]);
		if (over)
			poll_set[INPUT].fd = -1;
		ready = poll(poll_set, SOURCES, exec_get_poll_timeout_ms(exec));
		if (ready == 0 || (ready < 0 && errno != EINTR))
			return;
		if (ready < 0)
			continue;
		if (poll_set[INPUT].revents)
			exec_on_stdin_or_terminal_input(exec);
		if (poll_set[OUT].revents)
			(void)capture_read_or_forward_chunk(&exec->out);
		if (poll_set[ERR].revents)
			(void)capture_read_or_forward_chunk(&exec->err);
		if (poll_set[SIGNAL].revents)
			exec_on_signal(exec);
		if (poll_set[ANSWER].revents)
			exec_on_session_message(exec);
	}
}

/* Blocks the signals that are passed on to the program. Returns a signalfd for them, or -1. */
static int exec_block_and_open_signals(void)
{
	sigset_t set;

	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGINT);
	(void)sigaddset(&set, SIGTERM);
	(void)sigaddset(&set, SIGHUP);
	(void)sigaddset(&set, SIGQUIT);
	(void)sigaddset(&set, SIGWINCH);
	(void)signal(SIGPIPE, SIG_IGN);
	(void)sigprocmask(SIG_BLOCK, &set, NULL);
	return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

/* ---- the end of the program ---- */

/* Adds what was kept of an output stream to the result, with its length and whether it was cut. */
static void exec_add_output_to_result(json_t *result, const char *name, const struct capture *capture)
{
	bool changed;
	size_t len = 0;
	_cleanup_free_ char *text =
		utf8_copy_repaired(capture->kept_bytes ? capture->kept_bytes : "", capture->kept_len, &len, &changed);
	char key[32];

	(void)json_object_set_new(result, name, text ? json_stringn(text, len) : json_null());
	(void)snprintf(key, sizeof(key), "%s_bytes", name);
	(void)json_object_set_new(result, key, json_integer((json_int_t)capture->total_bytes));
	(void)snprintf(key, sizeof(key), "%s_truncated", name);
	(void)json_object_set_new(result, key, json_boolean(capture->is_truncated));
}

/* Reports how the program ended, in the way that the options ask for. Returns the exit status. */
static int exec_report_result(struct exec_client *exec)
{
	const json_t *error = json_object_get(exec->result, "error");
	const char *code = json_string_value(json_object_get(error, "code"));
	int exit_code = CLI_EXIT_ERROR;

	if (exec->exits_before_program_ends)
		return exec->options.detach ? CLI_EXIT_OK : EXIT_STATUS_KILLED;
	if (!exec->result) {
		cli_print_error("session", "the session has ended, and with it the program");
		return CLI_EXIT_ERROR;
	}
	(void)json_object_set_new(exec->result, "libraries",
				  libraries_make_missing(json_object_get(exec->result, "denials")));
	if (json_is_integer(json_object_get(exec->result, "exit_code")))
		exit_code = (int)json_integer_value(json_object_get(exec->result, "exit_code"));
	else if (code && strcmp(code, "not_found") == 0)
		exit_code = CLI_EXIT_PROGRAM_NOT_FOUND;
	if (error)
		cli_print_error("session", "%s", json_string_value(json_object_get(error, "message")));
	if (exec->options.json) {
		exec_add_output_to_result(exec->result, "stdout", &exec->out);
		exec_add_output_to_result(exec->result, "stderr", &exec->err);
		if (cli_print_json("session", json_incref(exec->result)) != CLI_EXIT_OK)
			exit_code = CLI_EXIT_ERROR;
	} else if (!exec->options.quiet && isatty(STDERR_FILENO)) {
		summary_print_result(stderr, exec->result, SUMMARY_FIRST_DENIALS);
	}
	return exit_code;
}

static void exec_release(struct exec_client *exec)
{
	terminal_release(&exec->terminal);
	cleanup_close(&exec->socket_fd);
	cleanup_close(&exec->signal_fd);
	stdin_relay_release(&exec->stdin_relay);
	capture_release(&exec->out);
	capture_release(&exec->err);
	json_decref(exec->result);
	session_inspection_release(&exec->inspection);
	json_decref(exec->environment);
	cli_list_release(&exec->options.env);
}

/*
 * Checks that a session and a program are named, and the options. CLI_OPTIONS_PARSED, or CLI_EXIT_ERROR with a message.
 */
static int exec_check_arguments(const struct exec_options *options, int argc, char **argv)
{
	if (argc - optind >= 2 && strcmp(argv[optind + 1], "--") == 0) {
		argv[optind + 1] = argv[optind];
		optind++;
	}
	if (argc - optind < 2) {
		cli_print_error("session exec", "name the session and a program: callgate session exec ID PROGRAM");
		return cli_fail_usage("session exec");
	}
	if (options->detach && (options->tty || options->interactive || options->json)) {
		cli_print_error("session exec", "--detach leaves the program alone; leave out -i, --tty and --json");
		return CLI_EXIT_ERROR;
	}
	return CLI_OPTIONS_PARSED;
}

/* Tells which files were changed after they were looked at, unless the program goes on. */
static void exec_tell_changes(struct exec_client *exec, int dir_fd, const char *name)
{
	_cleanup_json_ json_t *changes = NULL;
	json_t *report;

	if (exec->exits_before_program_ends)
		return;
	changes = session_inspection_tell_changes(&exec->inspection, dir_fd, name);
	report = inspect_program_make_report(&exec->inspection.program, changes);
	if (report && exec->result)
		(void)json_object_set_new(exec->result, "inspect", report);
	else
		json_decref(report);
}

int session_main_exec(int argc, char **argv)
{
	struct exec_client exec = {.socket_fd = -1,
				   .signal_fd = -1,
				   .stdin_relay = {.source_fd = -1, .pipe_fd = -1},
				   .out = {.pipe_fd = -1, .spill_fd = -1},
				   .err = {.pipe_fd = -1, .spill_fd = -1},
				   .terminal = TERMINAL_NONE};
	const struct cli_syntax syntax = {
		.verb = "session exec",
		.usage = "Usage: callgate session exec [OPTION...] ID [--] PROGRAM [ARG...]\n\n"
			 "Runs PROGRAM in the session ID (its first letters suffice) until it has ended.\n\n",
		.epilogue = "\nExit status: the program's own, as of callgate run.\n",
		.table = {{NULL, exec_table, &exec.options}},
	};
	int status = cli_parse_options(argc, argv, &syntax);

	if (status == CLI_OPTIONS_PARSED)
		status = exec_check_arguments(&exec.options, argc, argv);
	if (status == CLI_OPTIONS_PARSED) {
		_cleanup_close_ int dir_fd = session_open_directory();
		_cleanup_free_ char *name = NULL;

		exec.socket_fd = dir_fd < 0 ? -1 : session_connect(dir_fd, argv[optind], &name);
		exec.signal_fd = exec.socket_fd < 0 ? -1 : exec_block_and_open_signals();
		status = exec.signal_fd < 0 ? CLI_EXIT_ERROR : exec_ask_for_program(&exec, argv + optind + 1);
		if (status == CLI_EXIT_OK) {
			exec_relay_until_end(&exec);
			terminal_leave_raw_mode(&exec.terminal);
			exec_tell_changes(&exec, dir_fd, name);
			status = exec_report_result(&exec);
		}
	}
	exec_release(&exec);
	return status;
}
