/* callgate policy minimise: reads the policy and the accesses that recorded runs used, writes the smaller policy. */
#include "cli/policy/minimise.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "cli/policy/verbs.h"
#include "cli/replay/replay.h"
#include "policy/parse/format.h"

#define VERB_IN_MESSAGES "policy minimise"

/* ---- collecting the used accesses ---- */

static void minimise_runs_free(struct minimise_runs *runs)
{
	if (!runs)
		return;
	used_accesses_release(&runs->used_accesses);
	cli_host_release(&runs->host);
	free(runs->program);
	free(runs->workdir);
	free(runs);
}

static bool minimise_texts_are_equal(const char *one, const char *other)
{
	return one && other ? strcmp(one, other) == 0 : one == other;
}

/* Finds or creates the runs that a log belongs to. NULL: no memory. */
static struct minimise_runs *minimise_get_runs(struct minimise *all, const struct replay_log *log)
{
	struct minimise_runs *runs, **list;

	for (size_t i = all->run_group_count; i-- > 0;)
		if (minimise_texts_are_equal(all->runs[i]->program, log->program) &&
		    minimise_texts_are_equal(all->runs[i]->workdir, log->workdir))
			return all->runs[i];
	list = reallocarray(all->runs, all->run_group_count + 1, sizeof(*list));
	runs = calloc(1, sizeof(*runs));
	if (list)
		all->runs = list;
	if (!list || !runs) {
		free(runs);
		return NULL;
	}
	all->runs[all->run_group_count++] = runs;
	runs->all = all;
	runs->program = log->program ? strdup(log->program) : NULL;
	runs->workdir = log->workdir ? strdup(log->workdir) : NULL;
	if (cli_host_init(&runs->host, runs->program) < 0)
		return NULL;
	minimise_read_policy_from_memory(runs);
	return runs;
}

/* Keeps an access that the run was allowed and the policy still grants, or may grant. 0 or -ENOMEM. */
static int minimise_add_access(void *ctx, const struct replay_log *log, const struct query_judge *judge,
				const struct scan_record *record, const struct query *query)
{
	struct minimise *all = ctx;
	struct minimise_runs *runs = minimise_get_runs(all, log);
	struct query_answer answer;

	(void)record;
	if (!runs)
		return -ENOMEM;
	if (query->kind == QUERY_RULES_DO_NOT_DECIDE) {
		all->a_run_connected_to_itself |= strcmp(query->why_not_judged, "within_run") == 0;
		return 0;
	}
	if (!query->was_allowed)
		return 0;
	query_judge(judge, query, &answer);
	if (!answer.is_certain || answer.is_allowed)
		return used_accesses_add(&runs->used_accesses, query, &answer);
	all->denied_access_count++;
	return 0;
}

/* Collects the accesses of all logs. Warns of those that the policy denies. Returns the exit status. */
static int minimise_read_logs(struct minimise *all, char **paths, size_t count)
{
	const struct replay_accepted_logs accepted_logs = {
		.damaged_logs = all->allow_damaged,
		.advice_if_refused =
			"record a run with --judge all, or grants of reading would be dropped that it needed"};
	int status = CLI_EXIT_OK;

	for (size_t i = 0; status == CLI_EXIT_OK && i < count; i++) {
		struct replay_log log = {.path = paths[i]};

		status = replay_judge_log(VERB_IN_MESSAGES, &all->policy, &accepted_logs, &log, minimise_add_access,
					  all);
		replay_log_release(&log);
	}
	if (status == CLI_EXIT_OK && all->denied_access_count > 0)
		cli_print_error(VERB_IN_MESSAGES,
				"warning: %s denies %llu accesses that were granted when the logs were written; "
				"callgate replay lists them",
				all->policy_path, (unsigned long long)all->denied_access_count);
	return status;
}

/* ---- reading and writing the policy ---- */

/* Reads the policy as JSON: the file itself, or with --flatten the policy with all that it extends. */
static int minimise_read_policy(struct minimise *all)
{
	_cleanup_policy_ struct policy *policy = NULL;
	_cleanup_host_ struct cli_host host = {0};
	_cleanup_free_ char *effective = NULL;
	const char *program = all->run_group_count ? all->runs[0]->program : NULL;
	json_error_t error;

	if (!all->flatten) {
		all->policy_root = json_load_file(all->policy_path, JSON_REJECT_DUPLICATES, &error);
	} else {
		if (cli_load_policy_without_run(&all->policy, VERB_IN_MESSAGES, program, &host, &policy) != CLI_EXIT_OK)
			return CLI_EXIT_ERROR;
		effective = policy_make_json(policy);
		all->policy_root = effective ? json_loads(effective, 0, &error) : NULL;
	}
	if (all->policy_root)
		return CLI_EXIT_OK;
	cli_print_error(VERB_IN_MESSAGES, "%s: %s", all->policy_path,
			effective || !all->flatten ? error.text : "out of memory");
	return CLI_EXIT_ERROR;
}

/* Formats the changed policy, and writes it to -o or stdout. Returns the exit status. */
static int minimise_write_result(struct minimise *all)
{
	_cleanup_policy_errors_ struct policy_errors errors = {0};
	_cleanup_free_ char *text = NULL;
	int r;

	free(all->policy_text);
	all->policy_text = json_dumps(all->policy_root, JSON_INDENT(1));
	r = all->policy_text ? policy_format_text(all->policy_path, all->policy_text, &errors, &text) : -ENOMEM;
	cli_print_policy_errors(VERB_IN_MESSAGES, &errors);
	if (r == -ENOMEM)
		return cli_fail_no_memory(VERB_IN_MESSAGES);
	if (r < 0)
		return CLI_EXIT_ERROR;
	if (!all->output_path)
		return cli_print_text(VERB_IN_MESSAGES, text);
	r = policy_replace_file(all->output_path, text);
	if (r < 0)
		cli_print_error(VERB_IN_MESSAGES, "-o %s: cannot be written: %s", all->output_path, strerror(-r));
	return r < 0 ? CLI_EXIT_ERROR : CLI_EXIT_OK;
}

/* Drops and narrows rules as far as all accesses stay granted, and writes the result. Returns the exit status. */
static int minimise_policy(struct minimise *all)
{
	size_t used = 0;
	int r = minimise_find_lost_accesses(all, NULL, NULL);

	for (size_t i = 0; i < all->run_group_count; i++)
		used += all->runs[i]->used_accesses.access_count;
	if (r != 0) {
		cli_print_error(VERB_IN_MESSAGES,
				"%s: cannot be worked on: without a change its rules would lose accesses; does "
				"it depend on another option of the run?",
				all->policy_path);
		return CLI_EXIT_ERROR;
	}
	r = minimise_drop_and_narrow_repeatedly(all);
	if (r != 0)
		return r < 0 ? cli_fail_no_memory(VERB_IN_MESSAGES) : CLI_EXIT_ERROR;
	cli_note("%zu accesses of the logs are granted as before; %zu rules dropped, %zu narrowed", used, all->dropped,
		 all->narrowed);
	return minimise_write_result(all);
}

static void minimise_release(struct minimise *all)
{
	for (size_t i = 0; i < all->run_group_count; i++)
		minimise_runs_free(all->runs[i]);
	free(all->runs);
	free(all->policy_text);
	json_decref(all->policy_root);
	cli_policy_options_release(&all->policy);
}

static int minimise_parse_options(int argc, char **argv, struct minimise *all)
{
	static const struct cli_option table[] = {
		{"output", 'o', "FILE", "write to FILE, which may be the policy itself", cli_set_text,
		 offsetof(struct minimise, output_path), 0},
		CLI_FLAG("flatten", 0, "also minimise what the policy extends: write one file without \"extends\"",
			 offsetof(struct minimise, flatten)),
		CLI_FLAG("allow-damaged", 0, "take logs that are torn or lack records",
			 offsetof(struct minimise, allow_damaged)),
		{0},
	};
	const struct cli_syntax syntax = {
		.verb = VERB_IN_MESSAGES,
		.usage = "Usage: callgate policy minimise [OPTION...] POLICY LOG...\n\n"
			 "Drops and narrows the grants of a policy that recorded runs did not need.\n\n",
		.epilogue = "\nExit status: 0, 125 error.\n",
		.allows_mixed_order = true,
		.table = {{NULL, table, all}, {NULL, cli_get_policy_table(), &all->policy}},
	};
	int status = cli_parse_options(argc, argv, &syntax);

	if (status != CLI_OPTIONS_PARSED || argc - optind >= 2)
		return status;
	cli_print_error(VERB_IN_MESSAGES,
			optind == argc ? "no policy given" : "no log given; name the files that run --audit wrote");
	return cli_fail_usage(VERB_IN_MESSAGES);
}

int policy_main_minimise(int argc, char **argv)
{
	struct minimise all = {.policy_path = NULL};
	int status = minimise_parse_options(argc, argv, &all);

	if (status == CLI_OPTIONS_PARSED) {
		all.policy_path = argv[optind];
		status = cli_list_add_owned(&all.policy.policy_names, strdup(all.policy_path)) < 0
				 ? cli_fail_no_memory(VERB_IN_MESSAGES)
				 : CLI_EXIT_OK;
		if (status == CLI_EXIT_OK)
			status = minimise_read_logs(&all, argv + optind + 1, (size_t)(argc - optind - 1));
		if (status == CLI_EXIT_OK)
			status = minimise_read_policy(&all);
		if (status == CLI_EXIT_OK)
			status = minimise_policy(&all);
	}
	minimise_release(&all);
	return status;
}
