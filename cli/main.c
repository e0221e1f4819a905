/* The main function of callgate. It calls the verb that the command line names. */
#include <malloc.h>
#include <signal.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/verbs.h"
#include "confine/filter.h"

static const struct cli_verb verbs[] = {
	{"run", cli_main_run, "run a program under a policy"},
	{"check", cli_main_check, "report what is wrong with a policy"},
	{"show", cli_main_show, "print the effective policy"},
	{"why", cli_main_why, "explain how one access would be decided, and by which rule"},
	{"policy", cli_main_policy, "compare, test, format and minimise policies, without running anything"},
	{"audit", cli_main_audit, "read the audit log of a run"},
	{"compare", cli_main_compare, "run a program under several policies and show where the runs part"},
	{"experiment", cli_main_experiment, "run programs, inputs and policies by a plan, and report"},
	{"replay", cli_main_replay, "judge a recorded run by another policy, and list what changes"},
	{"inspect", cli_main_inspect, "look at programs without running them"},
	{"libraries", cli_main_libraries, "list the installed packages of Python or node, and what a choice comes to"},
	{"learn", cli_main_learn, "run a program, and write the policy that it needs"},
	{"attest", cli_main_attest, "verify the attestation of a run"},
	{"key", cli_main_key, "make the keys that sign logs"},
	{"session", cli_main_session, "keep one sandbox, and run programs in it one after the other or at once"},
	{"ws", cli_main_ws, "list, show, apply and discard what runs with --cow have written"},
	{"mcp", cli_main_mcp, "serve the Model Context Protocol: an agent's code and commands run in sandboxes"},
	{"serve", cli_main_serve, "make sandboxes for agents that speak the protocol of E2B"},
	{"doctor", cli_main_doctor, "report what this machine offers a run, and how to get the rest"},
};

/*
 * malloc(3) gives blocks of at least this size pages of their own. Pages that are never written cost nothing: such
 * blocks are tables that stay almost empty.
 */
#define MAIN_MMAP_THRESHOLD_BYTES 49152

int main(int argc, char **argv)
{
	static const struct cli_verbs all = {
		.parent = "",
		.usage = "Usage: callgate VERB [OPTION...] [ARGUMENT...]\n\n"
			 "Runs an untrusted program and decides each of its accesses by a policy.\n\n",
		.epilogue = "\nEach verb has --help. See callgate(1) and callgate-policy(5).\n",
		.verbs = verbs,
		.verb_count = CLI_VERB_COUNT(verbs)};
	static char help[] = "--help";

	(void)mallopt(M_MMAP_THRESHOLD, MAIN_MMAP_THRESHOLD_BYTES);
	(void)signal(SIGXFSZ, SIG_IGN); /* writing past RLIMIT_FSIZE gives EFBIG, which each verb reports */
	if (filter_allows_all_calls())
		cli_print_error("", "a build with --enable-open-filter, for tests only: no call is judged, "
			      "THE FIRST LOCK IS OFF");
	if (argc < 2) {
		cli_print_error("", "no verb given; to run a program: callgate run -- PROGRAM [ARGUMENT...]");
		return cli_fail_usage("");
	}
	if (strcmp(argv[1], "help") == 0)
		argv[1] = help;
	return cli_run_verb(&all, argc, argv);
}
