/*
 * callgate-failing: callgate, with system calls that fail as on another machine. The linker's --wrap leads all uses of
 * syscall(3) here. From the environment:
 *
 *   FAIL_CALLS      names of calls, with "+" between them, which are counted in all processes together
 *   FAIL_FROM, FAIL_TO   the first and the last of these calls that fail (numbers from 1)
 *   FAIL_ERROR      instead of EPERM, the number of their errno
 *   FAIL_AT         instead: those that mount over a path with this end fail
 *   FAIL_COUNT      a file that gets their number, of 4 bytes
 *   LANDLOCK_ABI    Landlock is that of an older kernel
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/landlock.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef SYS_open_tree_attr /* Linux 6.15; one number for every architecture */
#define SYS_open_tree_attr 467
#endif

#define ARGUMENTS 6

long __wrap_syscall(long nr, ...);
long __real_syscall(long nr, ...);

static const struct {
	const char *name;
	long nr;
} failing_calls[] = {
	{"open_tree", SYS_open_tree},
	{"open_tree_attr", SYS_open_tree_attr},
	{"mount_setattr", SYS_mount_setattr},
	{"move_mount", SYS_move_mount},
	{"fsopen", SYS_fsopen},
	{"fsconfig", SYS_fsconfig},
	{"fsmount", SYS_fsmount},
	{"landlock_add_rule", SYS_landlock_add_rule},
	{"fchmodat2", 452}, /* one number for every architecture, as those below */
	{"setxattrat", 463},
	{"getxattrat", 464},
	{"listxattrat", 465},
	{"removexattrat", 466},
	{"file_getattr", 468},
	{"file_setattr", 469},
};

static struct {
	bool counts[sizeof(failing_calls) / sizeof(failing_calls[0])];
	unsigned from, to;
	int error;
	unsigned *count; /* shared with all processes */
	char at[PATH_MAX];
	int abi;
} failing;

static unsigned failing_read_number(const char *name)
{
	const char *text = getenv(name);

	return text ? (unsigned)strtoul(text, NULL, 10) : 0;
}

/* Before main(): callgate wipes its environment. */
__attribute__((constructor)) static void failing_read_environment(void)
{
	const char *count = getenv("FAIL_COUNT"), *at = getenv("FAIL_AT"), *calls = getenv("FAIL_CALLS");
	int fd = -1;

	failing.abi = (int)failing_read_number("LANDLOCK_ABI");
	failing.error = getenv("FAIL_ERROR") ? (int)failing_read_number("FAIL_ERROR") : EPERM;
	failing.from = failing_read_number("FAIL_FROM");
	failing.to = failing_read_number("FAIL_TO");
	(void)snprintf(failing.at, sizeof(failing.at), "%s", at ? at : "");
	for (size_t i = 0; calls && i < sizeof(failing_calls) / sizeof(failing_calls[0]); i++) {
		const size_t len = strlen(failing_calls[i].name);

		for (const char *name = calls; name; name = strchr(name, '+') ? strchr(name, '+') + 1 : NULL)
			failing.counts[i] = failing.counts[i] || (strncmp(name, failing_calls[i].name, len) == 0 &&
								  (name[len] == '+' || name[len] == '\0'));
	}
	if (count) {
		fd = open(count, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
		if (fd < 0 || ftruncate(fd, sizeof(*failing.count)) < 0)
			abort();
	}
	failing.count = mmap(NULL, sizeof(*failing.count), PROT_READ | PROT_WRITE,
			     MAP_SHARED | (fd < 0 ? MAP_ANONYMOUS : 0), fd, 0);
	if (failing.count == MAP_FAILED || (fd >= 0 && close(fd) < 0))
		abort();
}

/* ---- calls that fail ---- */

static bool failing_mounts_over_path(long nr, const long *argument)
{
	const char *name = (const char *)argument[3]; /* below the descriptor; "": the descriptor's own object */
	char link[32], dir[PATH_MAX], path[PATH_MAX + NAME_MAX];
	const size_t end = strlen(failing.at);
	ssize_t len;

	if (nr != SYS_move_mount || argument[2] < 0)
		return false;
	(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", (int)argument[2]);
	len = readlink(link, dir, sizeof(dir));
	if (len < 0)
		return false;
	len = snprintf(path, sizeof(path), "%.*s%s%s", (int)len, dir, *name ? "/" : "", name);
	return len >= (ssize_t)end && len < (ssize_t)sizeof(path) && memcmp(path + len - end, failing.at, end) == 0;
}

static bool failing_fails(long nr, const long *argument)
{
	unsigned number;

	if (failing.at[0])
		return failing_mounts_over_path(nr, argument);
	for (size_t i = 0; i < sizeof(failing_calls) / sizeof(failing_calls[0]); i++) {
		if (!failing.counts[i] || failing_calls[i].nr != nr)
			continue;
		number = __atomic_add_fetch(failing.count, 1, __ATOMIC_RELAXED);
		return number >= failing.from && number <= failing.to;
	}
	return false;
}

/* ---- Landlock of older kernels: include/uapi/linux/landlock.h of each ---- */

static const struct {
	size_t attribute_bytes; /* of struct landlock_ruleset_attr */
	uint64_t fs, net, scoped;
	unsigned flags; /* of landlock_restrict_self(2) */
} older_landlock[] = {
	{0, 0, 0, 0, 0},
	{8, 0x1fff, 0, 0, 0},
	{8, 0x3fff, 0, 0, 0},
	{8, 0x7fff, 0, 0, 0},
	{16, 0x7fff, 3, 0, 0},
	{16, 0xffff, 3, 0, 0},
	{24, 0xffff, 3, 3, 0},
	{24, 0xffff, 3, 3, 7},
	{24, 0xffff, 3, 3, 15},
};

/* landlock_create_ruleset(2) of that kernel: 0, or the error. */
static int older_refuses_ruleset(const uint64_t *attribute, size_t bytes)
{
	const size_t known = older_landlock[failing.abi].attribute_bytes;

	for (size_t at = known; at < bytes; at += sizeof(*attribute))
		if (attribute[at / sizeof(*attribute)])
			return E2BIG;
	if (attribute[0] & ~older_landlock[failing.abi].fs ||
	    (known > 8 && bytes > 8 && attribute[1] & ~older_landlock[failing.abi].net) ||
	    (known > 16 && bytes > 16 && attribute[2] & ~older_landlock[failing.abi].scoped))
		return EINVAL;
	return 0;
}

static int older_refuses(long nr, const long *argument)
{
	if ((size_t)failing.abi >= sizeof(older_landlock) / sizeof(older_landlock[0]))
		return 0;
	if (nr == SYS_landlock_create_ruleset && argument[0])
		return older_refuses_ruleset((const uint64_t *)argument[0], (size_t)argument[1]);
	return nr == SYS_landlock_restrict_self && (unsigned)argument[1] & ~older_landlock[failing.abi].flags ? EINVAL
													       : 0;
}

long __wrap_syscall(long nr, ...)
{
	long argument[ARGUMENTS], result;
	va_list list;
	int error;

	va_start(list, nr);
	for (size_t i = 0; i < ARGUMENTS; i++)
		argument[i] = va_arg(list, long);
	va_end(list);
	error = failing_fails(nr, argument) ? failing.error : failing.abi ? older_refuses(nr, argument) : 0;
	if (error) {
		errno = error;
		return -1;
	}
	result = __real_syscall(nr, argument[0], argument[1], argument[2], argument[3], argument[4], argument[5]);
	if (failing.abi && nr == SYS_landlock_create_ruleset && !argument[0] && result > failing.abi)
		return failing.abi;
	return result;
}
