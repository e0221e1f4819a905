/* callgate experiment: runs a plan of programs, inputs, policies and repetitions, and reports on it. */
#include "cli/experiment/experiment.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "cli/options.h"

#define EXPERIMENT_JOBS_MAX 1024u
#define EXPERIMENT_SHARDS_MAX 100000u

static int experiment_set_jobs(const struct cli_given_option *given, void *jobs)
{
	uint64_t number;

	if (text_parse_number(given->value, 1, EXPERIMENT_JOBS_MAX, &number) < 0)
		return cli_refuse_value(given, "write a number of runs at once, 1 to %u", EXPERIMENT_JOBS_MAX);
	*(size_t *)jobs = (size_t)number;
	return 0;
}

/* Setter of --shard I/N. */
static int experiment_set_shard(const struct cli_given_option *given, void *all)
{
	struct experiment_options *options = all;
	char *slash = strchr(given->value, '/');
	uint64_t shard = 0, shards = 0;

	if (slash)
		*slash = '\0';
	if (!slash || text_parse_number(slash + 1, 1, EXPERIMENT_SHARDS_MAX, &shards) < 0 ||
	    text_parse_number(given->value, 1, shards, &shard) < 0) {
		if (slash)
			*slash = '/';
		return cli_refuse_value(given, "write I/N, with I from 1 to N");
	}
	*slash = '/';
	options->shard = (size_t)shard;
	options->shards = (size_t)shards;
	return 0;
}

#define FIELD_OFFSET(member) offsetof(struct experiment_options, member)

static int experiment_parse_options(int argc, char **argv, struct experiment_options *options)
{
	static const struct cli_option table[] = {
		{"output", 'o', "DIR", "the results directory (default: PLAN without .json, with .results)",
		 cli_set_text, FIELD_OFFSET(dir), 0},
		{"jobs", 'j', "N", "so many runs at once (default: 1)", experiment_set_jobs, FIELD_OFFSET(jobs), 0},
		{"shard", 0, "I/N", "only the cells of share I of N; the results of all shares can be merged",
		 experiment_set_shard, 0, 0},
		CLI_FLAG("csv", 0, "also write results.csv", FIELD_OFFSET(csv)),
		CLI_FLAG("keep-workdirs", 0, "keep each run's working directory", FIELD_OFFSET(keep_workdirs)),
		CLI_FLAG("json", 0, "report: print JSON", FIELD_OFFSET(json)),
		CLI_FLAG("quiet", 'q', "print only error messages", FIELD_OFFSET(quiet)),
		{0},
	};
	const struct cli_syntax syntax = {
		.verb = "experiment",
		.usage = "Usage: callgate experiment run [OPTION...] PLAN       run what is not finished yet\n"
			 "       callgate experiment report [OPTION...] DIR     a table and a plot of the results\n\n",
		.epilogue = "\nThe plan's format is described in callgate(1).\n",
		.allows_mixed_order = true,
		.table = {{NULL, table, options}},
	};

	return cli_parse_options(argc, argv, &syntax);
}

/* Makes the results directory's path absolute, because the runs start in the plan's directory. NULL with a message. */
static char *experiment_find_dir(const struct experiment_options *options)
{
	size_t len = options->plan ? strlen(options->plan) : 0;
	char cwd[PATH_MAX];
	const char *dir = options->dir;
	_cleanup_free_ char *beside = NULL;

	if (!dir && len > 5 && strcmp(options->plan + len - 5, ".json") == 0)
		len -= 5;
	if (!dir)
		dir = beside = text_format("%.*s.results", (int)len, options->plan);
	if (dir && *dir == '/')
		return strdup(dir);
	return dir && getcwd(cwd, sizeof(cwd)) ? text_format("%s/%s", cwd, dir) : NULL;
}

/* Performs `callgate experiment run` with its plan, or `report` with its results directory. Returns the exit status. */
static int experiment_run_subverb(const char *verb, struct experiment_options *options, char *argument)
{
	_cleanup_free_ char *dir = NULL;
	bool runs = strcmp(verb, "run") == 0;

	if (runs)
		options->plan = argument;
	else if (!options->dir)
		options->dir = argument;
	dir = experiment_find_dir(options);
	if (!dir)
		return cli_fail_no_memory("experiment");
	options->dir = dir;
	return runs ? experiment_run_plan(options) : experiment_print_report(options);
}

int cli_main_experiment(int argc, char **argv)
{
	struct experiment_options options = {.jobs = 1, .shard = 1, .shards = 1};
	int status = experiment_parse_options(argc, argv, &options);
	char *verb = optind < argc ? argv[optind] : NULL;

	if (status != CLI_OPTIONS_PARSED)
		return status;
	if (!verb || (strcmp(verb, "run") != 0 && strcmp(verb, "report") != 0))
		cli_print_error("experiment", "%s%s: say \"run\" or \"report\"", verb ? "unknown: " : "nothing asked",
				verb ? verb : "");
	else if (optind + 2 != argc)
		cli_print_error("experiment", "%s takes one %s; see callgate experiment --help", verb,
				strcmp(verb, "run") == 0 ? "plan" : "directory");
	else
		return experiment_run_subverb(verb, &options, argv[optind + 1]);
	return CLI_EXIT_ERROR;
}
