/*
 * What holds for all policies, tried on policies and questions made up from seeds (generate.h): witnesses of a diff are
 * true and none is missing; a policy does not differ from itself, from what is shown of it, from itself formatted, nor
 * from itself in another order; a deny beats every grant; the rule that decides matches.
 */
#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "policy/diff/diff.h"
#include "policy/match.h"
#include "policy/network/net.h"
#include "policy/parse/format.h"
#include "policy/paths/glob.h"
#include "tests/unit/policy/generate.h"
#include "tests/unit/policy/policy-rig.h"
#include "tests/unit/sanitized.h"
#include "tests/unit/unit.h"

/* Under the sanitizers, which look for other mistakes, a seed takes 25 times as long. */
#define SEEDS (SANITIZED ? 60 : few_of(400))

/* An answer to a question in the words of callgate why, by nothing but the functions that judge. */
static struct diff_answer judge_path(const struct policy *policy, const char *path, size_t len, unsigned want)
{
	struct policy_decision decision = policy_decide_access(policy, path, len, want);

	return (struct diff_answer){diff_get_access(decision.verdict, decision.reason), decision.verdict, decision.rule,
				    decision.reason};
}

static struct diff_answer judge_connect(const struct policy *policy, const char *text)
{
	bool udp = strstr(text, "/udp") != NULL;
	const char *colon = strrchr(text, ':');
	char host[NET_HOST_SIZE];
	struct net_verdict verdict;

	(void)snprintf(host, sizeof(host), "%.*s", (int)(colon - text), text);
	verdict = policy_net_judge_connect(policy, host, (unsigned)strtoul(colon + 1, NULL, 10), udp);
	return (struct diff_answer){verdict.is_allowed && policy_net_is_enabled(policy) ? DIFF_ACCESS_FULL
											: DIFF_ACCESS_NONE,
				    VERDICT_ALLOW, verdict.label, verdict.reason};
}

static struct diff_answer judge_url(const struct policy *policy, const char *text)
{
	char method[NET_METHOD_SIZE], scheme[8], host[NET_HOST_SIZE], path[NET_PATH_SIZE];
	struct net_verdict verdict;
	unsigned port;

	ck_assert_int_eq(sscanf(text, "%23s %7[a-z]://%253[^:]:%u%2047s", method, scheme, host, &port, path), 5);
	verdict = policy_net_judge_url(policy, &(struct net_request){host, port,
								     !strcmp(scheme, "https") || !strcmp(scheme, "wss"),
								     scheme[0] == 'w', method, path});
	return (struct diff_answer){verdict.is_allowed && policy_net_is_enabled(policy) ? DIFF_ACCESS_FULL
											: DIFF_ACCESS_NONE,
				    VERDICT_ALLOW, verdict.label, verdict.reason};
}

static struct diff_answer judge(const struct policy *policy, const char *option, const char *text)
{
	size_t len = strlen(text);

	if (strcmp(option, "open") == 0)
		return judge_path(policy, text, len - 2, text[len - 1] == 'w' ? POLICY_WRITE : POLICY_READ);
	if (strcmp(option, "exec") == 0)
		return judge_path(policy, text, len, POLICY_EXEC);
	if (strcmp(option, "connect") == 0)
		return judge_connect(policy, text);
	if (strcmp(option, "url") == 0)
		return judge_url(policy, text);
	ck_assert_str_eq(option, "listen");
	struct net_verdict verdict = policy_net_judge_listen(policy, (unsigned)strtoul(text, NULL, 10));

	return (struct diff_answer){verdict.is_allowed && policy_net_is_enabled(policy) ? DIFF_ACCESS_FULL
											: DIFF_ACCESS_NONE,
				    VERDICT_ALLOW, verdict.label, verdict.reason};
}

/* The next policy of a seed that can be loaded. */
static struct policy *make_policy(uint64_t *state, json_t **ret_json)
{
	for (unsigned tries = 0; tries < 200; tries++) {
		json_t *json = generate_policy(state);
		struct policy *policy = rig_load_json(json);

		if (policy) {
			*ret_json = json;
			return policy;
		}
		json_decref(json);
	}
	ck_abort_msg("no policy can be loaded");
	return NULL;
}

static void check_empty(const struct policy *first, const struct policy *second, const char *what)
{
	struct policy_diff diff;

	ck_assert_int_eq(policy_diff(first, second, &diff), 0);
	ck_assert_msg(diff.witness_count == 0, "%s: %s %s", what,
		      diff.witness ? diff.witness[0].callgate_why_option : "",
		      diff.witness ? diff.witness[0].callgate_why_argument : "");
	ck_assert_msg(diff.setting_count == 0, "%s: %s", what, diff.setting ? diff.setting[0].key : "");
	ck_assert(!diff.cut);
	policy_diff_release(&diff);
}

static void check_witnesses(struct policy *const policy[2], const struct policy_diff *diff)
{
	for (size_t i = 0; i < diff->witness_count; i++) {
		const struct diff_witness *witness = &diff->witness[i];

		ck_assert_int_ne(witness->answer[0].access, witness->answer[1].access);
		for (unsigned side = 0; side < 2; side++) {
			struct diff_answer answer =
				judge(policy[side], witness->callgate_why_option, witness->callgate_why_argument);

			ck_assert_msg(answer.access == witness->answer[side].access, "%s %s",
				      witness->callgate_why_option, witness->callgate_why_argument);
			if (strcmp(witness->op, "connect") == 0 && !policy_net_is_enabled(policy[side]))
				ck_assert_str_eq(witness->answer[side].reason, "no_network");
			else if (strcmp(witness->answer[side].reason, "no_network") != 0)
				ck_assert_str_eq(answer.reason, witness->answer[side].reason);
		}
	}
}

/* A difference that a question shows must be known by some witness of the same operation and direction. */
static void check_found(struct policy *const policy[2], const struct policy_diff *diff, const char *op,
			const char *option, const char *text)
{
	struct diff_answer first = judge(policy[0], option, text), second = judge(policy[1], option, text);
	bool found = first.access == second.access;

	for (size_t i = 0; i < diff->witness_count && !found; i++) {
		const struct diff_witness *witness = &diff->witness[i];

		found = strcmp(witness->op, op) == 0 && witness->answer[0].access == first.access &&
			witness->answer[1].access == second.access;
	}
	if (!found) {
		char *one = policy_make_json(policy[0]), *two = policy_make_json(policy[1]);

		ck_abort_msg("no witness for %s %s (%d, %d)\n%s\n%s", option, text, first.access, second.access, one,
			     two);
	}
}

static void check_questions(struct policy *const policy[2], const struct policy_diff *diff, uint64_t *state)
{
	char path[GENERATED_PATH_MAX], text[GENERATED_TEXT_MAX];

	for (unsigned i = 0; i < 200; i++) {
		generate_path(state, path);
		(void)snprintf(text, sizeof(text), "%s:r", path);
		check_found(policy, diff, "read", "open", text);
		(void)snprintf(text, sizeof(text), "%s:w", path);
		check_found(policy, diff, "write", "open", text);
		check_found(policy, diff, "exec", "exec", path);
		generate_endpoint(state, text);
		check_found(policy, diff, "connect", "connect", text);
		generate_url(state, text);
		check_found(policy, diff, "request", "url", text);
		(void)snprintf(text, sizeof(text), "%u", 7990 + generate_number(state, 30));
		check_found(policy, diff, "listen", "listen", text);
	}
}

START_TEST(test_witnesses)
{
	uint64_t state = generate_seed(0x9e3779b97f4a7c15, _i);
	json_t *json[2];
	struct policy *policy[2];
	struct policy_diff diff;

	for (unsigned side = 0; side < 2; side++)
		policy[side] = make_policy(&state, &json[side]);
	for (unsigned side = 0; side < 2; side++)
		check_empty(policy[side], policy[side], "itself");
	ck_assert_int_eq(policy_diff(policy[0], policy[1], &diff), 0);
	ck_assert(!diff.cut);
	check_witnesses(policy, &diff);
	check_questions(policy, &diff, &state);
	policy_diff_release(&diff);
	for (unsigned side = 0; side < 2; side++) {
		json_decref(json[side]);
		policy_free(policy[side]);
	}
}
END_TEST

/* What show prints is the same policy, and shows the same. */
START_TEST(test_show_round_trip)
{
	uint64_t state = generate_seed(0xd6e8feb86659fd93, _i);
	json_t *json, *shown_json;
	struct policy *policy = make_policy(&state, &json), *again;
	char *shown = policy_make_json(policy), *shown_again;

	shown_json = json_loads(shown, 0, NULL);
	again = rig_load_json(shown_json);
	ck_assert_msg(again != NULL, "%s", shown);
	shown_again = policy_make_json(again);
	ck_assert_str_eq(shown, shown_again);
	check_empty(policy, again, shown);
	free(shown);
	free(shown_again);
	json_decref(json);
	json_decref(shown_json);
	policy_free(policy);
	policy_free(again);
}
END_TEST

/* True when a rule with this label matches the question. */
static bool label_matches(const struct policy *policy, const struct policy_question *question, const char *label)
{
	struct policy_rule_label rule;
	bool matches = false;

	for (size_t at = 0; policy_match_next_rule(policy, question, &at, &rule);)
		matches = matches || (rule.rule_matches && strcmp(rule.label, label) == 0);
	return matches;
}

static void check_match(const struct policy *policy, const struct policy_question *question, const char *label)
{
	if (label)
		ck_assert_msg(label_matches(policy, question, label), "%s does not match %s %s", label, question->host,
			      question->path);
}

/* The rule that decides is one of those that match. */
START_TEST(test_matches)
{
	static const unsigned wants[] = {POLICY_READ, POLICY_WRITE, POLICY_EXEC};
	uint64_t state = generate_seed(0xe7037ed1a0b428db, _i);
	struct policy_question question;
	json_t *json;
	struct policy *policy = make_policy(&state, &json);
	char text[GENERATED_TEXT_MAX], scheme[8];

	for (unsigned i = 0; i < 100; i++) {
		question = (struct policy_question){.kind = POLICY_QUESTION_PATH, .wanted_rights = wants[i % 3]};
		generate_path(&state, question.path);
		check_match(policy, &question, judge_path(policy, question.path, strlen(question.path),
							  question.wanted_rights).rule);
		generate_endpoint(&state, text);
		question = (struct policy_question){.kind = POLICY_QUESTION_CONNECT, .udp = strstr(text, "/udp")};
		(void)sscanf(text, "%253[^:]:%u", question.host, &question.port);
		check_match(policy, &question, judge_connect(policy, text).rule);
		generate_url(&state, text);
		question = (struct policy_question){.kind = POLICY_QUESTION_REQUEST,
						    .asks_for_websocket = strstr(text, " wss:")};
		(void)sscanf(text, "%23s %7[a-z]://%253[^:]:%u%2047s", question.method, scheme, question.host,
			     &question.port, question.path);
		if (judge_url(policy, text).access == DIFF_ACCESS_FULL)
			check_match(policy, &question, judge_url(policy, text).rule);
		(void)snprintf(text, sizeof(text), "%u", 7990 + generate_number(&state, 30));
		question = (struct policy_question){.kind = POLICY_QUESTION_LISTEN,
						    .port = (unsigned)strtoul(text, NULL, 10)};
		check_match(policy, &question, judge(policy, "listen", text).rule);
	}
	json_decref(json);
	policy_free(policy);
}
END_TEST

/* Formatting keeps the meaning, and formatting again changes nothing; nor does the order of sorted lists. */
START_TEST(test_format)
{
	uint64_t state = generate_seed(0x8ebc6af09c88c6e3, _i);
	json_t *json, *shuffled;
	struct policy *policy = make_policy(&state, &json), *again;
	char *text = json_dumps(json, 0), *once = rig_format_text(text), *twice = rig_format_text(once), *other,
	     *shuffled_text;

	ck_assert_str_eq(once, twice);
	again = rig_load_good(once);
	check_empty(policy, again, once);
	json_object_del(json, "network"); /* whose rules keep their order */
	json_object_del(json_object_get(json, "filesystem"), "redirect");
	shuffled = generate_shuffled(&state, json);
	free(text);
	free(once);
	text = json_dumps(json, 0);
	shuffled_text = json_dumps(shuffled, 0);
	once = rig_format_text(text);
	other = rig_format_text(shuffled_text);
	ck_assert_str_eq(once, other);
	free(text);
	free(once);
	free(twice);
	free(other);
	free(shuffled_text);
	json_decref(json);
	json_decref(shuffled);
	policy_free(policy);
	policy_free(again);
}
END_TEST

/* True when a rule of filesystem.deny or exec.deny matches a path, by its glob alone. */
static bool list_denies(const json_t *json, const char *section, const char *path)
{
	const json_t *list = json_object_get(json_object_get(json, section), "deny");
	struct arena arena = {0};
	bool denied = false;

	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *item = json_array_get(list, i);
		const char *text = json_string_value(json_is_object(item) ? json_object_get(item, "path") : item);
		struct glob glob;

		ck_assert_int_eq(glob_compile(&arena, *text == '/' ? text + 1 : text, true, &glob), 0);
		denied = denied || glob_matches(&glob, path + 1, strlen(path + 1));
	}
	arena_release(&arena);
	return denied;
}

/* True when a rule of network.deny names the endpoint "host:port" or "host:port/udp". */
static bool network_denies(const json_t *json, const char *endpoint)
{
	const json_t *list = json_object_get(json_object_get(json, "network"), "deny");
	char host[NET_HOST_SIZE];
	unsigned port = 0;
	bool denied = false;

	ck_assert_int_eq(sscanf(endpoint, "%253[^:]:%u", host, &port), 2);
	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *item = json_array_get(list, i), *only = json_object_get(item, "port");

		denied = denied || (net_host_matches(json_string_value(json_object_get(item, "host")), host) &&
				    (!only || json_integer_value(only) == port));
	}
	return denied;
}

static void check_denies(const struct policy *policy, const json_t *json, uint64_t *state)
{
	char path[GENERATED_PATH_MAX], text[GENERATED_TEXT_MAX];

	for (unsigned i = 0; i < 100; i++) {
		unsigned rights;

		generate_path(state, path);
		rights = policy_get_rights(policy, path, strlen(path));
		if (list_denies(json, "filesystem", path))
			ck_assert_msg(rights == 0, "%s", path);
		if (list_denies(json, "exec", path))
			ck_assert_msg(!(rights & POLICY_EXEC), "%s", path);
		generate_endpoint(state, text);
		if (network_denies(json, text))
			ck_assert_msg(judge_connect(policy, text).access == DIFF_ACCESS_NONE, "%s", text);
	}
}

/* Deny beats allow, whatever the order of the rules, which never matters. */
START_TEST(test_permutations)
{
	uint64_t state = generate_seed(0xa0761d6478bd642f, _i);
	json_t *json;
	struct policy *policy = make_policy(&state, &json);
	char path[GENERATED_PATH_MAX];

	check_denies(policy, json, &state);
	for (unsigned order = 0; order < 4; order++) {
		json_t *other_json = generate_shuffled(&state, json);
		struct policy *other = rig_load_json(other_json);

		ck_assert_ptr_nonnull(other);
		check_denies(other, json, &state);
		for (unsigned i = 0; i < 100; i++) {
			generate_path(&state, path);
			ck_assert_uint_eq(policy_get_rights(policy, path, strlen(path)),
					  policy_get_rights(other, path, strlen(path)));
		}
		check_empty(policy, other, "shuffled");
		json_decref(other_json);
		policy_free(other);
	}
	json_decref(json);
	policy_free(policy);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("policy properties");
	TCase *tcase = tcase_create("properties");
	int seeds = generate_count(SEEDS);

	tcase_set_timeout(tcase, 120);
	tcase_add_loop_test(tcase, test_witnesses, 0, seeds);
	tcase_add_loop_test(tcase, test_show_round_trip, 0, seeds);
	tcase_add_loop_test(tcase, test_permutations, 0, seeds / 4);
	tcase_add_loop_test(tcase, test_matches, 0, seeds);
	tcase_add_loop_test(tcase, test_format, 0, seeds);
	suite_add_tcase(suite, tcase);
	return unit_run(suite);
}
