/* Names in learnt policies: patterns for numbers, tiers, and directories that are one unit. */
#include <check.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "cli/learn/pattern.h"
#include "cli/learn/tier.h"
#include "cli/learn/units.h"
#include "policy/paths/literal.h"
#include "tests/unit/unit.h"

#define HOME "/srv/people/ann"

/* ---- patterns ---- */

START_TEST(numbers_are_blurred)
{
	static const struct {
		const char *path, *blurred;
	} cases[] = {
		{"/d/tmp12/x", "/d/tmp*/x"}, {"/d/a1b22c", "/d/a*b*c"}, {"/d/none", "/d/none"},
		{"/7", "/*"},                {"/d/x*9", "/d/x*"},       {"/d/1.2.3", "/d/*.*.*"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		_cleanup_free_ char *blurred = pattern_replace_numbers(cases[i].path);

		ck_assert_str_eq(blurred, cases[i].blurred);
	}
	ck_assert(pattern_has_number("/d/x1"));
	ck_assert(!pattern_has_number("/d/x"));
}
END_TEST

START_TEST(random_words_of_a_name_are_blurred)
{
	static const struct {
		const char *name, *blurred;
	} cases[] = {
		{"tmp.aB3dE9xQ", "tmp.*"}, {"cc4f2a91x.o", "*.o"}, {"README", "README"},
		{"x-1-y", "x-*-y"},        {"main.c", "main.c"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		_cleanup_free_ char *blurred = pattern_replace_random_in_name(cases[i].name);

		ck_assert_str_eq(blurred, cases[i].blurred);
	}
}
END_TEST

START_TEST(temporary_names_are_blurred)
{
	static const struct {
		const char *path, *blurred;
	} cases[] = {
		{"go-build3390909933/b001/x.test", "go-build*/b001/x.test"}, {"tmp.Xa3kQ9bZ1c/a1", "tmp.*/a1"},
		{"bin/python3", "bin/python3"}, {"cc1plus", "cc1plus"}, 
		{"LibreOffice", "LibreOffice"}, {"a12345b", "a*b"}, {"x.c", "x.c"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		_cleanup_free_ char *blurred = pattern_replace_temporary_names(cases[i].path);

		ck_assert_str_eq(blurred, cases[i].blurred);
	}
}
END_TEST

START_TEST(merged_paths_keep_what_they_share)
{
	_cleanup_free_ char *merged = pattern_merge_paths("/d1/run4/out.txt", "/d1/run17/out.txt"),
			    *again = pattern_merge_paths(merged, "/d1/run5/out.txt");

	ck_assert_str_eq(merged, "/d1/run*/out.txt");
	ck_assert_str_eq(again, "/d1/run*/out.txt");
}
END_TEST

START_TEST(patterns_must_tell_something)
{
	static const char *const telling[] = {"/d/cpu*", "/d/*.c", "/d/abc*/**", "/d/plain", "/*/x"};

	for (size_t i = 0; i + 1 < sizeof(telling) / sizeof(telling[0]); i++)
		ck_assert_msg(pattern_components_are_specific(telling[i]), "%s", telling[i]);
	ck_assert(!pattern_components_are_specific("/*/x"));
	ck_assert(!pattern_components_are_specific("/d/a*"));
	ck_assert(!pattern_components_are_specific("/d/.s*"));
	ck_assert(!pattern_components_are_specific("/d/*/**"));
	ck_assert(!pattern_components_are_specific("/d/*."));
}
END_TEST

START_TEST(patterns_meet_where_a_name_matches_both)
{
	static const struct {
		const char *a, *b;
		bool meet;
	} cases[] = {
		{".s*", ".ssh", true},      {".npm*", ".npmrc", true}, {"*.csv", ".env.*", true},
		{"abc", "abc", true},       {"abc", "abd", false},     {"a*c", "abbc", true},
		{"a*c", "abbd", false},     {"*", "", true},           {"", "", true},
		{"", "a", false},           {"id_*", "id_rsa", true},  {"part*", "id_rsa", false},
		{"*a*", "*b*", true},       {"a*", "b*", false},       {"**", "x", true},
		{"x*y", "x*z", false},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const char *a = cases[i].a, *b = cases[i].b;

		ck_assert_msg(pattern_may_match_same_name(a, strlen(a), b, strlen(b)) == cases[i].meet, "%s %s", a, b);
		ck_assert_msg(pattern_may_match_same_name(b, strlen(b), a, strlen(a)) == cases[i].meet, "%s %s", b, a);
	}
}
END_TEST

/* A hostile name: backtracking would take years. */
START_TEST(meeting_takes_no_time)
{
	char many[NAME_MAX + 1], other[NAME_MAX + 1];

	for (size_t i = 0; i < NAME_MAX; i++) {
		many[i] = i % 2 ? 'a' : '*';
		other[i] = 'a';
	}
	other[NAME_MAX - 1] = 'b';
	ck_assert(!pattern_may_match_same_name(many, NAME_MAX - 1, other, NAME_MAX));
	ck_assert(pattern_may_match_same_name(many, NAME_MAX, other, NAME_MAX));
}
END_TEST

START_TEST(variables_are_escaped)
{
	_cleanup_free_ char *escaped = literal_write("@workdir", "a${b}$c${"), *top = literal_write("~", ""),
			    *tail = literal_write("", "/x");

	ck_assert_str_eq(escaped, "@workdir/a$${b}$c$${");
	ck_assert_str_eq(top, "~");
	ck_assert_str_eq(tail, "/x");
}
END_TEST

/* ---- tiers ---- */

START_TEST(tiers)
{
	static const struct {
		const char *path;
		unsigned right;
		enum tier tier;
	} cases[] = {
		{"/etc/ssl/openssl.cnf", POLICY_READ, TIER_GRANTED},
		{"/data/x", POLICY_WRITE, TIER_GRANTED},
		{HOME "/work/x", POLICY_WRITE, TIER_GRANTED},
		{HOME "/.cache/prog", POLICY_WRITE, TIER_GRANTED},
		{"/usr/lib/x", POLICY_READ, TIER_GRANTED},
		{"/usr/bin/git", POLICY_EXEC, TIER_GRANTED},
		{"/usr/lib/x", POLICY_WRITE, TIER_RISKY},
		{"/etc/hosts", POLICY_WRITE, TIER_RISKY},
		{"/opt/x/y", POLICY_WRITE, TIER_RISKY},
		{HOME "/.profile", POLICY_WRITE, TIER_RISKY},
		{HOME "/.gitconfig", POLICY_WRITE, TIER_RISKY},
		{HOME "/.config/autostart/x.desktop", POLICY_WRITE, TIER_RISKY},
		{HOME "/.local/bin/ls", POLICY_WRITE, TIER_RISKY},
		{"/home/bob/.bashrc", POLICY_WRITE, TIER_RISKY},
		{"/root/.bashrc", POLICY_WRITE, TIER_RISKY},
		{"/var/spool/cron/crontabs/ann", POLICY_WRITE, TIER_RISKY},
		{"/data/repo/.git/hooks/pre-commit", POLICY_WRITE, TIER_RISKY},
		{HOME "/.profile", POLICY_READ, TIER_GRANTED},
		{HOME "/.ssh/id_rsa", POLICY_READ, TIER_RISKY},
		{HOME "/.ssh", POLICY_READ, TIER_RISKY},
		{"/data/.env", POLICY_READ, TIER_RISKY},
		{"/home/bob/.aws/credentials", POLICY_READ, TIER_RISKY},
		{"/etc/shadow", POLICY_READ, TIER_NEVER_GRANTED},
		{"/etc/sudoers.d/x", POLICY_READ, TIER_NEVER_GRANTED},
		{"/etc/ssh/ssh_host_rsa_key", POLICY_READ, TIER_NEVER_GRANTED},
		{"/", POLICY_READ, TIER_NEVER_GRANTED},
		{"/etc", POLICY_READ, TIER_NEVER_GRANTED},
		{HOME, POLICY_READ, TIER_NEVER_GRANTED},
		{HOME, POLICY_WRITE, TIER_NEVER_GRANTED},
		{HOME "/.config", POLICY_READ, TIER_NEVER_GRANTED},
		{"/home", POLICY_READ, TIER_NEVER_GRANTED},
		{"/home/bob", POLICY_READ, TIER_NEVER_GRANTED},
		{"/proc/1/environ", POLICY_READ, TIER_NEVER_GRANTED},
		{"/dev/sda", POLICY_WRITE, TIER_NEVER_GRANTED},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const char *why = "";
		enum tier tier = tier_find(HOME, cases[i].path, cases[i].right, &why);

		ck_assert_msg(tier == cases[i].tier, "%s %u: %d", cases[i].path, cases[i].right, (int)tier);
		ck_assert_msg(!why == (tier == TIER_GRANTED), "%s %u: %s", cases[i].path, cases[i].right, why);
	}
}
END_TEST

START_TEST(other_users_files_are_theirs)
{
	const struct stat own = {.st_uid = geteuid(), .st_mode = S_IFREG | 0600}, root = {.st_mode = S_IFREG | 0600},
			  theirs = {.st_uid = geteuid() + 1, .st_mode = S_IFREG | 0640},
			  shown = {.st_uid = geteuid() + 1, .st_mode = S_IFREG | 0644};

	ck_assert(!tier_is_private_file(&own, POLICY_WRITE));
	ck_assert(!tier_is_private_file(&root, POLICY_READ));
	ck_assert(tier_is_private_file(&theirs, POLICY_READ));
	ck_assert(!tier_is_private_file(&shown, POLICY_READ));
	ck_assert(tier_is_private_file(&shown, POLICY_WRITE));
}
END_TEST

/* ---- units ---- */

START_TEST(units)
{
	static const struct {
		const char *path, *dir; /* NULL: none */
	} cases[] = {
		{"/usr/share/foo/a/b", "/usr/share/foo"},
		{"/usr/share/foo", NULL}, /* the unit itself is a file perhaps */
		{"/usr/local/go/src/x.go", "/usr/local/go"},
		{"/data/app/node_modules/x/y.js", "/data/app/node_modules"},
		{"/data/venv/lib/python3.11/site-packages/a.py", "/data/venv/lib/python3.11/site-packages"},
		{"/data/my_node_modules/x", NULL},
		{"/data/node_modules_old/x", NULL},
		{HOME "/.pyenv/versions/3.12/lib/x", HOME "/.pyenv/versions/3.12"},
		{HOME "/.ssh/id_rsa", NULL},
		{"/etc/passwd", NULL},
		{"/srv/people/bob/.pyenv/versions/3.12/lib/x", NULL},
	};
	struct grantable_directory unit;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		bool found = unit_find_grantable_directory(NULL, HOME, cases[i].path, &unit);

		ck_assert_msg(found == (cases[i].dir != NULL), "%s: %s", cases[i].path, found ? unit.dir : "none");
		if (found)
			ck_assert_str_eq(unit.dir, cases[i].dir);
	}
	ck_assert(!unit_find_grantable_directory(NULL, NULL, HOME "/.pyenv/versions/3.12/lib/x", &unit));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("learn names");
	TCase *tcase = tcase_create("all");

	suite_add_tcase(suite, tcase);
	tcase_add_test(tcase, numbers_are_blurred);
	tcase_add_test(tcase, random_words_of_a_name_are_blurred);
	tcase_add_test(tcase, temporary_names_are_blurred);
	tcase_add_test(tcase, merged_paths_keep_what_they_share);
	tcase_add_test(tcase, patterns_must_tell_something);
	tcase_add_test(tcase, patterns_meet_where_a_name_matches_both);
	tcase_add_test(tcase, meeting_takes_no_time);
	tcase_add_test(tcase, variables_are_escaped);
	tcase_add_test(tcase, tiers);
	tcase_add_test(tcase, other_users_files_are_theirs);
	tcase_add_test(tcase, units);
	return unit_run(suite);
}
