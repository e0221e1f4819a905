/* Where paths lead through what a program may write, on real links: places_judge_path() and places_judge_command(). */
#include <check.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "cli/host/places.h"
#include "cli/host/program.h"
#include "policy/parse/load.h"
#include "policy/paths/host-paths.h"
#include "tests/unit/cli/made-tree.h"
#include "tests/unit/unit.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static char top[] = "/var/tmp/callgate-places-XXXXXX";

static const struct made_entry made[] = {
	{"w", NULL},
	{"w/dir", NULL},
	{"w/dir/file", ""},
	{"w/out", "../o"},
	{"w/in", "dir/file"},
	{"w/up", ".."},
	{"w/chain", "out"},
	{"w/denied", ""},
	{"w/gone", "../o/new"},
	{"o", NULL},
	{"o/key", ""},
	{"g", NULL},
	{"g/a.log", "../o/key"},
	{"g/b.log", "c.log"},
	{"g/c.log", ""},
	{"g/d.log", "plain"},
	{"g/plain", ""},
	{"mine", "o"},
	{"back", "w/dir"},
	{"m", NULL},
	{"m/up", ".."},
	{"m/w", "../w/dir"},
	{"ro", NULL},
	{"ro/out", "../o"},
	{"bin", NULL},
	{"bin/tool", ""},
	{"w/tool", ""},
	{"bin/script", ""},
	{"bin/env", ""},
	{"bin/plain", ""},
};

/*
 * "w" and "m" may be written but for w/denied, "g" where names end in ".log"; "ro" is the workdir of the second round.
 */
static const struct {
	const char *path;
	bool grant, content; /* permitted as such */
} asked[] = {
	{"o/key", true, true}, {"o/none", true, true}, {"mine/key", true, true}, {"back", true, false},
	{"w", true, false}, {"w/dir/file", true, false}, {"w/none", true, false}, {"w/in", true, false},
	{"w/out", false, false}, {"w/out/key", false, false}, {"w/chain/key", false, false},
	{"w/up/o", false, false}, {"w/up", false, false}, {"w/up/w/dir", true, false},
	{"w/dir/../../o/key", true, true}, {"w/dir/../out", false, false}, {"w/gone", true, false},
	{"w/denied", true, true}, {"g/a.log", false, false}, {"g/b.log", true, false}, {"g/d.log", false, false},
	{"g/plain", true, true}, {"m/up", false, false}, {"m/w", false, false}, {"ro/out", true, true},
};

static int load(void *ctx, const char *name, const char *from, char **ret_text, char **ret_path)
{
	(void)ctx;
	(void)from;
	if (asprintf(ret_text,
		     "{\"version\": 1, \"filesystem\": {\"write\": [\"%s/w\", \"%s/g/*.log\", \"%s/m\"], \"deny\": "
		     "[\"%s/w/denied\"]}, \"phases\": {\"run\": {}}}",
		     top, top, top, top) < 0)
		return -ENOMEM;
	*ret_path = strdup(name);
	return 0;
}

static char *resolve(void *ctx, const char *path)
{
	return cli_resolve_real_path(ctx, path);
}

static struct policy *load_policy(struct cli_path_cache *real, const char *workdir)
{
	const struct policy_host host = {.ctx = real,
					 .load = load,
					 .realpath = resolve,
					 .home = "/root",
					 .workdir = workdir,
					 .workdir_virt_default = workdir,
					 .scratch_path = "/nowhere"};
	const char *const names[] = {"./p.json", NULL};
	struct policy_errors errors = {0};
	struct policy *policy = NULL;

	ck_assert_int_eq(policy_load(names, NULL, &host, &policy, &errors), 0);
	ck_assert(policy_has_phase(policy, POLICY_PHASE_RUN) && !policy_has_phase(policy, POLICY_PHASE_SETUP));
	policy_errors_release(&errors);
	return policy;
}

static void make_all(void)
{
	made_tree_create(top, made, COUNT(made));
}

static void remove_all(void)
{
	ck_assert_int_eq(chdir("/"), 0);
	made_tree_remove(top, made, COUNT(made));
}

static void judge(const struct writable_places *places, enum places_path_use use, const char *path, bool allowed)
{
	struct places_refusal why = {""};
	_cleanup_free_ char *found = NULL, *real = NULL;
	int ret = places_judge_path(places, use, path, &found, &why);

	ck_assert_msg(ret == (allowed ? 0 : -EPERM), "%s as %d: %d %s", path, use, ret, why.text);
	ck_assert(allowed == !why.text[0]);
	real = realpath(path, NULL);
	ck_assert_msg(!allowed || (!found == !real && (!real || strcmp(found, real) == 0)), "%s: %s, not %s", path,
		      found, real);
}

START_TEST(test_ways)
{
	struct cli_path_cache real = {0};
	struct policy *policy;
	struct writable_places places;
	char path[PATH_MAX], workdir[PATH_MAX];

	make_all();
	(void)snprintf(workdir, sizeof(workdir), "%s/w", top);
	policy = load_policy(&real, workdir);
	places = (struct writable_places){.policy = {NULL, policy}, .workdir = workdir, .path_cache = &real};
	ck_assert_int_eq(chdir(top), 0);
	for (size_t i = 0; i < 2 * COUNT(asked); i++) {
		const char *name = asked[i / 2].path;

		(void)snprintf(path, sizeof(path), "%s%s%s", i % 2 ? top : "", i % 2 ? "/" : "", name);
		judge(&places, PLACES_PATH_IS_GRANTED, path, asked[i / 2].grant);
		judge(&places, PLACES_PATH_MUST_BE_TRUSTED, path, asked[i / 2].content);
	}
	/* a workdir that may only be read: an earlier run may have written it all the same */
	(void)snprintf(workdir, sizeof(workdir), "%s/ro", top);
	judge(&places, PLACES_PATH_IS_GRANTED, "ro/out", false);
	policy_free(policy);
	cli_path_cache_release(&real);
	remove_all();
}
END_TEST

/* "%" is where everything lies. */
static void judge_command(const struct writable_places *places, const char *pattern, bool good)
{
	struct places_refusal why = {""};
	char command[PATH_MAX] = "";
	size_t len = 0;

	for (const char *at = pattern; *at; at++)
		len += (size_t)snprintf(command + len, sizeof(command) - len, *at == '%' ? "%s" : "%.1s",
					*at == '%' ? top : at);
	ck_assert_msg(places_judge_command(places, command, &why) == (good ? 0 : -EPERM), "%s: %s", command, why.text);
}

static void set_variable(const char *name, const char *format)
{
	char text[PATH_MAX];

	(void)snprintf(text, sizeof(text), "%s%s", top, format);
	ck_assert_int_eq(setenv(name, text, 1), 0);
}

static void write_text(const char *name, const char *before, const char *after)
{
	char path[PATH_MAX];
	FILE *file;

	(void)snprintf(path, sizeof(path), "%s/%s", top, name);
	file = fopen(path, "we");
	ck_assert(file && fprintf(file, "%s%s%s\n", before, top, after) > 0 && fclose(file) == 0);
}

/* Of a secret's command: the words that a program may have written are found in whatever it stands. */
START_TEST(test_commands)
{
	static const char *const good[] = {"cat %/o/key",
					   "tool",
					   "echo a=b; tool x",
					   "",
					   " ",
					   "cat %/o/*",
					   "~/tool -w/x",
					   "cat %/w/denied",
					   "w/tool",
					   "./w/tool",
					   "cat ~nobody/x $1 ${X:-y} $$ $",
					   "cat $TOP/o/key",
					   "cat \"%/my w/tool\"",
					   "cat '",
					   "cat \\",
					   "%/bin/plain"};
	static const char *const bad[] = {"%/w/tool",           "%/./w/tool",       "cat %/w/dir/file",
					  "tool <%/w/tool",     "tool|%/w/tool",    "A=%/w/tool tool",
					  "sh -c '%/w/tool'",   "tool; %/w/tool",   "`%/w/tool`",
					  "$(%/w/tool)",        "tool %/w/out/key", "cat\t%/w/in",
					  "tool -C %/w",        "tool %/w/none",    "$TOP/w/tool",
					  "${TOP}/w/tool",      "\"$TOP\"/w/tool",  "sh -c '. $TOP/w/tool'",
					  "%/'w'/tool",         "%/\"w\"/tool",     "%/w\\/tool",
					  "%/\\w/tool",         "cat '%/w/it s'",   "%/w/t*",
					  "cat %/?/tool",       "~/w/tool",         "%/bin/script",
					  "%/bin/env",          "script",           "env <x",
					  "env PATH=%/w:/bin x"};
	struct cli_path_cache real = {0};
	struct policy *policy;
	struct writable_places places;
	char path[PATH_MAX];

	make_all();
	(void)snprintf(path, sizeof(path), "%s/w", top);
	policy = load_policy(&real, path);
	places = (struct writable_places){.policy = {policy}, .workdir = path, .path_cache = &real};
	ck_assert_int_eq(chdir(path), 0); /* where commands are not run */
	set_variable("TOP", "");
	set_variable("HOME", "");
	write_text("bin/script", "#! ", "/w/tool -x");
	write_text("bin/env", "#!/usr/bin/env -S A=b ", "/w/tool");
	write_text("bin/plain", "#!/bin/sh\n", "/w/tool");
	set_variable("PATH", "/bin:/usr/bin:/bin:w:o:");
	for (size_t i = 0; i < COUNT(good); i++)
		judge_command(&places, good[i], true);
	for (size_t i = 0; i < COUNT(bad); i++)
		judge_command(&places, bad[i], false);
	set_variable("PATH", "/bin:/usr/bin:/bin");
	judge_command(&places, "true", true);
	set_variable("PATH", "/w/none");
	judge_command(&places, "true", false);
	ck_assert_int_eq(setenv("PATH", path, 1), 0);
	judge_command(&places, "true", false); /* what it starts by itself is looked for there as well */
	policy_free(policy);
	cli_path_cache_release(&real);
	remove_all();
}
END_TEST

/* What cannot be opened is not taken for something that is no script. */
START_TEST(test_script_lines)
{
	char line[SCRIPT_FIRST_LINE_BYTES_MAX + 1];
	struct rlimit limit, none;

	ck_assert_int_eq(program_read_script_line("/etc/passwd", line), 0);
	ck_assert_int_eq(program_read_script_line("/not/there", line), 0);
	ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
	none = (struct rlimit){.rlim_max = limit.rlim_max};
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &none), 0);
	ck_assert_int_eq(program_read_script_line("/etc/passwd", line), -EMFILE);
	ck_assert_int_eq(program_read_script_line("/not/there", line), -EMFILE);
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("places");
	TCase *tcase = tcase_create("places");

	tcase_add_test(tcase, test_ways);
	tcase_add_test(tcase, test_commands);
	tcase_add_test(tcase, test_script_lines);
	suite_add_tcase(suite, tcase);
	return unit_run(suite);
}
