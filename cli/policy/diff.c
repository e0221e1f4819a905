/* callgate policy diff: shows what two policies judge differently. */
#include <jansson.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "cli/policy/verbs.h"
#include "cli/why/ask.h"
#include "policy/diff/diff.h"
#include "policy/paths/host-paths.h"

#define DIFF_VERB "policy diff"
#define DIFF_EXAMPLES_SHOWN_MAX 3 /* most examples shown for the same two rules */
#define DIFF_VALUE_COLUMNS_MAX 60 /* columns shown of a setting's value */

#define _cleanup_diff_ __attribute__((cleanup(policy_diff_release)))

/* Options of `callgate policy diff`. */
struct diff_options {
	struct cli_policy_options policy;
	bool json, no_new_access;
	const char *policy_name[2]; /* names of the two policies, in argv */
	const char *program;
};

/* The report on the differences that were found so far. */
struct diff_report {
	const struct diff_options *options;
	json_t *phases; /* the report of --json, by phase */
	struct buf text;
	size_t added, removed, settings;
	size_t wider_setting_count; /* how many settings grant more, or may grant more */
	bool cut;
};

/* ---- confirming differences ---- */

static enum why_kind diff_find_kind(const char *option)
{
	enum why_kind kind = 0;

	/* the loop ends, because the option of every witness is the name of a kind */
	while (strcmp(why_kind_get_name(kind), option) != 0)
		kind++;
	return kind;
}

/* Asks both policies as callgate why does. False: their answers are equal, for example because of links on the host. */
static bool diff_confirm_witness(struct policy *const policy[2], struct diff_witness *witness)
{
	struct diff_answer asked[2];

	for (unsigned side = 0; side < 2; side++) {
		struct why_answer answer;
		const char *wrong;

		if (why_ask(policy[side], diff_find_kind(witness->callgate_why_option), witness->callgate_why_argument,
			    &answer, NULL, &wrong) < 0)
			return false;
		asked[side] = (struct diff_answer){diff_get_access(answer.verdict, answer.reason), answer.verdict,
						   answer.rule, answer.reason};
	}
	memcpy(witness->answer, asked, sizeof(asked));
	return asked[0].access != asked[1].access;
}

/* Removes the witnesses to which both policies give the same answer, when they are asked as `callgate why` does. */
static void diff_confirm_all(struct policy *const policy[2], struct policy_diff *diff)
{
	size_t kept = 0;

	for (size_t i = 0; i < diff->witness_count; i++)
		if (diff_confirm_witness(policy, &diff->witness[i]))
			diff->witness[kept++] = diff->witness[i];
	diff->witness_count = kept;
}

/* ---- printing differences ---- */

/* Which of the two policies allows more. */
static unsigned diff_get_wider_policy(const struct diff_witness *witness)
{
	return witness->answer[1].access > witness->answer[0].access;
}

static void diff_print_finding(struct buf *text, const struct diff_witness *witness)
{
	unsigned more = diff_get_wider_policy(witness);
	const struct diff_answer *allows = &witness->answer[more], *denies = &witness->answer[!more];

	buf_printf(text, "%s %s by %s; %s: %s%s%s\n", more ? "+" : "-", witness->op,
		   allows->rule ? allows->rule : "no rule", more ? "before" : "after", denies->reason,
		   denies->rule ? " by " : "", denies->rule ? denies->rule : "");
}

/* Prints a difference with examples: the questions that have the same two answers as witness `first`. */
static void diff_print_group(struct buf *text, const struct policy_diff *diff, size_t first)
{
	unsigned shown = 0;

	diff_print_finding(text, &diff->witness[first]);
	for (size_t i = first; i < diff->witness_count && shown < DIFF_EXAMPLES_SHOWN_MAX; i++) {
		if (!diff_witnesses_agree(&diff->witness[first], &diff->witness[i]))
			continue;
		buf_printf(text, "    %s %s\n", diff->witness[i].callgate_why_option,
			   diff->witness[i].callgate_why_argument);
		shown++;
	}
}

static void diff_print_setting(struct buf *text, const struct diff_setting *setting)
{
	buf_printf(text, "~ %s: ", setting->key);
	for (unsigned side = 0; side < 2; side++) {
		const char *value = setting->json_value[side] ? setting->json_value[side] : "not set";
		bool cut = strlen(value) > DIFF_VALUE_COLUMNS_MAX;

		buf_printf(text, "%.*s%s%s", DIFF_VALUE_COLUMNS_MAX, value, cut ? "..." : "", side == 0 ? " -> " : "");
	}
	buf_printf(text, " (%s)\n", diff_direction_get_name(setting->direction));
}

/* One policy's answer to a question, as JSON. */
static json_t *diff_make_answer_json(const struct diff_answer *answer)
{
	return json_pack("{s:s, s:s?, s:s}", "verdict", verdict_get_name(answer->verdict), "rule", answer->rule,
			 "reason", answer->reason);
}

/* One difference as JSON: the two answers of witness `first`, and the first questions that get the same two. */
static json_t *diff_make_group_json(const struct policy_diff *diff, size_t first)
{
	const struct diff_witness *witness = &diff->witness[first];
	json_t *asked = json_array();

	for (size_t i = first; i < diff->witness_count && json_array_size(asked) < DIFF_EXAMPLES_SHOWN_MAX; i++)
		if (diff_witnesses_agree(witness, &diff->witness[i]))
			(void)json_array_append_new(asked, json_pack("{s:s}", diff->witness[i].callgate_why_option,
								     diff->witness[i].callgate_why_argument));
	return json_pack("{s:s, s:o, s:o, s:o}", "op", witness->op, "first",
			 diff_make_answer_json(&witness->answer[0]), "second",
			 diff_make_answer_json(&witness->answer[1]), "witnesses", asked);
}

static json_t *diff_make_settings_json(const struct policy_diff *diff)
{
	json_t *list = json_array();

	for (size_t i = 0; i < diff->setting_count; i++) {
		const struct diff_setting *setting = &diff->setting[i];

		(void)json_array_append_new(
			list,
			json_pack("{s:s, s:o, s:o, s:s}", "key", setting->key, "first",
				  setting->json_value[0] ? json_loads(setting->json_value[0], JSON_DECODE_ANY, NULL)
							 : json_null(),
				  "second",
				  setting->json_value[1] ? json_loads(setting->json_value[1], JSON_DECODE_ANY, NULL)
							 : json_null(),
				  "direction", diff_direction_get_name(setting->direction)));
	}
	return list;
}

/* True for the first witness of its group: of those to which both policies give the same answers by the same rules. */
static bool diff_witness_is_first_of_group(const struct policy_diff *diff, size_t at)
{
	for (size_t i = 0; i < at; i++)
		if (diff_witnesses_agree(&diff->witness[i], &diff->witness[at]))
			return false;
	return true;
}

/* Reports the accesses that one policy allows and the other does not. Returns the number of their groups. */
static size_t diff_report_wider_accesses(struct diff_report *report, const struct policy_diff *diff, unsigned side,
					 json_t *list)
{
	size_t groups = 0;

	for (size_t i = 0; i < diff->witness_count; i++) {
		if (diff_get_wider_policy(&diff->witness[i]) != side || !diff_witness_is_first_of_group(diff, i))
			continue;
		groups++;
		diff_print_group(&report->text, diff, i);
		(void)json_array_append_new(list, diff_make_group_json(diff, i));
	}
	return groups;
}

/* Adds the differences of one phase to the report, as text and as JSON. */
static void diff_report_phase(struct diff_report *report, const struct policy_diff *diff, enum policy_phase phase,
			      bool several)
{
	json_t *added = json_array(), *removed = json_array();
	size_t start = report->text.len, header;

	if (several)
		buf_printf(&report->text, "phase %s:\n", policy_phase_get_name(phase));
	header = report->text.len;
	report->added += diff_report_wider_accesses(report, diff, 1, added);
	report->removed += diff_report_wider_accesses(report, diff, 0, removed);
	for (size_t i = 0; i < diff->setting_count; i++) {
		diff_print_setting(&report->text, &diff->setting[i]);
		report->wider_setting_count += diff->setting[i].direction >= DIFF_WIDER;
	}
	report->settings += diff->setting_count;
	report->cut |= diff->cut;
	if (report->text.len == header && report->text.data)
		/* no differences in this phase: removes its heading */
		report->text.data[report->text.len = start] = '\0';
	(void)json_array_append_new(report->phases,
				    json_pack("{s:s, s:o, s:o, s:o, s:b}", "phase", policy_phase_get_name(phase),
					      "added", added, "removed", removed, "settings",
					      diff_make_settings_json(diff), "complete", !diff->cut));
}

/* ---- comparing phases ---- */

/*
 * Compares the policies in one phase. *ret_phases: some file has rules for a single phase. CLI_EXIT_OK or
 * CLI_EXIT_ERROR.
 */
static int diff_compare_phase(struct diff_report *report, enum policy_phase phase, bool several, bool *ret_phases)
{
	_cleanup_host_ struct cli_host first_host = {0}, second_host = {0};
	_cleanup_policy_ struct policy *first = NULL, *second = NULL;
	_cleanup_diff_ struct policy_diff diff = {0};
	const struct diff_options *options = report->options;

	if (policy_load_argument(DIFF_VERB, &options->policy, options->policy_name[0], options->program, phase,
				 &first_host, &first) != CLI_EXIT_OK ||
	    policy_load_argument(DIFF_VERB, &options->policy, options->policy_name[1], options->program, phase,
				 &second_host, &second) != CLI_EXIT_OK)
		return CLI_EXIT_ERROR;
	if (policy_diff(first, second, &diff) < 0)
		return cli_fail_no_memory(DIFF_VERB);
	diff_confirm_all((struct policy *const[]){first, second}, &diff);
	for (enum policy_phase each = 0; each < POLICY_PHASE_MAX; each++)
		*ret_phases |= policy_has_phase(first, each) || policy_has_phase(second, each);
	diff_report_phase(report, &diff, phase, several || *ret_phases);
	return CLI_EXIT_OK;
}

/* Compares the policies for the run and, if they have rules for it, for the setup. Returns the exit status. */
static int diff_compare_policies(struct diff_report *report)
{
	const struct cli_policy_options *options = &report->options->policy;
	bool phases = false;
	int status = diff_compare_phase(report, options->cli.phase, false, &phases);

	if (status == CLI_EXIT_OK && phases && !options->phase_was_given)
		status = diff_compare_phase(report, POLICY_PHASE_SETUP, true, &phases);
	return status;
}

/* Prints the report. Returns the exit status. */
static int diff_finish_report(struct diff_report *report)
{
	const struct diff_options *options = report->options;
	bool differ = report->added || report->removed || report->settings || report->cut;
	bool more = report->added || report->wider_setting_count || report->cut;
	int status;

	if (report->cut)
		cli_note("the policies have too many patterns to try them all: there may be further differences");
	if (options->no_new_access)
		buf_printf(&report->text, "%s: new accesses: %zu; settings that grant more, or may: %zu%s\n",
			   more ? "FAIL" : "PASS", report->added, report->wider_setting_count,
			   report->cut ? "; not all was tried" : "");
	else if (!differ)
		buf_puts(&report->text, "no differences\n");
	if (options->json)
		status = cli_print_json(DIFF_VERB,
					json_pack("{s:s, s:s, s:O, s:b, s:b}", "first", options->policy_name[0],
						  "second", options->policy_name[1], "phases", report->phases,
						  "different", differ, "new_access", more));
	else
		status = cli_print_buf(DIFF_VERB, &report->text);
	return status != CLI_EXIT_OK ? status : options->no_new_access ? more : differ;
}

static int diff_parse_options(int argc, char **argv, struct diff_options *options)
{
	static const struct cli_option table[] = {
		CLI_FLAG("no-new-access", 0, "tell whether B grants nothing that A does not: PASS or FAIL",
			 offsetof(struct diff_options, no_new_access)),
		CLI_FLAG("json", 0, "one JSON object", offsetof(struct diff_options, json)),
		{0},
	};
	const struct cli_syntax syntax = {
		.verb = DIFF_VERB,
		.usage = "Usage: callgate policy diff [OPTION...] A B [-- PROGRAM]\n\n"
			 "Lists which accesses policy B allows and A does not (+), the reverse (-), and which\n"
			 "settings differ (~). Each access is one that callgate why answers so. A and B are files\n"
			 "or profiles.\n\n",
		.epilogue = "\nExit status: 0 no differences (with --no-new-access: PASS), 1 differences (FAIL), "
			    "125 error.\n",
		.allows_mixed_order = true,
		.table = {{NULL, table, options}, {"\nFor both policies:\n", cli_get_policy_table(), &options->policy}},
	};
	int status = cli_parse_options(argc, argv, &syntax);

	if (status != CLI_OPTIONS_PARSED)
		return status;
	if (argc - optind < 2 || argc - optind > 3) {
		cli_print_error(DIFF_VERB, "takes two policies, and -- PROGRAM for what @interpreter stands for");
		return cli_fail_usage(DIFF_VERB);
	}
	options->policy_name[0] = argv[optind];
	options->policy_name[1] = argv[optind + 1];
	options->program = argv[optind + 2];
	return CLI_OPTIONS_PARSED;
}

int policy_main_diff(int argc, char **argv)
{
	struct diff_options options = {.json = false};
	struct diff_report report = {.options = &options};
	int status = diff_parse_options(argc, argv, &options);

	if (status == CLI_OPTIONS_PARSED) {
		report.phases = json_array();
		status = diff_compare_policies(&report);
		if (status == CLI_EXIT_OK)
			status = diff_finish_report(&report);
	}
	json_decref(report.phases);
	buf_release(&report.text);
	cli_policy_options_release(&options.policy);
	return status;
}
