/* A look into a policy for its user, and that the policy made of what was read then is the one made of the files. */
#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "tests/unit/policy/policy-rig.h"
#include "policy/policy.h"
#include "tests/unit/sanitized.h"
#include "tests/unit/unit.h"

static const struct rig_file files[] = {
	{"base.json",
	 "{\"name\": \"base\", \"user\": \"nobody:nogroup\", \"filesystem\": {\"read\": [\"/usr\"],"
	 "\"provide\": {\"/etc/passwd\": {\"from\": \"account:passwd\"}, \"/etc/motd\": {\"from\": \"file:/motd\"}}}}"},
	{"over.json", "{\"name\": \"over\", \"extends\": [\"base.json\"], \"filesystem\": {\"deny\": [\"/usr/share\"]},"
		      "\"phases\": {\"setup\": {\"network\": {\"extends\": [\"index.json\"]}}}}"},
	{"index.json", "{\"network\": {\"allow\": [{\"host\": \"index.example\"}]}}"},
	{"wrong.json", "{\"name\": \"wrong\", \"user\": \"nobody\", \"filesystem\": {\"reed\": []}}"},
	{"/motd", "Hello.\n"},
	{NULL, NULL},
};
static const char *const over[] = {"over.json", NULL};

/* What the policy comes to. */
static char *load(struct rig *rig, struct policy_draft *draft, enum policy_phase phase)
{
	const struct policy_cli cli = {.phase = phase, .draft = draft};
	struct policy *policy = NULL;
	char *shown;

	ck_assert_int_eq(rig_load_names(rig, over, &cli, &policy), 0);
	shown = policy_make_json(policy);
	ck_assert_ptr_nonnull(shown);
	policy_free(policy);
	return shown;
}

static const enum policy_phase phases[] = {POLICY_PHASE_RUN, POLICY_PHASE_SETUP};

START_TEST(test_same_policy)
{
	struct rig rig = {.files = files};
	char *user, *expected, *made, *again;
	struct policy_draft *draft = rig_peek(&rig, over, &user);
	unsigned peeked = rig.reads, in_full;

	ck_assert_ptr_nonnull(draft);
	ck_assert_str_eq(user, "nobody:nogroup");
	ck_assert_uint_eq(peeked, 2); /* nothing of what is provided: for whom is not known yet */
	made = load(&rig, draft, phases[_i]);
	in_full = rig.reads;
	again = load(&rig, draft, phases[_i]); /* it is used up: from the files */
	ck_assert_uint_eq(rig.reads - in_full, in_full);
	expected = load(&rig, NULL, phases[_i]);
	ck_assert_str_eq(made, expected);
	ck_assert_str_eq(again, expected);
	ck_assert_ptr_nonnull(strstr(made, "Hello."));
	policy_draft_free(draft);
	free(user);
	free(expected);
	free(made);
	free(again);
	rig_done(&rig);
}
END_TEST

/* The mistake is told once, by the caller that loads the policy. */
START_TEST(test_mistake)
{
	static const char *const wrong[] = {"wrong.json", NULL};
	struct rig rig = {.files = files};
	struct policy *policy = NULL;
	char *user;

	ck_assert_ptr_null(rig_peek(&rig, wrong, &user));
	free(user);
	ck_assert_uint_eq(rig.errors.count, 0);
	ck_assert_int_lt(rig_load_names(&rig, wrong, NULL, &policy), 0);
	ck_assert_uint_eq(rig.errors.count, 1);
	rig_done(&rig);
}
END_TEST

START_TEST(test_unused)
{
	struct rig rig = {.files = files};
	char *user;

	policy_draft_free(rig_peek(&rig, over, &user));
	policy_draft_free(NULL);
	free(user);
	rig_done(&rig);
}
END_TEST

/* The arena's first chunk cannot be mapped. */
START_TEST(test_no_memory)
{
	struct rlimit before, none;
	struct rig rig = {.files = files};
	struct policy *policy = NULL;
	struct policy_draft *draft;
	char *user;
	int ret;

	if (SANITIZED)
		return; /* it ends a program that cannot map memory */
	ck_assert_int_eq(getrlimit(RLIMIT_AS, &before), 0);
	none = (struct rlimit){.rlim_cur = 1, .rlim_max = before.rlim_max};
	ck_assert_int_eq(setrlimit(RLIMIT_AS, &none), 0);
	draft = rig_peek(&rig, over, &user);
	ret = rig_load_names(&rig, over, NULL, &policy);
	ck_assert_int_eq(setrlimit(RLIMIT_AS, &before), 0);
	ck_assert_ptr_null(draft);
	ck_assert_ptr_null(user);
	ck_assert_int_eq(ret, -ENOMEM);
	ck_assert_ptr_null(policy);
	ck_assert_uint_eq(rig.errors.count, 0);
	rig_done(&rig);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("policy peek");
	TCase *tcase = tcase_create("peek");

	tcase_add_loop_test(tcase, test_same_policy, 0, (int)(sizeof(phases) / sizeof(phases[0])));
	tcase_add_test(tcase, test_mistake);
	tcase_add_test(tcase, test_unused);
	tcase_add_test(tcase, test_no_memory);
	suite_add_tcase(suite, tcase);
	return unit_run(suite);
}
