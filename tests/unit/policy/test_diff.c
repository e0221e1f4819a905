/* What policy_diff finds, on policies made up from seeds: its witnesses are true, and none that is known is missing. */
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
#include "tests/unit/unit.h"

#define SEEDS 400

/* An answer to a question in the words of callgate why, by nothing but the functions that judge. */
static struct diff_answer judge_path(const struct policy *policy, const char *path, size_t len, unsigned want)
{
	struct policy_decision decision = policy_decide_access(policy, path, len, want);

	return (struct diff_answer){diff_get_level(decision.verdict, decision.reason), decision.verdict, decision.rule,
				    decision.reason};
}

static struct diff_answer judge_connect(const struct policy *policy, const char *text)
{
	bool udp = strstr(text, "/udp") != NULL;
	const char *colon = strrchr(text, ':');
	char host[NET_HOST_MAX];
	struct net_verdict verdict;

	(void)snprintf(host, sizeof(host), "%.*s", (int)(colon - text), text);
	verdict = policy_net_judge_connect(policy, host, (unsigned)strtoul(colon + 1, NULL, 10), udp);
	return (struct diff_answer){verdict.allow && policy_net_is_enabled(policy) ? DIFF_ALLOWED : DIFF_DENIED,
				    VERDICT_ALLOW, verdict.label, verdict.reason};
}

static struct diff_answer judge_url(const struct policy *policy, const char *text)
{
	char method[NET_METHOD_MAX], scheme[8], host[NET_HOST_MAX], path[NET_PATH_MAX];
	struct net_verdict verdict;
	unsigned port;

	ck_assert_int_eq(sscanf(text, "%23s %7[a-z]://%253[^:]:%u%2047s", method, scheme, host, &port, path), 5);
	verdict = policy_net_judge_url(policy, &(struct net_request){host, port,
								     !strcmp(scheme, "https") || !strcmp(scheme, "wss"),
								     scheme[0] == 'w', method, path});
	return (struct diff_answer){verdict.allow && policy_net_is_enabled(policy) ? DIFF_ALLOWED : DIFF_DENIED,
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

	return (struct diff_answer){verdict.allow && policy_net_is_enabled(policy) ? DIFF_ALLOWED : DIFF_DENIED,
				    VERDICT_ALLOW, verdict.label, verdict.reason};
}

static struct policy *load_json(const json_t *json)
{
	_cleanup_free_ char *text = json_dumps(json, 0);
	struct rig rig = {0};
	struct policy *policy = NULL;

	if (rig_load(&rig, text, NULL, &policy) < 0)
		policy = NULL;
	rig_done(&rig);
	return policy;
}

/* The next policy of a seed that can be loaded. */
static struct policy *make_policy(uint64_t *state, json_t **ret_json)
{
	for (unsigned tries = 0; tries < 200; tries++) {
		json_t *json = generate_policy(state);
		struct policy *policy = load_json(json);

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
	ck_assert_msg(diff.witnesses == 0, "%s: %s %s", what, diff.witness ? diff.witness[0].option : "",
		      diff.witness ? diff.witness[0].text : "");
	ck_assert_msg(diff.settings == 0, "%s: %s", what, diff.setting ? diff.setting[0].key : "");
	ck_assert(!diff.cut);
	policy_diff_release(&diff);
}

static void check_witnesses(struct policy *const policy[2], const struct policy_diff *diff)
{
	for (size_t i = 0; i < diff->witnesses; i++) {
		const struct diff_witness *witness = &diff->witness[i];

		ck_assert_int_ne(witness->answer[0].level, witness->answer[1].level);
		for (unsigned side = 0; side < 2; side++) {
			struct diff_answer answer = judge(policy[side], witness->option, witness->text);

			ck_assert_msg(answer.level == witness->answer[side].level, "%s %s", witness->option,
				      witness->text);
			if (strcmp(witness->answer[side].reason, "no_network") != 0)
				ck_assert_str_eq(answer.reason, witness->answer[side].reason);
		}
	}
}

/* A difference that a question shows must be known by some witness of the same operation and direction. */
static void check_found(struct policy *const policy[2], const struct policy_diff *diff, const char *op,
			const char *option, const char *text)
{
	struct diff_answer first = judge(policy[0], option, text), second = judge(policy[1], option, text);
	bool found = first.level == second.level;

	for (size_t i = 0; i < diff->witnesses && !found; i++) {
		const struct diff_witness *witness = &diff->witness[i];

		found = strcmp(witness->op, op) == 0 && witness->answer[0].level == first.level &&
			witness->answer[1].level == second.level;
	}
	if (!found) {
		char *one = policy_make_json(policy[0]), *two = policy_make_json(policy[1]);

		ck_abort_msg("no witness for %s %s (%d, %d)\n%s\n%s", option, text, first.level,
			     second.level, one, two);
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
	uint64_t state = 0x9e3779b97f4a7c15 * (uint64_t)(_i + 1);
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
	uint64_t state = 0xd6e8feb86659fd93 * (uint64_t)(_i + 1);
	json_t *json, *shown_json;
	struct policy *policy = make_policy(&state, &json), *again;
	char *shown = policy_make_json(policy), *shown_again;

	shown_json = json_loads(shown, 0, NULL);
	again = load_json(shown_json);
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

static struct policy *load_text(const char *text)
{
	struct rig rig = {0};
	struct policy *policy;

	ck_assert_msg(rig_load(&rig, text, NULL, &policy) == 0, "%s", rig.errors.count ? rig.errors.item[0].text : "");
	rig_done(&rig);
	return policy;
}

/* True when a rule with this label matches the question. */
static bool label_matches(const struct policy *policy, const struct policy_question *question, const char *label)
{
	struct policy_rule_label rule;
	bool matches = false;

	for (size_t at = 0; policy_match_next_rule(policy, question, &at, &rule);)
		matches = matches || (rule.matches && strcmp(rule.label, label) == 0);
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
	uint64_t state = 0xe7037ed1a0b428db * (uint64_t)(_i + 1);
	struct policy_question question;
	json_t *json;
	struct policy *policy = make_policy(&state, &json);
	char text[GENERATED_TEXT_MAX], scheme[8];

	for (unsigned i = 0; i < 100; i++) {
		question = (struct policy_question){.kind = POLICY_QUESTION_PATH, .want = wants[i % 3]};
		generate_path(&state, question.path);
		check_match(policy, &question, judge_path(policy, question.path, strlen(question.path),
							  question.want).rule);
		generate_endpoint(&state, text);
		question = (struct policy_question){.kind = POLICY_QUESTION_CONNECT, .udp = strstr(text, "/udp")};
		(void)sscanf(text, "%253[^:]:%u", question.host, &question.port);
		check_match(policy, &question, judge_connect(policy, text).rule);
		generate_url(&state, text);
		question = (struct policy_question){.kind = POLICY_QUESTION_REQUEST, .upgrade = strstr(text, " wss:")};
		(void)sscanf(text, "%23s %7[a-z]://%253[^:]:%u%2047s", question.method, scheme, question.host,
			     &question.port, question.path);
		if (judge_url(policy, text).level == DIFF_ALLOWED)
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

static char *format_text(const char *text)
{
	struct policy_errors errors = {0};
	char *formatted = NULL;

	ck_assert_msg(policy_format_text("p.json", text, &errors, &formatted) == 0, "%s",
		      errors.count ? errors.item[0].text : "");
	return formatted;
}

/* Formatting keeps the meaning, and formatting again changes nothing; nor does the order of sorted lists. */
START_TEST(test_format)
{
	uint64_t state = 0x8ebc6af09c88c6e3 * (uint64_t)(_i + 1);
	json_t *json, *shuffled;
	struct policy *policy = make_policy(&state, &json), *again;
	char *text = json_dumps(json, 0), *once = format_text(text), *twice = format_text(once), *other, *shuffled_text;

	ck_assert_str_eq(once, twice);
	again = load_text(once);
	check_empty(policy, again, once);
	json_object_del(json, "network"); /* whose rules keep their order */
	json_object_del(json_object_get(json, "filesystem"), "redirect");
	shuffled = generate_shuffled(&state, json);
	free(text);
	free(once);
	text = json_dumps(json, 0);
	shuffled_text = json_dumps(shuffled, 0);
	once = format_text(text);
	other = format_text(shuffled_text);
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

/* True when a rule that denies all access matches a path, by the glob alone. */
static bool list_denies(const json_t *json, const char *path)
{
	const json_t *list = json_object_get(json_object_get(json, "filesystem"), "deny");
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

/* Deny beats allow, whatever the order of the rules. */
START_TEST(test_permutations)
{
	uint64_t state = 0xa0761d6478bd642f * (uint64_t)(_i + 1);
	json_t *json;
	struct policy *policy = make_policy(&state, &json);
	char path[GENERATED_PATH_MAX];

	for (unsigned i = 0; i < 300; i++) {
		generate_path(&state, path);
		if (list_denies(json, path))
			ck_assert_msg(policy_get_rights(policy, path, strlen(path)) == 0, "%s", path);
	}
	for (unsigned order = 0; order < 4; order++) {
		json_t *other_json = generate_shuffled(&state, json);
		struct policy *other = load_json(other_json);

		ck_assert_ptr_nonnull(other);
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

/* Order, layout, and what is dropped; comments stay. */
START_TEST(test_layout)
{
	static const char text[] =
		"{\"network\": {\"listen\": [\"9-10\", 9000, 80],"
		"\"allow\": [{\"reason\": \"r\", \"host\": \"b.test\"},"
		"{\"host\": \"a.test\"}]}, \"filesystem\": {\"provide\": {\"/d\": {\"from\": \"file:x\"},"
		"\"/c\": \"\"}, \"read\": [\"/b\", {\"path\": \"/a\"}, \"/b\", {\"because\": \"why\","
		"\"path\": \"/aa\"}]}, \"version\": 1, \"extends\": [\"b\", \"a\"],"
		"\"env\": {\"set\": {\"B\": \"1\", \"A\": \"\\u00e9\\n\"}}, \"limits\": {}}";
	static const char formatted[] =
		"{\n  \"version\": 1,\n  \"extends\": [\"b\", \"a\"],\n  \"filesystem\": {\n"
		"    \"read\": [\"/a\", {\"path\": \"/aa\", \"because\": \"why\"}, \"/b\"],\n"
		"    \"provide\": {\"/c\": \"\", \"/d\": {\"from\": \"file:x\"}}\n  },\n"
		"  \"env\": {\n    \"set\": {\"A\": \"\303\251\\n\", \"B\": \"1\"}\n  },\n  \"limits\": {},\n"
		"  \"network\": {\n"
		"    \"allow\": [{\"host\": \"b.test\", \"reason\": \"r\"}, {\"host\": \"a.test\"}],\n"
		"    \"listen\": [80, 9000, \"9-10\"]\n  }\n}\n";
	char *once = format_text(text), *wide, *twice;

	ck_assert_str_eq(once, formatted);
	free(once);
	once = format_text("{\"filesystem\": {\"read\": [\"/a-rather-long-name-of-a-directory/one\","
			   "\"/a-rather-long-name-of-a-directory/two\","
			   "\"/a-rather-long-name-of-a-directory/three\"]}}");
	ck_assert_ptr_nonnull(strstr(once, "\n      \"/a-rather-long-name-of-a-directory/three\",\n      \"/a"));
	wide = strdup(once);
	twice = format_text(wide);
	ck_assert_str_eq(once, twice);
	free(once);
	free(twice);
	free(wide);
}
END_TEST

START_TEST(test_format_errors)
{
	struct policy_errors errors = {0};
	char *formatted = NULL;

	ck_assert_int_eq(policy_format_text("p.json", "{\n\"red\": 1}", &errors, &formatted), -EINVAL);
	ck_assert_ptr_null(formatted);
	ck_assert_ptr_nonnull(strstr(errors.item[0].text, "p.json:2: red: unknown key"));
	policy_errors_release(&errors);
}
END_TEST

/* ---- settings ---- */

static const struct {
	const char *first, *second;
	const char *key; /* NULL: no difference */
	enum diff_direction direction;
} settings[] = {
	{"{\"limits\": {\"wall\": \"60s\"}}", "{\"limits\": {\"wall\": \"90s\"}}", "limits.wall", DIFF_WIDER},
	{"{\"limits\": {\"wall\": \"1500ms\"}}", "{\"limits\": {\"wall\": \"1s\"}}", "limits.wall", DIFF_NARROWER},
	{"{\"limits\": {\"pids\": 3}}", "{}", "limits.pids", DIFF_WIDER},
	{"{}", "{\"limits\": {\"memory\": \"1G\"}}", "limits.memory", DIFF_NARROWER},
	{"{}", "{\"limits\": {\"stdout\": \"1G\"}}", "limits.stdout", DIFF_NEUTRAL},
	{"{\"name\": \"a\"}", "{\"name\": \"b\"}", NULL, DIFF_NEUTRAL},
	{"{\"env\": {\"pass\": [\"A\"]}}", "{\"env\": {\"pass\": [\"A\", \"B\"]}}", "env.pass[B]", DIFF_WIDER},
	{"{\"env\": {\"pass\": [\"A\"]}}", "{}", "env.pass[A]", DIFF_NARROWER},
	{"{\"env\": {\"set\": {\"A\": \"1\"}}}", "{\"env\": {\"set\": {\"A\": \"2\"}}}", "env.set[A]", DIFF_UNKNOWN},
	{"{\"env\": {\"set\": {\"A\": \"1\"}}}", "{}", "env.set[A]", DIFF_NARROWER},
	{"{}", "{\"require\": [\"landlock\"]}", "require[landlock]", DIFF_NARROWER},
	{"{\"require\": [\"landlock\"]}", "{}", "require[landlock]", DIFF_WIDER},
	{"{\"user\": \"1\"}", "{\"user\": \"2\"}", "user", DIFF_UNKNOWN},
	{"{\"audit\": {\"compact\": true}}", "{}", "audit.compact", DIFF_NEUTRAL},
	{"{\"filesystem\": {\"provide\": {\"/a\": \"1\"}}}", "{\"filesystem\": {\"provide\": {\"/a\": \"2\"}}}",
	 "filesystem.provide[/a]", DIFF_UNKNOWN},
	{"{\"filesystem\": {\"redirect\": [{\"from\": \"/a\", \"to\": \"@scratch/a\"}]}}",
	 "{\"filesystem\": {\"redirect\": [{\"from\": \"/a\", \"to\": \"@scratch/b\"}]}}",
	 "filesystem.redirect[/a].to", DIFF_UNKNOWN},
	{"{\"network\": {\"allow\": [{\"host\": \"a.test\"}]}}",
	 "{\"network\": {\"allow\": [{\"host\": \"a.test\", \"private\": true}]}}",
	 "network.allow[a.test:443/https].private", DIFF_WIDER},
	{"{\"network\": {\"allow\": [{\"host\": \"a.test\", \"max_requests\": 3}]}}",
	 "{\"network\": {\"allow\": [{\"host\": \"a.test\"}]}}", "network.allow[a.test:443/https].max_requests",
	 DIFF_WIDER},
	{"{\"network\": {\"allow\": [{\"host\": \"a.test\", \"http\": [\"GET /\"]}, "
	 "{\"host\": \"a.test\", \"http\": [\"PUT /\"], \"requests_per_minute\": 3}]}}",
	 "{\"network\": {\"allow\": [{\"host\": \"a.test\", \"http\": [\"GET /\"]}, "
	 "{\"host\": \"a.test\", \"http\": [\"PUT /\"], \"requests_per_minute\": 2}]}}",
	 "network.allow[a.test:443/https#2].requests_per_minute", DIFF_NARROWER},
	{"{\"network\": {\"allow\": [{\"host\": \"a.test\"}]}}",
	 "{\"network\": {\"allow\": [{\"host\": \"a.test\", \"reason\": \"x\"}]}}", NULL, DIFF_NEUTRAL},
	{"{\"network\": {\"resolve\": {\"a.test\": \"192.0.2.1\"}}}", "{\"network\": {}}",
	 "network.resolve[a.test][192.0.2.1]", DIFF_UNKNOWN},
	{"{\"secrets\": {\"S\": {\"from\": \"env:S\", \"hosts\": [\"a.test\"]}}}",
	 "{\"secrets\": {\"S\": {\"from\": \"env:S\", \"hosts\": [\"a.test\", \"b.test\"]}}}",
	 "secrets[S].hosts[b.test]",
	 DIFF_WIDER},
	{"{\"secrets\": {\"S\": {\"from\": \"env:S\", \"hosts\": [\"a.test\"]}}}",
	 "{\"secrets\": {\"S\": {\"from\": \"env:T\", \"hosts\": [\"a.test\"]}}}", "secrets[S].from", DIFF_UNKNOWN},
};

START_TEST(test_setting)
{
	struct policy *first = load_text(settings[_i].first), *second = load_text(settings[_i].second);
	struct policy_diff diff;

	ck_assert_int_eq(policy_diff(first, second, &diff), 0);
	ck_assert_uint_eq(diff.settings, settings[_i].key ? 1 : 0);
	if (settings[_i].key) {
		ck_assert_str_eq(diff.setting[0].key, settings[_i].key);
		ck_assert_str_eq(diff_direction_get_name(diff.setting[0].direction),
				 diff_direction_get_name(settings[_i].direction));
	}
	policy_diff_release(&diff);
	policy_free(first);
	policy_free(second);
}
END_TEST

/* ---- examples that random policies may not have ---- */

static const struct {
	const char *first, *second;
	const char *option, *text; /* of some witness */
} examples[] = {
	/* the name that two globs have in common */
	{"{\"filesystem\": {\"read\": [\"/d/*.csv\"], \"deny\": [\"/d/secret*\"]}}",
	 "{\"filesystem\": {\"read\": [\"/d/*.csv\"]}}", "open", "/d/secret.csv:r"},
	{"{\"filesystem\": {\"read\": [\"/d/**/*.c\"], \"deny\": [\"/d/**/t_*\"]}}",
	 "{\"filesystem\": {\"read\": [\"/d/**/*.c\"]}}", "open", "/d/t_.c:r"},
	/* a deny holds under a redirect, and the whole path below it has to be found */
	{"{\"filesystem\": {\"read\": [\"/srv\"], \"redirect\": [{\"from\": \"/m\", \"to\": \"/srv\"}], "
	 "\"deny\": [\"/srv/k/e/y\"]}}",
	 "{\"filesystem\": {\"read\": [\"/srv\"], \"redirect\": [{\"from\": \"/m\", \"to\": \"/srv\"}]}}", "open",
	 "/m/k/e/y:r"},
	{"{\"filesystem\": {\"read\": [\"/srv/a\"], \"redirect\": [{\"from\": \"/m\", \"to\": \"/srv/a\"}], "
	 "\"deny\": [\"/srv/*/k/y\"]}}",
	 "{\"filesystem\": {\"read\": [\"/srv/a\"], \"redirect\": [{\"from\": \"/m\", \"to\": \"/srv/a\"}]}}", "open",
	 "/m/k/y:r"},
	/* the host's file instead of a provided one */
	{"{\"filesystem\": {\"provide\": {\"/etc/passwd\": \"x\"}}}", "{\"filesystem\": {\"read\": [\"/etc/passwd\"]}}",
	 "open", "/etc/passwd:r"},
	/* more than what everybody may read */
	{"{\"filesystem\": {\"public\": [\"/etc\"]}}", "{\"filesystem\": {\"read\": [\"/etc\"]}}", "open", "/etc/x:r"},
	{"{\"filesystem\": {\"exec\": [\"/bin\"], \"write\": [\"/w\"]}, \"exec\": {\"deny\": [\"**/curl\"]}}",
	 "{\"filesystem\": {\"exec\": [\"/bin\"], \"write\": [\"/w\"]}}", "exec", "/usr/bin/curl"},
	{"{\"network\": {\"allow\": [{\"host\": \"::1\", \"port\": 1, \"private\": true}]}}", "{}", "connect",
	 "[::1]:1"},
	{"{\"network\": {\"allow\": [{\"host\": \"a.test\", \"port\": [80, 81], \"proto\": \"http\", "
	 "\"http\": [\"GET /a/*.js\"]}]}}", "{\"network\": {\"allow\": [{\"host\": \"a.test\", \"port\": [80, 81], "
	 "\"proto\": \"http\", \"http\": [\"GET /b\"]}]}}", "url", "GET http://a.test:81/a/x.js"},
	{"{\"network\": {\"allow\": [{\"host\": \"a.test\", \"proto\": \"udp\", \"port\": 53}]}}", "{}", "connect",
	 "a.test:53/udp"},
	{"{\"network\": {\"listen\": [\"9000-9010\"]}}", "{\"network\": {\"listen\": [\"9000-9009\"]}}",
	 "listen", "9010"},
	{"{\"network\": {\"allow\": [{\"host\": \"a.test\"}], \"deny\": [{\"host\": \"a.test\", \"port\": [443]}]}}",
	 "{\"network\": {\"allow\": [{\"host\": \"a.test\"}]}}", "connect", "a.test:443"},
};

START_TEST(test_example)
{
	struct policy *const policy[2] = {load_text(examples[_i].first), load_text(examples[_i].second)};
	struct policy_diff diff;
	bool found = false;

	ck_assert_int_eq(policy_diff(policy[0], policy[1], &diff), 0);
	for (size_t i = 0; i < diff.witnesses; i++)
		found |= strcmp(diff.witness[i].option, examples[_i].option) == 0 &&
			 strcmp(diff.witness[i].text, examples[_i].text) == 0;
	ck_assert_msg(found, "no witness %s %s", examples[_i].option, examples[_i].text);
	policy_diff_release(&diff);
	policy_free(policy[0]);
	policy_free(policy[1]);
}
END_TEST

/* With too many combinations of globs, the search ends and says so. */
START_TEST(test_cut)
{
	char first[8192] = "{\"filesystem\": {\"read\": [\"/z\"", second[8200];
	size_t len = strlen(first);
	struct policy_diff diff;
	struct policy *policy[2];

	for (unsigned i = 0; i < 24; i++)
		len += (size_t)snprintf(first + len, sizeof(first) - len, ",\"/**/n%u/**/m%u\"", i, i);
	(void)snprintf(second, sizeof(second), "%s]}}", first);
	(void)snprintf(first + len, sizeof(first) - len, ",\"/y\"]}}");
	policy[0] = load_text(first);
	policy[1] = load_text(second);
	ck_assert_int_eq(policy_diff(policy[0], policy[1], &diff), 0);
	ck_assert(diff.cut);
	ck_assert_uint_ge(diff.witnesses, 1);
	policy_diff_release(&diff);
	policy_free(policy[0]);
	policy_free(policy[1]);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("policy diff");
	TCase *tcase = tcase_create("diff");

	tcase_set_timeout(tcase, 120);
	tcase_add_loop_test(tcase, test_witnesses, 0, SEEDS);
	tcase_add_loop_test(tcase, test_show_round_trip, 0, SEEDS);
	tcase_add_loop_test(tcase, test_permutations, 0, SEEDS / 4);
	tcase_add_loop_test(tcase, test_matches, 0, SEEDS);
	tcase_add_loop_test(tcase, test_format, 0, SEEDS);
	tcase_add_test(tcase, test_layout);
	tcase_add_test(tcase, test_format_errors);
	tcase_add_loop_test(tcase, test_setting, 0, (int)(sizeof(settings) / sizeof(settings[0])));
	tcase_add_loop_test(tcase, test_example, 0, (int)(sizeof(examples) / sizeof(examples[0])));
	tcase_add_test(tcase, test_cut);
	suite_add_tcase(suite, tcase);
	return unit_run(suite);
}
