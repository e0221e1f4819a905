#include "confine/landlock.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "view/prepare.h"

/* Constants of landlock(7) that system headers older than the named kernel lack. Headers of Linux 6.1 must suffice. */
#define FS_TRUNCATE (1ULL << 14)     /* ABI 3, Linux 6.2 */
#define FS_IOCTL_DEV (1ULL << 15)    /* ABI 5, Linux 6.10 */
#define FS_RESOLVE_UNIX (1ULL << 16) /* ABI 9, Linux 7.1 */
#define NET_TCP 3ULL                 /* BIND_TCP, CONNECT_TCP: ABI 4, Linux 6.7 */
#define NET_BIND_TCP 1ULL            /* LANDLOCK_ACCESS_NET_BIND_TCP */
#define NET_UDP 12ULL                /* BIND_UDP, CONNECT_SEND_UDP: ABI 10, Linux 7.2 */
#define SCOPE_ABSTRACT (1ULL << 0)   /* ABI 6, Linux 6.12 */
#define SCOPE_SIGNAL (1ULL << 1)     /* LANDLOCK_SCOPE_SIGNAL */
#define RESTRICT_SELF_LOG_SAME_EXEC_OFF 1u    /* ABI 7, Linux 6.15; logging after an exec is off by default */
#define RESTRICT_SELF_LOG_SUBDOMAINS_OFF 4u   /* LANDLOCK_RESTRICT_SELF_LOG_SUBDOMAINS_OFF */
#define LANDLOCK_ABI_WITH_LOG_FLAGS 7         /* landlock_restrict_self(2) takes LANDLOCK_RESTRICT_SELF_LOG_* */

/*
 * The rights that each ABI adds, and the words of landlock_describe_abi() for a kernel that lacks it and for one that
 * has it. Before ABI 2, REFER is always denied.
 */
static const struct {
	int abi;
	struct landlock_rights adds;
	const char *text_if_lacking, *text_if_held; /* NULL: not mentioned */
} landlock_abis[] = {
	{1, {.fs = LANDLOCK_ACCESS_FS_MAKE_SYM * 2 - 1}, NULL, NULL}, /* rights 0 (EXECUTE) to 12 */
	{2, {.fs = LANDLOCK_ACCESS_FS_REFER}, NULL, NULL},
	{3, {.fs = FS_TRUNCATE}, "truncate", NULL},
	{4, {.net = NET_TCP}, "TCP", ", no TCP"},
	{5, {.fs = FS_IOCTL_DEV}, "ioctl of devices", NULL},
	{6,
	 {.scoped = SCOPE_ABSTRACT | SCOPE_SIGNAL},
	 "signals and abstract sockets",
	 ", and reach no process or abstract socket outside"},
	{9, {.fs = FS_RESOLVE_UNIX}, "unix sockets by path", NULL},
	{10, {.net = NET_UDP}, "UDP", NULL},
};

int landlock_get_abi(void)
{
	long abi = syscall(SYS_landlock_create_ruleset, NULL, 0UL, LANDLOCK_CREATE_RULESET_VERSION);

	return abi < 0 ? -errno : (int)abi;
}

struct landlock_rights landlock_get_rights_of_abi(int abi)
{
	struct landlock_rights all = {0};

	for (size_t i = 0; i < sizeof(landlock_abis) / sizeof(landlock_abis[0]) && landlock_abis[i].abi <= abi; i++) {
		all.fs |= landlock_abis[i].adds.fs;
		all.net |= landlock_abis[i].adds.net;
		all.scoped |= landlock_abis[i].adds.scoped;
	}
	return all;
}

void landlock_describe_abi(int abi, char *out, size_t size)
{
	const char *separator = "; not held: ";
	int len = 0;

	out[0] = '\0';
	for (size_t i = 0; i < sizeof(landlock_abis) / sizeof(landlock_abis[0]) && len >= 0 && (size_t)len < size;
	     i++) {
		if (landlock_abis[i].abi <= abi && landlock_abis[i].text_if_held) {
			len += snprintf(out + len, size - (size_t)len, "%s", landlock_abis[i].text_if_held);
		} else if (landlock_abis[i].abi > abi && landlock_abis[i].text_if_lacking) {
			len += snprintf(out + len, size - (size_t)len, "%s%s", separator,
					landlock_abis[i].text_if_lacking);
			separator = ", ";
		}
	}
}

/* A ruleset that is being built, before a process restricts itself by it. */
struct landlock_ruleset {
	int fd;
	uint64_t handled_fs; /* LANDLOCK_ACCESS_FS_* that need a rule */
	unsigned rule_count; /* rules added so far */
};

/* Adds an executable file. Executing takes both rights: do_open_execat() in the kernel opens the file for reading. */
static int landlock_allow_exec_file(void *ctx, int fd)
{
	struct landlock_ruleset *ruleset = ctx;
	const struct landlock_path_beneath_attr rule = {
		.allowed_access = LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_READ_FILE, .parent_fd = fd};

	ruleset->rule_count++;
	return syscall(SYS_landlock_add_rule, ruleset->fd, LANDLOCK_RULE_PATH_BENEATH, &rule, 0u) < 0 ? -errno : 0;
}

/* Adds what the program opens for reading by itself, in a run in which the kernel judges reading. */
static int landlock_allow_reading(void *ctx, int fd, unsigned what)
{
	const struct landlock_ruleset *ruleset = ctx;
	const struct landlock_path_beneath_attr rule = {
		.allowed_access = ruleset->handled_fs &
				  ((what & VIEW_PERMITS_READING_FILES ? LANDLOCK_ACCESS_FS_READ_FILE : 0u) |
				   (what & VIEW_PERMITS_READING_DIRECTORIES ? LANDLOCK_ACCESS_FS_READ_DIR : 0u) |
				   (what & VIEW_PERMITS_READING_DEVICES ? FS_IOCTL_DEV : 0u)),
		.parent_fd = fd};

	return syscall(SYS_landlock_add_rule, ruleset->fd, LANDLOCK_RULE_PATH_BENEATH, &rule, 0u) < 0 ? -errno : 0;
}

int landlock_build_ruleset(const struct view *view, int abi, unsigned *ret_places)
{
	/* An older kernel accepts a larger structure if the part that it does not know is 0. */
	const struct landlock_rights handled = landlock_get_rights_of_abi(abi);
	_cleanup_close_ int fd = (int)syscall(SYS_landlock_create_ruleset, &handled, sizeof(handled), 0u);
	struct landlock_ruleset ruleset = {.fd = fd, .handled_fs = handled.fs};
	int r;

	if (fd < 0)
		return -errno;
	r = view_visit_executable_files(view, landlock_allow_exec_file, &ruleset);
	if (r == 0)
		r = view_visit_readable(view, landlock_allow_reading, &ruleset);
	if (r < 0)
		return r;
	*ret_places = ruleset.rule_count;
	return steal_fd(&fd);
}

int landlock_build_egress_ruleset(int abi, bool read_files)
{
	struct landlock_rights handled = landlock_get_rights_of_abi(abi);
	struct landlock_path_beneath_attr all = {
		.allowed_access = LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR};
	_cleanup_close_ int fd = -1, root = -1;

	handled.net &= NET_BIND_TCP;
	if (read_files)
		handled.fs &= ~FS_RESOLVE_UNIX; /* name services (NSS) are reached by unix sockets that have a path */
	fd = (int)syscall(SYS_landlock_create_ruleset, &handled, sizeof(handled), 0u);
	if (fd < 0)
		return -errno;
	if (!read_files)
		return steal_fd(&fd);
	root = all.parent_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root < 0 || syscall(SYS_landlock_add_rule, fd, LANDLOCK_RULE_PATH_BENEATH, &all, 0u) < 0)
		return -errno;
	return steal_fd(&fd);
}

int landlock_enter_domain(int ruleset_fd)
{
	unsigned quiet = landlock_get_abi() < LANDLOCK_ABI_WITH_LOG_FLAGS
				 ? 0
				 : RESTRICT_SELF_LOG_SAME_EXEC_OFF | RESTRICT_SELF_LOG_SUBDOMAINS_OFF;

	return syscall(SYS_landlock_restrict_self, ruleset_fd, quiet) < 0 ? -errno : 0;
}
