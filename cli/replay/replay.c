/* callgate replay: shows what another policy would decide about recorded runs. No program is run. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "cli/replay/replay.h"
#include "replay/label.h"

/* Options of `callgate replay`. */
struct replay_options {
	struct cli_policy_options policy_options;
	bool json;
	bool lists_records; /* each changed record is printed, not only groups */
	struct replay_accepted_logs accepted_logs;
	unsigned
		changes_that_fail_replay; /* set of 1 << enum replay_change: these make the exit status a failure */
};

static int replay_set_fail_on(const struct cli_given_option *given, void *changes_that_fail_replay)
{
	static const struct {
		const char *name;
		unsigned changes;
	} names[] = {{"denied", 1 << REPLAY_NEWLY_DENIED},
		     {"allowed", 1 << REPLAY_NEWLY_ALLOWED},
		     {"any",
		      1 << REPLAY_NEWLY_DENIED | 1 << REPLAY_NEWLY_ALLOWED | 1 << REPLAY_SAME_VERDICT_OTHER_RULE}};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(given->value, names[i].name) == 0) {
			*(unsigned *)changes_that_fail_replay |= names[i].changes;
			return 0;
		}
	return cli_refuse_value(given, "not one of denied, allowed and any");
}

/* ---- comparing rules ---- */

/* Whether two rules have the same key and text, wherever they stand in their policies. */
static bool replay_rule_is_same(const char *recorded, size_t len, const char *rule)
{
	char one[LABEL_WITHOUT_FILE_TEXT_SIZE], other[LABEL_WITHOUT_FILE_TEXT_SIZE];
	size_t one_len, other_len, rule_len = strlen(rule);

	if (len == rule_len && memcmp(recorded, rule, len) == 0)
		return true;
	one_len = label_remove_file_and_index(recorded, len, one, sizeof(one));
	other_len = label_remove_file_and_index(rule, rule_len, other, sizeof(other));
	return one_len == other_len && memcmp(one, other, one_len) == 0;
}

/* Whether the recorded rule is among the rules that agree with the answer. */
static bool replay_answer_has_recorded_rule(const struct scan_record *record, const struct query_answer *answer)
{
	char text[4096];
	const char *recorded = record->rule.at;
	size_t len = record->rule.len;

	if (recorded && memchr(recorded, '\\', len)) {
		int r = scan_copy_unescaped_bytes(&record->rule, text, sizeof(text));

		recorded = text;
		len = r < 0 ? 0 : (size_t)r;
	}
	for (size_t i = 0; i < answer->rule_count; i++) {
		if (!recorded || !answer->rules[i] ? recorded == answer->rules[i]
						   : replay_rule_is_same(recorded, len, answer->rules[i]))
			return true;
	}
	return false;
}

/* ---- judging records ---- */

/* Judges a record by the policy, and counts whether its verdict or rule changes. 0 or -errno. */
static int replay_judge_record(void *ctx, const struct replay_log *log, const struct query_judge *judge,
			       const struct scan_record *record, const struct query *query)
{
	struct replay_report *report = ctx;
	struct query_answer answer;

	if (query->kind == QUERY_RULES_DO_NOT_DECIDE)
		return replay_report_add(report, REPLAY_VERDICT_UNKNOWN, log, record, query, NULL);
	query_judge(judge, query, &answer);
	query_fire_after_entries(judge, query, &answer);
	if (!answer.is_certain)
		return replay_report_add(report, REPLAY_VERDICT_UNKNOWN, log, record, query, &answer);
	if (answer.is_allowed != query->was_allowed)
		return replay_report_add(report, answer.is_allowed ? REPLAY_NEWLY_ALLOWED : REPLAY_NEWLY_DENIED, log,
					 record, query, &answer);
	if (!replay_answer_has_recorded_rule(record, &answer))
		return replay_report_add(report, REPLAY_SAME_VERDICT_OTHER_RULE, log, record, query, &answer);
	replay_report_count_unchanged(report);
	return 0;
}

static int replay_parse_options(int argc, char **argv, struct replay_options *options)
{
	static const struct cli_option table[] = {
		{"fail-on", 0, "WHAT",
		 "exit with 1 when something is newly denied, newly allowed, or any\n"
		 "(either, or by another rule); can be repeated",
		 replay_set_fail_on, offsetof(struct replay_options, changes_that_fail_replay), 0},
		CLI_FLAG("allow-damaged", 0, "take logs that are torn, lack records or fail audit verify",
			 offsetof(struct replay_options, accepted_logs.damaged_logs)),
		CLI_FLAG("changes-only", 0, "take logs of runs with \"judge\": \"changes\", which lack what was read",
			 offsetof(struct replay_options, accepted_logs.logs_without_reads)),
		CLI_FLAG("list", 0, "every record that changes or is not replayable, one line of JSON each",
			 offsetof(struct replay_options, lists_records)),
		CLI_FLAG("json", 0, "one JSON object", offsetof(struct replay_options, json)),
		{0},
	};
	const struct cli_syntax syntax = {
		.verb = "replay",
		.usage = "Usage: callgate replay [OPTION...] LOG...\n\n"
			 "Judges what audit logs recorded by another policy, and lists what changes. Runs nothing.\n"
			 "Without -p and --profile that is the profile minimal, and the program may be executed.\n\n",
		.epilogue = "\nExit status: 0, 1 when --fail-on found something, 125 error.\n",
		.allows_mixed_order = true,
		.table = {{NULL, table, options}, {NULL, cli_get_policy_table(), &options->policy_options}},
	};
	int status = cli_parse_options(argc, argv, &syntax);

	if (status != CLI_OPTIONS_PARSED || optind < argc)
		return status;
	cli_print_error("replay", "no log given; name the files that run --audit wrote");
	return cli_fail_usage("replay");
}

static int replay_logs(const struct replay_options *options, char **paths, size_t count)
{
	struct replay_log *logs = calloc(count, sizeof(*logs));
	struct replay_report *report = replay_report_create(options->lists_records);
	int status = CLI_EXIT_OK;
	size_t read = 0;

	if (!logs || !report) {
		free(logs);
		replay_report_free(report);
		return cli_fail_no_memory("replay");
	}
	for (; logs && status == CLI_EXIT_OK && read < count; read++) {
		logs[read].path = paths[read];
		status = replay_judge_log("replay", &options->policy_options, &options->accepted_logs, &logs[read],
					  replay_judge_record, report);
	}
	if (status == CLI_EXIT_OK && options->lists_records)
		status = cli_print_text("replay", "");
	else if (status == CLI_EXIT_OK)
		status = replay_report_print(report, logs, count, options->json);
	for (unsigned change = 0; status == CLI_EXIT_OK && change < REPLAY_CHANGE_MAX; change++)
		if (options->changes_that_fail_replay >> change & 1 && replay_report_get_count(report, change) > 0)
			status = 1;
	for (size_t i = 0; i < read; i++)
		replay_log_release(&logs[i]);
	replay_report_free(report);
	free(logs);
	return status;
}

int cli_main_replay(int argc, char **argv)
{
	struct replay_options options = {.accepted_logs.advice_if_refused = "use --changes-only to judge the rest"};
	int status = replay_parse_options(argc, argv, &options);

	if (status == CLI_OPTIONS_PARSED)
		status = replay_logs(&options, argv + optind, (size_t)(argc - optind));
	cli_policy_options_release(&options.policy_options);
	return status;
}
