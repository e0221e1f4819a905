#include "cli/run/options.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <limits.h>
#include <string.h>

#include "base/buf.h"
#include "base/text.h"
#include "cli/cli.h"

#include "base/banned.h"

enum run_opt {
	RUN_OPT_JSON = CLI_OPT_VERB,
	RUN_OPT_SETUP,
	RUN_OPT_AUDIT,
	RUN_OPT_INPUT,
	RUN_OPT_OUTPUT,
	RUN_OPT_ARTIFACT,
	RUN_OPT_EVENTS,
	RUN_OPT_STATUS_FD,
	RUN_OPT_TTY,
	RUN_OPT_DIE_WITH_PARENT,
};

static const struct option run_longs[] = {
	CLI_POLICY_LONGS,
	{"json", no_argument, NULL, RUN_OPT_JSON},
	{"setup", required_argument, NULL, RUN_OPT_SETUP},
	{"audit", required_argument, NULL, RUN_OPT_AUDIT},
	{"input", required_argument, NULL, RUN_OPT_INPUT},
	{"output", required_argument, NULL, RUN_OPT_OUTPUT},
	{"artifact", required_argument, NULL, RUN_OPT_ARTIFACT},
	{"events", required_argument, NULL, RUN_OPT_EVENTS},
	{"status-fd", required_argument, NULL, RUN_OPT_STATUS_FD},
	{"tty", no_argument, NULL, RUN_OPT_TTY},
	{"die-with-parent", no_argument, NULL, RUN_OPT_DIE_WITH_PARENT},
	{"interactive", no_argument, NULL, 'i'},
	{"quiet", no_argument, NULL, 'q'},
	{"verbose", no_argument, NULL, 'v'},
	{NULL, 0, NULL, 0},
};

static int run_help(void)
{
	_cleanup_buf_ struct buf text = {0};

	buf_puts(&text, "Usage: callgate run [OPTION...] [--] PROGRAM [ARG...]\n\n"
			"Runs PROGRAM; every file, process and network call it makes is judged by the policy.\n\n"
			"What is allowed:\n");
	buf_puts(&text, cli_policy_help());
	buf_puts(&text,
		 "\nThe run:\n"
		 "      --setup COMMAND   first run sh -c COMMAND in the policy's phase setup; PROGRAM is run when\n"
		 "                        that has ended with 0 and all processes it started are dead\n"
		 "      --json            print one JSON result on stdout instead of the program's output\n"
		 "      --audit FILE      write one audit record per decision to FILE\n"
		 "      --input FILE      copy FILE into the workdir first (repeatable)\n"
		 "      --output DIR      keep what the run added or modified in its workdir\n"
		 "      --artifact GLOB   keep only what matches GLOB below the workdir (repeatable)\n"
		 "      --events WHAT     at the end, on stderr: none, summary, blocked or all\n"
		 "      --status-fd N     write a JSON line to file descriptor N at the start and at the end\n"
		 "  -i, --interactive     the program reads callgate's standard input (default: empty input)\n"
		 "      --tty             the program gets a terminal of its own, joined to callgate's; with -i\n"
		 "      --die-with-parent end the run when the process that started callgate ends\n"
		 "  -q, --quiet           print only callgate's error messages\n"
		 "  -v, --verbose         the same as --events blocked\n\n"
		 "Exit status: the program's own; 128+n when a signal ended it; 124 timeout; 125 an error of\n"
		 "callgate's; 126 the policy refuses PROGRAM; 127 PROGRAM not found.  See callgate(1).\n");
	return cli_print_buf("run", &text);
}

static int run_take_events(struct run_options *options, const char *value)
{
	static const char *const names[] = {
		[SUMMARY_NONE] = "none", [SUMMARY_SUMMARY] = "summary", [SUMMARY_BLOCKED] = "blocked",
		[SUMMARY_ALL] = "all",
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(value, names[i]) == 0) {
			options->events = (enum summary_events)i;
			options->events_given = true;
			return 0;
		}
	cli_error("run", "--events %s: must be none, summary, blocked or all", value);
	return -EINVAL;
}

static int run_take_status_fd(struct run_options *options, const char *value)
{
	uint64_t fd;

	if (text_number(value, 0, INT_MAX, &fd) < 0 || fcntl((int)fd, F_GETFD) < 0) {
		cli_error("run", "--status-fd %s: must be the number of an open file descriptor", value);
		return -EINVAL;
	}
	options->status_fd = (int)fd;
	return 0;
}

static int run_take(struct run_options *options, int opt, const char *value)
{
	bool *flag = opt == RUN_OPT_JSON              ? &options->json
		     : opt == RUN_OPT_DIE_WITH_PARENT ? &options->die_with_parent
		     : opt == RUN_OPT_TTY             ? &options->tty
		     : opt == 'i'                     ? &options->interactive
		     : opt == 'q'                     ? &options->quiet
		     : opt == 'v'                     ? &options->verbose
						      : NULL;
	const char **text = opt == RUN_OPT_SETUP    ? &options->setup
			    : opt == RUN_OPT_AUDIT  ? &options->audit
			    : opt == RUN_OPT_OUTPUT ? &options->output
						    : NULL;

	if (flag)
		*flag = true;
	if (text)
		*text = value;
	if (opt == RUN_OPT_TTY)
		options->interactive = true;
	if (opt == RUN_OPT_INPUT || opt == RUN_OPT_ARTIFACT)
		return cli_list_take(opt == RUN_OPT_INPUT ? &options->input : &options->artifact, strdup(value));
	if (opt == RUN_OPT_EVENTS)
		return run_take_events(options, value);
	return opt == RUN_OPT_STATUS_FD ? run_take_status_fd(options, value) : 0;
}

/* Options that need or exclude each other. 0, or -1 with a message. */
static int run_check_options(const struct run_options *options, int left)
{
	const char *wrong = left == 0 ? "no program named; see callgate run --help"
			    : options->setup && options->policy.phase_given
				    ? "--setup goes through both phases; leave out --phase"
			    : options->artifact.count > 0 && !options->output
				    ? "--artifact chooses what --output keeps: name a directory with --output"
				    : NULL;

	if (wrong)
		cli_error("run", "%s", wrong);
	return wrong ? -1 : 0;
}

int run_options_parse(int argc, char **argv, struct run_options *ret_options, int *ret_exit)
{
	static char name[] = "callgate run"; /* the prefix of cli_getopt's messages */
	struct run_options *options = ret_options;
	int opt, ret;

	argv[0] = name;
	*options = (struct run_options){.status_fd = -1};
	*ret_exit = CLI_ERROR;
	while ((opt = cli_getopt(argc, argv, "+" CLI_POLICY_SHORTS "iqv", run_longs)) != -1) {
		if (opt == CLI_OPT_HELP || opt == CLI_OPT_VERSION) {
			*ret_exit = opt == CLI_OPT_HELP ? run_help() : cli_version();
			return 1;
		}
		if (opt == '?' || opt == ':') {
			*ret_exit = cli_usage_error("run");
			return -1;
		}
		ret = cli_policy_option(&options->policy, "run", opt, optarg);
		if (ret == 0)
			ret = run_take(options, opt, optarg);
		if (ret == -ENOMEM)
			(void)cli_no_memory("run");
		if (ret < 0)
			return -1;
	}
	options->argv = argv + optind;
	return run_check_options(options, argc - optind);
}

void run_options_done(struct run_options *options)
{
	cli_policy_options_done(&options->policy);
	cli_list_done(&options->input);
	cli_list_done(&options->artifact);
}
