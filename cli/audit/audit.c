/* callgate audit: calls the verb that reads the logs of runs. */
#include "cli/audit/audit.h"

#include <string.h>

#include "base/buf.h"
#include "base/text.h"
#include "cli/audit/report/report.h"

static const struct audit_verb {
	const char *name;
	int (*run)(int argc, char **argv);
	const char *help;
} verbs[] = {
	{"show", audit_main_show, "the records, one a line; -f follows a run, --tree lists its processes"},
	{"top", audit_main_top, "what a run does now: calls a second, busiest paths and processes, denials"},
	{"stats", audit_main_stats, "how many, of what, how long they took; unused rules; what would allow denials"},
	{"diff", audit_main_diff, "what one run did and another did not"},
	{"report", audit_main_report, "one page for a browser"},
	{"verify", audit_main_verify, "whether the lines are as callgate wrote them; the first that is not"},
	{"export", audit_main_export, "the records as JSON lines, CSV, SQLite, OCSF, OTLP or Perfetto"},
};

#define VERBS (sizeof(verbs) / sizeof(verbs[0]))

static int audit_print_help(void)
{
	_cleanup_buf_ struct buf text = {0};

	buf_puts(&text, "Usage: callgate audit VERB [OPTION...] LOG...\n\n"
			"Reads the logs of runs. Several logs are merged by time.\n\n");
	for (size_t i = 0; i < VERBS; i++)
		buf_printf(&text, "  %-8s %s\n", verbs[i].name, verbs[i].help);
	buf_puts(&text, "\nEach verb has --help. The format is described in callgate-audit(5).\n");
	return cli_print_buf("audit", &text);
}

static int audit_refuse_verb(const char *name)
{
	const char *names[VERBS + 1] = {NULL}, *nearest;

	for (size_t i = 0; i < VERBS; i++)
		names[i] = verbs[i].name;
	nearest = name ? text_find_nearest(name, names) : NULL;
	if (nearest)
		cli_print_error("audit", "unknown verb \"%s\"; did you mean \"%s\"?", name, nearest);
	else
		cli_print_error("audit", name ? "unknown verb \"%s\"" : "no verb given", name);
	return cli_fail_usage("audit");
}

int cli_main_audit(int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : NULL;

	if (name && (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0))
		return audit_print_help();
	if (name && strcmp(name, "--version") == 0)
		return cli_print_version();
	for (size_t i = 0; name && i < VERBS; i++)
		if (strcmp(name, verbs[i].name) == 0)
			return verbs[i].run(argc - 1, argv + 1);
	return audit_refuse_verb(name);
}
