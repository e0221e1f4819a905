/* "on_deny" and "on_read": which rule's mode holds for a denial, and that show keeps them. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "policy/network/net.h"
#include "policy/policy.h"
#include "tests/unit/policy/policy-rig.h"
#include "tests/unit/unit.h"

static const struct rig_file files[] = {
	{"base.json", "{\"on_deny\": \"stop\", \"filesystem\": {"
		      "\"read\": [{\"path\": \"/usr\", \"on_deny\": \"kill\"}, "
		      "\"/srv\"], \"deny\": [\"**/.env\", {\"path\": \"/usr/x\", \"on_deny\": \"kill\"}],"
		      "\"decoy\": [\"/home/u/.netrc\", {\"path\": \"/home/u/key\", \"on_read\": \"kill\"}]},"
		      "\"exec\": {\"deny\": [{\"path\": \"**/curl\", \"on_deny\": \"errno\"}]},"
		      "\"network\": {\"allow\": [{\"host\": \"a.test\", \"http\": [\"GET /a\"]}],"
		      "\"deny\": [{\"host\": \"b.test\", \"on_deny\": \"errno\"}, {\"host\": \"c.test\"}]}}"},
	{"over.json", "{\"name\": \"over\", \"extends\": [\"base.json\"], \"on_deny\": \"kill\", \"filesystem\": {"
		      "\"deny\": [{\"path\": \"/usr/x\", \"on_deny\": \"errno\"}]}}"},
	{"asks.json", "{\"filesystem\": {\"deny\": [{\"path\": \"**/.env\", \"on_deny\": \"ask-file\"}]}}"},
	{"asks-always.json", "{\"on_deny\": \"ask-file\"}"},
	{"lists.json", "{\"filesystem\": {\"read\": [\"/usr\"], \"ask\": [\"/usr/a\"]}, "
		       "\"exec\": {\"ask\": [\"/usr/b\"]}, \"network\": {\"ask\": [{\"host\": \"b.test\"}]}}"},
	{"plain.json", "{\"filesystem\": {\"read\": [\"/usr\"]}}"},
	{"never.json",
	 "{\"filesystem\": {\"read\": [\"/usr\"], \"deny\": [\"/usr/a\", \"**/.env\", {\"path\": \"/usr/k\", "
	 "\"on_deny\": \"kill\"}]}, \"exec\": {\"deny\": [\"/usr/b\", \"/usr/bin/*\"]}, "
	 "\"network\": {\"deny\": [{\"host\": \"b.test\"}]}, \"phases\": {\"run\": {\"filesystem\": "
	 "{\"deny\": [\"/usr/p\"]}}}}"},
	{"child.json",
	 "{\"extends\": [\"never.json\"], \"filesystem\": {\"ask\": [\"/usr/a\", \"/usr/a/x\", "
	 "\"/usr/w/.env\", \"/usr/*.env\", \"/usr/k\", \"/usr/own\"]}, \"exec\": {\"ask\": [\"/usr/b\", "
	 "\"/usr/bin/git\"]}, \"network\": {\"ask\": [{\"host\": \"b.test\"}, {\"host\": \"own.test\"}]}}"},
	{"child-always.json", "{\"extends\": [\"never.json\"], \"on_deny\": \"ask\", \"filesystem\": {\"deny\": "
			      "[\"/usr/own\"]}, \"network\": {\"deny\": [{\"host\": \"own.test\"}]}}"},
	{"strict.json", "{\"extends\": [\"lists.json\"], \"filesystem\": {\"deny\": [\"/usr/a\"]}, "
			"\"exec\": {\"deny\": [\"/usr/b\"]}, \"network\": {\"deny\": [{\"host\": \"b.test\"}]}}"},
	{"rule.json", "{\"exec\": {\"deny\": [{\"path\": \"/x\", \"on_deny\": \"kill\"}]}}"},
	{NULL, NULL},
};

static struct policy *load_with(const struct rig_file *with, const char *name)
{
	const char *const names[] = {name, NULL};
	struct rig rig = {.files = with};
	struct policy *policy = NULL;
	int ret = rig_load_names(&rig, names, NULL, &policy);

	ck_assert_msg(ret == 0, "%s", rig.errors.count ? rig.errors.item[0].text : strerror(-ret));
	rig_done(&rig);
	return policy;
}

static enum policy_on_deny mode_of(const struct policy *policy, const char *path, unsigned want)
{
	struct policy_decision decision = policy_decide_access(policy, path, strlen(path), want);

	ck_assert_msg(decision.verdict == VERDICT_DENY, "%s is allowed", path);
	return policy_find_on_deny(policy, decision.rule);
}

static void check_base(const struct policy *policy)
{
	ck_assert(policy_has_on_deny_actions(policy));
	ck_assert_int_eq(mode_of(policy, "/none", POLICY_READ), ON_DENY_STOP);
	ck_assert_int_eq(mode_of(policy, "/usr/y", POLICY_WRITE), ON_DENY_KILL); /* read_only */
	ck_assert_int_eq(mode_of(policy, "/srv/y", POLICY_WRITE), ON_DENY_STOP);
	ck_assert_int_eq(mode_of(policy, "/srv/.env", POLICY_READ), ON_DENY_STOP);
	ck_assert_int_eq(mode_of(policy, "/usr/x/y", POLICY_READ), ON_DENY_KILL);
	ck_assert_int_eq(mode_of(policy, "/usr/curl", POLICY_EXEC), ON_DENY_ERRNO);
	ck_assert_int_eq(policy_find_on_deny(policy, policy_net_judge_name(policy, "b.test").label), ON_DENY_ERRNO);
	ck_assert_int_eq(policy_find_on_deny(policy, policy_net_judge_name(policy, "c.test").label), ON_DENY_STOP);
	ck_assert_int_eq(policy_find_on_deny(policy, policy_net_judge_name(policy, "d.test").label), ON_DENY_STOP);
}

START_TEST(test_rules_and_default)
{
	struct policy *policy = load_with(files, "base.json");

	check_base(policy);
	policy_free(policy);
	policy = load_with(files, "plain.json");
	ck_assert(!policy_has_on_deny_actions(policy));
	ck_assert_int_eq(mode_of(policy, "/none", POLICY_READ), ON_DENY_ERRNO);
	policy_free(policy);
	policy = load_with(files, "rule.json");
	ck_assert(policy_has_on_deny_actions(policy));
	policy_free(policy);
}
END_TEST

START_TEST(test_later_file_decides)
{
	struct policy *policy = load_with(files, "over.json");

	ck_assert_int_eq(mode_of(policy, "/none", POLICY_READ), ON_DENY_KILL);
	ck_assert_int_eq(mode_of(policy, "/usr/x", POLICY_READ), ON_DENY_ERRNO);
	policy_free(policy);
}
END_TEST

/* The lists "ask": rules of "deny" that ask, whatever the policy's "on_deny" is; shown as such. */
START_TEST(test_ask_lists)
{
	struct policy *policy = load_with(files, "lists.json");
	char *shown = policy_make_json(policy);

	ck_assert(policy_asks_in_mode(policy, ON_DENY_ASK));
	ck_assert_int_eq(mode_of(policy, "/usr/a/x", POLICY_READ), ON_DENY_ASK);
	ck_assert_int_eq(mode_of(policy, "/usr/b", POLICY_EXEC), ON_DENY_ASK);
	ck_assert_int_eq(mode_of(policy, "/none", POLICY_READ), ON_DENY_ERRNO);
	ck_assert_int_eq(policy_find_on_deny(policy, policy_net_judge_name(policy, "b.test").label), ON_DENY_ASK);
	ck_assert(policy_net_may_ask_about_name(policy, "b.test") && !policy_net_may_ask_about_name(policy, "c.test"));
	ck_assert_ptr_nonnull(strstr(shown, "\"on_deny\": \"ask\""));
	free(shown);
	policy_free(policy);
}
END_TEST

static bool connection_may_be_permitted(const struct policy *policy, const char *host)
{
	return policy_net_judge_answered_connect(policy, host, 443, false).is_allowed;
}

/* What one file denies, an "ask" or "on_deny" of another one does not turn into a question. */
static void check_that_denials_hold(const struct policy *policy)
{
	static const char *const denied[] = {"/usr/a", "/usr/a/x", "/usr/a/y"};

	for (size_t i = 0; i < sizeof(denied) / sizeof(denied[0]); i++)
		ck_assert_int_eq(mode_of(policy, denied[i], POLICY_READ), ON_DENY_ERRNO);
	ck_assert_int_eq(mode_of(policy, "/usr/b", POLICY_EXEC), ON_DENY_ERRNO);
	ck_assert_int_eq(mode_of(policy_get_with_asked_execs(policy), "/usr/b", POLICY_EXEC), ON_DENY_ERRNO);
	ck_assert(!connection_may_be_permitted(policy, "b.test"));
	ck_assert(!policy_net_may_ask_about_name(policy, "b.test"));
}

START_TEST(test_denials_of_other_files)
{
	static const char *const names[] = {"child.json", "child-always.json", "strict.json"};
	struct policy *policy = load_with(files, names[_i]), *again;
	char *shown = policy_make_json(policy);
	const struct rig_file files_again[] = {{"shown.json", shown}, {NULL, NULL}};

	again = load_with(files_again, "shown.json");
	check_that_denials_hold(policy);
	check_that_denials_hold(again);
	if (_i < 2) {
		ck_assert_int_eq(mode_of(policy, "/usr/own", POLICY_READ), ON_DENY_ASK);
		ck_assert(connection_may_be_permitted(policy, "own.test"));
		ck_assert_int_eq(mode_of(policy, "/usr/k", POLICY_READ), ON_DENY_KILL);
		ck_assert_int_eq(mode_of(policy, "/usr/p", POLICY_READ), ON_DENY_ERRNO);
		ck_assert_int_eq(mode_of(policy, "/usr/w/.env", POLICY_READ), ON_DENY_ERRNO);
		ck_assert_int_eq(mode_of(policy, "/usr/.env", POLICY_READ), ON_DENY_ERRNO);
		ck_assert_int_eq(mode_of(policy, "/usr/bin/git", POLICY_EXEC), ON_DENY_ERRNO);
	}
	ck_assert_int_eq(mode_of(policy, "/none", POLICY_READ), _i == 1 ? ON_DENY_ASK : ON_DENY_ERRNO);
	free(shown);
	policy_free(again);
	policy_free(policy);
}
END_TEST

START_TEST(test_asking)
{
	struct policy *policy = load_with(files, "asks.json");

	ck_assert(policy_asks_about_denials(policy));
	ck_assert_int_eq(mode_of(policy, "/a/.env", POLICY_READ), ON_DENY_ASK_FILE);
	ck_assert_int_eq(mode_of(policy, "/a", POLICY_READ), ON_DENY_ERRNO);
	policy_free(policy);
	policy = load_with(files, "asks-always.json");
	ck_assert(policy_asks_about_denials(policy));
	ck_assert_int_eq(mode_of(policy, "/a", POLICY_READ), ON_DENY_ASK_FILE);
	policy_free(policy);
	policy = load_with(files, "base.json");
	ck_assert(!policy_asks_about_denials(policy));
	policy_free(policy);
}
END_TEST

START_TEST(test_decoys)
{
	struct policy *policy = load_with(files, "base.json");
	struct policy_decision decision = policy_decide_access(policy, "/home/u/.netrc", 14, POLICY_READ);

	ck_assert_int_eq(decision.verdict, VERDICT_PROVIDE);
	ck_assert_str_eq(decision.reason, "decoy");
	ck_assert(!policy_decoy_read_ends_run(policy, decision.rule));
	decision = policy_decide_access(policy, "/home/u/key", 11, POLICY_READ);
	ck_assert_str_eq(decision.reason, "decoy");
	ck_assert(policy_decoy_read_ends_run(policy, decision.rule));
	ck_assert(!policy_decoy_read_ends_run(policy, NULL));
	policy_free(policy);
}
END_TEST

START_TEST(test_show_keeps_modes)
{
	struct policy *policy = load_with(files, "base.json"), *again;
	char *text = policy_make_json(policy), *twice;
	struct rig_file shown[] = {{"shown.json", text}, {NULL, NULL}};

	ck_assert_ptr_nonnull(text);
	again = load_with(shown, "shown.json");
	check_base(again);
	ck_assert(policy_decoy_read_ends_run(again, policy_decide_access(again, "/home/u/key", 11, POLICY_READ).rule));
	twice = policy_make_json(again);
	ck_assert_str_eq(text, twice);
	free(text);
	free(twice);
	policy_free(policy);
	policy_free(again);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("policy modes");
	TCase *all = tcase_create("all");

	tcase_add_test(all, test_rules_and_default);
	tcase_add_test(all, test_later_file_decides);
	tcase_add_test(all, test_asking);
	tcase_add_test(all, test_ask_lists);
	tcase_add_loop_test(all, test_denials_of_other_files, 0, 3);
	tcase_add_test(all, test_decoys);
	tcase_add_test(all, test_show_keeps_modes);
	suite_add_tcase(suite, all);
	return unit_run(suite);
}
