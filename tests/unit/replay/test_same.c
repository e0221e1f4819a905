/*
 * A run judged again under its own policy has no differences: policies and questions made up from seeds (generate.h),
 * recorded as the writers do, read and judged again. The rule that decided is among those that the answer names.
 */
#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "audit/encode.h"
#include "audit/hash.h"
#include "audit/scan.h"
#include "base/cleanup.h"
#include "replay/query.h"
#include "tests/unit/policy/generate.h"
#include "tests/unit/policy/policy-rig.h"
#include "tests/unit/sanitized.h"
#include "tests/unit/unit.h"

#define SEEDS (SANITIZED ? 40 : few_of(300))
#define QUESTIONS 60
#define LINE_MAX_BYTES 1024

static struct encoder encoder;
static struct query query; /* large */

/* Judges a line again. */
static void check_line(const struct query_judge *judge, const char *line, size_t len, bool allow, const char *rule)
{
	struct query_answer answer;
	struct scan_record record;
	bool found = false;

	ck_assert_msg(scan_parse_line_fast(line, len, &record) == 0, "%.*s", (int)len, line);
	ck_assert_msg(query_read_record(&record, &query) == 0, "%.*s", (int)len, line);
	ck_assert_msg(query.kind != QUERY_RULES_DO_NOT_DECIDE, "%.*s: %s", (int)len, line, query.why_not_judged);
	query_judge(judge, &query, &answer);
	ck_assert_msg(answer.is_certain, "%.*s: %s", (int)len, line, answer.why);
	ck_assert_msg(answer.is_allowed == allow, "%.*s: %d", (int)len, line, answer.is_allowed);
	for (size_t i = 0; i < answer.rule_count; i++)
		found |= rule ? answer.rules[i] && strcmp(answer.rules[i], rule) == 0 : !answer.rules[i];
	ck_assert_msg(found, "%.*s: %s", (int)len, line,
		      answer.rule_count && answer.rules[0] ? answer.rules[0] : "none");
}

static void check_path(const struct policy *policy, const struct query_judge *judge, const char *path, unsigned want)
{
	size_t path_len = strlen(path), line_len, room;
	struct policy_decision decision = policy_decide_access(policy, path, path_len, want);
	bool allow = decision.verdict != VERDICT_DENY;
	const struct line_chain_fields links = {.prev_hash = HASH_BLANK};
	const struct audit_record record = {.pid = 5,
					    .tid = 5,
					    .ppid = 1,
					    .exe = "/x",
					    .syscall = "openat",
					    .path = path,
					    .path_len = path_len,
					    .resolved_path = path,
					    .resolved_path_len = path_len,
					    .verdict = decision.verdict,
					    .effect = allow ? AUDIT_EFFECT_PERFORMED : AUDIT_EFFECT_REFUSED,
					    .rule = decision.rule,
					    .reason = decision.reason,
					    .host_path = decision.verdict == VERDICT_REDIRECT ? "/scratch/run/r" : NULL,
					    .access_right = want & POLICY_EXEC    ? 'x'
							    : want & POLICY_WRITE ? 'w'
										  : 'r'};

	/* Ancestors of grants depend on the view, which tests/live/cli/replay.sh has. */
	if (!allow && decision.error == ENOENT)
		return;
	ck_assert_int_eq(encode_record(&encoder, &record, &links, 1, 0, &line_len, &room), 0);
	outcome_store(&encoder, encoder.line_buffer + room, allow ? 3 : -decision.error, 1000);
	check_line(judge, encoder.line_buffer, line_len - 1, allow, decision.rule);
}

/* The lines of egress and of the supervisor about endpoints. `what`: the fields up to the port. */
static void check_endpoint(const struct query_judge *judge, const struct net_verdict *verdict, const char *what)
{
	char line[LINE_MAX_BYTES], rule[256] = "", reason[64] = "";

	if (verdict->label)
		(void)snprintf(rule, sizeof(rule), ",\"rule\":\"%s\"", verdict->label);
	if (!verdict->is_allowed)
		(void)snprintf(reason, sizeof(reason), ",\"reason\":\"%s\"", verdict->reason);
	ck_assert_int_lt(snprintf(line, sizeof(line), "{\"seq\":7,\"time\":\"t\",%s,\"verdict\":\"%s\"%s%s,\"ns\":1 }",
				  what, verdict->is_allowed ? "allow" : "deny", rule, reason),
			 LINE_MAX_BYTES);
	check_line(judge, line, strlen(line), verdict->is_allowed, verdict->label);
}

static void check_connect(const struct policy *policy, const struct query_judge *judge, uint64_t *state)
{
	char text[GENERATED_TEXT_MAX], host[NET_HOST_SIZE], what[2 * NET_HOST_SIZE];
	struct net_verdict verdict;
	unsigned port;
	bool udp;

	generate_endpoint(state, text);
	udp = strstr(text, "/udp") != NULL;
	ck_assert_int_eq(sscanf(text, "%253[^:]:%u", host, &port), 2);
	verdict = policy_net_judge_connect(policy, host, port, udp);
	(void)snprintf(what, sizeof(what), "\"syscall\":\"connect\",\"host\":\"%s\",\"port\":%u,\"proto\":\"%s\"", host,
		       port, udp ? "udp" : "tcp");
	check_endpoint(judge, &verdict, what);
	verdict = policy_net_judge_name(policy, host);
	(void)snprintf(what, sizeof(what), "\"event\":\"dns\",\"host\":\"%s\"", host);
	check_endpoint(judge, &verdict, what);
}

static void check_request(const struct policy *policy, const struct query_judge *judge, uint64_t *state)
{
	char text[GENERATED_TEXT_MAX], method[NET_METHOD_SIZE], scheme[8], host[NET_HOST_SIZE],
		path[GENERATED_TEXT_MAX];
	char what[LINE_MAX_BYTES / 2];
	struct net_verdict verdict;
	unsigned port;

	generate_url(state, text);
	ck_assert_int_eq(sscanf(text, "%23s %7[a-z]://%253[^:]:%u%127s", method, scheme, host, &port, path), 5);
	verdict = policy_net_judge_request(policy, host, port, method, path, *scheme == 'w');
	if (!verdict.is_allowed && strcmp(verdict.reason, "proto_not_granted") == 0)
		return; /* that is not replayable: it is of a proxy, for an endpoint that needs TLS */
	(void)snprintf(what, sizeof(what), "\"event\":\"request\",\"host\":\"%s\",\"port\":%u,\"proto\":\"%s\","
		       "\"method\":\"%s\",\"path\":\"%s\"", host, port, *scheme == 'w' ? "websocket" : scheme, method,
		       path);
	check_endpoint(judge, &verdict, what);
}

static void check_listen(const struct policy *policy, const struct query_judge *judge, uint64_t *state)
{
	unsigned port = 7990 + generate_number(state, 30);
	struct net_verdict verdict = policy_net_judge_listen(policy, port);
	char what[128];

	(void)snprintf(what, sizeof(what), "\"syscall\":\"bind\",\"host\":\"127.0.0.1\",\"port\":%u,\"proto\":\"tcp\"",
		       port);
	check_endpoint(judge, &verdict, what);
}

static struct policy *make_policy(uint64_t *state)
{
	for (;;) {
		json_t *json = generate_policy(state);
		_cleanup_free_ char *text = json_dumps(json, 0);
		struct policy *policy = NULL;
		struct rig rig = {0};
		int r = rig_load(&rig, text, NULL, &policy); /* it can contradict itself */

		json_decref(json);
		rig_done(&rig);
		if (r == 0)
			return policy;
	}
}

START_TEST(test_same_policy)
{
	static const unsigned wants[] = {POLICY_READ, POLICY_WRITE, POLICY_EXEC};
	uint64_t state = generate_seed(0x8cb92ba72f3d8dd7, _i);
	struct policy *policy = make_policy(&state);
	char path[GENERATED_PATH_MAX];
	struct query_judge *judge;

	ck_assert_int_eq(query_judge_create(policy, &judge), 0);
	for (unsigned i = 0; i < QUESTIONS; i++) {
		generate_path(&state, path);
		check_path(policy, judge, path, wants[i % 3]);
		if (!policy_net_is_enabled(policy))
			continue;
		check_connect(policy, judge, &state);
		check_request(policy, judge, &state);
		check_listen(policy, judge, &state);
	}
	query_judge_free(judge);
	policy_free(policy);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("same policy");
	TCase *tcase = tcase_create("same policy");

	if (encoder_init(&encoder, "7f3a9c21", false) < 0)
		return EXIT_FAILURE;
	tcase_set_timeout(tcase, 120);
	tcase_add_loop_test(tcase, test_same_policy, 0, generate_count(SEEDS));
	suite_add_tcase(suite, tcase);
	return unit_run(suite);
}
