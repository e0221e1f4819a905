/*
 * callgate policy minimise on policies and accesses made up from seeds: it loses no access that was used, grants
 * nothing that was not granted, and finds nothing more to do in what it has made.
 */
#include <check.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "cli/policy/minimise.h"
#include "policy/diff/diff.h"
#include "tests/unit/policy/generate.h"
#include "tests/unit/policy/policy-rig.h"
#include "tests/unit/unit.h"

#define SEEDS 150
#define QUESTIONS 60

/* ---- what the verb has of cli/ ---- */

static const struct minimise *current;

int cli_try_to_load_policy(const struct cli_policy_options *options, struct cli_host *host, struct policy **ret_policy)
{
	struct rig rig = {0};
	int r = rig_load(&rig, current->policy_text, NULL, ret_policy);

	(void)options;
	(void)host;
	rig_done(&rig);
	return r;
}

void cli_print_error(const char *verb, const char *format, ...)
{
	(void)verb;
	(void)format;
}

/* ---- accesses ---- */

static struct query question; /* large */

static void ask_path(uint64_t *state)
{
	static const unsigned wants[] = {POLICY_READ, POLICY_READ, POLICY_WRITE, POLICY_EXEC};

	question = (struct query){.kind = QUERY_PATHS, .was_allowed = true, .path_count = 1};
	question.paths[0].wanted_rights = wants[generate_number(state, 4)];
	generate_path(state, question.paths[0].canonical_path);
	question.paths[0].len = strlen(question.paths[0].canonical_path);
	question.was_found_absent = generate_number(state, 8) == 0;
	question.is_open_call = !question.was_found_absent && generate_number(state, 2);
	question.was_redirected = generate_number(state, 4) == 0;
	question.was_read_as_public = generate_number(state, 4) == 0;
}

static void ask_endpoint(uint64_t *state)
{
	char text[GENERATED_TEXT_MAX];

	question = (struct query){.kind = QUERY_CONNECT, .was_allowed = true};
	generate_endpoint(state, text);
	question.uses_udp = strstr(text, "/udp") != NULL;
	ck_assert_int_eq(sscanf(text, "%253[^:]:%u", question.host_name, &question.port_number), 2);
}

static void ask_request(uint64_t *state)
{
	char text[GENERATED_TEXT_MAX], scheme[8];

	question = (struct query){.kind = QUERY_HTTP_REQUEST, .was_allowed = true};
	generate_url(state, text);
	ck_assert_int_eq(sscanf(text, "%23s %7[a-z]://%253[^:]:%u%2047s", question.http_method, scheme,
				question.host_name, &question.port_number, question.request_path),
			 5);
	question.upgrade = *scheme == 'w';
}

static void ask(uint64_t *state)
{
	switch (generate_number(state, 5)) {
	case 0:
		ask_endpoint(state);
		break;
	case 1:
		ask_request(state);
		break;
	case 2:
		question = (struct query){.kind = QUERY_LISTEN,
					  .was_allowed = true,
					  .host_name = "127.0.0.1",
					  .port_number = 7990 + generate_number(state, 30)};
		break;
	default:
		ask_path(state);
	}
}

/* What the functions that judge in a run say of the question. */
static enum diff_access judge(const struct policy *policy)
{
	const struct query_path *path = &question.paths[0];
	struct policy_decision decision;
	struct net_verdict verdict;

	if (question.kind == QUERY_PATHS) {
		decision = policy_decide_access(policy, path->canonical_path, path->len, path->wanted_rights);
		return diff_get_access(decision.verdict, decision.reason);
	}
	if (question.kind == QUERY_CONNECT)
		verdict = policy_net_judge_connect(policy, question.host_name, question.port_number, question.uses_udp);
	else if (question.kind == QUERY_LISTEN)
		verdict = policy_net_judge_listen(policy, question.port_number);
	else
		verdict = policy_net_judge_request(policy, question.host_name, question.port_number,
						   question.http_method, question.request_path, question.upgrade);
	return verdict.is_allowed && policy_net_is_enabled(policy) ? DIFF_ACCESS_FULL : DIFF_ACCESS_NONE;
}

/* ---- the property ---- */

static struct policy *make_policy(uint64_t *state, json_t **ret_json)
{
	for (;;) {
		struct policy *policy;

		*ret_json = generate_policy(state);
		policy = rig_load_json(*ret_json);
		if (policy)
			return policy;
		json_decref(*ret_json);
	}
}

/* Asks the questions of a seed; adds those that the policy allows to the set, as the verb does with records. */
static void collect(uint64_t state, const struct policy *policy, struct used_accesses *used)
{
	struct query_judge *judge;

	ck_assert_int_eq(query_judge_create(policy, &judge), 0);
	for (unsigned i = 0; i < QUESTIONS; i++) {
		struct query_answer answer;

		ask(&state);
		query_judge(judge, &question, &answer);
		if (!answer.is_certain || answer.is_allowed)
			ck_assert_int_eq(used_accesses_add(used, &question, &answer), 0);
	}
	query_judge_free(judge);
}

/* A directory of the view that is there because of what is granted below. */
static bool is_stand_in(const struct query_answer *answer)
{
	return answer->is_allowed && strcmp(answer->reason, "ancestor") == 0;
}

static void check_kept(uint64_t state, const struct policy *before, const struct policy *after)
{
	struct query_judge *old, *new;

	ck_assert_int_eq(query_judge_create(before, &old), 0);
	ck_assert_int_eq(query_judge_create(after, &new), 0);
	for (unsigned i = 0; i < QUESTIONS; i++) {
		struct query_answer was, is;

		ask(&state);
		query_judge(old, &question, &was);
		query_judge(new, &question, &is);
		if (!was.is_certain || !was.is_allowed)
			continue;
		ck_assert_msg(is.is_certain && is.is_allowed, "lost: %s%s", question.host_name,
			      question.paths[0].canonical_path);
		if (judge(before) == DIFF_ACCESS_FULL && !question.was_found_absent)
			ck_assert_msg(judge(after) != DIFF_ACCESS_NONE || (!question.is_open_call && is_stand_in(&is)),
				      "lost: %s%s", question.host_name, question.paths[0].canonical_path);
	}
	query_judge_free(old);
	query_judge_free(new);
}

/* Where a grant within a redirected tree is gone, the redirect shows, with an object that could be reached before. */
static void check_no_more(uint64_t *state, const struct policy *before, const struct policy *after)
{
	for (unsigned i = 0; i < 4 * QUESTIONS; i++) {
		ask(state);
		ck_assert_msg(judge(after) <= judge(before) || judge(after) == DIFF_ACCESS_TO_OTHER_OBJECT,
			      "more: %s%s", question.host_name, question.paths[0].canonical_path);
	}
}

START_TEST(test_minimise)
{
	uint64_t state = generate_seed(0xd1b54a32d192ed03, _i), asked;
	struct minimise_runs runs = {0};
	struct minimise_runs *list[] = {&runs};
	struct minimise all = {.policy_path = "p.json", .runs = list, .run_group_count = 1};
	struct policy *before = make_policy(&state, &all.policy_root), *after;
	size_t changes;

	current = runs.all = &all;
	asked = state;
	collect(asked, before, &runs.used_accesses);
	ck_assert_int_eq(minimise_drop_and_narrow_repeatedly(&all), 0);
	after = rig_load_json(all.policy_root);
	ck_assert_ptr_nonnull(after);
	check_kept(asked, before, after);
	check_no_more(&state, before, after);
	changes = all.dropped + all.narrowed;
	ck_assert_int_eq(minimise_drop_and_narrow_repeatedly(&all), 0);
	ck_assert_uint_eq(all.dropped + all.narrowed, changes);
	used_accesses_release(&runs.used_accesses);
	json_decref(all.policy_root);
	free(all.policy_text);
	policy_free(before);
	policy_free(after);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("minimise");
	TCase *tcase = tcase_create("minimise");

	tcase_set_timeout(tcase, 120);
	tcase_add_loop_test(tcase, test_minimise, 0, generate_count(SEEDS));
	suite_add_tcase(suite, tcase);
	return unit_run(suite);
}
