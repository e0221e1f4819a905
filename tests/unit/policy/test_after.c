/* after_read: which reads fire which entry, what is denied once entries have fired, show, diff, mistakes. */
#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "policy/diff/diff.h"
#include "policy/network/net.h"
#include "policy/paths/after.h"
#include "policy/policy.h"
#include "tests/unit/policy/policy-rig.h"
#include "tests/unit/unit.h"

static const char usual[] =
	"{\"filesystem\": {\"read\": [\"/data\", \"/usr\", \"/lib\"], \"write\": [\"@workdir\", \"/srv/out\"],"
	"  \"redirect\": [{\"from\": \"/tmp\", \"to\": \"@scratch/tmp\"},"
	"  {\"from\": \"/alias\", \"to\": \"/data/secret\"}]},"
	" \"network\": {\"allow\": [{\"host\": \"a.test\", \"http\": [\"GET /a\"]}], \"listen\": [8000]},"
	" \"after_read\": ["
	"  {\"paths\": [\"/data/secret\", \"**/.env\", \"/usr/k*/x\", \"/lib/keys\"],"
	"   \"then\": {\"network\": \"none\", \"write\": [\"@scratch\", \"/srv/out/kept\"]},"
	"   \"because\": \"it is secret\"},"
	"  {\"paths\": [\"@workdir/in\"], \"then\": {\"network\": \"none\"}},"
	"  {\"paths\": [\"/data/other\"], \"then\": {\"write\": []}}]}";

static void check_fails(const char *text, const char *message)
{
	struct rig rig = {0};
	struct policy *policy = NULL;

	ck_assert_int_eq(rig_load(&rig, text, NULL, &policy), -EINVAL);
	ck_assert_msg(strstr(rig.errors.item[0].text, message), "%s", rig.errors.item[0].text);
	rig_done(&rig);
}

static uint32_t fires(const struct policy *policy, const char *path)
{
	return policy_find_entries_fired_by_read(policy, path, strlen(path));
}

static uint32_t fires_below(const struct policy *policy, const char *path)
{
	return policy_find_entries_fired_by_read_below(policy, path, strlen(path));
}

static struct policy_decision decide(const struct policy *policy, const char *path, unsigned want)
{
	return policy_decide_access(policy, path, strlen(path), want);
}

static void check_writing(const struct policy *policy, const char *path, const char *label)
{
	struct policy_decision decision = decide(policy, path, POLICY_WRITE);

	if (!label) {
		ck_assert_msg(decision.verdict != VERDICT_DENY, "%s: %s", path, decision.reason);
		ck_assert_uint_eq(policy_find_entries_that_closed_writing(policy, path, strlen(path)), 0);
		return;
	}
	ck_assert_msg(decision.verdict == VERDICT_DENY, "%s may be written", path);
	ck_assert_int_eq(decision.error, EROFS);
	ck_assert_str_eq(decision.reason, "after_read");
	ck_assert_str_eq(decision.rule, label);
	ck_assert_uint_ne(policy_find_entries_that_closed_writing(policy, path, strlen(path)), 0);
}

START_TEST(test_which_read_fires)
{
	struct policy *policy = rig_load_good(usual);

	ck_assert_uint_eq(policy_count_after_entries(policy), 3);
	ck_assert_str_eq(policy_get_after_label(policy, 2), "p.json: after_read[2]");
	ck_assert_str_eq(policy_get_after_because_text(policy, 0), "it is secret");
	ck_assert_uint_eq(fires(policy, "/data/secret"), 1);
	ck_assert_uint_eq(fires(policy, "/data/secret/a/b"), 1);
	ck_assert_uint_eq(fires(policy, "/data/secrets"), 0);
	ck_assert_uint_eq(fires(policy, "/data"), 0);
	ck_assert_uint_eq(fires(policy, "/srv/out/.env"), 1);
	ck_assert_uint_eq(fires(policy, "/srv/out/.env/below"), 1);
	ck_assert_uint_eq(fires(policy, "/usr/keep/x"), 1);
	ck_assert_uint_eq(fires(policy, "/usr/keep/y"), 0);
	ck_assert_uint_eq(fires(policy, "/usr/lib/keys"), 1);    /* /lib is a link */
	ck_assert_uint_eq(fires(policy, "/work/in/f"), 2);
	ck_assert_uint_eq(fires(policy, "/work/in/.env"), 3);
	ck_assert_uint_eq(fires(policy, "/alias/f"), 1);         /* a redirect to /data/secret */
	ck_assert_uint_eq(fires(policy, "/tmp/f"), 0);
	policy_free(policy);
}
END_TEST

START_TEST(test_directories_that_hold_matches)
{
	struct policy *policy = rig_load_good(usual);

	ck_assert_uint_eq(fires_below(policy, "/data"), 1 | 4 | 1); /* and "**" matches anywhere */
	ck_assert_uint_eq(fires_below(policy, "/work"), 1 | 2);
	ck_assert_uint_eq(fires_below(policy, "/usr/keep"), 1);
	policy_free(policy);
	policy = rig_load_good(
		"{\"filesystem\": {\"write\": [\"/data\"]}, \"after_read\": [{\"paths\": [\"/data/a/*.key\"], "
		"\"then\": {\"write\": []}}]}");
	ck_assert_uint_eq(fires_below(policy, "/data"), 1);
	ck_assert_uint_eq(fires_below(policy, "/data/a"), 1);
	ck_assert_uint_eq(fires_below(policy, "/data/a/x.key"), 1);
	ck_assert_uint_eq(fires_below(policy, "/data/a/x"), 0);
	ck_assert_uint_eq(fires_below(policy, "/data/b"), 0);
	policy_free(policy);
}
END_TEST

START_TEST(test_writing_after)
{
	struct policy *policy = rig_load_good(usual);

	ck_assert_uint_eq(policy_get_entries_closing_writing(policy), 1 | 4);
	check_writing(policy, "/work/f", NULL);
	policy_fire_after_entries(policy, 2); /* the network only */
	check_writing(policy, "/work/f", NULL);
	policy_fire_after_entries(policy, 1);
	ck_assert_uint_eq(policy_get_fired_after_entries(policy), 3);
	check_writing(policy, "/work/f", "p.json: after_read[0]");
	check_writing(policy, "/srv/out/f", "p.json: after_read[0]");
	check_writing(policy, "/srv/out/kept/f", NULL);
	check_writing(policy, "/tmp/f", NULL);
	ck_assert_int_eq(decide(policy, "/work/f", POLICY_READ).verdict, VERDICT_ALLOW);
	ck_assert_str_eq(decide(policy, "/usr/f", POLICY_WRITE).reason, "read_only"); /* denied before, as before */
	policy_fire_after_entries(policy, 4);
	check_writing(policy, "/tmp/f", "p.json: after_read[2]");
	check_writing(policy, "/srv/out/kept/f", "p.json: after_read[2]");
	check_writing(policy, "/work/f", "p.json: after_read[0]");
	policy_free(policy);
}
END_TEST

START_TEST(test_network_after)
{
	struct policy *policy = rig_load_good(usual);

	policy_fire_after_entries(policy, 4);
	ck_assert(policy_net_judge_connect(policy, "a.test", 443, false).is_allowed);
	ck_assert_ptr_null(policy_find_entry_that_closed_network(policy));
	policy_fire_after_entries(policy, 2);
	ck_assert_str_eq(policy_find_entry_that_closed_network(policy), "p.json: after_read[1]");
	ck_assert(!policy_net_judge_connect(policy, "a.test", 443, false).is_allowed);
	ck_assert_str_eq(policy_net_judge_connect(policy, "a.test", 443, false).label, "p.json: after_read[1]");
	ck_assert(!policy_net_judge_listen(policy, 8000).is_allowed);
	ck_assert(!policy_net_judge_request(policy, "a.test", 443, "GET", "/a", false).is_allowed);
	policy_free(policy);
}
END_TEST

START_TEST(test_show_keeps_entries)
{
	struct policy *policy = rig_load_good(usual), *again;
	char *text = policy_make_json(policy), *twice;

	again = rig_load_good(text);
	ck_assert_uint_eq(policy_count_after_entries(again), 3);
	ck_assert_uint_eq(fires(again, "/work/in/.env"), 3);
	ck_assert_uint_eq(fires(again, "/usr/lib/keys"), 1);
	ck_assert_uint_eq(policy_get_entries_closing_writing(again), 1 | 4);
	ck_assert_uint_eq(policy_get_entries_closing_network(again), 1 | 2);
	policy_fire_after_entries(again, 1);
	check_writing(again, "/tmp/f", NULL);
	check_writing(again, "/work/f", "p.json: after_read[0]");
	twice = policy_make_json(again);
	ck_assert_str_eq(text, twice);
	free(text);
	free(twice);
	policy_free(policy);
	policy_free(again);
}
END_TEST

static enum diff_direction compare(const char *one, const char *other, size_t *ret_count)
{
	struct policy *first = rig_load_good(one), *second = rig_load_good(other);
	enum diff_direction direction = DIFF_NEUTRAL;
	struct policy_diff diff;

	ck_assert_int_eq(policy_diff(first, second, &diff), 0);
	*ret_count = diff.setting_count;
	if (diff.setting_count)
		direction = diff.setting[0].direction;
	policy_diff_release(&diff);
	policy_free(first);
	policy_free(second);
	return direction;
}

#define WRITABLE "\"filesystem\": {\"write\": [\"/data\"]}"
#define ENTRY(then, more) ", \"after_read\": [{\"paths\": [\"/data/a\"], \"then\": {" then "}" more "}]"

START_TEST(test_diff)
{
	size_t count;

	(void)compare(usual, usual, &count);
	ck_assert_uint_eq(count, 0);
	ck_assert_int_eq(compare("{" WRITABLE ENTRY("\"write\": []", "") "}", "{" WRITABLE "}", &count), DIFF_WIDER);
	ck_assert_int_eq(compare("{" WRITABLE "}", "{" WRITABLE ENTRY("\"write\": []", "") "}", &count), DIFF_NARROWER);
	ck_assert_int_eq(compare("{" WRITABLE ENTRY("\"write\": []", "") "}",
				 "{" WRITABLE ENTRY("\"network\": \"none\"", "") "}", &count), DIFF_UNORDERED);
	(void)compare("{" WRITABLE ENTRY("\"write\": []", "") "}",
		      "{" WRITABLE ENTRY("\"write\": []", ", \"because\": \"x\"") "}", &count);
	ck_assert_uint_eq(count, 0);
}
END_TEST

START_TEST(test_mistakes)
{
	check_fails("{\"after_read\": [{\"then\": {\"network\": \"none\"}}]}", "after_read[0]: lacks \"paths\"");
	check_fails("{\"after_read\": [{\"paths\": [], \"then\": {\"network\": \"none\"}}]}", "lacks \"paths\"");
	check_fails("{\"after_read\": [{\"paths\": [\"/a\"]}]}", "lacks \"then\"");
	check_fails("{\"after_read\": [{\"paths\": [\"/a\"], \"then\": {}}]}", "has an empty \"then\"");
	check_fails("{\"after_read\": [{\"paths\": [\"/a\"], \"then\": {\"network\": \"some\"}}]}",
		    "after_read[0].then.network: must be \"none\", not \"some\"");
	check_fails("{\"after_read\": [{\"paths\": [\"/a\"], \"then\": {\"writes\": []}}]}", "did you mean \"write\"?");
	check_fails("{\"after_read\": [{\"path\": [\"/a\"], \"then\": {\"write\": []}}]}", "did you mean \"paths\"?");
	check_fails("{\"after_read\": [{\"paths\": [\"a\"], \"then\": {\"write\": []}}]}", "is relative");
	check_fails("{\"after_read\": [{\"paths\": [\"@scratch\"], \"then\": {\"write\": []}}]}", "cannot stand here");
	check_fails("{\"after_read\": [{\"paths\": [\"/proc/1\"], \"then\": {\"write\": []}}]}", "has its own /proc");
	check_fails("{\"after_read\": [{\"paths\": [\"/a\"], \"then\": {\"write\": [\"@scratch/*\"]}}]}", "is a glob");
	check_fails("{\"after_read\": [{\"paths\": [{\"path\": \"/a\", \"on_deny\": \"kill\"}], \"then\": "
		    "{\"write\": []}}]}", "deny nothing");
	check_fails("{\"after_read\": [\"/a\"]}", "must be an object");
	check_fails("{\"on_deny\": \"ask-file\", \"after_read\": [{\"paths\": [\"/a\"], \"then\": "
		    "{\"write\": []}}]}",
		    "after_read[0]: cannot stand in one policy with");
	check_fails("{\"filesystem\": {\"deny\": [{\"path\": \"/b\", \"on_deny\": \"ask-file\"}]}, "
		    "\"after_read\": [{\"paths\": [\"/a\"], \"then\": {\"write\": []}}]}",
		    "cannot stand in one policy with");
	check_fails("{\"phases\": {\"run\": {\"after_read\": []}}}", "is for the whole policy");
}
END_TEST

START_TEST(test_warnings_and_disabled)
{
	struct policy *policy =
		rig_load_good("{" WRITABLE ", \"after_read\": [{\"paths\": [\"/data/a\"], \"then\": {\"write\": "
			      "[\"/data/b\", \"/usr/c\", \"@scratch\"]}}, {\"paths\": [\"/data/b\"], "
			      "\"disabled\": \"not yet\", \"then\": {\"network\": \"none\"}}]}");
	size_t count;
	const char *const *warning = policy_get_warnings(policy, &count);

	ck_assert_uint_eq(count, 2);
	ck_assert_msg(strstr(warning[0], "/usr/c permits no writing"), "%s", warning[0]);
	ck_assert_msg(strstr(warning[1], "no redirect leads to @scratch"), "%s", warning[1]);
	ck_assert_uint_eq(policy_count_after_entries(policy), 1);
	ck_assert_uint_eq(fires(policy, "/data/b"), 0);
	policy_free(policy);
	policy = rig_load_good("{}");
	ck_assert_uint_eq(policy_count_after_entries(policy), 0);
	policy_fire_after_entries(policy, 1);
	ck_assert_uint_eq(policy_get_fired_after_entries(policy), 0);
	ck_assert_uint_eq(fires_below(policy, "/"), 0);
	policy_free(policy);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("policy after_read");
	TCase *all = tcase_create("all");

	tcase_add_test(all, test_which_read_fires);
	tcase_add_test(all, test_directories_that_hold_matches);
	tcase_add_test(all, test_writing_after);
	tcase_add_test(all, test_network_after);
	tcase_add_test(all, test_show_keeps_entries);
	tcase_add_test(all, test_diff);
	tcase_add_test(all, test_mistakes);
	tcase_add_test(all, test_warnings_and_disabled);
	suite_add_tcase(suite, all);
	return unit_run(suite);
}
