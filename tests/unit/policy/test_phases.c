/* Phases: what each adds to the policy, that "none" closes for good, and network.extends. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/policy/policy-rig.h"
#include "policy/network/net.h"
#include "policy/policy.h"
#include "tests/unit/unit.h"

static const struct rig_file files[] = {
	{"index", "{\"name\": \"index\", \"filesystem\": {\"read\": [\"/srv\"]}, \"limits\": {\"wall\": \"1s\"},"
		  "\"secrets\": {\"I\": {\"from\": \"env:I\", \"hosts\": [\"index.example\"]}},"
		  "\"network\": {\"allow\": [{\"host\": \"index.example\", \"http\": [\"GET /simple/**\"]}]},"
		  "\"phases\": {\"run\": {\"network\": {\"allow\": [{\"host\": \"never.example\"}]}}}}"},
	{"more.json", "{\"extends\": [\"index\"], \"network\": {\"allow\": [{\"host\": \"more.example\"}]}}"},
	{"base.json",
	 "{\"name\": \"base\", \"filesystem\": {\"read\": [\"/usr\"], \"exec\": [\"/bin/sh\"]}, \"limits\": {\"wall\": "
	 "\"10s\"},"
	 "\"env\": {\"pass\": [\"TOKEN\", \"LANG\"], \"set\": {\"A\": \"1\"}},"
	 "\"secrets\": {\"S\": {\"from\": \"env:TOKEN\", \"hosts\": [\"index.example\"]}},"
	 "\"phases\": {\"setup\": {\"network\": {\"extends\": [\"more.json\"]}, \"limits\": {\"wall\": \"600s\"},"
	 "\"filesystem\": {\"write\": [\"@workdir\"]}, \"env\": {\"set\": {\"A\": \"2\"}}},"
	 "\"run\": {\"network\": \"none\", \"filesystem\": {\"deny\": [\"/usr/share\"]}}}}"},
	{"over.json",
	 "{\"name\": \"over\", \"extends\": [\"base.json\"], \"network\": {\"allow\": [{\"host\": \"open.example\"}]},"
	 "\"phases\": {\"setup\": {\"network\": {\"allow\": [{\"host\": \"over.example\"}]}}}}"},
	{"reopened.json",
	 "{\"extends\": [\"base.json\"], \"phases\": {\"run\": {\"network\": {\"extends\": [\"index\"]}}}}"},
	{"whole.json", "{\"extends\": [\"index\"], \"network\": {\"extends\": [\"index\"], \"listen\": [1]}}"},
	{"both.json", "{\"extends\": [\"voided.json\"], \"network\": {\"extends\": [\"index\"]}}"},
	{"voided.json", "{\"extends\": [\"index\"], \"network\": \"none\"}"},
	{"circle.json", "{\"network\": {\"extends\": [\"back.json\"]}}"},
	{"back.json", "{\"extends\": [\"circle.json\"]}"},
	{NULL, NULL},
};

static struct policy *load_cli(const char *name, const struct policy_cli *cli)
{
	const char *const names[] = {name, NULL};
	struct rig rig = {.files = files};
	struct policy *policy = NULL;
	int ret = rig_load_names(&rig, names, cli, &policy);

	ck_assert_msg(ret == 0, "%s", rig.errors.count ? rig.errors.item[0].text : strerror(-ret));
	rig_done(&rig);
	return policy;
}

static struct policy *load(const char *name, enum policy_phase phase)
{
	const struct policy_cli cli = {.phase = phase};

	return load_cli(name, &cli);
}

static bool reaches(const struct policy *policy, const char *host)
{
	return policy_net_judge_name(policy, host).is_allowed;
}

static unsigned rights(const struct policy *policy, const char *path)
{
	return policy_get_rights(policy, path, strlen(path));
}

START_TEST(test_setup)
{
	struct policy *policy = load("base.json", POLICY_PHASE_SETUP);

	ck_assert_str_eq(policy_get_settings(policy)->name, "base");
	ck_assert(reaches(policy, "index.example") && reaches(policy, "more.example"));
	ck_assert_uint_eq(policy_get_settings(policy)->limits.wall_ns, 600000000000u);
	ck_assert(rights(policy, "/work/x") & POLICY_WRITE);
	ck_assert(rights(policy, "/usr/share/x") & POLICY_READ);
	/* of what network.extends names nothing but the endpoints: no files, no limits, no secrets, no phases */
	ck_assert_uint_eq(rights(policy, "/srv/x"), 0);
	ck_assert(!reaches(policy, "never.example"));
	size_t secrets, count;
	const struct policy_env *env = policy_get_env(policy, &count);

	ck_assert_str_eq(policy_net_get_secrets(policy, &secrets)[0].name, "S");
	ck_assert_uint_eq(secrets, 1);
	for (size_t i = 0; i < count; i++)
		ck_assert(strcmp(env[i].name, "A") != 0 || strcmp(env[i].value, "2") == 0);
	policy_free(policy);
}
END_TEST

START_TEST(test_run)
{
	struct policy *policy = load("base.json", POLICY_PHASE_RUN), *usual = load_cli("base.json", NULL);

	ck_assert(!policy_net_is_enabled(policy) && !reaches(policy, "index.example"));
	ck_assert_uint_eq(policy_get_settings(policy)->limits.wall_ns, 10000000000u);
	ck_assert_uint_eq(rights(policy, "/work/x"), 0);
	ck_assert_uint_eq(rights(policy, "/usr/share/x"), 0);
	/* also here the caller's secret is none of the program's */
	ck_assert(policy_env_passes_variable(policy, "LANG") && !policy_env_passes_variable(policy, "TOKEN"));
	ck_assert_str_eq(policy_get_settings(policy)->sha256, policy_get_settings(usual)->sha256);
	policy_free(usual);
	policy_free(policy);
}
END_TEST

START_TEST(test_over_all_files)
{
	struct policy *setup = load("over.json", POLICY_PHASE_SETUP), *run = load("over.json", POLICY_PHASE_RUN);

	ck_assert(reaches(setup, "open.example") && reaches(setup, "over.example") && reaches(setup, "index.example"));
	/* base.json's "none" comes behind over.json's allow: it is a phase's */
	ck_assert(!policy_net_is_enabled(run));
	policy_free(setup);
	policy_free(run);
	run = load("reopened.json", POLICY_PHASE_RUN);
	ck_assert(reaches(run, "index.example") && !reaches(run, "more.example"));
	policy_free(run);
}
END_TEST

START_TEST(test_command_line)
{
	static const char *const hosts[] = {"extra.example", NULL}, *const secrets[] = {"T@extra.example", NULL};
	static const char *const envs[] = {"T", "U", NULL};
	struct policy_cli cli = {.allow_host = hosts,
				 .secret = secrets,
				 .env = envs,
				 .limits = {.wall_ns = 7},
				 .given_limits_mask = POLICY_LIMIT_BIT(POLICY_LIMIT_WALL),
				 .phase = POLICY_PHASE_SETUP};
	struct policy *policy = load_cli("base.json", &cli);

	ck_assert(reaches(policy, "extra.example") && reaches(policy, "index.example"));
	ck_assert_uint_eq(policy_get_settings(policy)->limits.wall_ns, 7);
	policy_free(policy);
	cli.phase = POLICY_PHASE_RUN;
	policy = load_cli("base.json", &cli);
	ck_assert(!policy_net_is_enabled(policy) && !reaches(policy, "extra.example"));
	ck_assert_uint_eq(policy_get_settings(policy)->limits.wall_ns, 7);
	/* it stays a secret, which the program asked for by -e would not be */
	ck_assert(!policy_env_passes_variable(policy, "T") && policy_env_passes_variable(policy, "U"));
	policy_free(policy);
	policy = load_cli("whole.json", &cli);
	ck_assert(reaches(policy, "extra.example"));
	policy_free(policy);
}
END_TEST

static size_t times(const char *text, const char *what)
{
	size_t count = 0;

	for (; (text = strstr(text, what)); text++)
		count++;
	return count;
}

START_TEST(test_network_extends)
{
	struct policy *policy = load("whole.json", POLICY_PHASE_RUN);
	char *text = policy_make_json(policy);

	/* once, though it is named twice; extended as a whole it is all of it */
	ck_assert_uint_eq(times(text, "\"index.example\",\n        \"port\""), 1);
	ck_assert(rights(policy, "/srv/x") & POLICY_READ);
	ck_assert(reaches(policy, "never.example"));
	free(text);
	policy_free(policy);
	policy = load("both.json", POLICY_PHASE_SETUP);
	ck_assert(reaches(policy, "index.example"));
	policy_free(policy);
}
END_TEST

/* What is shown is the one phase, and yields it again. */
START_TEST(test_show)
{
	struct policy *policy = load("base.json", POLICY_PHASE_SETUP), *again = NULL;
	struct rig rig = {0};
	char *text = policy_make_json(policy), *twice;

	ck_assert_ptr_null(strstr(text, "phases"));
	ck_assert_int_eq(rig_load(&rig, text, NULL, &again), 0);
	twice = policy_make_json(again);
	ck_assert_str_eq(text, twice);
	free(twice);
	free(text);
	policy_free(again);
	policy_free(policy);
	rig_done(&rig);
}
END_TEST

START_TEST(test_circle)
{
	static const char *const names[] = {"circle.json", NULL};
	struct rig rig = {.files = files};
	struct policy *policy = NULL;

	ck_assert_int_lt(rig_load_names(&rig, names, NULL, &policy), 0);
	ck_assert_ptr_nonnull(strstr(rig.errors.item[0].text, "extends itself in a circle"));
	rig_done(&rig);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("policy phases");
	TCase *tcase = tcase_create("phases");

	tcase_add_test(tcase, test_setup);
	tcase_add_test(tcase, test_run);
	tcase_add_test(tcase, test_over_all_files);
	tcase_add_test(tcase, test_command_line);
	tcase_add_test(tcase, test_network_extends);
	tcase_add_test(tcase, test_show);
	tcase_add_test(tcase, test_circle);
	suite_add_tcase(suite, tcase);
	return unit_run(suite);
}
