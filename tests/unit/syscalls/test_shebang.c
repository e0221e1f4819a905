/*
 * The "#!" parser against fixed cases and against the kernel itself: this program is the interpreter of what it writes.
 */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "syscalls/exec/shebang.h"
#include "tests/unit/unit.h"

/* In heads and names, '@' stands for the interpreter's path, which is DIR "/i"; '~' for a NUL; '%' repeats a blank. */
struct shebang_case {
	const char *head;
	int error;
	const char *interp, *arg;
};

static const struct shebang_case cases[] = {
	{"#!@\n", 0, "@", NULL},
	{"#!@ one\n", 0, "@", "one"},
	{"#! @ one\n", 0, "@", "one"},
	{"#!\t @\t one two \t\n", 0, "@", "one two"},
	{"#!@ \n", 0, "@", NULL},
	{"#!@ one", 0, "@", "one"},
	{"#!@", 0, "@", NULL},
	{"#!@ one\ntwo", 0, "@", "one"},
	{"#!@\r\n", 0, "@\r", NULL},
	{"#!@~ one\n", 0, "@", NULL},
	{"#!@ one~two\n", 0, "@", "one"},
	{"#!@ ~\n", 0, "@", ""},
	{"#!\n", -ENOEXEC, NULL, NULL},
	{"#!  \t\n@\n", -ENOEXEC, NULL, NULL},
	{"#!", 0, "", NULL},
	{"#! ", 0, "", NULL},
	{"#", -ENOEXEC, NULL, NULL},
	{" #!@\n", -ENOEXEC, NULL, NULL},
	{"", -ENOEXEC, NULL, NULL},
	{"#!%@\n", 0, "@", NULL},
	{"#!@%one\n", 0, "@", "one"},
	{"#!%%", -ENOEXEC, NULL, NULL},
	{"#!%%@\n", -ENOEXEC, NULL, NULL},
};

#define CASES (sizeof(cases) / sizeof(*cases))

static char dir[] = "/tmp/cgsb-XXXXXX";

/* Spells a case out; returns its length. */
static size_t expand(const char *text, char out[2048])
{
	size_t len = 0;

	for (; *text; text++) {
		if (*text == '@')
			len += (size_t)snprintf(out + len, 64, "%s/i", dir);
		else if (*text == '%')
			for (int i = 0; i < 200; i++)
				out[len++] = ' ';
		else
			out[len++] = *text == '~' ? '\0' : *text;
	}
	out[len] = '\0';
	return len;
}

static void check_case(const struct shebang_case *one)
{
	char head[2048] = {0}, want[2048];
	struct shebang got;
	int r;

	(void)expand(one->head, head);
	r = shebang_parse(head, &got);
	ck_assert_int_eq(r, one->error);
	if (r < 0)
		return;
	(void)expand(one->interp, want);
	ck_assert_str_eq(got.interp, want);
	ck_assert_int_eq(got.has_arg, one->arg != NULL);
	ck_assert_str_eq(got.arg, one->arg ? one->arg : "");
}

START_TEST(parses)
{
	check_case(&cases[_i]);
}
END_TEST

/* ---- the kernel's word ---- */

static void write_script(const char *path, const char *bytes, size_t len)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0755);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(io_write_all(fd, bytes, len), 0);
	ck_assert_int_eq(close(fd), 0);
}

/* Executes path; the interpreter prints argv, each text with its NUL. Returns the length, or -errno of the exec. */
static ssize_t run_script(const char *path, char *out, size_t cap)
{
	char *argv[] = {"zero", "last", NULL}, *envp[] = {"CALLGATE_SHEBANG=1", NULL};
	ssize_t len = 0, got;
	int pipe_fd[2], status;
	pid_t pid;

	ck_assert_int_eq(pipe(pipe_fd), 0);
	pid = fork();
	ck_assert_int_ge(pid, 0);
	if (pid == 0) {
		(void)dup2(pipe_fd[1], 1);
		(void)execve(path, argv, envp);
		_exit(errno);
	}
	(void)close(pipe_fd[1]);
	while ((got = read(pipe_fd[0], out + len, cap - (size_t)len)) > 0)
		len += got;
	(void)close(pipe_fd[0]);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	return WEXITSTATUS(status) ? -WEXITSTATUS(status) : len;
}

static size_t put(char *out, const char *text)
{
	size_t size = strlen(text) + 1;

	memcpy(out, text, size);
	return size;
}

static void compare(const char *bytes, size_t len)
{
	char path[128], head[SHEBANG_HEAD_BYTES] = {0}, seen[4096], want[4096];
	struct shebang line;
	size_t size = 0;
	ssize_t got;
	int r;

	(void)snprintf(path, sizeof(path), "%s/script", dir);
	write_script(path, bytes, len);
	memcpy(head, bytes, len < sizeof(head) ? len : sizeof(head));
	r = shebang_parse(head, &line);
	got = run_script(path, seen, sizeof(seen));
	if (r == 0 && access(line.interp, X_OK) < 0)
		r = *line.interp ? -errno : -EACCES; /* open_exec("") is the cwd: see open_named() */
	if (r < 0 || got < 0) {
		ck_assert_int_eq(got, r);
		return;
	}
	size += put(want + size, line.interp);
	if (line.has_arg)
		size += put(want + size, line.arg);
	size += put(want + size, path);
	size += put(want + size, "last");
	ck_assert_uint_eq((size_t)got, size);
	ck_assert_mem_eq(seen, want, size);
}

START_TEST(agrees_with_the_kernel)
{
	char bytes[2048];

	compare(bytes, expand(cases[_i].head, bytes));
}
END_TEST

/* Lines around the end of what the kernel looks at, in every alignment. */
START_TEST(agrees_at_the_limit)
{
	static const char *const tails[] = {"", "\n", " x\n", "\tx y", " ", "~", " ~x"};
	char bytes[2048], line[512];

	for (size_t tail = 0; tail < sizeof(tails) / sizeof(*tails); tail++)
		for (size_t pad = 225; pad < 245; pad += 1) {
			(void)snprintf(line, sizeof(line), "#!%*s@%s", (int)pad, "", tails[tail]);
			compare(bytes, expand(line, bytes));
		}
}
END_TEST

static void setup(void)
{
	char path[64], self[256];
	ssize_t len = readlink("/proc/self/exe", self, sizeof(self) - 1);

	ck_assert_int_gt(len, 0);
	self[len] = '\0';
	ck_assert_ptr_nonnull(mkdtemp(dir));
	(void)snprintf(path, sizeof(path), "%s/i", dir);
	ck_assert_int_eq(symlink(self, path), 0);
}

static void teardown(void)
{
	ck_assert_int_eq(io_remove_tree(AT_FDCWD, dir), 0);
}

int main(int argc, char **argv)
{
	Suite *suite;
	TCase *tcase;

	if (getenv("CALLGATE_SHEBANG")) {
		for (int i = 0; i < argc; i++)
			(void)fwrite(argv[i], 1, strlen(argv[i]) + 1, stdout); /* seen by the reader if it fails */
		return 0;
	}
	suite = suite_create("shebang");
	tcase = tcase_create("shebang");
	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_loop_test(tcase, parses, 0, (int)CASES);
	tcase_add_loop_test(tcase, agrees_with_the_kernel, 0, (int)CASES);
	tcase_add_test(tcase, agrees_at_the_limit);
	tcase_set_timeout(tcase, 60);
	suite_add_tcase(suite, tcase);
	return unit_run(suite);
}
