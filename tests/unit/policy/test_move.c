/* Rename of a directory: policy_compare_rights()'s result, checked against judging every name below. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "tests/unit/policy/policy-rig.h"
#include "policy/paths/move.h"
#include "tests/unit/unit.h"

#define DEPTH 3 /* components of a name below the directory */
#define POLICIES 3000

static const char *const words[] = {"a", "b", "hooks", ".env", "x.pem"};
#define WORDS (sizeof(words) / sizeof(words[0]))

static struct policy *load(struct rig *rig, const char *text)
{
	struct policy *policy = NULL;

	ck_assert_int_eq(rig_load(rig, text, NULL, &policy), 0);
	return policy;
}

struct shape {
	const char *rule, *from, *to;
	enum policy_move_kind kind;
	const char *names;
};

START_TEST(test_shapes)
{
	static const struct shape shapes[] = {
		{"", "/work/a", "/work/b", POLICY_MOVE_RIGHTS_SAME, ""},
		{"**/.env", "/work/a", "/work/b/c", POLICY_MOVE_RIGHTS_SAME, ""},
		{"**/*.pem", "/work/a", "/data/b", POLICY_MOVE_RIGHTS_SAME, ""},
		{"@workdir/.git/hooks", "/work/a", "/work/b", POLICY_MOVE_RIGHTS_SAME, ""},
		{"@workdir/.git/hooks", "/work/a", "/work/.git", POLICY_MOVE_DIFFERS_AT_NAMES, "hooks"},
		{"@workdir/.git/hooks", "/work/.git", "/work/a", POLICY_MOVE_DIFFERS_AT_NAMES, "hooks"},
		{"@workdir/a/b/c", "/work/x", "/work/a", POLICY_MOVE_DIFFERS_AT_NAMES, "b"},
		{"@workdir/a/b/c", "/work/x", "/work/a/b", POLICY_MOVE_DIFFERS_AT_NAMES, "c"},
		{"@workdir/*/hooks", "/work/a", "/work/b", POLICY_MOVE_RIGHTS_SAME, ""},
		{"@workdir/*/hooks", "/work/a", "/work/b/c", POLICY_MOVE_DIFFERS_AT_NAMES, "hooks"},
		{"@workdir/a/*/hooks", "/work/x", "/work/a", POLICY_MOVE_DIFFERS_ANYWHERE, ""},
		{"**/.git/hooks", "/work/a", "/work/b", POLICY_MOVE_RIGHTS_SAME, ""},
		{"**/.git/hooks", "/work/a", "/work/b/.git", POLICY_MOVE_DIFFERS_AT_NAMES, "hooks"},
		{"@workdir/src/**/*.pem", "/work/a", "/work/src/a", POLICY_MOVE_DIFFERS_ANYWHERE, ""},
		{"@workdir/**/*.pem", "/work/a", "/work/src/a", POLICY_MOVE_RIGHTS_SAME, ""},
		{"@workdir/**/*.pem", "/work/a", "/data/a", POLICY_MOVE_DIFFERS_ANYWHERE, ""},
		/* the workdir by its host path, which is granted as well */
		{"@workdir/.git/hooks", "/home/u/proj/a", "/home/u/proj/.git",
		 POLICY_MOVE_DIFFERS_AT_NAMES, "hooks"},
		{"@workdir/*/hooks", "/home/u/proj/a", "/data/a", POLICY_MOVE_DIFFERS_AT_NAMES, "hooks"},
		{"/home/u/proj/.git/hooks", "/work/a", "/work/.git", POLICY_MOVE_DIFFERS_AT_NAMES, "hooks"},
	};

	for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
		struct rig rig = {.workdir = "/home/u/proj"};
		char text[512], names[64] = "";
		struct policy_move move;
		struct policy *policy;

		(void)snprintf(
			text, sizeof(text),
			"{\"filesystem\": {\"write\": [\"@workdir\", \"/data\", \"/home/u\"], \"deny\": [%s%s%s]}}",
			*shapes[i].rule ? "\"" : "", shapes[i].rule, *shapes[i].rule ? "\"" : "");
		policy = load(&rig, text);
		policy_compare_rights(policy, shapes[i].from, shapes[i].to, &move);
		for (size_t j = 0; move.kind == POLICY_MOVE_DIFFERS_AT_NAMES && j < move.differing_name_count; j++)
			(void)snprintf(names + strlen(names), sizeof(names) - strlen(names), "%.*s",
				       (int)move.name[j].len, move.name[j].name);
		ck_assert_msg(move.kind == shapes[i].kind && strcmp(names, shapes[i].names) == 0, "%zu: %s: %d %s", i,
			      shapes[i].rule, (int)move.kind, names);
		policy_free(policy);
		rig_done(&rig);
	}
}
END_TEST

START_TEST(test_links)
{
	static const struct {
		const char *rule, *path, *text;
		bool allowed;
	} question[] = {
		{"@workdir/.git/hooks", "/work/.git", "x", false},
		{"@workdir/.git/hooks", "/work/.git", "../data/x", false},
		{"@workdir/.git/hooks", "/work/git", "x", true},
		{"@workdir/a/b/c", "/work/a", "b", false},
		{"@workdir/a/b/c", "/work/a/b", "c2", false},
		{"@workdir/a/b/c", "/work/a/d", "b", true},
		{"@workdir/*/hooks", "/work/lib64", "lib", true},
		{"@workdir/*/hooks", "/work/lib64", "./lib", true},
		{"@workdir/*/hooks", "/work/lib64", "/work/lib", true},
		{"@workdir/*/hooks", "/work/lib64", "/home/u/proj/lib", false},
		{"@workdir/*/hooks", "/work/lib64", "a/../lib", false}, /* where ".." leads depends on a */
		{"@workdir/*/hooks", "/work/python", "/usr/bin/python3", true},
		{"@workdir/*/hooks", "/work/up", "/", false},
		{"@workdir/*/hooks", "/work/lib64", "..", false},
		{"@workdir/*/hooks", "/work/lib64", "/work/a/b", false},
		{"@workdir/*/hooks", "/work/a/link", "/anywhere", true},
		{"**/.git/hooks", "/work/a/.git", "x", false},
		{"**/.git/hooks", "/work/a/.git", "/usr/x", false},
		{"**/.git/hooks", "/work/a/.git", "../b/.git", true},
		{"@workdir/.git/hooks", "/work/.git", "/usr/x", false},
		{"**/.git/hooks", "/work/a/b", "/data/x", true},
		{"**/.env", "/work/a", "/data/x", true},
		{"@workdir/**/*.pem", "/work/a", "b", true},
		{"@workdir/**/*.pem", "/work/.bin/a", "../b/cli.js", true},
		{"@workdir/**/*.pem", "/work/a", "/data/x", false},
		{"@workdir/**/*.pem", "/work/a", "/home/u/other", true},
		{"@workdir/**/*.pem", "/work/a", "/home/u", false},
		{"@workdir/**/*.pem", "/work/a", "../data/x", false},
		{"@workdir/**/*.pem", "/work/a", "../../data2", true},
		{"@workdir/**/*.pem", "/work/a/b", "../../proj/../data2", false},
		{"@workdir/**/*.pem", "/work/a", "../proj/x", false}, /* by the host path */
		{"@workdir/src/**/*.pem", "/work/src", "x", false},
		{"@workdir/src/**/*.pem", "/work/src/d", "e", true},
		{"@workdir/src/**/*.pem", "/work/src/d", "../e", false},
		{"@workdir/src/**/*.pem", "/work/src/d/f", "../e", true},
		{"/home/u/proj/.git/hooks", "/work/.git", "x", false},
	};

	for (size_t i = 0; i < sizeof(question) / sizeof(question[0]); i++) {
		struct rig rig = {.workdir = "/home/u/proj"};
		const char *rule = NULL;
		struct policy *policy;
		char text[512];
		bool allowed;

		(void)snprintf(text, sizeof(text),
			       "{\"filesystem\": {\"write\": [\"@workdir\", \"/data\"], \"deny\": [\"%s\"]}}",
			       question[i].rule);
		policy = load(&rig, text);
		allowed = policy_link_is_allowed(policy, question[i].path, question[i].text, &rule);
		ck_assert_msg(allowed == question[i].allowed, "%zu: %s", i, question[i].rule);
		ck_assert_msg(allowed || rule, "%zu: a refusal names the rule", i);
		policy_free(policy);
		rig_done(&rig);
	}
}
END_TEST

/* The mount of "/" shows a writable host path under the same name, which a link in the workdir reaches from outside. */
START_TEST(test_link_below_root_mount)
{
	struct rig rig = {.workdir = "/home/u/proj"};
	struct policy *policy =
		load(&rig, "{\"filesystem\": {\"read\": [\"/\"], \"write\": [\"@workdir\", \"/home/u/other\"],"
			   " \"deny\": [\"@workdir/**/*.pem\"]}}");
	const char *rule;

	ck_assert(!policy_link_is_allowed(policy, "/work/a", "../other/x", &rule));
	ck_assert(policy_link_is_allowed(policy, "/work/a", "../another/x", &rule));
	policy_free(policy);
	rig_done(&rig);
}
END_TEST

/* More names than there is room for are any name; the rule that names the path decides for a link. */
START_TEST(test_many_names)
{
	char text[2048] = "{\"filesystem\": {\"write\": [\"@workdir\"], \"deny\": [\"@workdir/*/hooks\"";
	struct rig rig = {.workdir = "/home/u/proj"};
	size_t len = strlen(text);
	const char *rule = NULL;
	struct policy_move move;
	struct policy *policy;

	for (unsigned i = 0; i < POLICY_MOVE_DIFFERING_NAMES_MAX + 1; i++)
		len += (size_t)snprintf(text + len, sizeof(text) - len, ", \"@workdir/.git/n%u\"", i);
	(void)snprintf(text + len, sizeof(text) - len, "]}}");
	policy = load(&rig, text);
	policy_compare_rights(policy, "/work/a", "/work/.git", &move);
	ck_assert_int_eq(move.kind, POLICY_MOVE_DIFFERS_ANYWHERE);
	ck_assert(!policy_link_is_allowed(policy, "/work/.git", "x", &rule));
	ck_assert_ptr_nonnull(strstr(rule, "/.git/n0"));
	policy_free(policy);
	rig_done(&rig);
}
END_TEST

/* What a later file replaces by a redirect does not count. */
START_TEST(test_overridden)
{
	static const struct rig_file files[] = {
		{"base.json", "{\"filesystem\": {\"write\": [\"@workdir\", \"/data/x\", \"/data/y/z\"]}}"},
		{"p.json", "{\"extends\": [\"base.json\"], \"filesystem\": {\"read\": [\"/data\"],"
			   " \"redirect\": [{\"from\": \"/data/x\", \"to\": \"@scratch/x\"}]}}"},
		{NULL, NULL}};
	static const char *const names[] = {"p.json", NULL};
	struct rig rig = {.files = files};
	struct policy_move move;
	struct policy *policy;
	const char *rule;

	ck_assert_int_eq(rig_load_names(&rig, names, NULL, &policy), 0);
	policy_compare_rights(policy, "/data", "/data/other", &move);
	ck_assert_int_eq(move.kind, POLICY_MOVE_DIFFERS_AT_NAMES);
	ck_assert_uint_eq(move.differing_name_count, 1);
	ck_assert_uint_eq(move.name[0].len, 1);
	ck_assert_int_eq(*move.name[0].name, 'y');
	ck_assert(policy_link_is_allowed(policy, "/data/x", "y", &rule));
	policy_free(policy);
	rig_done(&rig);
}
END_TEST

/* What an answer may not permit: that a directory leaves a rule which denies something in it. */
START_TEST(test_deny_below)
{
	static const struct {
		const char *rule, *dir;
		bool denies, denies_asked_by_file;
	} question[] = {
		{"\"/data/a/b\"", "/data", true, true},
		{"\"/data/a/b\"", "/data/a/b", false, false}, /* it is denied itself */
		{"\"/data/a/b\"", "/data/ab", false, false},
		{"\"/data/*/b\"", "/data/x", true, true},
		{"\"/data/*/b\"", "/data/x/y", false, false},
		{"\"/data/**/b\"", "/data/x/y", true, true},
		{"\"**/.git/hooks\"", "/data/.git", true, true},
		{"\"**/.git/hooks\"", "/data/git", false, false},
		{"\"**/.env\"", "/data/a", false, false},
		{"{\"path\": \"**/.git/hooks\", \"on_deny\": \"ask\"}", "/data/.git", false, true},
	};

	for (size_t i = 0; i < sizeof(question) / sizeof(question[0]); i++) {
		struct rig rig = {.workdir = "/home/u/proj"};
		struct policy *policy;
		char text[512];

		(void)snprintf(text, sizeof(text), "{\"filesystem\": {\"write\": [\"/data\"], \"deny\": [%s]}}",
			       question[i].rule);
		policy = load(&rig, text);
		ck_assert_msg(policy_has_deny_below(policy, question[i].dir, ON_DENY_ASK) == question[i].denies, "%zu",
			      i);
		ck_assert_msg(policy_has_deny_below(policy, question[i].dir, ON_DENY_ASK_FILE) ==
				      question[i].denies_asked_by_file,
			      "%zu: another way to ask", i);
		policy_free(policy);
		rig_done(&rig);
	}
}
END_TEST

/* ---- random policies ---- */

static uint32_t seed = 20261123;

static unsigned below(unsigned count)
{
	seed = seed * 1664525u + 1013904223u;
	return (seed >> 16) % count;
}

static const char *word(void)
{
	return words[below(WORDS)];
}

/* A random rule text: a literal beginning, then names and globs. */
static void random_rule(char *out, size_t cap, bool deep)
{
	static const char *const begins[] = {"@workdir", "/data", "/home/u/proj", "@workdir", "**"};
	static const char *const globs[] = {"*", "**", "h*", "*.pem", "*o*"};
	unsigned parts = 1 + below(3);

	(void)snprintf(out, cap, "%s", begins[below(deep ? 5 : 4)]);
	for (unsigned i = 0; i < parts; i++)
		(void)snprintf(out + strlen(out), cap - strlen(out), "/%s", below(5) < 3 ? word() : globs[below(5)]);
}

static void add_rules(char *text, size_t cap, const char *key, unsigned count, bool deep)
{
	char rule[128];

	(void)snprintf(text + strlen(text), cap - strlen(text), ", \"%s\": [", key);
	for (unsigned i = 0; i < count; i++) {
		random_rule(rule, sizeof(rule), deep);
		(void)snprintf(text + strlen(text), cap - strlen(text), "%s\"%s\"", i ? ", " : "", rule);
	}
	(void)snprintf(text + strlen(text), cap - strlen(text), "]");
}

/* A section may have each key once, so these rules go into files of their own. */
static struct policy *random_policy(struct rig *rig)
{
	static const char *const names[] = {"base.json", "more.json", NULL};
	static char base[256], more[4096];
	static const char *const bases[] = {"\"write\": [\"@workdir\", \"/data\"]",
					    "\"write\": [\"@workdir\", \"/home/u\"]",
					    "\"write\": [\"/data\"], \"read\": [\"@workdir\"]",
					    "\"read\": [\"/data\"]"};
	const struct rig_file files[] = {{"base.json", base}, {"more.json", more}, {NULL, NULL}};
	struct policy *policy = NULL;

	(void)snprintf(base, sizeof(base), "{\"filesystem\": {%s}}", bases[below(4)]);
	(void)snprintf(more, sizeof(more), "{\"filesystem\": {\"redirect\": [%s]",
		       below(4) ? "" : "{\"from\": \"@workdir/a/b\", \"to\": \"@scratch/t\"}");
	add_rules(more, sizeof(more), "deny", below(3), true);
	add_rules(more, sizeof(more), "write", below(4), false);
	add_rules(more, sizeof(more), "read", below(3), false);
	(void)snprintf(more + strlen(more), sizeof(more) - strlen(more), "}}");
	rig->files = files;
	(void)rig_load_names(rig, names, NULL, &policy);
	rig->files = NULL;
	return policy;
}

static void random_dir(char *out, size_t cap)
{
	unsigned parts = 1 + below(2);

	static const char *const tops[] = {"/work", "/work", "/data", "/home/u/proj"};

	(void)snprintf(out, cap, "%s", tops[below(4)]);
	for (unsigned i = 0; i < parts; i++)
		(void)snprintf(out + strlen(out), cap - strlen(out), "/%s", word());
}

static bool may_move(const struct policy *policy, const char *path)
{
	size_t count;
	const struct policy_mount *mount = policy_get_mounts(policy, &count);

	for (size_t i = 0; i < count; i++)
		if (path_is_below(mount[i].virt, path))
			return false;
	return policy_get_rights(policy, path, strlen(path)) & POLICY_WRITE;
}

static bool is_told(const struct policy_move *move, const char *name)
{
	for (size_t i = 0; i < move->differing_name_count; i++)
		if (move->name[i].len == strlen(name) && memcmp(move->name[i].name, name, strlen(name)) == 0)
			return true;
	return move->kind == POLICY_MOVE_DIFFERS_ANYWHERE;
}

/*
 * Judges every name below: counts the names with other rights, and those of them that a walk does not visit when it
 * descends only where policy_compare_rights() says (`reached`).
 */
static void compare(const struct policy *policy, char *from, char *to, unsigned depth, bool reached, unsigned found[2])
{
	size_t from_len = strlen(from), to_len = strlen(to);
	struct policy_move move;

	policy_compare_rights(policy, from, to, &move);
	for (size_t i = 0; depth < DEPTH && i < WORDS; i++) {
		bool told = reached && is_told(&move, words[i]);

		(void)snprintf(from + from_len, 64, "/%s", words[i]);
		(void)snprintf(to + to_len, 64, "/%s", words[i]);
		if (policy_rights_differ(policy, from, to)) {
			found[0]++;
			found[1] += !told;
		}
		if (!told || !policy_rights_differ(policy, from, to)) /* else the rename is denied here */
			compare(policy, from, to, depth + 1, told, found);
		from[from_len] = to[to_len] = '\0';
	}
}

START_TEST(test_oracle)
{
	unsigned pairs = 0, differ = 0, same = 0, listed = 0;

	for (unsigned i = 0; i < POLICIES; i++) {
		struct rig rig = {.workdir = "/home/u/proj"};
		struct policy *policy = random_policy(&rig);

		for (unsigned j = 0; policy && j < 12; j++) {
			unsigned found[2] = {0};
			struct policy_move move;
			char from[512], to[512];

			random_dir(from, sizeof(from));
			random_dir(to, sizeof(to));
			if (!may_move(policy, from) || !may_move(policy, to))
				continue;
			policy_compare_rights(policy, from, to, &move);
			compare(policy, from, to, 0, true, found);
			ck_assert_msg(found[1] == 0, "policy %u: %s to %s: %u of %u differences are not come to: %s", i,
				      from, to, found[1], found[0], policy_make_json(policy));
			pairs++;
			differ += found[0] > 0;
			same += move.kind == POLICY_MOVE_RIGHTS_SAME;
			listed += found[0] == 0 && move.kind == POLICY_MOVE_DIFFERS_ANYWHERE;
		}
		policy_free(policy);
		rig_done(&rig);
	}
	/* Every result occurs, and POLICY_MOVE_DIFFERS_ANYWHERE is rare where no rights differ. */
	ck_assert_uint_gt(pairs, 2000);
	ck_assert_uint_gt(differ, pairs / 20);
	ck_assert_uint_gt(same, pairs / 4);
	ck_assert_uint_lt(listed, pairs / 10);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("policy move");
	TCase *all = tcase_create("all");

	tcase_add_test(all, test_shapes);
	tcase_add_test(all, test_links);
	tcase_add_test(all, test_link_below_root_mount);
	tcase_add_test(all, test_many_names);
	tcase_add_test(all, test_overridden);
	tcase_add_test(all, test_deny_below);
	tcase_add_test(all, test_oracle);
	tcase_set_timeout(all, 60);
	suite_add_tcase(suite, all);
	return unit_run(suite);
}
