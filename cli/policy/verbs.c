/* callgate policy: calls the verb that compares, tests or formats policies. */
#include "cli/policy/verbs.h"

#include "cli/verbs.h"

static const struct cli_verb verbs[] = {
	{"minimise", policy_main_minimise, "drop and narrow the rules that recorded runs did not need"},
	{"diff", policy_main_diff, "what one policy allows and another does not, with examples"},
	{"test", policy_main_test, "whether a policy answers questions as a file expects"},
	{"fmt", policy_main_fmt, "policy files in canonical order and layout"},
};

int cli_main_policy(int argc, char **argv)
{
	static const struct cli_verbs all = {.parent = "policy",
					     .usage = "Usage: callgate policy VERB [OPTION...] ARGUMENT...\n\n"
						      "Works on policies without running anything.\n\n",
					     .epilogue = "\nEach verb has --help. See callgate(1).\n",
					     .verbs = verbs,
					     .verb_count = CLI_VERB_COUNT(verbs)};

	return cli_run_verb(&all, argc, argv);
}
