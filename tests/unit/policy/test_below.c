/* policy/paths/below.h: which trees are writable, which names are denied, whether only whole trees are granted. */
#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/policy/policy-rig.h"
#include "policy/paths/below.h"
#include "tests/unit/unit.h"

static const char text[] =
	"{\"filesystem\": {\"read\": [\"/usr\", \"/srv\"], \"write\": [\"/usr/local/w\", \"/data/*/out\", "
	"\"@workdir\"],"
	" \"redirect\": [{\"from\": \"/usr/tmp\", \"to\": \"@scratch/t\"}],"
	" \"deny\": [\"/srv/key\", \"/home/u/.ssh\", \"**/.env\", \"/srv/*.pem\"]}}";

START_TEST(test_may_write)
{
	static const struct {
		const char *path;
		bool may;
	} question[] = {
		{"/", true},          {"/usr", true},        {"/usr/local", true},  {"/usr/local/w", true},
		{"/usr/local/w/x", true}, {"/usr/local/v", false}, {"/usr/local/wx", false}, {"/usr/share", false},
		{"/srv", false},      {"/data", true},       {"/data/a", true},     {"/data/a/b", true},
		{"/work", true},      {"/work/x", true},     {"/nowhere", false},
	};
	struct rig rig = {0};
	struct policy *policy;

	ck_assert_int_eq(rig_load(&rig, text, NULL, &policy), 0);
	for (size_t i = 0; i < sizeof(question) / sizeof(question[0]); i++)
		ck_assert_msg(policy_may_write(policy, question[i].path) == question[i].may, "%s", question[i].path);
	policy_free(policy);
	rig_done(&rig);
}
END_TEST

struct seen {
	unsigned calls, known;
	int answer;
};

static int take(void *ctx, const char *path)
{
	struct seen *seen = ctx;

	seen->calls++;
	seen->known += strcmp(path, "/srv/key") == 0 || strcmp(path, "/vault/keys") == 0;
	return seen->answer;
}

START_TEST(test_each_deny)
{
	struct seen all = {0}, stopped = {.answer = -EIO};
	struct rig rig = {0};
	struct policy *policy;

	ck_assert_int_eq(rig_load(&rig, text, NULL, &policy), 0);
	ck_assert_int_eq(policy_visit_denies(policy, take, &all), 0);
	ck_assert_uint_eq(all.calls, 2); /* globs are left out */
	ck_assert_uint_eq(all.known, 2); /* with canonical names */
	ck_assert_int_eq(policy_visit_denies(policy, take, &stopped), -EIO);
	ck_assert_uint_eq(stopped.calls, 1);
	policy_free(policy);
	rig_done(&rig);
}
END_TEST

START_TEST(test_sees_whole)
{
	static const struct {
		const char *text;
		bool whole;
	} question[] = {
		{"{\"filesystem\": {\"read\": [\"/usr\", \"/srv/**\"], \"exec\": [\"/usr\"],"
		 " \"redirect\": [{\"from\": \"/usr/tmp\", \"to\": \"@scratch/t\"}]}, "
		 "\"exec\": {\"deny\": [\"/usr/bin/*\"]}}",
		 true},
		{"{\"filesystem\": {\"read\": [\"/usr\"], \"deny\": [\"/usr/x\"]}}", false},
		{"{\"filesystem\": {\"read\": [\"/usr\"], \"deny\": [\"/nowhere/**\"]}}", false},
		{"{\"filesystem\": {\"read\": [\"/usr\"], \"deny\": [\"**/.env\"]}}", false},
		{"{\"filesystem\": {\"read\": [\"/usr/*.c\"]}}", false},
		{"{\"filesystem\": {\"write\": [\"@workdir/*.c\"]}}", false},
		{text, false},
	};

	for (size_t i = 0; i < sizeof(question) / sizeof(question[0]); i++) {
		struct rig rig = {0};
		struct policy *policy;

		ck_assert_int_eq(rig_load(&rig, question[i].text, NULL, &policy), 0);
		ck_assert_msg(policy_grants_whole_trees(policy) == question[i].whole, "%s", question[i].text);
		policy_free(policy);
		rig_done(&rig);
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("policy below");
	TCase *all = tcase_create("all");

	tcase_add_test(all, test_may_write);
	tcase_add_test(all, test_each_deny);
	tcase_add_test(all, test_sees_whole);
	suite_add_tcase(suite, all);
	return unit_run(suite);
}
