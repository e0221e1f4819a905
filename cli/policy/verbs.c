/* callgate policy: calls the verb that compares, tests or formats policies. */
#include "cli/policy/verbs.h"

#include <string.h>

#include "base/buf.h"
#include "base/text.h"

static const struct policy_verb {
	const char *name;
	int (*run)(int argc, char **argv);
	const char *help;
} verbs[] = {
	{"minimise", policy_main_minimise, "drop and narrow the rules that recorded runs did not need"},
	{"diff", policy_main_diff, "what one policy allows and another does not, with examples"},
	{"test", policy_main_test, "whether a policy answers questions as a file expects"},
	{"fmt", policy_main_fmt, "policy files in canonical order and layout"},
};

#define VERBS (sizeof(verbs) / sizeof(verbs[0]))

static int policy_print_help(void)
{
	_cleanup_buf_ struct buf text = {0};

	buf_puts(&text, "Usage: callgate policy VERB [OPTION...] ARGUMENT...\n\n"
			"Works on policies without running anything.\n\n");
	for (size_t i = 0; i < VERBS; i++)
		buf_printf(&text, "  %-8s %s\n", verbs[i].name, verbs[i].help);
	buf_puts(&text, "\nEach verb has --help. See callgate(1).\n");
	return cli_print_buf("policy", &text);
}

static int policy_refuse_verb(const char *name)
{
	const char *names[VERBS + 1] = {NULL}, *nearest;

	for (size_t i = 0; i < VERBS; i++)
		names[i] = verbs[i].name;
	nearest = name ? text_find_nearest(name, names) : NULL;
	if (nearest)
		cli_print_error("policy", "unknown verb \"%s\"; did you mean \"%s\"?", name, nearest);
	else
		cli_print_error("policy", name ? "unknown verb \"%s\"" : "no verb given", name);
	return cli_fail_usage("policy");
}

int cli_main_policy(int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : NULL;

	if (name && (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0))
		return policy_print_help();
	if (name && strcmp(name, "--version") == 0)
		return cli_print_version();
	for (size_t i = 0; name && i < VERBS; i++)
		if (strcmp(name, verbs[i].name) == 0)
			return verbs[i].run(argc - 1, argv + 1);
	return policy_refuse_verb(name);
}
