/* Observing policies: what they enforce, what they say of the judged policy, and the list of secrets. */
#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "policy/network/net.h"
#include "policy/paths/below.h"
#include "policy/paths/secrets.h"
#include "policy/policy.h"
#include "tests/unit/policy/policy-rig.h"
#include "tests/unit/unit.h"

static const char text[] =
	"{\"version\": 1, \"name\": \"judged\", \"filesystem\": {\"read\": [\"/usr\"], \"write\": [\"@workdir\"],"
	" \"exec\": [\"/usr/bin\"], \"deny\": [\"/usr/deny\"], \"public\": [\"/etc\"], \"private\": [\"/etc/p\"],"
	" \"redirect\": [{\"from\": \"/tmp\", \"to\": \"@scratch/tmp\"}],"
	" \"provide\": {\"/home/u/.netrc\": \"fake\", \"/etc/passwd\": \"x\"}},"
	" \"network\": {\"allow\": [{\"host\": \"api.test\", \"http\": [\"GET /a/**\"]}],"
	" \"deny\": [{\"host\": \"bad.test\"}], \"listen\": [8000]}}";

/* The judged policy and the observing one that owns it. */
static struct policy *load_observing(struct rig *rig, const char *const *hidden, bool risky, bool network)
{
	struct policy_observe observe = {
		.hidden_paths = hidden, .may_read_secrets = risky, .reaches_public_endpoints = network};
	struct policy_cli cli = {.observe = &observe, .denies_network = !network};
	struct policy *policy;

	ck_assert_int_eq(rig_load(rig, text, NULL, &observe.judged_policy), 0);
	ck_assert(!policy_is_observing(observe.judged_policy));
	ck_assert_int_eq(rig_load(rig, text, &cli, &policy), 0);
	ck_assert(policy_is_observing(policy) && policy_get_judged_policy(policy) == observe.judged_policy);
	return policy;
}

static unsigned bit(char want)
{
	return want == 'r' ? POLICY_READ : want == 'w' ? POLICY_WRITE : POLICY_EXEC;
}

START_TEST(test_paths)
{
	static const struct {
		const char *path;
		char want;
		int error;          /* of the observing policy */
		int observed;       /* of the judged one */
		const char *reason; /* of whichever denies */
	} question[] = {
		{"/usr/lib/x", 'r', 0, 0, NULL},
		{"/usr/lib/x", 'w', 0, EROFS, "read_only"},
		{"/usr/bin/x", 'x', 0, 0, NULL},
		{"/opt/x", 'x', 0, ENOENT, "not_granted"},
		{"/opt/x", 'r', 0, ENOENT, "not_granted"},
		{"/usr/deny/x", 'r', 0, EACCES, "denied_by_rule"},
		{"/etc/x", 'r', 0, 0, NULL},
		{"/etc/p", 'r', 0, ENOENT, "private"},
		{"/work/x", 'w', 0, 0, NULL},
		{"/tmp/x", 'w', 0, 0, NULL},
		{"/", 'r', 0, 0, NULL},           /* an ancestor of grants */
		{"/home", 'r', 0, 0, NULL},       /* of the provided file */
		{"/home/x", 'r', 0, ENOENT, "not_granted"},
		{"/", 'w', 0, EROFS, "read_only"},
		{"/etc/shadow", 'r', EACCES, 0, "not_observed"},
		{"/work/.env", 'r', EACCES, 0, "not_observed"},
		{"/work/.env.local", 'w', EACCES, 0, "not_observed"},
		{"/vault/keys/id", 'r', EACCES, 0, "not_observed"}, /* where /home/u/.ssh leads */
		{"/srv/repo/.aws/x", 'r', EACCES, 0, "not_observed"},
		{"/home/other/.config/gh/hosts.yml", 'r', EACCES, 0, "not_observed"},
		{"/root/.config/gh", 'r', EACCES, 0, "not_observed"},
		{"/home/u/.netrc", 'r', 0, 0, NULL}, /* what the policy provides is no secret */
		{"/log/run.log", 'w', EACCES, 0, "not_observed"},
		{"/log/other", 'w', 0, ENOENT, "not_granted"},
	};
	static const char *const hidden[] = {"/log/run.log", NULL};
	struct rig rig = {0};
	struct policy *policy = load_observing(&rig, hidden, false, true);

	for (size_t i = 0; i < sizeof(question) / sizeof(question[0]); i++) {
		const char *path = question[i].path;
		struct policy_decision got = policy_decide_access(policy, path, strlen(path), bit(question[i].want));
		const char *reason = got.error ? got.reason : got.observed_denial.reason;

		ck_assert_msg(got.error == question[i].error && got.observed_denial.error == question[i].observed,
			      "%s %c: %d, observed %d", path, question[i].want, got.error, got.observed_denial.error);
		ck_assert_msg(!question[i].reason || (reason && strcmp(reason, question[i].reason) == 0), "%s: %s",
			      path, reason ? reason : "none");
	}
	ck_assert(!policy_grants_only_whole_trees(policy));
	policy_free(policy);
	rig_done(&rig);
}
END_TEST

START_TEST(test_risky_reads_secrets)
{
	struct rig rig = {0};
	struct policy *policy = load_observing(&rig, NULL, true, true);
	struct policy_decision got = policy_decide_access(policy, "/etc/shadow", 11, POLICY_READ);

	ck_assert_int_eq(got.error, 0);
	ck_assert_int_eq(got.observed_denial.error, 0); /* the policy grants what is public in /etc */
	ck_assert_int_eq(policy_decide_access(policy, "/home/u/.aws", 12, POLICY_READ).observed_denial.error, ENOENT);
	policy_free(policy);
	rig_done(&rig);
}
END_TEST

START_TEST(test_network)
{
	struct rig rig = {0};
	struct policy *policy = load_observing(&rig, NULL, false, true);
	struct net_verdict verdict = policy_net_judge_connect(policy, "api.test", 443, false);

	ck_assert(verdict.is_allowed && !verdict.observed_denial.error);
	verdict = policy_net_judge_connect(policy, "other.test", 5432, false);
	ck_assert(verdict.is_allowed && verdict.observed_denial.error == ECONNREFUSED);
	ck_assert_str_eq(verdict.observed_denial.reason, "no_rule");
	verdict = policy_net_judge_connect(policy, "192.0.2.1", 53, true);
	ck_assert(verdict.is_allowed && verdict.observed_denial.error && !verdict.rule->is_address);
	ck_assert(!verdict.rule->allows_private_addresses);
	verdict = policy_net_judge_connect(policy, "bad.test", 443, false);
	ck_assert(verdict.is_allowed);
	ck_assert_str_eq(verdict.observed_denial.reason, "denied_by_rule");
	verdict = policy_net_judge_request(policy, "api.test", 443, "GET", "/a/b", false);
	ck_assert(verdict.is_allowed && !verdict.observed_denial.error);
	verdict = policy_net_judge_request(policy, "api.test", 443, "POST", "/a/b", false);
	ck_assert(verdict.is_allowed);
	ck_assert_str_eq(verdict.observed_denial.reason, "method_not_granted");
	ck_assert(policy_net_judge_request(policy, "any.test", 80, "GET", "/", true).is_allowed);
	ck_assert(!policy_net_judge_request(policy, "any.test", 80, "CONNECT", "/", false).is_allowed);
	ck_assert(policy_net_intercepts_tls(policy, "any.test", 443));
	ck_assert(!policy_net_intercepts_tls(policy, "any.test", 8443));
	ck_assert(!policy_net_judge_listen(policy, 8000).observed_denial.error);
	ck_assert_int_eq(policy_net_judge_listen(policy, 8001).observed_denial.error, EACCES);
	ck_assert(policy_net_judge_name(policy, "any.test").is_allowed);
	policy_free(policy);
	policy = load_observing(&rig, NULL, false, false);
	ck_assert(!policy_net_is_enabled(policy));
	ck_assert(!policy_net_judge_connect(policy, "other.test", 5432, false).is_allowed);
	policy_free(policy);
	rig_done(&rig);
}
END_TEST

/* Names and digest in a log are the judged policy's. */
START_TEST(test_identity)
{
	struct rig rig = {0};
	struct policy *policy = load_observing(&rig, NULL, false, true), *judged;

	ck_assert_int_eq(rig_load(&rig, text, NULL, &judged), 0);
	ck_assert_int_eq(policy_compute_sha256(policy), 0);
	ck_assert_int_eq(policy_compute_sha256(judged), 0);
	ck_assert_str_eq(policy_get_settings(policy)->sha256, policy_get_settings(judged)->sha256);
	ck_assert_str_eq(policy_get_settings(policy)->name, "judged");
	policy_free(policy);
	policy_free(judged);
	rig_done(&rig);
}
END_TEST

START_TEST(test_secrets)
{
	static const struct {
		const char *path, *kind; /* kind NULL: no secret */
	} name[] = {
		{"/home/u/.ssh", "ssh"}, {"/srv/x/.ssh/config", "ssh"}, {"/w/id_ed25519", "ssh key"},
		{"/w/id_ed25519.pub", NULL}, {"/etc/ssh/ssh_host_rsa_key", "ssh host key"},
		{"/etc/ssh/ssh_host_rsa_key.pub", "ssh"}, {"/w/.env", ".env file"}, {"/w/.env.prod", ".env file"},
		{"/w/.envelope", NULL}, {"/w/env", NULL}, {"/root/.config/gcloud/x", "cloud credentials"},
		{"/home/b/.config/gcloud", "cloud credentials"}, {"/opt/me/.config/gcloud", "cloud credentials"},
		{"/opt/you/.config/gh/hosts", "forge token"}, {"/home/b/.config", NULL}, {"/home", NULL},
		{"/", NULL}, {"/etc/shadow", "password hashes"}, {"/etc/shadowy", NULL},
		{"/x/private/y", "private files"},
		{"/run/docker.sock", "socket of a service"}, {"/home/u/.mozilla/firefox/x/key4.db", "browser profile"},
	};

	for (size_t i = 0; i < sizeof(name) / sizeof(name[0]); i++) {
		const struct secret_pattern *found = secret_find_pattern("/opt/me", name[i].path);

		ck_assert_msg(!found == !name[i].kind, "%s: %s", name[i].path, found ? found->pattern : "none");
		ck_assert_msg(!found || strcmp(found->kind, name[i].kind) == 0, "%s: %s", name[i].path,
			      found ? found->kind : "");
	}
	ck_assert_ptr_null(secret_find_pattern(NULL, "relative/.ssh"));
	ck_assert_ptr_nonnull(secret_find_pattern(NULL, "/.ssh"));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("policy observe");
	TCase *all = tcase_create("all");

	tcase_add_test(all, test_paths);
	tcase_add_test(all, test_risky_reads_secrets);
	tcase_add_test(all, test_network);
	tcase_add_test(all, test_identity);
	tcase_add_test(all, test_secrets);
	suite_add_tcase(suite, all);
	return unit_run(suite);
}
