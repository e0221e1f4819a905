/*
 * The options that say what is allowed. run, show and why share them, so that all three compose the same policy.
 *
 *	static const struct option longs[] = { CLI_POLICY_LONGS, {"json", no_argument, NULL, MY_JSON}, {0} };
 *	while ((opt = cli_getopt(argc, argv, "+" CLI_POLICY_SHORTS "q", longs)) != -1) {
 *		ret = cli_policy_option(&policy_options, "run", opt, optarg);
 *		…
 */
#ifndef CALLGATE_CLI_OPTIONS_H
#define CALLGATE_CLI_OPTIONS_H

#include <getopt.h>
#include <stdbool.h>
#include <stddef.h>

#include "policy/policy.h"

#define CLI_POLICY_SHORTS "p:w:r:W:x:e:t:m:"

/* Long options without a letter of their own; a verb numbers its own from CLI_OPT_VERB on. */
enum cli_policy_opt {
	CLI_OPT_PROFILE = 256,
	CLI_OPT_OUTPUT_LIMIT,
	CLI_OPT_CPU,
	CLI_OPT_PIDS,
	CLI_OPT_OPEN_FILES,
	CLI_OPT_FILE_SIZE,
	CLI_OPT_DISK,
	CLI_OPT_AUDIT_LIMIT,
	CLI_OPT_REQUIRE,
	CLI_OPT_USER,
	CLI_OPT_WITHOUT,
	CLI_OPT_ALLOW_HOST,
	CLI_OPT_ALLOW,
	CLI_OPT_NO_NET,
	CLI_OPT_SECRET,
	CLI_OPT_PHASE,
	CLI_OPT_HELP,    /* --help, answered by the verb */
	CLI_OPT_VERSION, /* --version, answered by the verb (cli_version) */
	CLI_OPT_VERB = 320,
};

/* clang-format off */
#define CLI_POLICY_LONGS \
	{"policy", required_argument, NULL, 'p'}, \
	{"profile", required_argument, NULL, CLI_OPT_PROFILE}, \
	{"workdir", required_argument, NULL, 'w'}, \
	{"allow-read", required_argument, NULL, 'r'}, \
	{"allow-write", required_argument, NULL, 'W'}, \
	{"allow-exec", required_argument, NULL, 'x'}, \
	{"env", required_argument, NULL, 'e'}, \
	{"timeout", required_argument, NULL, 't'}, \
	{"memory", required_argument, NULL, 'm'}, \
	{"cpu", required_argument, NULL, CLI_OPT_CPU}, \
	{"pids", required_argument, NULL, CLI_OPT_PIDS}, \
	{"open-files", required_argument, NULL, CLI_OPT_OPEN_FILES}, \
	{"file-size", required_argument, NULL, CLI_OPT_FILE_SIZE}, \
	{"disk", required_argument, NULL, CLI_OPT_DISK}, \
	{"output-limit", required_argument, NULL, CLI_OPT_OUTPUT_LIMIT}, \
	{"audit-limit", required_argument, NULL, CLI_OPT_AUDIT_LIMIT}, \
	{"require", required_argument, NULL, CLI_OPT_REQUIRE}, \
	{"user", required_argument, NULL, CLI_OPT_USER}, \
	{"without", required_argument, NULL, CLI_OPT_WITHOUT}, \
	{"allow-host", required_argument, NULL, CLI_OPT_ALLOW_HOST}, \
	{"allow", required_argument, NULL, CLI_OPT_ALLOW}, \
	{"no-net", no_argument, NULL, CLI_OPT_NO_NET}, \
	{"secret", required_argument, NULL, CLI_OPT_SECRET}, \
	{"phase", required_argument, NULL, CLI_OPT_PHASE}, \
	{"help", no_argument, NULL, CLI_OPT_HELP}, \
	{"version", no_argument, NULL, CLI_OPT_VERSION}
/* clang-format on */

/* The help text of these options, without --help and --version; that of the two. */
const char *cli_policy_help(void);
#define CLI_COMMON_HELP \
	"      --help                print this\n" \
	"      --version             print the version\n"

/* A NULL-ended list of owned strings that grows. Zero-initialise. */
struct cli_list {
	char **item; /* NULL while empty */
	size_t count;
};

/* Adds text, which it takes also on failure. NULL stands for no memory. 0 or -ENOMEM. */
int cli_list_take(struct cli_list *list, char *text);
void cli_list_done(struct cli_list *list);

/* Zero-initialise; cli_policy_options_done releases. */
struct cli_policy_options {
	struct cli_list names; /* -p and --profile, in the order given */
	struct cli_list read, write, exec, env;
	struct cli_list allow_host; /* endpoints */
	struct cli_list allow;      /* HTTP requests */
	struct cli_list secret;
	bool no_net;
	enum policy_phase phase;
	bool phase_given;
	struct policy_draft *draft;  /* what was already read of the policy; NULL: nothing; the caller's */
	const char *workdir_named;   /* -w as it was written, in main's argv */
	char *workdir;               /* -w: canonical host directory; NULL: not given; owned */
	struct policy_limits limits; /* -t, -m, --cpu, … */
	unsigned limits_given;       /* which of them: POLICY_LIMIT_BITs */
	const char *user;            /* --user, in main's argv; NULL: not given */
	unsigned required;           /* --require: LAYER_BITs */
	unsigned without;            /* --without: LAYER_BITs; not part of the policy, used by run alone */
};

/* 1: took the option. 0: not an option of these. -EINVAL, -ENOMEM: a message is printed. */
int cli_policy_option(struct cli_policy_options *options, const char *verb, int opt, const char *value);

void cli_policy_options_done(struct cli_policy_options *options);
#define _cleanup_policy_options_ __attribute__((cleanup(cli_policy_options_done)))

#endif
