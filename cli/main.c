/* The main function of callgate. It calls the verb that the command line names. */
#include <signal.h>
#include <string.h>

#include "base/buf.h"
#include "base/text.h"
#include "cli/cli.h"
#include "confine/filter.h"

static const struct verb {
	const char *name;
	int (*run)(int argc, char **argv);
	const char *help;
} verbs[] = {
	{"run", cli_main_run, "run a program under a policy"},
	{"check", cli_main_check, "report what is wrong with a policy"},
	{"show", cli_main_show, "print the effective policy"},
	{"why", cli_main_why, "explain how one access would be decided, and by which rule"},
	{"policy", cli_main_policy, "compare policies, without running anything"},
	{"audit", cli_main_audit, "read the audit log of a run"},
	{"compare", cli_main_compare, "run a program under several policies and show where the runs part"},
	{"experiment", cli_main_experiment, "run programs, inputs and policies by a plan, and report"},
	{"replay", cli_main_replay, "judge a recorded run by another policy, and list what changes"},
	{"learn", cli_main_learn, "run a program, and write the policy that it needs"},
	{"attest", cli_main_attest, "verify the attestation of a run"},
	{"key", cli_main_key, "make the keys that sign logs"},
	{"session", cli_main_session, "keep one sandbox, and run programs in it one after the other or at once"},
	{"doctor", cli_main_doctor, "report what this machine offers a run, and how to get the rest"},
};

#define VERB_COUNT (sizeof(verbs) / sizeof(verbs[0]))

static int main_print_help(void)
{
	_cleanup_buf_ struct buf text = {0};

	buf_puts(&text, "Usage: callgate VERB [OPTION...] [ARGUMENT...]\n\n"
			"Runs an untrusted program and decides each of its accesses by a policy.\n\n");
	for (size_t i = 0; i < VERB_COUNT; i++)
		buf_printf(&text, "  %-10s %s\n", verbs[i].name, verbs[i].help);
	buf_puts(&text, "\nEach verb has --help. See callgate(1) and callgate-policy(5).\n");
	return cli_print_buf("", &text);
}

static int main_refuse_unknown_verb(const char *name)
{
	const char *names[VERB_COUNT + 1] = {NULL}, *nearest;

	for (size_t i = 0; i < VERB_COUNT; i++)
		names[i] = verbs[i].name;
	nearest = text_find_nearest(name, names);
	if (nearest)
		cli_print_error("", "unknown verb \"%s\"; did you mean \"%s\"?", name, nearest);
	else
		cli_print_error("", "unknown verb \"%s\"", name);
	return cli_fail_usage("");
}

int main(int argc, char **argv)
{
	(void)signal(SIGXFSZ, SIG_IGN); /* writing past RLIMIT_FSIZE gives EFBIG, which each verb reports */
	if (filter_allows_all_calls())
		cli_print_error("", "a build with --enable-open-filter, for tests only: no call is judged, "
			      "THE FIRST LOCK IS OFF");
	if (argc < 2) {
		cli_print_error("", "no verb given; to run a program: callgate run -- PROGRAM [ARGUMENT...]");
		return cli_fail_usage("");
	}
	if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 || strcmp(argv[1], "help") == 0)
		return main_print_help();
	if (strcmp(argv[1], "--version") == 0)
		return cli_print_version();
	for (size_t i = 0; i < VERB_COUNT; i++)
		if (strcmp(argv[1], verbs[i].name) == 0)
			return verbs[i].run(argc - 1, argv + 1);
	return main_refuse_unknown_verb(argv[1]);
}
