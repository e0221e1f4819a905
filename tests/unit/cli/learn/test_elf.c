/*
 * What a program needs by its file: loader, libraries with DT_RPATH and DT_RUNPATH, chains of scripts. The files are
 * made by the C compiler where there is one; a program of the system is broken in many ways.
 */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/text.h"
#include "cli/learn/learn.h"
#include "tests/unit/unit.h"

#define BROKEN_FILES 600u

static char top[PATH_MAX];
static struct needs needs;

static char *make_path(const char *name)
{
	char *path = text_format("%s/%s", top, name);

	ck_assert_ptr_nonnull(path);
	return path;
}

static void write_file(const char *name, const void *bytes, size_t len)
{
	_cleanup_free_ char *path = make_path(name);
	_cleanup_close_ int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0755);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(io_write_all(fd, bytes, len), 0);
}

static void write_script(const char *name, const char *text)
{
	write_file(name, text, strlen(text));
}

/* The need of a file below the test's directory, or by its whole path. NULL: none. */
static const struct need *find_need(const char *name)
{
	_cleanup_free_ char *path = *name == '/' ? strdup(name) : make_path(name);

	for (size_t i = 0; i < needs.count; i++)
		if (strcmp(needs.need[i].path, path) == 0)
			return &needs.need[i];
	return NULL;
}

static int inspect(const char *name)
{
	_cleanup_free_ char *path = *name == '/' ? strdup(name) : make_path(name);

	needs_release(&needs);
	return learn_inspect_program(&needs, path);
}

static void set_up(void)
{
	char cwd[PATH_MAX - 64];

	ck_assert_ptr_nonnull(getcwd(cwd, sizeof(cwd)));
	(void)snprintf(top, sizeof(top), "%s/test-elf-XXXXXX", cwd);
	ck_assert_ptr_nonnull(mkdtemp(top));
}

static void tear_down(void)
{
	needs_release(&needs);
	ck_assert_int_eq(io_remove_tree(AT_FDCWD, top), 0);
}

/* ---- compiled files ---- */

/* Runs a shell command in the test's directory. False where it fails. */
static bool run_shell(const char *command)
{
	_cleanup_free_ char *line = text_format("cd '%s' && { %s; } >/dev/null 2>&1", top, command);

	/* NOLINTNEXTLINE(cert-env33-c): constant commands of this test */
	return system(line) == 0;
}

static bool have_compiler(void)
{
	return run_shell("echo 'int f(void) { return 1; }' >f.c && echo 'int g(void) { return 1; }' >g.c && "
			 "echo 'int f(void); int main(void) { return f(); }' >m.c && mkdir a b && "
			 "cc -shared -fPIC -o a/libf.so.1.2 f.c -Wl,-soname,libf.so.1 && "
			 "ln -s libf.so.1.2 a/libf.so.1 && ln -s libf.so.1 a/libf.so");
}

START_TEST(runpath_with_origin)
{
	const struct need *need;

	if (!have_compiler())
		return;
	ck_assert(run_shell("cc -o m m.c -La -lf "
			    "-Wl,--enable-new-dtags,-rpath,'$ORIGIN/b:$ORIGIN/../'$(basename $PWD)'/a'"));
	ck_assert_int_eq(inspect("m"), 0);
	ck_assert_uint_eq(find_need("m")->rights, POLICY_EXEC);
	need = find_need("a/libf.so.1.2");
	ck_assert_ptr_nonnull(need);
	ck_assert_uint_eq(need->rights, POLICY_READ);
	ck_assert_ptr_nonnull(strstr(need->origin.reason, "DT_RUNPATH"));
	ck_assert_ptr_nonnull(strstr(need->path_as_written, "/a/libf.so.1")); /* the link that the loader opens */
	ck_assert_uint_ge(needs.count, 4); /* with the loader and the C library */
}
END_TEST

/* DT_RPATH of the program holds for the libraries of its libraries, DT_RUNPATH does not. */
START_TEST(rpath_is_inherited)
{
	if (!have_compiler())
		return;
	ck_assert(run_shell("cc -shared -fPIC -o a/libg.so g.c && "
			    "echo 'int g(void); int f(void) { return g(); }' >f2.c && "
			    "cc -shared -fPIC -o b/libf.so.1 f2.c -Wl,-soname,libf.so.1 -La -lg && "
			    "link='cc m.c b/libf.so.1 -La -Wl,-rpath-link,a' && "
			    "$link -o old -Wl,--disable-new-dtags,-rpath,$PWD/b:$PWD/a && "
			    "$link -o new -Wl,--enable-new-dtags,-rpath,$PWD/b:$PWD/a"));
	ck_assert_int_eq(inspect("old"), 0);
	ck_assert_ptr_nonnull(find_need("b/libf.so.1"));
	ck_assert_ptr_nonnull(find_need("a/libg.so"));
	ck_assert_int_eq(inspect("new"), 0);
	ck_assert_ptr_nonnull(find_need("b/libf.so.1"));
	ck_assert_ptr_null(find_need("a/libg.so"));
}
END_TEST

/* A program says of any file that it is a library, or its loader. */
START_TEST(only_libraries_are_libraries)
{
	if (!have_compiler())
		return;
	write_script("diary", "dear diary");
	ck_assert(run_shell("cc -shared -fPIC -o libx.so f.c -Wl,-soname,$PWD/diary && cc -o m m.c libx.so && "
			    "cc -o n m.c f.c -Wl,--dynamic-linker=$PWD/diary"));
	ck_assert_int_eq(inspect("m"), 0);
	ck_assert_ptr_null(find_need("diary"));
	ck_assert_int_eq(inspect("n"), 0);
	ck_assert_ptr_null(find_need("diary"));
}
END_TEST

/* ---- scripts ---- */

START_TEST(scripts_have_interpreters)
{
	ck_assert_int_eq(setenv("PATH", top, 1), 0);
	write_script("run", "#! /bin/sh -e\nexit\n");
	ck_assert_int_eq(inspect("run"), 0);
	ck_assert_uint_eq(find_need("run")->rights, POLICY_EXEC);
	ck_assert_uint_ge(needs.count, 3);
	write_script("outer", "#!/usr/bin/env -S A=b run -x\n");
	ck_assert_int_eq(inspect("outer"), 0);
	ck_assert_ptr_nonnull(find_need("outer"));
	ck_assert_ptr_nonnull(find_need("run"));
	ck_assert_int_eq(learn_inspect_program(&needs, "outer"), 0); /* by PATH */
}
END_TEST

START_TEST(scripts_that_lead_nowhere)
{
	char text[PATH_MAX + 64];
	_cleanup_free_ char *self = make_path("self");

	(void)snprintf(text, sizeof(text), "#!%s\n", self);
	write_script("self", text);
	ck_assert_int_eq(inspect("self"), -ELOOP);
	write_script("none", "#!/none/such\n");
	ck_assert_int_eq(inspect("none"), -ENOEXEC);
	write_script("relative", "#!bin/sh\n");
	ck_assert_int_eq(inspect("relative"), -ENOEXEC);
	write_script("empty", "#!\n");
	ck_assert_int_eq(inspect("empty"), -ENOEXEC);
	write_script("text", "hello\n");
	ck_assert_int_eq(inspect("text"), -ENOEXEC);
	write_script("nothing", "");
	ck_assert_int_eq(inspect("nothing"), -ENOEXEC);
	ck_assert_int_eq(inspect("/dev/zero"), -ENOEXEC);
	ck_assert_int_eq(inspect("/"), -ENOEXEC);
	ck_assert_int_eq(inspect("missing"), -ENOENT);
	memset(text, 'x', sizeof(text));
	memcpy(text, "#!/", 3);
	write_file("long", text, sizeof(text));
	ck_assert_int_eq(inspect("long"), -ENOEXEC);
	write_script("diary", "dear diary");
	(void)snprintf(text, sizeof(text), "#!%s/diary\n", top);
	write_script("of-diary", text);
	ck_assert_int_eq(inspect("of-diary"), -ENOEXEC);
}
END_TEST

/* ---- broken files ---- */

/* A generator with a known sequence. */
static unsigned next_random(unsigned *state)
{
	*state = *state * 1103515245u + 12345u;
	return *state >> 8;
}

static void break_file(char *image, size_t *len, unsigned seed)
{
	unsigned state = seed, changes = 1 + next_random(&state) % 64;

	if (seed % 5 == 0)
		*len = next_random(&state) % *len;
	for (unsigned i = 0; i < changes && *len > 0; i++) {
		/* mostly in the ELF header and the program headers, and what these lead to */
		size_t at = next_random(&state) % (i % 2 && *len > 1024 ? 1024 : *len);

		image[at] = (char)next_random(&state);
	}
}

START_TEST(broken_files_do_no_harm)
{
	_cleanup_free_ char *image = NULL, *copy = NULL;
	size_t len, cut;

	ck_assert_int_eq(io_read_file(AT_FDCWD, "/usr/bin/env", 64u << 20, &image, &len), 0);
	copy = malloc(len);
	ck_assert_ptr_nonnull(copy);
	ck_assert_ptr_nonnull(freopen("/dev/null", "w", stderr));
	for (unsigned seed = 1; seed <= BROKEN_FILES; seed++) {
		int r;

		cut = len;
		memcpy(copy, image, len);
		break_file(copy, &cut, seed);
		if (cut >= 4 && seed % 7) /* else libelf looks no further */
			memcpy(copy, "\177ELF", 4);
		write_file("broken", copy, cut);
		r = inspect("broken");
		ck_assert_msg(r <= 0, "seed %u: %d", seed, r);
		for (size_t i = 0; i < needs.count; i++)
			ck_assert_msg(needs.need[i].path[0] == '/', "seed %u: %s", seed, needs.need[i].path);
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("learn elf");
	TCase *tcase = tcase_create("all");

	suite_add_tcase(suite, tcase);
	tcase_set_timeout(tcase, 120);
	tcase_add_checked_fixture(tcase, set_up, tear_down);
	tcase_add_test(tcase, runpath_with_origin);
	tcase_add_test(tcase, rpath_is_inherited);
	tcase_add_test(tcase, only_libraries_are_libraries);
	tcase_add_test(tcase, scripts_have_interpreters);
	tcase_add_test(tcase, scripts_that_lead_nowhere);
	tcase_add_test(tcase, broken_files_do_no_harm);
	return unit_run(suite);
}
