/*
 * cases-diff DIR [--part K/N] [GROUP…]: runs the groups (all without names) in DIR and prints one line a case.
 * --part: of the largest groups one part of N, 0 to N-1; see diff_in_part.
 * cases-diff --outside DIR: the helper of one that runs there, see diff-outside.c.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "tests/cases/diff.h"

static const struct {
	const char *name;
	void (*run)(void);
} groups[] = {
	{"path", diff_group_path},   {"dirfd", diff_group_dirfd},     {"pair", diff_group_pair},
	{"out", diff_group_out},     {"open", diff_group_open},       {"openat2", diff_group_openat2},
	{"meta", diff_group_meta},   {"proc", diff_group_proc},       {"fifo", diff_group_fifo},
	{"task", diff_group_task},   {"watch", diff_group_watch},     {"race", diff_group_race},
	{"sock", diff_group_sock},   {"deviate", diff_group_deviate}, {"pointers", diff_group_pointers},
};
#define GROUPS (sizeof(groups) / sizeof(groups[0]))

static char line[128 * 1024];
static size_t line_len;
static unsigned number;
static const char *group_now = "-";
static bool fresh;
static struct {
	size_t index, count;
} part = {0, 1};
static const char *only; /* CASE in the environment: run this number alone, for debugging */

void diff_die(const char *what)
{
	int err = errno;

	fprintf(stderr, "cases-diff: %s: %s (after \"%.200s\")\n", what, strerror(err), line);
	_exit(99);
}

static void __attribute__((format(printf, 1, 0))) append(const char *fmt, va_list ap)
{
	int len = vsnprintf(line + line_len, sizeof(line) - line_len, fmt, ap);

	if (len < 0 || (size_t)len >= sizeof(line) - line_len)
		diff_die("line too long");
	line_len += (size_t)len;
}

bool diff_in_part(size_t sum)
{
	return sum % part.count == part.index;
}

void diff_begin(const char *fmt, ...)
{
	va_list ap;

	if (!fresh) {
		diff_fixture_make();
		fresh = true;
	}
	number++;
	line_len = 0;
	diff_say("%04u %s ", number, group_now);
	va_start(ap, fmt);
	append(fmt, ap);
	va_end(ap);
	diff_say(":");
	errno = 0;
}

void diff_say(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	append(fmt, ap);
	va_end(ap);
}

void diff_ret(long ret)
{
	if (ret >= 0)
		diff_say(" %ld", ret);
	else
		diff_say(" %s", strerrorname_np((int)-ret));
}

void diff_fd(long fd)
{
	char bytes[9] = "";
	struct stat st;
	ssize_t len;

	diff_ret(fd);
	if (fd < 0)
		return;
	diff_say(" fl=%o fd=%d", (unsigned)fcntl((int)fd, F_GETFL), fcntl((int)fd, F_GETFD));
	if (fstat((int)fd, &st) == 0)
		diff_say(" %06o n%lu", (unsigned)st.st_mode, (unsigned long)st.st_nlink);
	if (S_ISREG(st.st_mode)) {
		len = read((int)fd, bytes, sizeof(bytes) - 1);
		diff_say(" read=");
		diff_ret(len < 0 ? -errno : len);
		len = write((int)fd, "W", 1);
		diff_say(" write=");
		diff_ret(len < 0 ? -errno : len);
	}
	(void)close((int)fd); /* the case is over */
}

void diff_end(bool mutates)
{
	static char changes[100 * 1024];

	if (mutates && diff_fixture_changes(changes, sizeof(changes))) {
		diff_say("%s", changes);
		fresh = false;
	}
	diff_close_all();
	if (!only || strtoul(only, NULL, 10) == number) {
		fwrite(line, 1, line_len, stdout);
		fputc('\n', stdout);
	}
}

void diff_close_all(void)
{
	(void)close_range(3, DIFF_ASK_FD - 1, 0); /* nothing may be there */
}

long diff_sys(long nr, const long arg[6])
{
	long ret = syscall(nr, arg[0], arg[1], arg[2], arg[3], arg[4], arg[5]);

	return ret < 0 ? -errno : ret;
}

static bool wanted(const char *name, char **names)
{
	if (!*names)
		/* What deviates does so on purpose: see diff-deviations.txt. The odd pointers are among the paths. */
		return strcmp(name, "deviate") != 0 && strcmp(name, "pointers") != 0;
	for (; *names; names++)
		if (!strcmp(*names, name))
			return true;
	return false;
}

int main(int argc, char **argv)
{
	static char base[4096];
	const struct rlimit files = {.rlim_cur = DIFF_FILES, .rlim_max = DIFF_FILES};
	int parted = 0; /* arguments that --part takes */

	if (argc == 3 && !strcmp(argv[1], "--outside")) {
		diff_base = argv[2];
		return diff_outside_serve();
	}
	if (argc >= 4 && !strcmp(argv[2], "--part"))
		parted = sscanf(argv[3], "%zu/%zu", &part.index, &part.count) == 2 && part.index < part.count ? 2 : -1;
	if (argc < 2 || parted < 0 || !realpath(argv[1], base)) {
		fprintf(stderr, "usage: cases-diff DIR [--part K/N] [GROUP]…\n");
		return 2;
	}
	diff_base = base;
	only = getenv("CASE");
	if (setrlimit(RLIMIT_NOFILE, &files) < 0)
		diff_die("setrlimit");
	(void)close_range(3, ~0U, 0); /* an old kernel has no such call; then nothing is there to close either */
	diff_outside_begin();
	umask(022);
	diff_mem_init();
	for (size_t i = 0; i < GROUPS; i++) {
		if (!wanted(groups[i].name, argv + 2 + parted))
			continue;
		group_now = groups[i].name;
		fresh = false;
		groups[i].run();
	}
	if (chdir(diff_base) < 0)
		diff_die(diff_base);
	diff_fixture_remove();
	diff_remove_tree("links");
	return fflush(stdout) == 0 ? 0 : 1;
}
