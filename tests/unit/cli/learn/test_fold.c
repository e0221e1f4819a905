/* From what a program asked for to rules, over a tree of files: folding, and what stands against it. */
#include <check.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/learn/fold.h"
#include "tests/unit/unit.h"

#define ITEMS 64

static char top[PATH_MAX];
static struct draft draft;
static struct needs needs;
static struct fold_context context;
static struct secret_inodes *inodes;
static char *home, *workdir;

/* ---- the tree ---- */

/* An absolute path below the test's directory. Owned. */
static char *make_path(const char *name)
{
	char *path = text_format("%s/%s", top, name);

	ck_assert_ptr_nonnull(path);
	return path;
}

/* Makes a file with the directories above it. */
static void make_file(const char *name)
{
	_cleanup_free_ char *path = make_path(name);
	int fd;

	for (char *slash = strchr(path + strlen(top) + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		(void)mkdir(path, 0755);
		*slash = '/';
	}
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	ck_assert_msg(fd >= 0, "%s", path);
	(void)close(fd);
}

static void make_files(const char *const *names)
{
	for (; *names; names++)
		make_file(*names);
}

static void set_up(void)
{
	char cwd[PATH_MAX - 64];

	ck_assert_ptr_nonnull(getcwd(cwd, sizeof(cwd)));
	(void)snprintf(top, sizeof(top), "%s/test-fold-XXXXXX", cwd);
	ck_assert_ptr_nonnull(mkdtemp(top));
	ck_assert_int_eq(chmod(top, 0755), 0);
	home = make_path("home/ann");
	workdir = make_path("work");
	make_file("home/ann/.ssh/id_rsa");
	make_file("work/main.c");
	ck_assert_int_eq(draft_init(&draft, NULL, "x", NULL), 0);
}

static void tear_down(void)
{
	secret_inodes_free(inodes);
	inodes = NULL;
	needs_release(&needs);
	draft_release(&draft);
	free(home);
	free(workdir);
	ck_assert_int_eq(io_remove_tree(AT_FDCWD, top), 0);
}

/* ---- asking ---- */

static void ask_as(const char *name, const char *written, unsigned right, const char *call)
{
	static struct query query;

	query = (struct query){.kind = QUERY_PATHS, .path_count = 1};
	query.paths[0].wanted_rights = right;
	query.paths[0].len = (size_t)snprintf(query.paths[0].canonical_path, PATH_MAX, *name == '/' ? "%s" : "%s/%s",
					      *name == '/' ? name : top, name);
	if (written)
		query.paths[0].path_as_written_len =
			(size_t)snprintf(query.paths[0].path_as_written, PATH_MAX, "%s/%s", top, written);
	ck_assert_int_eq(needs_add_query(&needs, &query, needs.count + 1, call, "/bin/prog"), 0);
}

static void ask(const char *name, unsigned right)
{
	ask_as(name, NULL, right, "openat");
}

static void ask_each(const char *const *names, unsigned right)
{
	for (; *names; names++)
		ask(*names, right);
}

/* Folds all that was asked for. */
static void fold(bool risky)
{
	const char *const places[] = {workdir, NULL};
	struct unmet_need unmet[ITEMS];

	ck_assert_uint_le(needs.count, ITEMS);
	ck_assert_int_eq(secret_inodes_find(home, places, &inodes), 0);
	context = (struct fold_context){.home = home,
					.workdir_in_view = workdir,
					.workdir_host_path = workdir,
					.inodes = inodes,
					.allows_risky = risky};
	for (size_t i = 0; i < needs.count; i++) {
		const unsigned want = needs.need[i].rights;

		unmet[i] = (struct unmet_need){.need = &needs.need[i],
					       .right = want & POLICY_WRITE  ? POLICY_WRITE
							: want & POLICY_EXEC ? POLICY_EXEC
									     : POLICY_READ};
	}
	ck_assert_int_eq(fold_deny_secrets(&draft, &needs, &context), 0);
	ck_assert_int_eq(fold_add_rules_for_unmet_needs(&draft, &needs, NULL, &context, unmet, needs.count, true), 0);
}

/* ---- what came of it ---- */

/* The rule of filesystem.KEY for a path. NULL: there is none. */
static const json_t *find_rule(const char *key, const char *path)
{
	const json_t *list = json_object_get(json_object_get(draft.root, "filesystem"), key);

	for (size_t i = 0; i < json_array_size(list); i++)
		if (strcmp(json_string_value(json_object_get(json_array_get(list, i), "path")), path) == 0)
			return json_array_get(list, i);
	return NULL;
}

static char *dump(void)
{
	static char text[16384];
	char *all = json_dumps(draft.root, JSON_INDENT(1));

	(void)snprintf(text, sizeof(text), "%s", all);
	free(all);
	return text;
}

/* Holds that there is such a rule, which applies or is left out. name: below the test's directory, or as it is. */
static void assert_rule(const char *key, const char *name, bool applies)
{
	_cleanup_free_ char *path = strchr("/@~*", *name) ? strdup(name) : make_path(name);
	const json_t *rule = find_rule(key, path);

	ck_assert_msg(rule != NULL, "no rule %s %s in %s", key, path, dump());
	ck_assert_msg(!json_object_get(rule, "disabled") == applies, "%s %s in %s", key, path, dump());
}

static size_t count_rules(const char *key)
{
	return json_array_size(json_object_get(json_object_get(draft.root, "filesystem"), key));
}

/* ---- folding ---- */

START_TEST(files_with_one_suffix)
{
	static const char *const used[] = {"data/a.csv", "data/b.csv", "data/c.csv", "data/d.csv", NULL};
	const json_t *also;

	make_files(used);
	make_file("data/token.csv");
	make_file("data/other.txt");
	ask_each(used, POLICY_READ);
	fold(false);
	assert_rule("read", "data/*.csv", true);
	ck_assert_uint_eq(count_rules("read"), 1);
	also = json_object_get(json_array_get(json_object_get(json_object_get(draft.root, "filesystem"), "read"), 0),
			       "also_grants");
	ck_assert_int_eq(json_integer_value(json_object_get(also, "count")), 1);
}
END_TEST

START_TEST(three_files_are_three_rules)
{
	static const char *const used[] = {"data/a.csv", "data/b.csv", "data/c.csv", NULL};

	make_files(used);
	ask_each(used, POLICY_READ);
	fold(false);
	ck_assert_uint_eq(count_rules("read"), 3);
}
END_TEST

START_TEST(names_that_differ_in_numbers)
{
	make_file("data/run1/part7.bin");
	make_file("data/run2/part7.bin");
	ask("data/run1/part7.bin", POLICY_READ);
	ask("data/run2/part7.bin", POLICY_READ);
	fold(false);
	assert_rule("read", "data/run*/part7.bin", true);
	ck_assert_uint_eq(count_rules("read"), 1);
}
END_TEST

START_TEST(libraries_are_granted_whole)
{
	static const char *const used[] = {"app/node_modules/x/a.js", "app/node_modules/y/b.js",
					   "app/node_modules/y/c.js", NULL};

	make_files(used);
	make_file("app/node_modules/z/d.js");
	ask_each(used, POLICY_READ);
	fold(false);
	assert_rule("read", "app/node_modules", true);
	ck_assert_uint_eq(count_rules("read"), 1);
}
END_TEST

/* ---- what must not be folded ---- */

START_TEST(no_rule_covers_a_secret)
{
	static const char *const used[] = {"data/a.json", "data/b.json", "data/c.json", "data/d.json",
					   "lib/node_modules/a", "lib/node_modules/b", "lib/node_modules/c", NULL};

	make_files(used);
	make_file("data/.env.json");
	make_file("lib/node_modules/p/.env");
	ask_each(used, POLICY_READ);
	fold(false);
	ck_assert_uint_eq(count_rules("read"), 7);
	assert_rule("read", "data/a.json", true);
	assert_rule("read", "lib/node_modules/a", true);
}
END_TEST

/* That the program tried to read the secret makes it no less one. */
START_TEST(nor_one_that_was_asked_for)
{
	_cleanup_free_ char *dir = make_path("data");

	make_file("data/.env");
	make_file("data/x");
	ask("data/.env", POLICY_READ);
	ask("data", POLICY_READ);
	fold(false);
	assert_rule("read", "data/.env", false);
	assert_rule("read", "data/.only-the-directory*", true);
	ck_assert_ptr_null(find_rule("read", dir));
}
END_TEST

START_TEST(nor_one_by_a_hard_link)
{
	static const char *const used[] = {"data/a.txt", "data/b.txt", "data/c.txt", "data/d.txt", NULL};
	_cleanup_free_ char *key = make_path("home/ann/.ssh/id_rsa"), *other = make_path("data/e.txt"),
			    *inside = make_path("work/plain");

	make_files(used);
	ck_assert_int_eq(link(key, other), 0);
	ck_assert_int_eq(link(key, inside), 0);
	ask_each(used, POLICY_READ);
	fold(false);
	ck_assert_uint_eq(count_rules("read"), 4);
	assert_rule("deny", "@workdir/plain", true);
}
END_TEST

START_TEST(a_hard_link_is_what_it_links_to)
{
	_cleanup_free_ char *key = make_path("home/ann/.ssh/id_rsa"), *other = make_path("data/innocent");

	make_file("data/x");
	ck_assert_int_eq(link(key, other), 0);
	ask("data/innocent", POLICY_READ);
	fold(false);
	assert_rule("read", "data/innocent", false);
}
END_TEST

START_TEST(a_link_of_the_program_is_not_followed)
{
	_cleanup_free_ char *target = make_path("data/x"), *link_path = make_path("work/link"),
			    *outer = make_path("outer");

	make_file("data/x");
	ck_assert_int_eq(symlink(target, link_path), 0);
	ck_assert_int_eq(symlink(target, outer), 0);
	ask_as("data/x", "work/link", POLICY_READ, "openat");
	fold(false);
	assert_rule("read", "data/x", true); /* not @workdir/link, which may lead elsewhere tomorrow */
	ck_assert_uint_eq(count_rules("read"), 1);
	ask_as("data/x", "outer", POLICY_READ, "openat");
	secret_inodes_free(inodes);
	fold(false);
	assert_rule("read", "outer", true);
}
END_TEST

/* To remove a link, or to read where it leads, is not to read what it leads to. */
START_TEST(a_link_is_not_its_target)
{
	_cleanup_free_ char *key = make_path("home/ann/.ssh/id_rsa"), *one = make_path("data/first"),
			    *two = make_path("data/second"), *three = make_path("data/id_rs");

	make_file("data/x");
	ck_assert_int_eq(symlink(key, one), 0);
	ck_assert_int_eq(symlink(home, two), 0);
	ck_assert_int_eq(symlink(home, three), 0);
	ask_as("data/first", NULL, POLICY_READ, "readlink");
	ask_as("data/second", NULL, POLICY_WRITE, "unlink");
	ask_as("data/id_rs", NULL, POLICY_READ, "readlink");
	fold(false);
	assert_rule("read", "data/first*", true);
	assert_rule("write", "data/second*", true);
	assert_rule("read", "data/id_rs*", false);
	ck_assert_uint_eq(count_rules("read"), 2);
	ck_assert_uint_eq(count_rules("write"), 1);
}
END_TEST

START_TEST(four_files_of_a_home_grant_no_fifth)
{
	static const char *const used[] = {"home/ann/a.txt", "home/ann/b.txt", "home/ann/c.txt", "home/ann/d.txt",
					   "home/ann/n1", "home/ann/n2", NULL};

	make_files(used);
	ask_each(used, POLICY_READ);
	ask("home/ann", POLICY_READ);
	make_file("home/ann/docs/letter");
	ask("home/ann/docs", POLICY_READ);
	fold(false);
	ck_assert_uint_eq(count_rules("read"), 7);
	assert_rule("read", "~/a.txt", true);
	assert_rule("read", "~/n1", true);
	ck_assert_uint_eq(json_array_size(draft.ungrantable), 1); /* home itself */
}
END_TEST

START_TEST(what_the_run_made_is_no_way_to_more)
{
	ask("home/ann/1", POLICY_WRITE);           /* not ~/anything */
	ask("home/ann/.ss", POLICY_WRITE);         /* not ~/.ssh */
	ask("data/1", POLICY_WRITE);
	ask("data/id_rs", POLICY_WRITE);
	ask("data/output1/x", POLICY_WRITE);
	make_file("data/x");
	fold(false);
	assert_rule("write", "data/output*/**", true);
	assert_rule("write", "data/*", false);
	assert_rule("write", "data/id_rs*", false);
	assert_rule("write", "~/*", false);
	ck_assert_uint_eq(count_rules("write"), 5);
	ck_assert_uint_eq(draft_count_rules(&draft), 1);
}
END_TEST

START_TEST(a_directory_that_was_changed_grants_no_change_of_its_files)
{
	make_file("home/ann/docs/x");
	make_file("data/.env");
	ask("home/ann/docs", POLICY_WRITE);
	ask("data", POLICY_WRITE);
	fold(false);
	assert_rule("write", "~/docs", false);
	assert_rule("write", "data", false);
}
END_TEST

/* To glob(3) "[k]ey" is "key", to a rule it is a name. */
START_TEST(brackets_hide_nothing)
{
	static const char *const used[] = {"data/[k]ey1/a", "data/[k]ey2/a", NULL};

	make_files(used);
	make_file("data/[k]ey3/a/.env"); /* a pattern for both would grant it */
	ask_each(used, POLICY_READ);
	fold(false);
	ck_assert_uint_eq(count_rules("read"), 2);
}
END_TEST

START_TEST(names_that_no_rule_can_have)
{
	make_file("data/a*b");
	make_file("data/\xff");
	make_file("data/new\nline");
	make_file("data/${HOME}");
	ask("data/a*b", POLICY_READ);
	ask("data/\xff", POLICY_READ);
	ask("data/new\nline", POLICY_READ);
	ask("data/${HOME}", POLICY_READ);
	fold(false);
	ck_assert_uint_eq(json_array_size(draft.ungrantable), 2);
	assert_rule("read", "data/new\nline", true);
	assert_rule("read", "data/$${HOME}", true);
	ck_assert_uint_eq(count_rules("read"), 2);
}
END_TEST

/* ---- with --allow-risky ---- */

START_TEST(risky_is_what_was_used_and_no_more)
{
	make_file("work/.env");
	make_file("work/sub/.env");
	make_file("data/.netrc");
	make_file("data/.pgpass");
	ask("data/.netrc", POLICY_READ);
	ask("work/.env", POLICY_READ);
	fold(true);
	assert_rule("read", "data/.netrc", true);
	assert_rule("deny", "@workdir/sub/.env", true);
	ck_assert_ptr_null(find_rule("deny", "@workdir/.env"));
	ck_assert_uint_eq(count_rules("read"), 2);
}
END_TEST

START_TEST(secrets_in_the_working_directory_are_denied)
{
	make_file("work/sub/.env");
	make_file("work/.aws/credentials");
	fold(false);
	assert_rule("deny", "**/.env", true);
	assert_rule("deny", "**/.aws", true);
	ck_assert_uint_eq(count_rules("deny"), 2);
}
END_TEST

/* ---- size ---- */

START_TEST(thirty_thousand_files)
{
	_cleanup_free_ char *dir = make_path("data/many");
	_cleanup_close_ int fd = -1;
	char name[32];

	make_file("data/many/x1.dat");
	make_file("data/many/x2.dat");
	fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	for (unsigned i = 3; i < 30000; i++) {
		(void)snprintf(name, sizeof(name), "x%u.dat", i);
		ck_assert_int_eq(linkat(fd, i % 10000 ? name : "x1.dat", fd, name, 0) == 0 ||
					 mknodat(fd, name, S_IFREG | 0644, 0) == 0, 1);
	}
	ask("data/many/x1.dat", POLICY_READ);
	ask("data/many/x2.dat", POLICY_READ);
	ask("data/many", POLICY_READ);
	fold(false);
	assert_rule("read", "data/many/x*.dat", true);
	ck_assert_ptr_null(find_rule("read", dir)); /* too much to be granted for a listing */
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("learn fold");
	TCase *tcase = tcase_create("all");

	suite_add_tcase(suite, tcase);
	tcase_set_timeout(tcase, 120);
	tcase_add_checked_fixture(tcase, set_up, tear_down);
	tcase_add_test(tcase, files_with_one_suffix);
	tcase_add_test(tcase, three_files_are_three_rules);
	tcase_add_test(tcase, names_that_differ_in_numbers);
	tcase_add_test(tcase, libraries_are_granted_whole);
	tcase_add_test(tcase, no_rule_covers_a_secret);
	tcase_add_test(tcase, nor_one_that_was_asked_for);
	tcase_add_test(tcase, nor_one_by_a_hard_link);
	tcase_add_test(tcase, a_hard_link_is_what_it_links_to);
	tcase_add_test(tcase, a_link_of_the_program_is_not_followed);
	tcase_add_test(tcase, a_link_is_not_its_target);
	tcase_add_test(tcase, four_files_of_a_home_grant_no_fifth);
	tcase_add_test(tcase, what_the_run_made_is_no_way_to_more);
	tcase_add_test(tcase, a_directory_that_was_changed_grants_no_change_of_its_files);
	tcase_add_test(tcase, brackets_hide_nothing);
	tcase_add_test(tcase, names_that_no_rule_can_have);
	tcase_add_test(tcase, risky_is_what_was_used_and_no_more);
	tcase_add_test(tcase, secrets_in_the_working_directory_are_denied);
	tcase_add_test(tcase, thirty_thousand_files);
	return unit_run(suite);
}
