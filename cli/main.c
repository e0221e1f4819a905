/* callgate: picks the verb. */
#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "cli/cli.h"
#include "config.h"
#include "confine/filter.h"

#include "base/banned.h"

struct verb {
	const char *name;
	int (*run)(int argc, char **argv);
	const char *help;
};

static const struct verb verbs[] = {
	{"run", cli_run, "run a program under a policy"},
	{"check", cli_check, "say what is wrong with a policy"},
	{"show", cli_show, "print the effective policy"},
	{"why", cli_why, "say how one access would be decided, and by which rule"},
	{"audit", cli_audit, "look at the log of a run"},
	{"doctor", cli_doctor, "say what this machine offers a run, and how to get the rest"},
};

#define VERBS (sizeof(verbs) / sizeof(verbs[0]))

void cli_error(const char *verb, const char *format, ...)
{
	va_list args;

	(void)text_printf(stderr, "callgate%s%s: ", *verb ? " " : "", verb); /* nobody left to tell */
	va_start(args, format);
	(void)text_vprintf(stderr, false, format, args);
	va_end(args);
	(void)fputc('\n', stderr);
}

void cli_note(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	(void)text_vprintf(stderr, false, format, args); /* nobody left to tell */
	va_end(args);
	(void)fputc('\n', stderr);
}

void cli_policy_errors(const char *verb, const struct policy_errors *errors)
{
	for (size_t i = 0; i < errors->count; i++)
		cli_error(verb, "%s", errors->item[i].text);
}

void cli_policy_warnings(const char *verb, const struct policy *policy)
{
	size_t count;
	const char *const *text = policy_warnings(policy, &count);

	for (size_t i = 0; i < count; i++) {
		if (verb)
			cli_error(verb, "%s", text[i]);
		else
			cli_note("%s", text[i]);
	}
}

/* Whether it was by this word, "--name" or "--name=...", that optopt was given, and not by its letter. */
static bool is_long(const char *word, const struct option *longs)
{
	size_t len = strcspn(word, "=");

	for (; longs->name; longs++)
		if (len > 2 && longs->val == optopt && strncmp(word, "--", 2) == 0 &&
		    strncmp(word + 2, longs->name, len - 2) == 0)
			return true;
	return false;
}

int cli_getopt(int argc, char **argv, const char *shorts, const struct option *longs)
{
	const char *known;
	int opt;

	opterr = 0;
	opt = getopt_long(argc, argv, shorts, longs, NULL);
	if (opt != '?')
		return opt;
	if (optopt == 0)
		cli_note("%s: unrecognized option '%s'", argv[0], argv[optind - 1]);
	else if (is_long(argv[optind - 1], longs))
		cli_note("%s: option '%s' %s", argv[0], argv[optind - 1],
			 strchr(argv[optind - 1], '=') ? "doesn't allow an argument" : "requires an argument");
	else if ((known = strchr(shorts, optopt)) && known[1] == ':')
		cli_note("%s: option requires an argument -- '%c'", argv[0], optopt);
	else
		cli_note("%s: invalid option -- '%c'", argv[0], optopt);
	return opt;
}

int cli_usage_error(const char *verb)
{
	cli_note("Try \"callgate%s%s --help\".", *verb ? " " : "", verb);
	return CLI_ERROR;
}

int cli_print(const char *verb, const char *text)
{
	if (text_print(stdout, text, true) == 0 && fflush(stdout) == 0)
		return CLI_OK;
	cli_error(verb, "cannot write to standard output: %s", strerror(errno));
	return CLI_ERROR;
}

int cli_version(void)
{
	return cli_print("", filter_is_open() ? "callgate " PACKAGE_VERSION
						" with an open filter: IT CONFINES NOTHING\n"
					      : "callgate " PACKAGE_VERSION "\n");
}

static int print_help(void)
{
	int ret = cli_print("", "Usage: callgate VERB [OPTION...] [ARGUMENT...]\n\n"
				"Runs a program nobody trusts and judges every file it touches by a policy.\n\n");

	for (size_t i = 0; i < VERBS && ret == CLI_OK; i++) {
		char line[128];

		(void)snprintf(line, sizeof(line), "  %-8s %s\n", verbs[i].name, verbs[i].help);
		ret = cli_print("", line);
	}
	return ret == CLI_OK ? cli_print("", "\nEach verb has --help. See callgate(1) and callgate-policy(5).\n") : ret;
}

static int fail_verb(const char *name)
{
	const char *names[VERBS + 1] = {NULL}, *nearest;

	for (size_t i = 0; i < VERBS; i++)
		names[i] = verbs[i].name;
	nearest = text_nearest(name, names);
	if (nearest)
		cli_error("", "unknown verb \"%s\"; did you mean \"%s\"?", name, nearest);
	else
		cli_error("", "unknown verb \"%s\"", name);
	return cli_usage_error("");
}

int main(int argc, char **argv)
{
	if (filter_is_open())
		cli_error(
			"",
			"a build with --enable-open-filter, for tests only: no call is judged, THE FIRST LOCK IS OFF");
	if (argc < 2) {
		cli_error("", "no verb given; to run a program: callgate run -- PROGRAM [ARGUMENT...]");
		return cli_usage_error("");
	}
	if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 || strcmp(argv[1], "help") == 0)
		return print_help();
	if (strcmp(argv[1], "--version") == 0)
		return cli_version();
	for (size_t i = 0; i < VERBS; i++)
		if (strcmp(argv[1], verbs[i].name) == 0)
			return verbs[i].run(argc - 1, argv + 1);
	return fail_verb(argv[1]);
}
