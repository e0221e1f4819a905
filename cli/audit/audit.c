/* callgate audit: calls the verb that reads the logs of runs. */
#include "cli/audit/audit.h"

#include "cli/audit/report/report.h"
#include "cli/verbs.h"

static const struct cli_verb verbs[] = {
	{"show", audit_main_show, "the records, one a line; -f follows a run, --tree lists its processes"},
	{"top", audit_main_top, "what a run does now: calls a second, busiest paths and processes, denials"},
	{"stats", audit_main_stats, "how many, of what, how long they took; unused rules; what would allow denials"},
	{"diff", audit_main_diff, "what one run did and another did not"},
	{"report", audit_main_report, "one page for a browser"},
	{"verify", audit_main_verify, "whether the lines are as callgate wrote them; the first that is not"},
	{"export", audit_main_export, "the records as JSON lines, CSV, SQLite, OCSF, OTLP or Perfetto"},
};

int cli_main_audit(int argc, char **argv)
{
	static const struct cli_verbs all = {
		.parent = "audit",
		.usage = "Usage: callgate audit VERB [OPTION...] LOG...\n\n"
			 "Reads the logs of runs. Several logs are merged by time.\n\n",
		.epilogue = "\nEach verb has --help. The format is described in callgate-audit(5).\n",
		.verbs = verbs,
		.verb_count = CLI_VERB_COUNT(verbs)};

	return cli_run_verb(&all, argc, argv);
}
