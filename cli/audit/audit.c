/* callgate audit: reads the log of a run. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "cli/audit/audit.h"
#include "cli/audit/report/report.h"
#include "cli/options.h"

static const char usage[] =
	"Usage: callgate audit show  [filters] [--json] LOG    the records, one per line\n"
	"       callgate audit stats [filters] [--json] LOG    how many, of what, and how long they took\n"
	"       callgate audit report -o FILE.html LOG...      one page for a browser; see audit report --help\n\n";

struct audit_options {
	struct audit_filter filter;
	bool json;
};

static int audit_set_path(const struct cli_given *given, void *all)
{
	struct audit_filter *filter = all;
	const char *pattern = given->value;
	char *anywhere = *pattern == '/' ? arena_dup(&filter->arena, pattern + 1)
					 : arena_printf(&filter->arena, "**/%s", pattern);

	filter->by_path = true;
	if (anywhere && glob_compile(&filter->arena, anywhere, true, &filter->path) == 0)
		return 0;
	return cli_refuse_value(given, "not a pattern: * stands for text within a name, ** for any directories");
}

static int audit_set_pid(const struct cli_given *given, void *pid)
{
	uint64_t number;

	if (text_parse_number(given->value, 1, INT32_MAX, &number) < 0)
		return cli_refuse_value(given, "not a process id");
	*(int64_t *)pid = (int64_t)number;
	return 0;
}

static int audit_set_event(const struct cli_given *given, void *event)
{
	static const char *const names[] = {"open", "request", "close", "dns", "any"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(given->value, names[i]) == 0)
			return cli_set_text(given, event);
	return cli_refuse_value(given, "not one of open, request, close, dns and any");
}

#define FIELD_OFFSET(member) offsetof(struct audit_options, member)

static int audit_parse_options(int argc, char **argv, struct audit_options *options)
{
	static const struct cli_option table[] = {
		CLI_FLAG("denied", 0, "only what was denied", FIELD_OFFSET(filter.denied)),
		CLI_TEXT("syscall", "NAME", "only this system call", FIELD_OFFSET(filter.syscall)),
		{"event", 0, "NAME", "only this network event: open, request, close, dns or any", audit_set_event,
		 FIELD_OFFSET(filter.event), 0},
		CLI_TEXT("host", "NAME", "only records about this host; *.NAME one label before it, **.NAME any number",
			 FIELD_OFFSET(filter.host)),
		{"path", 0, "GLOB",
		 "only records about a matching path; * within a name, ** across;\n"
		 "without a leading / at any depth",
		 audit_set_path, FIELD_OFFSET(filter), 0},
		{"pid", 0, "PID", "only this process", audit_set_pid, FIELD_OFFSET(filter.pid), 0},
		CLI_FLAG("json", 0, "the log's own lines (show), one object (stats)", FIELD_OFFSET(json)),
		{0},
	};
	const struct cli_syntax syntax = {
		.verb = "audit",
		.usage = usage,
		.epilogue = "\nThe format is described in callgate-audit(5).\n",
		.mixed = true,
		.table = {{NULL, table, options}},
	};

	return cli_parse_options(argc, argv, &syntax);
}

static int audit_run_subverb(int argc, char **argv, const struct audit_options *options)
{
	const char *verb = optind < argc ? argv[optind] : NULL, *log = optind + 1 < argc ? argv[optind + 1] : NULL;
	bool show = verb && strcmp(verb, "show") == 0;

	if (!verb || !(show || strcmp(verb, "stats") == 0)) {
		cli_print_error("audit", "%s%s: say \"show\", \"stats\" or \"report\"",
				verb ? "unknown: " : "nothing asked", verb ? verb : "");
		return CLI_ERROR;
	}
	if (!log || optind + 2 < argc) {
		cli_print_error("audit", "%s takes one log; see callgate audit --help", verb);
		return CLI_ERROR;
	}
	return show ? audit_show_log(log, &options->filter, options->json)
		    : audit_print_stats(log, &options->filter, options->json);
}

int cli_main_audit(int argc, char **argv)
{
	struct audit_options options = {.filter = {.pid = -1}};
	int status;

	if (argc > 1 && strcmp(argv[1], "report") == 0)
		return audit_main_report(argc - 1, argv + 1);
	status = audit_parse_options(argc, argv, &options);
	if (status == CLI_PARSED)
		status = audit_run_subverb(argc, argv, &options);
	arena_release(&options.filter.arena);
	return status;
}
