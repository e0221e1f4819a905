/* What policy_diff and policy_format_text make of examples; test_properties.c has policies made up from seeds. */
#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "policy/diff/diff.h"
#include "policy/parse/format.h"
#include "tests/unit/policy/policy-rig.h"
#include "tests/unit/unit.h"

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
	char *once = rig_format_text(text), *wide, *twice;

	ck_assert_str_eq(once, formatted);
	free(once);
	once = rig_format_text("{\"filesystem\": {\"read\": [\"/a-rather-long-name-of-a-directory/one\","
			       "\"/a-rather-long-name-of-a-directory/two\","
			       "\"/a-rather-long-name-of-a-directory/three\"]}}");
	ck_assert_ptr_nonnull(strstr(once, "\n      \"/a-rather-long-name-of-a-directory/three\",\n      \"/a"));
	wide = strdup(once);
	twice = rig_format_text(wide);
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
	{"{}", "{\"on_deny\": \"kill\"}", "on_deny", DIFF_NEUTRAL},
	{"{\"on_deny\": \"kill\"}", "{\"on_deny\": \"ask-file\"}", "on_deny", DIFF_WIDER},
	{"{\"on_deny\": \"ask-file\"}", "{}", "on_deny", DIFF_NARROWER},
	{"{}", "{\"judge\": \"all\"}", "judge", DIFF_NEUTRAL},
	{"{}", "{\"judge\": \"changes\"}", "judge", DIFF_WIDER},
	{"{\"judge\": \"changes\"}", "{\"judge\": \"all\"}", "judge", DIFF_NARROWER},
	{"{\"env\": {\"pass\": [\"A\"]}}", "{\"env\": {\"pass\": [\"A\", \"B\"]}}", "env.pass[B]", DIFF_WIDER},
	{"{\"env\": {\"pass\": [\"A\"]}}", "{}", "env.pass[A]", DIFF_NARROWER},
	{"{\"env\": {\"set\": {\"A\": \"1\"}}}", "{\"env\": {\"set\": {\"A\": \"2\"}}}", "env.set[A]", DIFF_UNORDERED},
	{"{\"env\": {\"set\": {\"A\": \"1\"}}}", "{}", "env.set[A]", DIFF_NARROWER},
	{"{}", "{\"require\": [\"landlock\"]}", "require[landlock]", DIFF_NARROWER},
	{"{}", "{\"workspace\": {\"mode\": \"cow\"}}", "workspace.mode", DIFF_NARROWER},
	{"{\"workspace\": {\"mode\": \"cow\"}}", "{\"workspace\": {\"mode\": \"direct\"}}", "workspace.mode",
	 DIFF_WIDER},
	{"{}", "{\"inspect\": {\"refuse\": [\"secret\"]}}", "inspect.refuse[secret]", DIFF_NARROWER},
	{"{\"require\": [\"landlock\"]}", "{}", "require[landlock]", DIFF_WIDER},
	{"{\"user\": \"1\"}", "{\"user\": \"2\"}", "user", DIFF_UNORDERED},
	{"{\"audit\": {\"compact\": true}}", "{}", "audit.compact", DIFF_NEUTRAL},
	{"{\"filesystem\": {\"provide\": {\"/a\": \"1\"}}}", "{\"filesystem\": {\"provide\": {\"/a\": \"2\"}}}",
	 "filesystem.provide[/a]", DIFF_UNORDERED},
	{"{\"filesystem\": {\"redirect\": [{\"from\": \"/a\", \"to\": \"@scratch/a\"}]}}",
	 "{\"filesystem\": {\"redirect\": [{\"from\": \"/a\", \"to\": \"@scratch/b\"}]}}", "filesystem.redirect[/a].to",
	 DIFF_UNORDERED},
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
	 "network.resolve[a.test][192.0.2.1]", DIFF_UNORDERED},
	{"{\"secrets\": {\"S\": {\"from\": \"env:S\", \"hosts\": [\"a.test\"]}}}",
	 "{\"secrets\": {\"S\": {\"from\": \"env:S\", \"hosts\": [\"a.test\", \"b.test\"]}}}",
	 "secrets[S].hosts[b.test]", DIFF_WIDER},
	{"{\"secrets\": {\"S\": {\"from\": \"env:S\", \"hosts\": [\"a.test\"]}}}",
	 "{\"secrets\": {\"S\": {\"from\": \"env:T\", \"hosts\": [\"a.test\"]}}}", "secrets[S].from", DIFF_UNORDERED},
};

START_TEST(test_setting)
{
	struct policy *first = rig_load_good(settings[_i].first), *second = rig_load_good(settings[_i].second);
	struct policy_diff diff;

	ck_assert_int_eq(policy_diff(first, second, &diff), 0);
	ck_assert_uint_eq(diff.setting_count, settings[_i].key ? 1 : 0);
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
	{"{\"filesystem\": {\"read\": [\"/d/a*\"], \"deny\": [\"/d/*b\", \"/d/*x*\"]}}",
	 "{\"filesystem\": {\"read\": [\"/d/a*\"], \"deny\": [\"/d/*x*\"]}}", "open", "/d/ab:r"},
	/* a deny holds under a redirect, and the whole path below it has to be found */
	{"{\"filesystem\": {\"read\": [\"/srv\"], \"redirect\": [{\"from\": \"/m\", \"to\": \"/srv\"}], "
	 "\"deny\": [\"/srv/k/e/y\"]}}",
	 "{\"filesystem\": {\"read\": [\"/srv\"], \"redirect\": [{\"from\": \"/m\", \"to\": \"/srv\"}]}}", "open",
	 "/m/k/e/y:r"},
	{"{\"filesystem\": {\"read\": [\"/srv/a\"], \"redirect\": [{\"from\": \"/m\", \"to\": \"/srv/a\"}], "
	 "\"deny\": [\"/srv/*/k/y\"]}}",
	 "{\"filesystem\": {\"read\": [\"/srv/a\"], \"redirect\": [{\"from\": \"/m\", \"to\": \"/srv/a\"}]}}", "open",
	 "/m/k/y:r"},
	/* a deny in the workdir holds for its host path as well */
	{"{\"filesystem\": {\"read\": [\"@workdir\", \"/scratch/run/work\"], \"deny\": [\"@workdir/k\"]}}",
	 "{\"filesystem\": {\"read\": [\"@workdir\", \"/scratch/run/work\"]}}", "open", "/scratch/run/work/k:r"},
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
	{"{\"network\": {\"listen\": [\"5-6\", \"8-9\"]}}", "{\"network\": {\"listen\": [\"5-9\"]}}", "listen", "7"},
	{"{\"network\": {\"listen\": [\"9000-9010\"]}}", "{\"network\": {\"listen\": [\"9000-9009\"]}}",
	 "listen", "9010"},
	{"{\"network\": {\"allow\": [{\"host\": \"a.test\"}], \"deny\": [{\"host\": \"a.test\", \"port\": [443]}]}}",
	 "{\"network\": {\"allow\": [{\"host\": \"a.test\"}]}}", "connect", "a.test:443"},
};

START_TEST(test_example)
{
	struct policy *const policy[2] = {rig_load_good(examples[_i].first), rig_load_good(examples[_i].second)};
	struct policy_diff diff;
	bool found = false;

	ck_assert_int_eq(policy_diff(policy[0], policy[1], &diff), 0);
	for (size_t i = 0; i < diff.witness_count; i++)
		found |= strcmp(diff.witness[i].callgate_why_option, examples[_i].option) == 0 &&
			 strcmp(diff.witness[i].callgate_why_argument, examples[_i].text) == 0;
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
	policy[0] = rig_load_good(first);
	policy[1] = rig_load_good(second);
	ck_assert_int_eq(policy_diff(policy[0], policy[1], &diff), 0);
	ck_assert(diff.cut);
	ck_assert_uint_ge(diff.witness_count, 1);
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
	tcase_add_test(tcase, test_layout);
	tcase_add_test(tcase, test_format_errors);
	tcase_add_loop_test(tcase, test_setting, 0, (int)(sizeof(settings) / sizeof(settings[0])));
	tcase_add_loop_test(tcase, test_example, 0, (int)(sizeof(examples) / sizeof(examples[0])));
	tcase_add_test(tcase, test_cut);
	suite_add_tcase(suite, tcase);
	return unit_run(suite);
}
