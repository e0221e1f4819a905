/* callgate policy test: asks a policy the questions of a file, and compares the answers with the expected ones. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "cli/policy/cases.h"
#include "cli/policy/verbs.h"

#define VERB_IN_MESSAGES "policy test"

/* Options of `callgate policy test`. */
struct test_options {
	struct cli_policy_options policy;
	const char *format; /* format of the report: "tap" or "junit" */
	bool reports_coverage; /* --coverage: how often each rule decided and matched */
};

/* A rule, and how many questions it decided and how many it matched. */
struct test_rule {
	const char *label;
	size_t decided, matched;
	bool was_counted_for_question; /* the rule was counted for the current question */
};

/* The state of `callgate policy test`. */
struct test_run {
	const struct test_options *options;
	const struct policy *policy;
	struct test_rule *rule;
	size_t rule_count;
	struct buf text; /* text of the report */
	size_t failed_case_count;
	const char *policy_name, *cases_name;
};

/* ---- counting the rules that decide ---- */

static struct test_rule *test_find_rule(struct test_run *run, const char *label)
{
	for (size_t i = 0; i < run->rule_count; i++)
		if (strcmp(run->rule[i].label, label) == 0)
			return &run->rule[i];
	return NULL;
}

/* Lists the rules of the policy. Of rules with the same text (label) one is listed. 0 or -ENOMEM. */
static int test_list_rules(struct test_run *run)
{
	static const struct policy_question nothing = {.kind = POLICY_QUESTION_LISTEN};
	struct policy_rule_label rule;
	size_t at = 0, count = 0;

	while (policy_match_next_rule(run->policy, &nothing, &at, &rule))
		count++;
	run->rule = calloc(count + 1, sizeof(*run->rule));
	if (!run->rule)
		return -ENOMEM;
	for (at = 0; policy_match_next_rule(run->policy, &nothing, &at, &rule);)
		if (!test_find_rule(run, rule.label))
			run->rule[run->rule_count++].label = rule.label;
	return 0;
}

/* Counts, for the coverage, which rule decided on the question, and which rules match it. */
static void test_count_rules(struct test_run *run, const struct policy_question *question,
			     const struct why_answer *answer)
{
	struct test_rule *decided = answer->rule ? test_find_rule(run, answer->rule) : NULL;
	struct policy_rule_label rule;

	if (decided)
		decided->decided++;
	for (size_t i = 0; i < run->rule_count; i++)
		run->rule[i].was_counted_for_question = false;
	for (size_t at = 0; policy_match_next_rule(run->policy, question, &at, &rule);) {
		struct test_rule *counted = test_find_rule(run, rule.label);

		if (!rule.rule_matches || counted->was_counted_for_question)
			continue;
		counted->was_counted_for_question = true;
		counted->matched++;
	}
}

static void test_print_coverage(struct test_run *run)
{
	size_t decided = 0, matched = 0;

	for (size_t i = 0; i < run->rule_count; i++) {
		decided += run->rule[i].decided > 0;
		matched += run->rule[i].matched > 0;
	}
	buf_printf(&run->text, "# rules: %zu, decided a case: %zu, match a case: %zu\n# decided matches rule\n",
		   run->rule_count, decided, matched);
	for (size_t i = 0; i < run->rule_count; i++)
		buf_printf(&run->text, "# %7zu %7zu %s\n", run->rule[i].decided, run->rule[i].matched,
			   run->rule[i].label);
}

/* ---- printing reports ---- */

/* Prints a case's title, such as "open /etc/passwd:r is denied". */
static void test_print_title(struct buf *text, const struct policy_case *one)
{
	if (one->name)
		buf_printf(text, "%s: ", one->name);
	buf_printf(text, "%s %s: %s", why_kind_get_name(one->kind), one->question, one->verdict);
	if (one->rule || one->expects_no_rule)
		buf_printf(text, " by %s", one->rule ? one->rule : "no rule");
}

static void test_print_answer(struct buf *text, const struct why_answer *answer)
{
	buf_printf(text, "%s by %s (%s)", verdict_get_name(answer->verdict), answer->rule ? answer->rule : "no rule",
		   answer->reason);
}

static void test_print_tap(struct test_run *run, size_t number, const struct policy_case *one,
			   const struct why_answer *answer)
{
	_cleanup_buf_ struct buf title = {0};

	test_print_title(&title, one);
	for (char *at = title.data; at && *at; at++)
		*at = *at == '#' || *at == '\n' ? ' ' : *at; /* "#" begins a TAP directive */
	buf_printf(&run->text, "%s %zu - %s\n", answer ? "not ok" : "ok", number, title.data ? title.data : "");
	if (!answer)
		return;
	buf_printf(&run->text, "# %s:%u: ", run->cases_name, one->line);
	test_print_answer(&run->text, answer);
	buf_puts(&run->text, "\n");
}

/* Appends text as the content of an XML attribute. Characters that XML cannot have become "?". */
static void test_put_xml(struct buf *out, const char *text)
{
	for (; *text; text++) {
		switch (*text) {
		case '&':
			buf_puts(out, "&amp;");
			break;
		case '<':
			buf_puts(out, "&lt;");
			break;
		case '"':
			buf_puts(out, "&quot;");
			break;
		default:
			buf_add(out, (unsigned char)*text < 0x20 ? "?" : text, 1);
		}
	}
}

static void test_print_junit(struct test_run *run, const struct policy_case *one, const struct why_answer *answer)
{
	_cleanup_buf_ struct buf title = {0}, message = {0};

	test_print_title(&title, one);
	buf_puts(&run->text, "  <testcase classname=\"");
	test_put_xml(&run->text, run->policy_name);
	buf_puts(&run->text, "\" name=\"");
	test_put_xml(&run->text, title.data ? title.data : "");
	buf_puts(&run->text, answer ? "\">\n    <failure message=\"" : "\"/>\n");
	if (!answer)
		return;
	buf_printf(&message, "%s:%u: ", run->cases_name, one->line);
	test_print_answer(&message, answer);
	test_put_xml(&run->text, message.data ? message.data : "");
	buf_puts(&run->text, "\"/>\n  </testcase>\n");
}

/* ---- testing ---- */

static bool test_is_junit(const struct test_run *run)
{
	return strcmp(run->options->format, "junit") == 0;
}

/* Asks all questions. 0, or -EINVAL with a message for each malformed question. */
static int test_decide_all_cases(struct test_run *run, const struct policy_cases *cases)
{
	int ret = 0;

	for (size_t i = 0; i < cases->count; i++) {
		const struct policy_case *one = &cases->cases[i];
		struct policy_question question;
		struct why_answer answer;
		const char *wrong;
		bool holds;

		if (why_ask(run->policy, one->kind, one->question, &answer, &question, &wrong) < 0) {
			cli_note("%s:%u: cases[%zu].%s: \"%s\" %s", run->cases_name, one->line, i,
				 why_kind_get_name(one->kind), one->question, wrong);
			ret = -EINVAL;
			continue;
		}
		holds = policy_case_holds(one, &answer);
		run->failed_case_count += !holds;
		test_count_rules(run, &question, &answer);
		if (test_is_junit(run))
			test_print_junit(run, one, holds ? NULL : &answer);
		else
			test_print_tap(run, i + 1, one, holds ? NULL : &answer);
	}
	return ret;
}

/* Prints the whole report. Returns the exit status. */
static int test_print_report(struct test_run *run, const struct policy_cases *cases)
{
	_cleanup_buf_ struct buf whole = {0};
	int status;

	if (test_is_junit(run)) {
		buf_puts(&whole, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuite name=\"");
		test_put_xml(&whole, run->cases_name);
		buf_printf(&whole, "\" tests=\"%zu\" failures=\"%zu\">\n", cases->count, run->failed_case_count);
	} else {
		buf_printf(&whole, "TAP version 13\n1..%zu\n", cases->count);
	}
	if (run->text.failed)
		return cli_fail_no_memory(VERB_IN_MESSAGES);
	buf_puts(&whole, run->text.data ? run->text.data : "");
	buf_puts(&whole, test_is_junit(run) ? "</testsuite>\n" : "");
	status = cli_print_buf(VERB_IN_MESSAGES, &whole);
	if (status == CLI_EXIT_OK && run->options->reports_coverage) {
		run->text.len = 0;
		test_print_coverage(run);
		/* stdout is for JUnit's XML alone */
		if (test_is_junit(run))
			cli_note("%s", run->text.data ? run->text.data : "");
		else
			status = cli_print_buf(VERB_IN_MESSAGES, &run->text);
	}
	return status != CLI_EXIT_OK ? status : run->failed_case_count > 0;
}

static int test_run_cases(struct test_run *run, const char *program)
{
	const struct cli_policy_options *options = &run->options->policy;
	_cleanup_host_ struct cli_host host = {0};
	_cleanup_policy_ struct policy *policy = NULL;
	struct policy_cases cases = {.count = 0};
	int status = CLI_EXIT_ERROR;

	if (policy_cases_read(VERB_IN_MESSAGES, run->cases_name, &cases) < 0 ||
	    policy_load_argument(VERB_IN_MESSAGES, options, run->policy_name, program, options->cli.phase, &host,
				 &policy) != CLI_EXIT_OK)
		goto out;
	run->policy = policy;
	if (test_list_rules(run) < 0)
		status = cli_fail_no_memory(VERB_IN_MESSAGES);
	else if (test_decide_all_cases(run, &cases) == 0)
		status = test_print_report(run, &cases);
out:
	policy_cases_release(&cases);
	return status;
}

static int test_set_format(const struct cli_given_option *given, void *format)
{
	if (strcmp(given->value, "tap") != 0 && strcmp(given->value, "junit") != 0)
		return cli_refuse_value(given, "must be tap or junit");
	return cli_set_text(given, format);
}

int policy_main_test(int argc, char **argv)
{
	static const struct cli_option table[] = {
		{"format", 0, "FORMAT", "tap (the default) or junit", test_set_format,
		 offsetof(struct test_options, format), 0},
		CLI_FLAG("coverage", 0, "list how many cases each rule decided, and how many it matches",
			 offsetof(struct test_options, reports_coverage)),
		{0},
	};
	struct test_options options = {.format = "tap"};
	const struct cli_syntax syntax = {
		.verb = VERB_IN_MESSAGES,
		.usage = "Usage: callgate policy test [OPTION...] POLICY CASES [-- PROGRAM]\n\n"
			 "Asks POLICY, a file or a profile, the questions of the JSON file CASES, and compares the\n"
			 "answers with those expected there.\n\n",
		.epilogue = "\nExit status: 0 all cases hold, 1 some do not, 125 error.\n",
		.allows_mixed_order = true,
		.table = {{NULL, table, &options}, {"\nFor the policy:\n", cli_get_policy_table(), &options.policy}},
	};
	struct test_run run = {.options = &options};
	int status = cli_parse_options(argc, argv, &syntax);

	if (status == CLI_OPTIONS_PARSED && (argc - optind < 2 || argc - optind > 3)) {
		cli_print_error(VERB_IN_MESSAGES,
				"takes a policy and a file of cases, and -- PROGRAM for @interpreter");
		status = cli_fail_usage(VERB_IN_MESSAGES);
	}
	if (status == CLI_OPTIONS_PARSED) {
		run.policy_name = argv[optind];
		run.cases_name = argv[optind + 1];
		status = test_run_cases(&run, argv[optind + 2]);
	}
	buf_release(&run.text);
	free(run.rule);
	cli_policy_options_release(&options.policy);
	return status;
}
