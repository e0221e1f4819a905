/* callgate why: decides one access as a run would, and explains the decision. */
#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/text.h"
#include "cli/load.h"
#include "cli/why/ask.h"
#include "cli/why/net.h"
#include "cli/why/path.h"
#include "policy/paths/after.h"
#include "policy/paths/reads.h"

/* Options of `callgate why`. */
struct why_options {
	const char *question; /* argument of the option; NULL: no question was given */
	enum why_kind kind;
	bool json;
	uint64_t fired_after_entries; /* bits of the entries of after_read that count as fired */
};

/* Sets bit N for --after-read N. Whether the policy has this entry is checked when the policy is loaded. */
static int why_set_fired_entry(const struct cli_given_option *given, void *after)
{
	uint64_t index;

	if (text_parse_number(given->value, 0, POLICY_AFTER_ENTRIES_MAX - 1, &index) < 0)
		return cli_refuse_value(given, "no number of an entry of after_read, such as 0");
	*(uint64_t *)after |= UINT64_C(1) << index;
	return 0;
}

/* Marks the entries of --after-read as fired. False with a message: the policy lacks an entry. */
static bool why_mark_fired_entries(const struct policy *policy, uint64_t entries)
{
	const size_t count = policy_count_after_entries(policy);

	policy_fire_after_entries(policy, (uint32_t)entries);
	if (count == POLICY_AFTER_ENTRIES_MAX || entries >> count == 0)
		return true;
	cli_print_error("why", "--after-read %d: the policy has %zu entries of after_read, counted from 0",
			63 - __builtin_clzll(entries), count);
	return false;
}

/* Sets the question. given->setter_param is its enum why_kind. */
static int why_set_question(const struct cli_given_option *given, void *all)
{
	struct why_options *question = all;
	const char *wrong = NULL;

	if (question->question)
		wrong = "more than one question; ask with one --open, --exec, --connect, --listen or --url";
	else if (!*given->value && (given->setter_param == WHY_OPEN || given->setter_param == WHY_EXEC))
		wrong = "an empty path names nothing; write a path";
	if (wrong)
		cli_print_error("why", "%s", wrong);
	question->question = given->value;
	question->kind = given->setter_param;
	return wrong ? -EINVAL : 0;
}

static const char *why_get_text_or_none(const char *text)
{
	return text && *text ? text : "none";
}

static const char *why_get_right_name(unsigned want)
{
	return want == POLICY_EXEC ? "exec" : want == POLICY_WRITE ? "write" : "read";
}

/*
 * Returns what a denial, or the reading of a decoy, does to the process, such as "kill" or "stop". NULL: the call only
 * fails. A denied exec leads to a question only if a rule of exec.deny denies it.
 */
static const char *why_get_effect_on_process(const struct policy *policy, const struct why_path_question *question)
{
	const struct policy_decision *decision = &question->decision;
	enum policy_on_deny mode = policy_find_on_deny(policy, decision->rule);

	if (decision->verdict == VERDICT_DENY)
		return mode == ON_DENY_ERRNO || (policy_on_deny_asks(mode) && question->wanted_rights == POLICY_EXEC &&
						 strcmp(decision->reason, "exec_denied_by_rule") != 0)
			       ? NULL
			       : policy_on_deny_get_name(mode);
	if (strcmp(decision->reason, "decoy") == 0)
		return policy_decoy_read_ends_run(policy, decision->rule) ? "kill" : "flag";
	return NULL;
}

/* Who judges the access in a run, if all layers are active: the kernel judges only reading, and records nothing. */
static enum policy_judge why_get_judge(const struct policy *policy, const struct why_path_question *question)
{
	struct policy_kernel_reads_obstacle obstacle;

	return question->wanted_rights != POLICY_READ || policy_find_kernel_reads_obstacle(policy, &obstacle)
		       ? POLICY_JUDGE_ALL
		       : policy_get_judge_mode(policy);
}

/* Returns the entries of after_read that an allowed access fires, without those that have fired already. */
static uint32_t why_find_fired_entries(const struct policy *policy, const struct why_path_question *question)
{
	if (question->decision.verdict == VERDICT_DENY || question->wanted_rights == POLICY_WRITE)
		return 0;
	return policy_find_entries_fired_by_read(policy, question->resolved_path, strlen(question->resolved_path)) &
	       ~policy_get_fired_after_entries(policy);
}

/* Prints which after_read entries such a call would fire. */
static void why_put_fired_entries(struct buf *text, const struct policy *policy, uint32_t entries)
{
	for (unsigned i = 0; i < POLICY_AFTER_ENTRIES_MAX; i++)
		if (entries & UINT32_C(1) << i)
			buf_printf(text, "  would fire %s\n", policy_get_after_label(policy, i));
}

/* The labels of the after_read entries whose bits are set, as JSON. */
static json_t *why_make_fired_entries_json(const struct policy *policy, uint32_t entries)
{
	json_t *list = json_array();

	for (unsigned i = 0; i < POLICY_AFTER_ENTRIES_MAX; i++)
		if (entries & UINT32_C(1) << i)
			(void)json_array_append_new(list, json_string(policy_get_after_label(policy, i)));
	return list;
}

static int why_print_text(const struct policy *policy, const struct why_path_question *question, const char *suggest,
			  const char *suggest_why)
{
	const struct policy_decision *decision = &question->decision;
	const char *then = why_get_effect_on_process(policy, question);
	_cleanup_buf_ struct buf text = {0};

	buf_printf(&text, "%s %s %s\n", verdict_get_name(decision->verdict),
		   why_get_right_name(question->wanted_rights), question->asked_path);
	if (strcmp(question->asked_path, question->resolved_path) != 0)
		buf_printf(&text, "  resolved  %s\n", question->resolved_path);
	buf_printf(&text, "  rule      %s\n",
		   decision->rule ? decision->rule : "none: what no rule grants does not exist");
	buf_printf(&text, "  reason    %s\n", decision->reason);
	if (decision->error)
		buf_printf(&text, "  errno     %s\n", strerrorname_np(decision->error));
	if (then)
		buf_printf(&text, "  then      %s\n", then);
	if (why_get_judge(policy, question) == POLICY_JUDGE_CHANGES)
		buf_puts(&text, "  record    none: the kernel decides about reading (\"judge\": \"changes\")\n");
	why_put_fired_entries(&text, policy, why_find_fired_entries(policy, question));
	buf_printf(&text, "  mount     %s\n", why_get_text_or_none(question->mount ? question->mount->virt : NULL));
	if (question->is_private_to_run)
		buf_puts(&text, "  host      none: the run has it for itself, and it is empty when it starts\n");
	else
		buf_printf(&text, "  host      %s\n", why_get_text_or_none(question->host_path));
	if (suggest)
		buf_printf(&text, "  to allow  %s\n", suggest);
	if (suggest_why)
		buf_printf(&text, "  to allow  nothing is suggested: %s\n", suggest_why);
	return cli_print_buf("why", &text);
}

/* Makes a JSON string; null if text is NULL or not UTF-8. */
static json_t *why_make_json_string(const char *text)
{
	json_t *value = text && *text ? json_string(text) : NULL;

	return value ? value : json_null();
}

static int why_print_json(const struct policy *policy, const struct why_path_question *question, const char *suggest,
			  const char *suggest_why)
{
	const struct policy_decision *decision = &question->decision;
	json_t *object = json_pack(
		"{s:s, s:s, s:o, s:o, s:o, s:s, s:o, s:o, s:o, s:o, s:o, s:s?, s:o, s:s}", "verdict",
		verdict_get_name(decision->verdict), "op", why_get_right_name(question->wanted_rights), "path",
		why_make_json_string(question->asked_path), "resolved", why_make_json_string(question->resolved_path),
		"rule", why_make_json_string(decision->rule), "reason", decision->reason, "errno",
		why_make_json_string(decision->error ? strerrorname_np(decision->error) : NULL), "mount",
		why_make_json_string(question->mount ? question->mount->virt : NULL), "host",
		why_make_json_string(question->host_path), "suggest", why_make_json_string(suggest), "suggest_reason",
		why_make_json_string(suggest_why), "then", why_get_effect_on_process(policy, question), "fires",
		why_make_fired_entries_json(policy, why_find_fired_entries(policy, question)), "judge",
		policy_judge_get_name(why_get_judge(policy, question)));

	return cli_print_json("why", object);
}

/* Answers `callgate why` about a path. Returns the exit status: 1 if it is denied. */
static int why_answer_path(const struct policy *policy, const struct why_options *asked)
{
	_cleanup_free_ char *suggest = NULL, *suggest_why = NULL;
	struct why_path_question question;
	int ret = why_decide_path(policy, asked->question, asked->kind == WHY_EXEC, &question), exit_code;

	if (ret < 0) {
		cli_print_error("why", "%s: %s", asked->question, strerror(-ret));
		return CLI_EXIT_ERROR;
	}
	suggest = why_suggest_grant(policy, &question, &suggest_why);
	exit_code = asked->json ? why_print_json(policy, &question, suggest, suggest_why)
				: why_print_text(policy, &question, suggest, suggest_why);
	return exit_code == CLI_EXIT_OK && question.decision.verdict == VERDICT_DENY ? 1 : exit_code;
}

static int why_parse_options(int argc, char **argv, struct cli_policy_options *options, struct why_options *question)
{
	static const struct cli_option table[] = {
		{"open", 0, "PATH[:r|w|x]", "reading (r, also without a letter), writing or executing PATH",
		 why_set_question, 0, WHY_OPEN},
		{"exec", 0, "PATH", "executing PATH", why_set_question, 0, WHY_EXEC},
		{"connect", 0, "HOST:PORT", "connecting to it (HOST:PORT/udp: sending datagrams)", why_set_question, 0,
		 WHY_CONNECT},
		{"listen", 0, "PORT", "listening at PORT of the run's own loopback; 0: any that the kernel chooses",
		 why_set_question, 0, WHY_LISTEN},
		{"url", 0, "'METHOD URL'", "making a request: 'GET https://HOST/PATH'", why_set_question, 0, WHY_URL},
		{"after-read", 0, "N", "as when entry N of after_read (from 0) has fired; can be repeated",
		 why_set_fired_entry, offsetof(struct why_options, fired_after_entries), 0},
		CLI_FLAG("json", 0, "one JSON object", offsetof(struct why_options, json)),
		{0},
	};
	const struct cli_syntax syntax = {
		.verb = "why",
		.usage = "Usage: callgate why [OPTION...] QUESTION [-- PROGRAM]\n\n"
			 "Explains whether a policy allows an access, by which rule, and what would allow it.\n"
			 "Without -p and --profile it is the profile minimal, and PROGRAM may be executed.\n\n",
		.epilogue = "\nExit status: 0 allowed, 1 refused, 125 error.\n",
		.table = {{NULL, table, question}, {NULL, cli_get_policy_table(), options}},
	};
	int status = cli_parse_options(argc, argv, &syntax);

	if (status != CLI_OPTIONS_PARSED || question->question)
		return status;
	cli_print_error("why", "nothing asked; give --open PATH, --exec PATH, --connect HOST:PORT, --listen PORT or "
		  "--url 'METHOD URL'");
	return cli_fail_usage("why");
}

int cli_main_why(int argc, char **argv)
{
	_cleanup_policy_options_ struct cli_policy_options options = {0};
	_cleanup_host_ struct cli_host host = {0};
	struct why_options question = {0};
	_cleanup_policy_ struct policy *policy = NULL;
	int exit_code = why_parse_options(argc, argv, &options, &question);

	if (exit_code != CLI_OPTIONS_PARSED)
		return exit_code;
	if (cli_load_policy_without_run(&options, "why", argv[optind], &host, &policy) != CLI_EXIT_OK)
		return CLI_EXIT_ERROR;
	if (!why_mark_fired_entries(policy, question.fired_after_entries))
		return CLI_EXIT_ERROR;
	if (question.kind == WHY_LISTEN)
		return why_answer_listen(policy, question.question, question.json);
	if (question.kind == WHY_CONNECT || question.kind == WHY_URL)
		return why_answer_net(policy, question.question, question.kind == WHY_URL, question.json);
	return why_answer_path(policy, &question);
}
