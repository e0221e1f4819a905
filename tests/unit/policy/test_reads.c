/* Which rules and settings make the judging of reads necessary: "judge": "changes". */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "policy/paths/reads.h"
#include "tests/unit/policy/policy-rig.h"
#include "tests/unit/unit.h"

#define FILES(members) "{\"filesystem\": {" members "}}"

START_TEST(test_obstacles)
{
	static const struct {
		const char *text, *rule; /* NULL: nothing prevents it */
	} question[] = {
		{FILES("\"read\": [\"/usr\", \"/srv/**\"], \"exec\": [\"/usr/bin\"]"), NULL},
		{FILES("\"read\": [\"/usr\"], \"deny\": [\"/usr/x\", \"**/.env\", \"/usr/*.c\"]"), NULL},
		{FILES("\"public\": [\"/etc\"], \"private\": [\"/etc/shadow\", \"/etc/**/*.key\"]"), NULL},
		{FILES("\"redirect\": [{\"from\": \"/usr/tmp\", \"to\": \"@scratch/t\"}]"), NULL},
		{FILES("\"provide\": {\"/etc/motd\": \"text\"}"), NULL},
		{"{\"exec\": {\"deny\": [{\"path\": \"**/curl\", \"on_deny\": \"kill\"}]}}", NULL},
		{"{\"network\": {\"deny\": [{\"host\": \"b.test\", \"on_deny\": \"kill\"}]}}", NULL},
		{"{\"on_deny\": \"errno\"}", NULL},
		/* A glob in a directory that is readable as a whole adds another right only. */
		{FILES("\"read\": [\"/usr\"], \"exec\": [\"/usr/bin/py*\"], \"write\": [\"/usr/*/cache\"]"), NULL},
		{FILES("\"read\": [\"/missing/*.c\"]"), NULL},
		{FILES("\"read\": [\"/usr\", \"/srv/*.csv\"]"), "p.json: filesystem.read[1] /srv/*.csv"},
		{FILES("\"exec\": [\"/usr/bin/py*\"]"), "p.json: filesystem.exec[0] /usr/bin/py*"},
		{FILES("\"write\": [\"@workdir/*.c\"]"), "p.json: filesystem.write[0] @workdir/*.c"},
		{FILES("\"public\": [\"/etc\"], \"read\": [\"/etc/*.key\"]"), "p.json: filesystem.read[0] /etc/*.key"},
		{FILES("\"write\": [\"/dev/null\"], \"read\": [\"/dev/urandom\", \"/devices\"]"), NULL},
		{FILES("\"read\": [\"/dev/pts\"]"), "p.json: filesystem.read[0] /dev/pts"},
		{FILES("\"write\": [\"/usr\", \"/dev/ttyS0\"]"), "p.json: filesystem.write[1] /dev/ttyS0"},
		{FILES("\"decoy\": [\"/home/u/key\"]"), "p.json: filesystem.decoy[0] /home/u/key"},
		{FILES("\"deny\": [\"/a\", {\"path\": \"**/.env\", \"on_deny\": \"kill\"}]"),
		 "p.json: filesystem.deny[1] **/.env"},
		{FILES("\"deny\": [{\"path\": \"**/.env\", \"on_deny\": \"errno\"}]"), NULL},
		{FILES("\"read\": [{\"path\": \"/usr\", \"on_deny\": \"kill\"}]"), NULL}, /* writing is judged */
		{FILES("\"private\": [{\"path\": \"/etc/x\", \"on_deny\": \"stop\"}]"),
		 "p.json: filesystem.private[0] /etc/x"},
		{"{\"after_read\": [{\"paths\": [\"/srv/x\"], \"then\": {\"network\": \"none\"}}]}",
		 "p.json: after_read[0].paths[0] /srv/x"},
		{"{\"on_deny\": \"stop\"}", "\"on_deny\""},
		{"{\"audit\": {\"fstat\": true}}", "\"audit.fstat\""},
	};

	for (size_t i = 0; i < sizeof(question) / sizeof(question[0]); i++) {
		struct policy_kernel_reads_obstacle obstacle = {NULL, NULL};
		struct rig rig = {0};
		struct policy *policy;

		ck_assert_msg(rig_load(&rig, question[i].text, NULL, &policy) == 0, "%s", question[i].text);
		ck_assert_msg(policy_find_kernel_reads_obstacle(policy, &obstacle) == (question[i].rule != NULL), "%s",
			      question[i].text);
		ck_assert_msg(!question[i].rule || strcmp(obstacle.rule, question[i].rule) == 0, "%s: %s",
			      question[i].text, obstacle.rule);
		ck_assert(!question[i].rule || obstacle.why);
		policy_free(policy);
		rig_done(&rig);
	}
}
END_TEST

/* `callgate check` says where the key is and what prevents it. */
START_TEST(test_warning)
{
	static const struct {
		const char *text, *warning; /* NULL: none */
	} question[] = {
		{"{\"judge\": \"changes\", \"filesystem\": {\"read\": [\"/usr\"]}}", NULL},
		{"{\"judge\": \"all\", \"filesystem\": {\"decoy\": [\"/k\"]}}", NULL},
		{"{\"filesystem\": {\"decoy\": [\"/k\"]}}", NULL},
		{"{\"filesystem\": {\"decoy\": [\"/k\"]},\n\"judge\": \"changes\"}",
		 "p.json:2: judge: warning: every call will be judged, as with \"all\": p.json: filesystem.decoy[0] /k "
		 "is a decoy, and only a judged call tells that it is read"},
	};

	for (size_t i = 0; i < sizeof(question) / sizeof(question[0]); i++) {
		struct rig rig = {0};
		struct policy *policy;
		size_t count, found = 0;
		const char *const *warnings;

		ck_assert_int_eq(rig_load(&rig, question[i].text, NULL, &policy), 0);
		warnings = policy_get_warnings(policy, &count);
		for (size_t j = 0; j < count; j++)
			if (strstr(warnings[j], ": judge: ")) {
				found++;
				ck_assert_ptr_nonnull(question[i].warning);
				ck_assert_str_eq(warnings[j], question[i].warning);
			}
		ck_assert_uint_eq(found, question[i].warning != NULL);
		policy_free(policy);
		rig_done(&rig);
	}
}
END_TEST

static enum policy_judge judge_of(const char *name, enum policy_judge cli_judge, char **ret_shown)
{
	static const struct rig_file files[] = {
		{"changes.json", "{\"judge\": \"changes\"}"},
		{"all.json", "{\"extends\": [\"changes.json\"], \"judge\": \"all\"}"},
		{"inherits.json", "{\"extends\": [\"changes.json\"]}"},
		{"silent.json", "{\"version\": 1}"},
		{NULL, NULL},
	};
	const char *const names[] = {name, NULL};
	const struct policy_cli cli = {.judge = cli_judge};
	struct rig rig = {.files = files};
	enum policy_judge judge;
	struct policy *policy;

	ck_assert_int_eq(rig_load_names(&rig, names, &cli, &policy), 0);
	judge = policy_get_judge_mode(policy);
	if (ret_shown)
		*ret_shown = policy_make_json(policy);
	policy_free(policy);
	rig_done(&rig);
	return judge;
}

START_TEST(test_later_files_win)
{
	char *shown;

	ck_assert_int_eq(judge_of("silent.json", POLICY_JUDGE_UNSET, &shown), POLICY_JUDGE_ALL);
	ck_assert_ptr_null(strstr(shown, "judge"));
	free(shown);
	ck_assert_int_eq(judge_of("changes.json", POLICY_JUDGE_UNSET, &shown), POLICY_JUDGE_CHANGES);
	ck_assert_ptr_nonnull(strstr(shown, "\"judge\": \"changes\""));
	free(shown);
	ck_assert_int_eq(judge_of("inherits.json", POLICY_JUDGE_UNSET, NULL), POLICY_JUDGE_CHANGES);
	ck_assert_int_eq(judge_of("all.json", POLICY_JUDGE_UNSET, NULL), POLICY_JUDGE_ALL);
	ck_assert_int_eq(judge_of("all.json", POLICY_JUDGE_CHANGES, NULL), POLICY_JUDGE_CHANGES);
	ck_assert_int_eq(judge_of("changes.json", POLICY_JUDGE_ALL, NULL), POLICY_JUDGE_ALL);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("policy reads");
	TCase *all = tcase_create("all");

	tcase_add_test(all, test_obstacles);
	tcase_add_test(all, test_warning);
	tcase_add_test(all, test_later_files_win);
	suite_add_tcase(suite, all);
	return unit_run(suite);
}
