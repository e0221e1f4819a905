/*
 * From the view to the host and back: programs and writable places by their host paths, links, what is suggested, where
 * secrets are, what decoys hold. Policies are written as rig_make_text() takes them.
 */
#include <check.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "policy/match.h"
#include "policy/paths/below.h"
#include "policy/paths/explain.h"
#include "policy/paths/host-paths.h"
#include "policy/paths/secrets.h"
#include "policy/paths/suggest.h"
#include "tests/unit/policy/policy-rig.h"
#include "tests/unit/unit.h"

#define COUNT(array) ((int)(sizeof(array) / sizeof((array)[0])))

static struct policy *load_in(struct rig *rig, const char *text)
{
	_cleanup_free_ char *json = rig_make_text(text);
	struct policy *policy = NULL;

	ck_assert_msg(rig_load(rig, json, NULL, &policy) == 0, "%.200s: %s", text,
		      rig->errors.count ? rig->errors.item[0].text : "no memory");
	rig_done(rig);
	return policy;
}

static struct policy *load(const char *text)
{
	struct rig rig = {0};

	return load_in(&rig, text);
}

static const char host_policy[] =
	"{'filesystem': {'read': ['/usr', '/lib'], 'write': ['@workdir', '/data', '/one', '/g/*.txt', '/d/no'],"
	" 'exec': ['/usr/bin/cc', '/usr/lib/x*', '/opt/missing', '/bin'], 'deny': ['/data/no', '/d'],"
	" 'private': ['/secret', '/usr/share', '/data/p*'], 'provide': {'/etc/motd': 'x'}},"
	" 'phases': {'setup': {}}}";

START_TEST(test_programs)
{
	static const char *const paths[] = {"/usr/bin/cc", "/usr/lib", "/usr/bin"};
	struct policy *policy = load(host_policy);
	struct policy_exec exec;
	size_t at = 0;

	for (int i = 0; i < COUNT(paths); i++) {
		ck_assert(policy_get_next_exec(policy, &at, &exec));
		ck_assert_str_eq(exec.virt, paths[i]);
		ck_assert((exec.glob != NULL) == (i == 1));
	}
	ck_assert(!policy_get_next_exec(policy, &at, &exec));
	ck_assert(policy_has_phase(policy, POLICY_PHASE_SETUP) && !policy_has_phase(policy, POLICY_PHASE_RUN));
	policy_free(policy);
}
END_TEST

START_TEST(test_written_together)
{
	static const struct {
		const char *host, *other;
		bool both;
	} cases[] = {
		{"/data/a", "/data/b", true},
		{"/data/a", "/data", false}, /* the rule may be there for the second alone */
		{"/data/a", "/one", false},
		{"/data/a", "/data/no", false},
		{"/data/no", "/data/a", false},
		{"/g/a.txt", "/g/b.txt", true},
		{"/g/a.txt", "/g/b", false},
		{"/g/a.txt", "/g", false},
		{"/d/no/a", "/d/no/b", false}, /* a deny beats the rule */
		{"/usr/a", "/usr/b", false},
		{"/scratch/run/work/a", "/scratch/run/work/b", true},
	};
	_cleanup_free_ char *name = rig_make_text("/data/#4000#");
	_cleanup_free_ char *work = rig_make_text("/scratch/run/work/#4090#");
	struct policy *policy = load(host_policy);

	for (int i = 0; i < COUNT(cases); i++)
		ck_assert_msg(policy_host_paths_are_writable(policy, cases[i].host, cases[i].other) == cases[i].both,
			      "%s %s", cases[i].host, cases[i].other);
	ck_assert(policy_host_path_is_writable(policy, name));
	ck_assert(policy_host_path_is_writable(policy, work));
	policy_free(policy);
}
END_TEST

static unsigned denies;

static int count_deny(void *ctx, const char *path)
{
	(void)ctx;
	denies++;
	ck_assert(strcmp(path, "/data/no") == 0 || strcmp(path, "/d") == 0 || strcmp(path, "/secret") == 0);
	return 0;
}

/* Private places count where nothing grants them; globs never do. */
START_TEST(test_denied_places)
{
	struct policy *policy = load(host_policy);

	ck_assert_int_eq(policy_visit_denied_paths(policy, count_deny, NULL), 0);
	ck_assert_uint_eq(denies, 3);
	policy_free(policy);
}
END_TEST

START_TEST(test_mapping)
{
	_cleanup_free_ char *longest = rig_make_text("/lib/#4088#"), *longer = rig_make_text("/lib/#4092#");
	struct policy *policy = load(host_policy);
	char out[PATH_MAX];

	ck_assert_int_eq(policy_map_to_host(policy, "/data/x", out), 7);
	ck_assert_str_eq(out, "/data/x");
	ck_assert_int_eq(policy_map_to_host(policy, "/etc/motd", out), -ENOENT);
	ck_assert_int_eq(policy_map_to_host(policy, "/nowhere", out), -ENOENT);
	ck_assert_int_gt(policy_map_to_host(policy, "/work", out), 0);
	ck_assert_str_eq(out, "/scratch/run/work");
	ck_assert_int_eq(policy_follow_links(policy, "/lib/x", out), 10);
	ck_assert_str_eq(out, "/usr/lib/x");
	ck_assert_int_eq(policy_follow_links(policy, longest, out), -ENAMETOOLONG);
	ck_assert_int_eq(policy_follow_links(policy, longer, out), -ENAMETOOLONG);
	policy_free(policy);
}
END_TEST

/* ---- what is suggested ---- */

static mode_t regular_type(void *ctx, const char *path)
{
	(void)ctx;
	return strstr(path, "missing") ? 0 : S_IFREG;
}

START_TEST(test_suggestions)
{
	static const struct {
		const char *path;
		unsigned want;
		const char *text, *why; /* the start of the one, or a part of the other */
	} cases[] = {
		{"/opt/x", POLICY_READ, "-r /opt/x, or in a policy", NULL},
		{"/opt/x y", POLICY_EXEC, "-x '/opt/x y', or in a policy", NULL},
		{"/opt/x", POLICY_WRITE, "-W /opt/x, or in a policy", NULL},
		{"/secret/x", POLICY_READ, NULL, "where secrets are kept"},
		{"/data/no/x", POLICY_READ, NULL, "remove p.json: filesystem.deny[0] /data/no"},
		{"/usr/bin/no", POLICY_EXEC, NULL, "remove p.json: exec.deny[0] **/no"},
		{"/etc/ssl", POLICY_READ, NULL, ""},
		{"/usr/x.pem", POLICY_READ, NULL, NULL},
	};
	static const char text[] =
		"{'filesystem': {'read': ['/usr'], 'exec': ['/bin'], 'deny': ['/data/no'], 'private': ['/secret']},"
		" 'exec': {'deny': ['**/no']}}";
	const struct suggest_host host = {.home = "/", .type = regular_type};
	struct policy *policy = load(text);

	for (int i = 0; i < COUNT(cases); i++) {
		struct policy_decision decision =
			policy_decide_access(policy, cases[i].path, strlen(cases[i].path), cases[i].want);
		char *why = NULL, *grant = policy_suggest_grant(&decision, &host, cases[i].path, cases[i].want, &why);

		ck_assert_msg((cases[i].text != NULL) == (grant != NULL), "%s", cases[i].path);
		ck_assert_msg((cases[i].why != NULL) == (why != NULL), "%s", cases[i].path);
		if (grant)
			ck_assert_msg(strncmp(grant, cases[i].text, strlen(cases[i].text)) == 0, "%s", grant);
		if (why)
			ck_assert_msg(strstr(why, cases[i].why) != NULL, "%s", why);
		free(grant);
		free(why);
	}
	policy_free(policy);
}
END_TEST

START_TEST(test_secret_names)
{
	_cleanup_free_ char *name = rig_make_text("/srv/#300#/.ssh");
	const struct {
		const char *home, *path;
		bool secret;
	} cases[] = {
		{"/far/home", "/far/home/.config/hub", true}, {"/far/home", "/far/home/x", false},
		{"/", "/.config/hub", true}, {NULL, "/.config/hub", false}, {NULL, "/root/.config/hub", true},
		{NULL, "/home/.config/hub", false}, {NULL, "/home/v/.config/hub", true},
		{NULL, "relative/.ssh", false}, {NULL, name, true},
	};

	for (int i = 0; i < COUNT(cases); i++)
		ck_assert_msg((secret_find_pattern(cases[i].home, cases[i].path) != NULL) == cases[i].secret, "%s",
			      cases[i].path);
}
END_TEST


/* ---- links, refused paths, interpreters ---- */

static unsigned get_rights(const struct policy *policy, const char *path)
{
	return policy_get_rights(policy, path, strlen(path));
}

/* A deny of a link denies the link and what it leads to, whether that is in the workdir or outside. */
START_TEST(test_denied_links)
{
	static const struct {
		const char *path;
		bool denied;
	} cases[] = {
		{"/work/in", true}, {"/work/in/x", true}, {"/work/real/x", true}, {"/work/inner", false},
		{"/work/out", true}, {"/etc/x", true}, {"/usr/lib/x/y", true}, {"/work/x", false}, {"/m/k", true},
	};
	struct policy *policy = load("{'filesystem': {'read': ['/'], 'write': ['@workdir', '/srv'], 'deny': "
				     "['@workdir/in', '@workdir/out', '/lib/x', '/srv/k'],"
				     "'redirect': [{'from': '/m', 'to': '/srv'}]}}");
	struct policy_question question = {.kind = POLICY_QUESTION_PATH, .wanted_rights = POLICY_READ};
	struct policy_rule_label rule;

	for (int i = 0; i < COUNT(cases); i++) {
		bool matched = false;

		ck_assert_msg((get_rights(policy, cases[i].path) == 0) == cases[i].denied, "%s", cases[i].path);
		(void)snprintf(question.path, sizeof(question.path), "%s", cases[i].path);
		for (size_t at = 0; policy_match_next_rule(policy, &question, &at, &rule);)
			matched |= rule.rule_matches && strstr(rule.label, "filesystem.deny");
		ck_assert_msg(matched == cases[i].denied, "%s", cases[i].path);
	}
	policy_free(policy);
}
END_TEST

/* What the root is redirected to is judged by its own names. */
START_TEST(test_redirected_root)
{
	struct policy *policy = load("{'filesystem': {'read': ['/'], 'deny': ['/etc/key', '/srv'],"
				     "'redirect': [{'from': '/mnt', 'to': '/'}]}}");

	ck_assert_uint_eq(get_rights(policy, "/mnt/etc/x"), POLICY_READ);
	ck_assert_uint_eq(get_rights(policy, "/mnt/etc/key"), 0);
	ck_assert_uint_eq(get_rights(policy, "/mnt/srv/x"), 0);
	ck_assert_uint_eq(get_rights(policy, "/mnt"), POLICY_READ);
	policy_free(policy);
}
END_TEST

START_TEST(test_refused_by_host)
{
	static const char text[] = "{'filesystem': {'read': ['/data', '@workdir/d'], 'deny': ['/data/x']}}";
	struct rig rig = {.refused = "/data"}, other = {.refused = "/scratch/run/work/d"};
	struct policy *policy = load_in(&rig, text);

	ck_assert_uint_eq(get_rights(policy, "/data/a"), 0);
	ck_assert_uint_eq(get_rights(policy, "/work/d"), POLICY_READ);
	policy_free(policy);
	policy = load_in(&other, text);
	ck_assert_uint_eq(get_rights(policy, "/data/a"), POLICY_READ);
	ck_assert_uint_eq(get_rights(policy, "/work/d"), 0);
	policy_free(policy);
}
END_TEST

/* An interpreter in the workdir is not granted, unless another rule shows all of it. */
START_TEST(test_interpreter_in_workdir)
{
	static const struct {
		const char *text;
		unsigned venv, py;
	} cases[] = {
		{"'read': ['@interpreter/lib']", 0, POLICY_READ},
		{"'read': ['@interpreter/lib', '/usr', '/opt/*']", 0, POLICY_READ},
		{"'read': ['@interpreter/lib', '/usr', '/opt/missing']", 0, POLICY_READ},
		{"'read': ['@interpreter/lib', '/usr', '/opt']", POLICY_READ, POLICY_READ},
		{"'deny': ['/opt/venv'], 'read': ['@interpreter/lib']", 0, POLICY_READ},
	};

	for (int i = 0; i < COUNT(cases); i++) {
		struct rig rig = {.workdir = "/opt/venv"};
		char text[256];
		struct policy *policy;

		(void)snprintf(text, sizeof(text), "{'filesystem': {%s}}", cases[i].text);
		policy = load_in(&rig, text);
		ck_assert_msg(get_rights(policy, "/opt/venv/lib/x") == cases[i].venv, "%s", text);
		ck_assert_msg(get_rights(policy, "/opt/py/lib/x") == cases[i].py, "%s", text);
		policy_free(policy);
	}
}
END_TEST

/* ---- decoys ---- */

static const char *get_content(const struct policy *policy, const char *path)
{
	return policy_find_mount(policy, path)->provided_text;
}

/* A key id has the letters of one, a key has lines as ssh-keygen(1) makes them. */
START_TEST(test_decoys)
{
	struct policy *policy = load("{'filesystem': {'decoy': ['~/.aws/credentials', '/a/id_rsa', '/b/.npmrc']}}");
	const char *id = strstr(get_content(policy, "/home/u/.aws/credentials"), "AKIA");
	const char *key = get_content(policy, "/a/id_rsa"), *token = strstr(get_content(policy, "/b/.npmrc"), "npm_");

	ck_assert_uint_eq(strspn(id, "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"), 20);
	ck_assert_uint_eq(strspn(token + 4, "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"), 36);
	for (size_t lines = 0; *key; key += strcspn(key, "\n") + 1, lines++)
		ck_assert_uint_le(strcspn(key, "\n"), 70);
	policy_free(policy);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("policy host paths");
	TCase *tcase = tcase_create("host paths");

	tcase_add_test(tcase, test_programs);
	tcase_add_test(tcase, test_written_together);
	tcase_add_test(tcase, test_denied_places);
	tcase_add_test(tcase, test_mapping);
	tcase_add_test(tcase, test_suggestions);
	tcase_add_test(tcase, test_secret_names);
	tcase_add_test(tcase, test_denied_links);
	tcase_add_test(tcase, test_redirected_root);
	tcase_add_test(tcase, test_refused_by_host);
	tcase_add_test(tcase, test_interpreter_in_workdir);
	tcase_add_test(tcase, test_decoys);
	suite_add_tcase(suite, tcase);
	return unit_run(suite);
}
