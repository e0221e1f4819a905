/* callgate audit: reads the log of a run. */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "cli/audit/audit.h"
#include "cli/cli.h"

#include "base/banned.h"

static const char help[] =
	"usage: callgate audit show  [filters] [--json] LOG    the records, one per line\n"
	"       callgate audit stats [filters] [--json] LOG    how many, of what, and how long they took\n"
	"\n"
	"  --denied           only what was denied\n"
	"  --syscall NAME     only this system call\n"
	"  --event NAME       only this network event: open, request, close, dns or any\n"
	"  --host NAME        only records about this host; *.NAME one label before it, **.NAME any number\n"
	"  --path GLOB        only records about a matching path; * within a name, ** across; without a leading / at "
	"any depth\n"
	"  --pid PID          only this process\n"
	"  --json             the log's own lines (show), one object (stats)\n"
	"\n"
	"The format is described in callgate-audit(5).\n";

enum { OPT_DENIED = 256, OPT_SYSCALL, OPT_EVENT, OPT_HOST, OPT_PATH, OPT_PID, OPT_JSON, OPT_HELP, OPT_VERSION };

struct audit_options {
	struct audit_filter filter;
	bool json, help, version;
};

static int audit_take_path(struct audit_filter *filter, const char *pattern)
{
	char *anywhere;
	int r;

	filter->by_path = true;
	anywhere = *pattern == '/' ? arena_dup(&filter->arena, pattern + 1)
				   : arena_printf(&filter->arena, "**/%s", pattern);
	r = anywhere ? glob_compile(&filter->arena, anywhere, true, &filter->path) : -ENOMEM;
	if (r < 0)
		cli_error("audit", "--path %s: not a pattern: * stands for text within a name, ** for any directories",
			  pattern);
	return r < 0 ? CLI_ERROR : CLI_OK;
}

static int audit_take_pid(struct audit_filter *filter, const char *text)
{
	uint64_t pid;

	if (text_number(text, 1, INT32_MAX, &pid) < 0) {
		cli_error("audit", "--pid %s: not a process id", text);
		return CLI_ERROR;
	}
	filter->pid = (int64_t)pid;
	return CLI_OK;
}

static int audit_take_event(struct audit_filter *filter, const char *name)
{
	static const char *const names[] = {"open", "request", "close", "dns", "any"};

	filter->event = name;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(name, names[i]) == 0)
			return CLI_OK;
	cli_error("audit", "--event %s: not one of open, request, close, dns and any", name);
	return CLI_ERROR;
}

static int audit_take_option(struct audit_options *options, int opt, const char *value)
{
	struct audit_filter *filter = &options->filter;

	switch (opt) {
	case OPT_EVENT:
		return audit_take_event(filter, value);
	case OPT_PATH:
		return audit_take_path(filter, value);
	case OPT_PID:
		return audit_take_pid(filter, value);
	case OPT_SYSCALL:
		filter->syscall = value;
		return CLI_OK;
	case OPT_HOST:
		filter->host = value;
		return CLI_OK;
	case '?':
	case ':':
		return cli_usage_error("audit");
	default:
		filter->denied = filter->denied || opt == OPT_DENIED;
		options->json = options->json || opt == OPT_JSON;
		options->help = options->help || opt == OPT_HELP;
		options->version = options->version || opt == OPT_VERSION;
		return CLI_OK;
	}
}

static int audit_parse(int argc, char **argv, struct audit_options *options)
{
	static const struct option longs[] = {
		{"denied", no_argument, NULL, OPT_DENIED},   {"syscall", required_argument, NULL, OPT_SYSCALL},
		{"event", required_argument, NULL, OPT_EVENT}, {"host", required_argument, NULL, OPT_HOST},
		{"path", required_argument, NULL, OPT_PATH}, {"pid", required_argument, NULL, OPT_PID},
		{"json", no_argument, NULL, OPT_JSON},	     {"help", no_argument, NULL, OPT_HELP},
		{"version", no_argument, NULL, OPT_VERSION}, {0},
	};
	int opt, status = CLI_OK;

	while (status == CLI_OK && (opt = cli_getopt(argc, argv, "", longs)) != -1)
		status = audit_take_option(options, opt, optarg);
	return status;
}

static int audit_subverb(int argc, char **argv, const struct audit_options *options)
{
	const char *verb = optind < argc ? argv[optind] : NULL, *log = optind + 1 < argc ? argv[optind + 1] : NULL;
	bool show = verb && strcmp(verb, "show") == 0;

	if (!verb || !(show || strcmp(verb, "stats") == 0)) {
		cli_error("audit", "%s%s: say \"show\" or \"stats\"", verb ? "unknown: " : "nothing asked",
			  verb ? verb : "");
		return CLI_ERROR;
	}
	if (!log || optind + 2 < argc) {
		cli_error("audit", "%s takes one log; see callgate audit --help", verb);
		return CLI_ERROR;
	}
	return show ? audit_show(log, &options->filter, options->json)
		    : audit_stats(log, &options->filter, options->json);
}

int cli_audit(int argc, char **argv)
{
	struct audit_options options = {.filter = {.pid = -1}};
	int status = audit_parse(argc, argv, &options);

	if (status == CLI_OK && options.help)
		status = cli_print("audit", help);
	else if (status == CLI_OK && options.version)
		status = cli_version();
	else if (status == CLI_OK)
		status = audit_subverb(argc, argv, &options);
	arena_done(&options.filter.arena);
	return status;
}
