/* policy/paths/below.h: which trees are writable, which names are hidden, whether only whole trees are granted. */
#include <check.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
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
	struct policy *policy = rig_load_good(text);

	for (size_t i = 0; i < sizeof(question) / sizeof(question[0]); i++)
		ck_assert_msg(policy_may_write(policy, question[i].path) == question[i].may, "%s", question[i].path);
	policy_free(policy);
}
END_TEST

#define FOUND_BYTES 1000u

static int add_path(void *ctx, const char *path)
{
	char *found = ctx;
	const size_t len = strlen(found);

	ck_assert_uint_lt((size_t)snprintf(found + len, FOUND_BYTES - len, "%s ", path), FOUND_BYTES - len);
	return 0;
}

static int stop_at_path(void *ctx, const char *path)
{
	(void)add_path(ctx, path);
	return -EIO;
}

/* What is writable in a directory itself, and below it: "/usr" can have an overlay, if "/usr/local/w" is left out. */
START_TEST(test_writable_below)
{
	static const struct {
		const char *path;
		bool may_write_in;
		const char *below;
	} question[] = {
		{"/usr", false, "/usr/local/w /usr/tmp "}, {"/usr/local/w", true, ""}, {"/usr/local/w/x", true, ""},
		{"/usr/share", false, ""},        {"/srv", false, ""},        {"/data", true, ""},
		{"/data/a", true, ""},            {"/work", true, ""},        {"/nowhere", false, ""},
	};
	struct policy *policy = rig_load_good(text);
	char found[FOUND_BYTES] = "";

	for (size_t i = 0; i < sizeof(question) / sizeof(question[0]); i++) {
		found[0] = '\0';
		ck_assert_msg(policy_may_write_in_dir(policy, question[i].path) == question[i].may_write_in, "%s",
			      question[i].path);
		ck_assert_int_eq(policy_visit_writable_below(policy, question[i].path, add_path, found), 0);
		ck_assert_str_eq(found, question[i].below);
	}
	found[0] = '\0';
	ck_assert_int_eq(policy_visit_writable_below(policy, "/", stop_at_path, found), -EIO);
	ck_assert_ptr_eq(strchr(found, ' '), strrchr(found, ' ')); /* one call */
	policy_free(policy);
}
END_TEST

struct seen {
	unsigned calls, known;
	int answer;
};

static int visit(void *ctx, const char *path)
{
	struct seen *seen = ctx;

	seen->calls++;
	seen->known += strcmp(path, "/srv/key") == 0 || strcmp(path, "/vault/keys") == 0;
	return seen->answer;
}

START_TEST(test_each_deny)
{
	struct seen all = {0}, stopped = {.answer = -EIO};
	struct policy *policy = rig_load_good(text);

	ck_assert_int_eq(policy_visit_denied_paths(policy, visit, &all), 0);
	ck_assert_uint_eq(all.calls, 2); /* globs are left out */
	ck_assert_uint_eq(all.known, 2); /* with canonical names */
	ck_assert_int_eq(policy_visit_denied_paths(policy, visit, &stopped), -EIO);
	ck_assert_uint_eq(stopped.calls, 1);
	policy_free(policy);
}
END_TEST

/* What a visit found. */
struct hidden_list {
	char text[1000]; /* a line each: "[private ]PATH[ glob]: RULE" */
	size_t left;     /* the call that returns `answer`; 0: none does */
	int answer;
};

__attribute__((format(printf, 2, 3))) static void list_add(struct hidden_list *list, const char *format, ...)
{
	const size_t len = strlen(list->text);
	va_list args;

	va_start(args, format);
	ck_assert_int_lt(vsnprintf(list->text + len, sizeof(list->text) - len, format, args),
			 (int)(sizeof(list->text) - len));
	va_end(args);
}

static int list_name(void *ctx, const char *path)
{
	list_add(ctx, "%s\n", path);
	return 0;
}

static int list_hidden(void *ctx, const struct policy_hidden_path *hidden)
{
	static const char file[] = "p.json: filesystem.";
	struct hidden_list *list = ctx;

	ck_assert(strncmp(hidden->rule, file, sizeof(file) - 1) == 0);
	list_add(list, "%s%s%s: %.*s\n", hidden->is_private ? "private " : "", hidden->path,
		 hidden->glob ? " glob" : "", (int)strcspn(hidden->rule + sizeof(file) - 1, " "),
		 hidden->rule + sizeof(file) - 1);
	return list->left > 0 && --list->left == 0 ? list->answer : 0;
}

/* A private rule hides its name unless another rule grants something there or below. */
START_TEST(test_each_private)
{
	static const char *const with_grants =
		"{\"filesystem\": {\"public\": [\"/etc\"], \"read\": [\"/etc/b\", \"/etc/c/d\", \"/etc/e/*.c\"],"
		" \"private\": [\"/etc/a\", \"/etc/b\", \"/etc/c\", \"/etc/e\", \"/etc/**/*.key\"]}}";
	struct hidden_list list = {0};
	struct policy *policy;

	policy = rig_load_good(with_grants);
	ck_assert_int_eq(policy_visit_denied_paths(policy, list_name, &list), 0);
	ck_assert_str_eq(list.text, "/etc/a\n");
	policy_free(policy);
}
END_TEST

START_TEST(test_each_hidden)
{
	static const struct {
		const char *text, *hidden;
	} question[] = {
		{"{'filesystem': {'read': ['/usr'], 'redirect': [{'from': '/usr/tmp', 'to': '@scratch/t'}],"
		 " 'provide': {'/b': 'x'}}, 'exec': {'deny': ['/usr/bin/env']}}",
		 ""},
		/* By both paths, if one has a link in it; also what does not exist. */
		{"{'filesystem': {'deny': ['/lib/x', '/home/u/.ssh', '/missing/y', '/bin/**/x']}}",
		 "/usr/lib/x: deny[0]\n/lib/x: deny[0]\n"
		 "/vault/keys: deny[1]\n/home/u/.ssh: deny[1]\n"
		 "/missing/y: deny[2]\n"
		 "/usr/bin glob: deny[3]\n/bin glob: deny[3]\n"},
		/* In the workdir also by the path on the host. */
		{"{'filesystem': {'deny': ['@workdir/in/k', '@workdir/out/k', '@workdir/*.pem', '**/.env', '**/*']}}",
		 "/work/real/k: deny[0]\n/work/in/k: deny[0]\n/scratch/run/work/real/k: deny[0]\n"
		 "/work/out/k: deny[1]\n/etc/k: deny[1]\n"
		 "/work glob: deny[2]\n/scratch/run/work glob: deny[2]\n"
		 "/ glob: deny[3]\n/ glob: deny[4]\n"},
		/* Whether something else grants a private name is asked when it is covered. */
		{"{'filesystem': {'public': ['/etc'], 'read': ['/etc/x'], 'private': ['/etc/x', '/etc/**/*.key'],"
		 " 'deny': ['/etc/y']}}",
		 "private /etc/x: private[0]\nprivate /etc glob: private[1]\n/etc/y: deny[0]\n"},
	};

	for (size_t i = 0; i < sizeof(question) / sizeof(question[0]); i++) {
		char *json = rig_make_text(question[i].text);
		struct hidden_list list = {0};
		struct policy *policy;

		policy = rig_load_good(json);
		ck_assert_int_eq(policy_visit_hidden_paths(policy, list_hidden, &list), 0);
		ck_assert_msg(strcmp(list.text, question[i].hidden) == 0, "%s: %s", json, list.text);
		policy_free(policy);
		free(json);
	}
}
END_TEST

/* What take() returns ends the visit: also 1, and between the paths of one rule. */
START_TEST(test_stop_each_hidden)
{
	for (int stop = -1; stop <= 1; stop++) {
		struct hidden_list list = {.left = 2, .answer = stop};
		struct policy *policy = rig_load_good(text);

		ck_assert_int_eq(policy_visit_hidden_paths(policy, list_hidden, &list), stop);
		ck_assert_str_eq(list.text, stop == 0 ? "/srv/key: deny[0]\n/vault/keys: deny[1]\n"
							"/home/u/.ssh: deny[1]\n/ glob: deny[2]\n/srv glob: deny[3]\n"
						      : "/srv/key: deny[0]\n/vault/keys: deny[1]\n");
		policy_free(policy);
	}
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
		struct policy *policy;

		policy = rig_load_good(question[i].text);
		ck_assert_msg(policy_grants_only_whole_trees(policy) == question[i].whole, "%s", question[i].text);
		policy_free(policy);
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("policy below");
	TCase *all = tcase_create("all");

	tcase_add_test(all, test_may_write);
	tcase_add_test(all, test_writable_below);
	tcase_add_test(all, test_each_deny);
	tcase_add_test(all, test_each_private);
	tcase_add_test(all, test_each_hidden);
	tcase_add_test(all, test_stop_each_hidden);
	tcase_add_test(all, test_sees_whole);
	suite_add_tcase(suite, all);
	return unit_run(suite);
}
