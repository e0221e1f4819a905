#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tests/cases/threat.h"

static int failures;

static const struct {
	const char *name;
	int (*run)(char **arg);
} threats[] = {
	{"clone", threat_clone},	 {"exec", threat_exec},		{"exec-race", threat_exec_race},
	{"exec-thread", threat_exec_thread}, {"dumpable", threat_dumpable}, {"nested", threat_nested},
	{"promises", threat_promises},
	{"fds", threat_fds},		 {"others", threat_others},	{"killall", threat_killall},
	{"ptrace", threat_ptrace},	 {"traced-end", threat_traced_end},
	{"ptrace-storm", threat_ptrace_storm}, {"unbounded", threat_unbounded},
	{"handles", threat_handles},	 {"daemon", threat_daemon},	{"core", threat_core},
	{"arches", threat_arches},	 {"highbits", threat_highbits}, {"refusals", threat_refusals},
	{"sweep", threat_sweep},	 {"flip", threat_flip},		{"flip-shared", threat_flip_shared},
	{"flip-chdir", threat_flip_chdir}, {"list-chdir", threat_list_chdir},
	{"flip-exec", threat_flip_exec}, {"flip-exec-shared", threat_flip_exec_shared},
	{"memory", threat_memory},	 {"swap", threat_swap},		{"spoof", threat_spoof},
	{"appear", threat_appear},	 {"carried", threat_carried},
	{"alias", threat_alias},	 {"environ", threat_environ},	{"procfs", threat_procfs},
	{"reopen", threat_reopen},	 {"metadata", threat_metadata}, {"setid", threat_setid},
	{"fifos", threat_fifos},	 {"signals", threat_signals},	{"sigurg", threat_sigurg},
	{"sigkill", threat_sigkill},	 {"full", threat_full},		{"tty", threat_tty},
	{"names", threat_names},	 {"marker", threat_marker},	{"load", threat_load},
	{"linger", threat_linger},
	{"network", threat_network},
	{"fastopen", threat_fastopen},	 {"mptcp", threat_mptcp},	{"messages", threat_messages},
	{"families", threat_families},	 {"netlink", threat_netlink},	{"procnet", threat_procnet},
		 {"addresses", threat_addresses}, {"unix", threat_unix},
	{"datagrams", threat_datagrams},
	{"crowd", threat_crowd},	 {"ioctls", threat_ioctls},	{"storm", threat_storm},
};

static void __attribute__((format(printf, 2, 0))) say(const char *what, const char *fmt, va_list ap)
{
	failures++;
	printf("%s: ", what);
	vprintf(fmt, ap);
	putchar('\n');
	fflush(stdout);
}

void threat_got(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say("GOT", fmt, ap);
	va_end(ap);
}

void threat_missed(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say("MISSED", fmt, ap);
	va_end(ap);
}

void threat_refused2(const char *what, long ret, int error, int other)
{
	int err = errno;

	if (ret >= 0)
		threat_got("%s gave %ld", what, ret);
	else if ((err == EPERM || err == ENOSYS) && getenv("OUTER_FILTER"))
		return; /* a container's filter answers before callgate is asked */
	else if (error && err != error && err != other)
		threat_missed("%s is refused with %s, not %s", what, strerrorname_np(err), strerrorname_np(error));
}

bool threat_kernel_reads(void)
{
	return getenv("KERNEL_READS") != NULL; /* tests/live/lib.sh */
}

void threat_refused(const char *what, long ret, int error)
{
	threat_refused2(what, ret, error, error);
}

void threat_works(const char *what, long ret)
{
	if (ret < 0)
		threat_missed("%s: %s", what, strerrorname_np(errno));
}

void threat_tries(long ret)
{
	(void)ret; /* see the header */
}

int threat_result(void)
{
	return failures ? 1 : 0;
}

double threat_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

bool threat_reads(const char *path, const char *text)
{
	char buf[65536];
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	ssize_t len;

	if (fd < 0)
		return false;
	len = read(fd, buf, sizeof(buf));
	(void)close(fd); /* read-only */
	return len > 0 && memmem(buf, (size_t)len, text, strlen(text));
}

int main(int argc, char **argv)
{
	if (argc < 2)
		return 2;
	for (size_t i = 0; i < sizeof(threats) / sizeof(threats[0]); i++)
		if (!strcmp(threats[i].name, argv[1]))
			return threats[i].run(argv + 2);
	fprintf(stderr, "cases-threat: no such threat: %s\n", argv[1]);
	return 2;
}
