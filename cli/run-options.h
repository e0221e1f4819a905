/* The options of `callgate run` beyond those that say what is allowed. */
#ifndef CALLGATE_CLI_RUN_OPTIONS_H
#define CALLGATE_CLI_RUN_OPTIONS_H

#include <stdbool.h>

#include "cli/options.h"
#include "keeper/summary.h"

/* Zero-initialise by run_options_parse; run_options_done releases. */
struct run_options {
	struct cli_policy_options policy;
	struct cli_list input;
	struct cli_list artifact;
	const char *output; /* --output, NULL: nothing is kept. The texts borrow from argv */
	const char *audit;  /* --audit, NULL: what the policy says */
	const char *setup;  /* --setup: a shell's command, NULL: none */
	bool json;
	bool interactive;
	bool tty;             /* implies interactive */
	bool die_with_parent;
	bool quiet;
	bool verbose;
	bool events_given;
	enum summary_events events;
	int status_fd; /* -1: none */
	char **argv;   /* the program and its arguments, NULL-ended, in main's argv */
};

/* 0; 1: --help or --version was answered, *ret_exit is the exit status; -1: a message was printed, CLI_ERROR. */
int run_options_parse(int argc, char **argv, struct run_options *ret_options, int *ret_exit);
void run_options_done(struct run_options *options);

#endif
