#include "cli/run/options.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/text.h"

#define SESSION_IDLE_DEFAULT_NS UINT64_C(3600000000000)          /* default of --idle */
#define SIGTERM_GRACE_DEFAULT_NS UINT64_C(2000000000)            /* default of --kill-after and --grace */
#define STATUS_INTERVAL_DEFAULT_NS UINT64_C(1000000000)
#define DURATION_NOT_GIVEN UINT64_MAX /* until the options are checked: the default is set afterwards */
#define ASK_TIMEOUT_DEFAULT_NS UINT64_C(60000000000)             /* default of --ask-timeout */
#define STATUS_OR_ANCHOR_INTERVAL_MIN_NS UINT64_C(100000000)
#define LOG_ROTATE_BYTES_MIN (64u << 10)
#define TIME_OPTION_MAX_NS (UINT64_C(24) * 3600 * 1000000000) /* longest time that an option of callgate run accepts */

/* Setter of which denials and events the run prints: none, summary, blocked or all. */
static int run_set_events(const struct cli_given_option *given, void *all)
{
	static const char *const names[] = {
		[SUMMARY_NO_EVENTS] = "none", [SUMMARY_FIRST_DENIALS] = "summary", [SUMMARY_ALL_DENIALS] = "blocked",
		[SUMMARY_ALL_EVENTS] = "all",
	};
	struct run_options *options = all;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(given->value, names[i]) == 0) {
			options->events = (enum summary_events)i;
			options->events_were_given = true;
			return 0;
		}
	return cli_refuse_value(given, "must be none, summary, blocked or all");
}

static int run_set_mode(const struct cli_given_option *given, void *observe)
{
	bool wanted = strcmp(given->value, "observe") == 0;

	if (!wanted && strcmp(given->value, "enforce") != 0)
		return cli_refuse_value(given, "must be enforce or observe");
	*(bool *)observe = wanted;
	return 0;
}

static int run_set_status_fd(const struct cli_given_option *given, void *status_fd)
{
	uint64_t fd;

	if (text_parse_number(given->value, 0, INT_MAX, &fd) < 0 || fcntl((int)fd, F_GETFD) < 0)
		return cli_refuse_value(given, "must be the number of an open file descriptor");
	*(int *)status_fd = (int)fd;
	return 0;
}

static int run_set_rotate(const struct cli_given_option *given, void *rotate_bytes)
{
	uint64_t bytes;

	if (text_parse_size(given->value, &bytes) < 0 || bytes < LOG_ROTATE_BYTES_MIN)
		return cli_refuse_value(given, "must be a size of at least 64K");
	*(uint64_t *)rotate_bytes = bytes;
	return 0;
}

/*
 * Sets the number of lines or the time of --anchor-every. `field` is anchor_every_lines, after which struct run_options
 * has anchor_every_ns.
 */
static int run_set_anchor_interval(const struct cli_given_option *given, void *field)
{
	uint64_t *every = field;

	every[0] = every[1] = 0;
	if (text_parse_number(given->value, 1, UINT32_MAX, &every[0]) == 0)
		return 0;
	if (text_parse_duration(given->value, &every[1]) < 0 || every[1] < STATUS_OR_ANCHOR_INTERVAL_MIN_NS ||
	    every[1] > TIME_OPTION_MAX_NS)
		return cli_refuse_value(given, "must be a number of lines, or a time of 100ms to 24h");
	return 0;
}

/* Sets a time of 0 to 24 hours. */
static int run_set_duration(const struct cli_given_option *given, void *time_ns)
{
	uint64_t ns;

	if (text_parse_duration(given->value, &ns) < 0)
		return cli_refuse_value(given, "is no time; write one such as 2s, 500ms or 0");
	if (ns > TIME_OPTION_MAX_NS)
		return cli_refuse_value(given, "is out of range; write a time of at most 24h");
	*(uint64_t *)time_ns = ns;
	return 0;
}

/* Setter of --cow, with or without "copy". */
static int run_set_workspace(const struct cli_given_option *given, void *all)
{
	struct run_options *options = all;

	if (given->value && strcmp(given->value, "copy") != 0)
		return cli_refuse_value(given, "must be copy, or left out");
	options->uses_workspace = true;
	options->policy.cli.workspace = POLICY_WORKSPACE_COW;
	options->copies_workspace = given->value != NULL;
	return 0;
}

/* Adds a directory of --cow-dir, which becomes canonical here. */
static int run_add_workspace_dir(const struct cli_given_option *given, void *dirs)
{
	char *path = realpath(given->value, NULL);

	return path ? cli_list_add_owned(dirs, path) : cli_refuse_value(given, "cannot be used: %s", strerror(errno));
}

/* Sets where to ask: "socket:PATH", "command:COMMAND", "fd:N" or "tty". */
static int run_set_approve(const struct cli_given_option *given, void *approve)
{
	static const char *const kinds[] = {"socket:", "command:", "fd:", NULL};
	const char *const *kind = kinds;

	while (*kind && (strncmp(given->value, *kind, strlen(*kind)) != 0 || !given->value[strlen(*kind)]))
		kind++;
	/* the parameter is 1 for a session, which goes on in the background */
	if (!*kind && (given->setter_param == 1 || strcmp(given->value, "tty") != 0))
		return cli_refuse_value(given, "must be socket:PATH, command:COMMAND%s",
					given->setter_param == 1 ? " or fd:N; a session has no terminal"
								 : ", fd:N or tty");
	*(const char **)approve = given->value;
	return 0;
}

#define FIELD_OFFSET(member) offsetof(struct run_options, member)

/* Options that run and session create have in common. */
#define SIGN_KEY_OPTION_ROW \
	CLI_TEXT("sign-key", "FILE", "sign the log with this key of callgate key new (default: one made for the run)", \
		 FIELD_OFFSET(sign_key_path))
#define SINK_OPTION_ROW \
	CLI_TEXT("audit-sink", "KIND[:PATH]", \
		 "tell each denial to the system's log, too: syslog or journald, at its usual socket or PATH", \
		 FIELD_OFFSET(sink_name))
#define INPUT_OPTION_ROW \
	CLI_LIST("input", 0, "FILE", "copy FILE, or a directory with its tree, into the workdir first (repeatable)", \
		 FIELD_OFFSET(input_paths))
#define COW_OPTION_ROW                                                                                       \
	{                                                                                                    \
		"cow", 0, "[=copy]",                                                                         \
			"copy on write: leave the directory of -w as it is; what is written there goes to\n" \
			"a workspace, which callgate ws list shows and callgate ws discard removes;\n"       \
			"copy: by a copy also where an overlay can be mounted",                              \
			run_set_workspace, 0, 0                                                              \
	}
#define COW_DIR_OPTION_ROW                                                                                       \
	{                                                                                                        \
		"cow-dir", 0, "DIR",                                                                             \
			"leave DIR as it is, too: as --cow does for the directory of -w, with which or alone;\n" \
			"grants nothing (repeatable)",                                                           \
			run_add_workspace_dir, FIELD_OFFSET(workspace_dirs), 0                                   \
	}
#define APPROVALS_OPTION_ROW                                                                                           \
	CLI_TEXT("approvals", "FILE", "with --approve: keep answers that are to be remembered for later runs in FILE", \
		 FIELD_OFFSET(approvals_file))
#define QUIET_OPTION_ROW CLI_FLAG("quiet", 'q', "print only callgate's error messages", FIELD_OFFSET(is_quiet))

static const struct cli_option run_table[] = {
	{"setup", 0, "COMMAND",
	 "first run sh -c COMMAND in the policy's phase setup; PROGRAM is run when\n"
	 "that has ended with 0 and all processes it started are dead",
	 cli_set_text, FIELD_OFFSET(setup_command), 0},
	{"mode", 0, "enforce|observe",
	 "observe: perform what the policy would deny, and say so in each record;\n"
	 "what is written outside the workdir goes to a scratch directory",
	 run_set_mode, FIELD_OFFSET(observes), 0},
	CLI_FLAG("really", 0, "with --mode observe: write outside the workdir, too",
		 FIELD_OFFSET(writes_outside_workdir)),
	CLI_FLAG("allow-risky", 0, "with --mode observe: read secrets, too (ssh, gpg, .env, histories, ...)",
		 FIELD_OFFSET(allow_risky)),
	CLI_FLAG("dry-run", 0,
		 "change no file: all that is written goes to a scratch directory, and the\n"
		 "result lists it",
		 FIELD_OFFSET(is_dry_run)),
	COW_OPTION_ROW,
	COW_DIR_OPTION_ROW,
	CLI_TEXT("ask", "DIR",
		 "write a question to DIR for each call that the policy denies with \"on_deny\":\n"
		 "\"ask-file\", and wait for its answer, a file of DIR: allow, deny or kill",
		 FIELD_OFFSET(ask_dir)),
	{"approve", 0, "WHERE",
	 "ask there about each call that the policy denies with \"on_deny\": \"ask\":\n"
	 "socket:PATH, command:COMMAND, which is run for each question, fd:N, a socket that is\n"
	 "open already, or tty",
	 run_set_approve, FIELD_OFFSET(approve), 0},
	APPROVALS_OPTION_ROW,
	{"ask-timeout", 0, "TIME", "with --ask, --approve: deny what is not answered after TIME (default 60s)",
	 run_set_duration, FIELD_OFFSET(ask_timeout_ns), 0},
	CLI_FLAG("json", 0, "print one JSON result on stdout instead of the program's output", FIELD_OFFSET(json)),
	CLI_TEXT("audit", "FILE", "write one audit record per decision to FILE", FIELD_OFFSET(audit_path)),
	{"audit-rotate", 0, "SIZE", "go on in FILE.1, FILE.2 ... when a file of the log has SIZE (at least 64K)",
	 run_set_rotate, FIELD_OFFSET(rotate_bytes), 0},
	SIGN_KEY_OPTION_ROW,
	CLI_TEXT("attest", "FILE", "write a signed statement of what ran, and how, to FILE (with --audit)",
		 FIELD_OFFSET(attest_path)),
	CLI_TEXT("anchor", "PLACE",
		 "put signed checkpoints of the log there: FILE, fd:N or command:COMMAND, which reads them",
		 FIELD_OFFSET(anchor_place)),
	{"anchor-every", 0, "N|TIME", "how often: after N lines (default 1000) or each TIME, such as 5s",
	 run_set_anchor_interval, FIELD_OFFSET(anchor_every_lines), 0},
	SINK_OPTION_ROW,
	INPUT_OPTION_ROW,
	CLI_TEXT("output", "DIR", "keep what the run added or modified in its workdir", FIELD_OFFSET(output_dir)),
	CLI_LIST("artifact", 0, "GLOB", "keep only what matches GLOB below the workdir (repeatable)",
		 FIELD_OFFSET(artifact_globs)),
	{"events", 0, "WHAT", "at the end, on stderr: none, summary, blocked or all", run_set_events, 0, 0},
	CLI_FLAG("status", 0, "show a status line on stderr, also while the program's output is on that terminal",
		 FIELD_OFFSET(shows_status_line)),
	{"status-fd", 0, "N", "write a JSON line to file descriptor N at the start, at the end and meanwhile",
	 run_set_status_fd, FIELD_OFFSET(status_fd), 0},
	{"status-every", 0, "TIME", "how often --status-fd gets a line during the run (default 1s); 0: never",
	 run_set_duration, FIELD_OFFSET(status_every_ns), 0},
	CLI_FLAG("inspect", 0,
		 "look at the program first (callgate inspect): warn of what is of note, refuse to start it\n"
		 "for an alarm; or what \"inspect\" of the policy says",
		 FIELD_OFFSET(inspects)),
	CLI_TEXT("metrics", "FILE", "at the end, write the run's numbers to FILE in the OpenMetrics format",
		 FIELD_OFFSET(metrics_path)),
	CLI_FLAG("interactive", 'i', "the program reads callgate's standard input (default: empty input)",
		 FIELD_OFFSET(reads_stdin)),
	CLI_FLAG("tty", 0, "the program gets a terminal of its own, joined to callgate's; with -i", FIELD_OFFSET(tty)),
	{"kill-after", 0, "TIME",
	 "a signal to callgate is passed on to the program; after TIME (default 2s)\n"
	 "or a second signal the run is ended; 0: it ends at once",
	 run_set_duration, FIELD_OFFSET(kill_after_ns), 0},
	{"grace", 0, "TIME", "at the limit of -t the program gets SIGTERM; the run is ended TIME (default 2s) later",
	 run_set_duration, FIELD_OFFSET(grace_ns), 0},
	CLI_FLAG("die-with-parent", 0, "end the run when the process that started callgate ends",
		 FIELD_OFFSET(dies_with_parent)),
	QUIET_OPTION_ROW,
	CLI_FLAG("verbose", 'v', "the same as --events blocked", FIELD_OFFSET(is_verbose)),
	{0},
};

static int run_set_idle(const struct cli_given_option *given, void *idle_ns)
{
	if (text_parse_duration(given->value, idle_ns) < 0)
		return cli_refuse_value(given, "is no time; write one such as 10m or 1h, or 0 for never");
	return 0;
}

/* Sets the descriptor of a connected socket. While the socket's other end is open, the session goes on. */
static int run_set_holder_fd(const struct cli_given_option *given, void *holder_fd)
{
	int type = 0;
	socklen_t len = sizeof(type);
	uint64_t fd;

	if (text_parse_number(given->value, 3, INT_MAX, &fd) < 0 ||
	    getsockopt((int)fd, SOL_SOCKET, SO_TYPE, &type, &len) < 0 || type != SOCK_SEQPACKET ||
	    fcntl((int)fd, F_SETFD, FD_CLOEXEC) < 0 || fcntl((int)fd, F_SETFL, O_NONBLOCK) < 0)
		return cli_refuse_value(given, "must be the number, 3 or more, of a unix socket (SOCK_SEQPACKET)");
	*(int *)holder_fd = (int)fd;
	return 0;
}

/* The title of the policy's options in --help; load.c has this default. */
#define WHAT_IS_ALLOWED "What is allowed (default: --profile minimal, and PROGRAM may be executed):\n"

static const struct cli_option session_table[] = {
	{"idle", 0, "TIME", "end the session when nothing has run for TIME (default 1h); 0: never", run_set_idle,
	 FIELD_OFFSET(session_idle_ns), 0},
	{"hold-fd", 0, "N",
	 "file descriptor N is a connection of the session's protocol; a request\n"
	 "{\"op\": \"hold\"} on it ends the session when the other end is closed",
	 run_set_holder_fd, FIELD_OFFSET(session_holder_fd), 0},
	CLI_TEXT("audit", "FILE", "write one audit record per decision to FILE; each says which program",
		 FIELD_OFFSET(audit_path)),
	SIGN_KEY_OPTION_ROW,
	SINK_OPTION_ROW,
	COW_OPTION_ROW,
	COW_DIR_OPTION_ROW,
	INPUT_OPTION_ROW,
	{"approve", 0, "WHERE",
	 "ask there about each call that the policy denies with \"on_deny\": \"ask\":\n"
	 "socket:PATH, command:COMMAND, or fd:N, a socket that is open already",
	 run_set_approve, FIELD_OFFSET(approve), 1},
	APPROVALS_OPTION_ROW,
	{"ask-timeout", 0, "TIME", "with --approve: deny what is not answered after TIME (default 60s)",
	 run_set_duration, FIELD_OFFSET(ask_timeout_ns), 0},
	QUIET_OPTION_ROW,
	{0},
};

const char *run_find_conflict_with_workspace(const struct run_options *options, bool has_dirs)
{
	const bool keeps_workdir = options->uses_workspace && options->policy.workdir;

	if (!options->uses_workspace && !has_dirs)
		return NULL;
	if (!keeps_workdir && !has_dirs)
		return "--cow is for a directory of yours; name one with -w";
	if (options->is_dry_run)
		return "--cow keeps what is written and --dry-run does not; leave out one of them";
	if (options->observes)
		return "--mode observe writes to the directory of -w, which --cow leaves as it is; leave out one of "
		       "them";
	if (options->output_dir && keeps_workdir)
		return "--output keeps what is written to the directory of -w, and with --cow nothing is; leave out "
		       "one of them";
	return NULL;
}

/* Returns what is wrong with the options of --approve and --ask, or NULL. */
static const char *run_find_conflict_with_approval(const struct run_options *options)
{
	if (options->approvals_file && !options->approve)
		return "--approvals keeps answers of --approve; add that";
	if (options->ask_timeout_ns != DURATION_NOT_GIVEN && !options->ask_dir && !options->approve)
		return "--ask-timeout is for questions of --approve or --ask; add one of them";
	return (options->ask_dir || options->approve) && options->ask_timeout_ns == 0
		       ? "--ask-timeout 0 leaves no time for an answer; write one such as 60s"
		       : NULL;
}

/* Prints what is wrong, if anything is. CLI_OPTIONS_PARSED or CLI_EXIT_ERROR. */
static int run_refuse_options(const char *verb, const char *wrong)
{
	if (wrong)
		cli_print_error(verb, "%s", wrong);
	return wrong ? CLI_EXIT_ERROR : CLI_OPTIONS_PARSED;
}

/*
 * Refuses options of --approve, --ask and --cow that exclude each other, or that need an option which is missing.
 * Then sets the durations that were not given.
 * CLI_OPTIONS_PARSED, or CLI_EXIT_ERROR with a message.
 */
static int run_check_common_options(const char *verb, struct run_options *options)
{
	const char *wrong = run_find_conflict_with_approval(options);

	if (!wrong)
		wrong = run_find_conflict_with_workspace(options, options->workspace_dirs.count > 0);
	if (options->ask_timeout_ns == DURATION_NOT_GIVEN)
		options->ask_timeout_ns = ASK_TIMEOUT_DEFAULT_NS;
	if (options->status_every_ns == DURATION_NOT_GIVEN)
		options->status_every_ns = STATUS_INTERVAL_DEFAULT_NS;
	return run_refuse_options(verb, wrong);
}

/*
 * Refuses options that exclude each other, or that need an option which is missing. CLI_OPTIONS_PARSED, or
 * CLI_EXIT_ERROR with a message.
 */
static int run_check_options(struct run_options *options, int left)
{
	const char *wrong =
		left == 0 ? "no program named; see callgate run --help"
		: options->setup_command && options->policy.phase_was_given
			? "--setup goes through both phases; leave out --phase"
		: options->shows_status_line && options->is_quiet
			? "--status shows a line and --quiet shows none; leave out one of them"
		: options->shows_status_line && options->tty
			? "with --tty the terminal is the program's; use --status-fd instead of --status"
		: options->artifact_globs.count > 0 && !options->output_dir
			? "--artifact chooses what --output keeps: name a directory with --output"
		: options->status_every_ns != DURATION_NOT_GIVEN && options->status_fd < 0
			? "--status-every is for --status-fd; add that"
		: (options->anchor_every_lines || options->anchor_every_ns) && !options->anchor_place
			? "--anchor-every is for --anchor; add that"
		: options->writes_outside_workdir && !options->observes ? "--really is for --mode observe; add that"
		: options->allow_risky && !options->observes
			? "--allow-risky is for --mode observe; add that, or grant the files with -r"
		: options->writes_outside_workdir && options->is_dry_run
			? "--really writes files and --dry-run does not; leave out one of them"
		: options->is_dry_run && options->input_paths.count > 0 && options->policy.workdir
			? "--input would write to the directory of -w, which --dry-run leaves as it is; "
			  "leave out one of them"
		: options->is_dry_run && options->output_dir
			? "--dry-run leaves nothing that --output could keep; leave out one of them"
		: options->ask_dir && options->observes
			? "--mode observe performs what --ask would ask about; leave out one of them"
		: options->ask_dir && options->is_dry_run
			? "--dry-run changes no file, and what --ask allows would; leave out one of them"
		: options->ask_dir && options->setup_command
			? "--ask is for the program, not for --setup; run the setup by itself"
		: options->ask_dir && options->approve
			? "--ask and --approve are two ways to ask; leave out one of them"
		: options->approve && options->observes
			? "--mode observe performs what --approve would ask about; leave out one of them"
		: options->approve && options->is_dry_run
			? "--dry-run changes no file, and what an answer allows would; leave out one of them"
		: options->approve && options->setup_command
			? "--approve is for the program, not for --setup; run the setup by itself"
		: options->setup_command && (options->is_dry_run || options->observes)
			? "with --dry-run or --mode observe the program would not see what --setup has "
			  "written; run one of the two, without --setup"
			: NULL;

	return wrong ? run_refuse_options("run", wrong) : run_check_common_options("run", options);
}

int run_parse_options(int argc, char **argv, struct run_options *ret_options)
{
	struct run_options *options = ret_options;
	const struct cli_syntax syntax = {
		.verb = "run",
		.usage = "Usage: callgate run [OPTION...] [--] PROGRAM [ARG...]\n\n"
			 "Runs PROGRAM; every file, process and network call it makes is judged by the policy.\n\n",
		.epilogue =
			"\nExit status: the program's own; 128+n when a signal ended it; 124 timeout; 125 an error of\n"
			"callgate's; 126 the policy refuses PROGRAM; 127 PROGRAM not found.  See callgate(1).\n",
		.table = {{WHAT_IS_ALLOWED, cli_get_policy_table(), &options->policy},
			  {"\nThe run:\n", run_table, options}},
	};
	int status;

	*options = (struct run_options){.status_fd = -1,
					.status_every_ns = DURATION_NOT_GIVEN,
					.kill_after_ns = SIGTERM_GRACE_DEFAULT_NS,
					.grace_ns = SIGTERM_GRACE_DEFAULT_NS,
					.ask_timeout_ns = DURATION_NOT_GIVEN};
	status = cli_parse_options(argc, argv, &syntax);
	if (status != CLI_OPTIONS_PARSED)
		return status;
	options->reads_stdin = options->reads_stdin || options->tty;
	options->argv = argv + optind;
	options->policy.cli.workspace_dirs = (const char *const *)options->workspace_dirs.item;
	return run_check_options(options, argc - optind);
}

int run_parse_session_options(int argc, char **argv, struct run_options *ret_options)
{
	static char interpreter[] = "python3";
	static char *default_argv[] = {interpreter, NULL};
	struct run_options *options = ret_options;
	const struct cli_syntax syntax = {
		.verb = "session create",
		.usage = "Usage: callgate session create [OPTION...] [[--] PROGRAM]\n\n"
			 "Makes a sandbox in which callgate session exec runs programs, and prints its id.\n"
			 "PROGRAM (default python3) is what @interpreter of a policy stands for.\n\n",
		.table = {{WHAT_IS_ALLOWED, cli_get_policy_table(), &options->policy},
			  {"\nThe session:\n", session_table, options}},
	};
	int status;

	*options = (struct run_options){.status_fd = -1,
					.session_idle_ns = SESSION_IDLE_DEFAULT_NS,
					.session_holder_fd = -1,
					.ask_timeout_ns = DURATION_NOT_GIVEN};
	status = cli_parse_options(argc, argv, &syntax);
	if (status != CLI_OPTIONS_PARSED)
		return status;
	options->argv = optind < argc ? argv + optind : default_argv;
	options->names_program = optind < argc;
	options->policy.cli.workspace_dirs = (const char *const *)options->workspace_dirs.item;
	return run_check_common_options("session create", options);
}

void run_options_release(struct run_options *options)
{
	cli_policy_options_release(&options->policy);
	cli_list_release(&options->workspace_dirs);
	cli_list_release(&options->input_paths);
	cli_list_release(&options->artifact_globs);
}
