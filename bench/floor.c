/*
 * The lowest cost the mechanism allows: a seccomp user-notification emulator that judges nothing and records nothing.
 * It performs, on a copied path, what programs mostly ask of the file system (the table below), continues exec, and is
 * not asked about anything else: so what a program takes under it, it takes at the least under any supervisor. fstat,
 * which is newfstatat with AT_EMPTY_PATH, stays with the kernel, as under callgate where its view allows. `make bench`
 * measures callgate against it.
 *
 *     floor [-f|-s] PROGRAM [ARG…]
 *
 * Both ends stay on one processor, where a notification costs least. -f leaves them free: for programs that do several
 * things at once. -s does so too, and gives the program a session of its own, as callgate does: with autogroup
 * (sched(7)) the ends are in two scheduling groups then, and among many pairs a task is seldom followed by its other
 * end.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP /* Linux 6.6 */
#define SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP (1UL << 0)
#define SECCOMP_IOCTL_NOTIF_SET_FLAGS SECCOMP_IOW(4, __u64)
#endif

#define NAME_MAX_BYTES 512               /* a longer one is continued, and not measured */
#define PATH_BYTES (NAME_MAX_BYTES + 64) /* and where it starts */
#define CONTINUE INT64_MAX

enum what { OPEN, STAT, STATX, ACCESS, READLINK, MKDIR, UNLINK, RENAME, EXEC };

static const struct row {
	int nr;
	enum what what;
	bool at;       /* a directory's descriptor comes before the path */
	int flags_arg; /* which argument has them; 0: none */
	int flags;     /* else these */
} rows[] = {
	{__NR_openat, OPEN, true, 2, 0},
	{__NR_newfstatat, STAT, true, 3, 0},
#ifdef __NR_open /* aarch64 has the *at forms only */
	{__NR_open, OPEN, false, 1, 0},
	{__NR_stat, STAT, false, 0, 0},
	{__NR_lstat, STAT, false, 0, AT_SYMLINK_NOFOLLOW},
	{__NR_access, ACCESS, false, 0, 0},
	{__NR_readlink, READLINK, false, 0, 0},
	{__NR_mkdir, MKDIR, false, 0, 0},
	{__NR_rmdir, UNLINK, false, 0, AT_REMOVEDIR},
	{__NR_unlink, UNLINK, false, 0, 0},
	{__NR_rename, RENAME, false, 0, 0},
	{__NR_renameat, RENAME, true, 0, 0},
#endif
	{__NR_statx, STATX, true, 2, 0},
	{__NR_faccessat, ACCESS, true, 0, 0},
	{__NR_faccessat2, ACCESS, true, 3, 0},
	{__NR_readlinkat, READLINK, true, 0, 0},
	{__NR_mkdirat, MKDIR, true, 0, 0},
	{__NR_unlinkat, UNLINK, true, 2, 0},
	{__NR_renameat2, RENAME, true, 4, 0},
	{__NR_execve, EXEC, false, 0, 0},
};

#define ROWS (sizeof(rows) / sizeof(rows[0]))

/* Notified are the rows' numbers, but no fstat. Jumps count from the next instruction. No signal but a deadly one
 * interrupts a call: it would be made twice. */
static int install(void)
{
	enum { OTHERWISE = ROWS + 1, FLAGS, ALLOW = FLAGS + 2, NOTIFY };
	struct sock_filter code[ROWS + 6] = {
		[0] = BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		[OTHERWISE] = BPF_JUMP(BPF_JMP | BPF_JA, ALLOW - OTHERWISE - 1, 0, 0),
		[FLAGS] = BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[3])),
		BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, AT_EMPTY_PATH, 0, 1),
		[ALLOW] = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		[NOTIFY] = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
	};
	struct sock_fprog program = {.len = ROWS + 6, .filter = code};

	for (size_t at = 1; at <= ROWS; at++) {
		size_t to = rows[at - 1].nr == __NR_newfstatat ? FLAGS : NOTIFY;

		code[at] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)rows[at - 1].nr,
							(unsigned char)(to - at - 1), 0);
	}
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -errno;
	return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
			    SECCOMP_FILTER_FLAG_NEW_LISTENER | SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV, &program);
}

static ssize_t read_guest(pid_t pid, uint64_t address, char *name)
{
	size_t page = 4096 - (size_t)(address & 4095), half = NAME_MAX_BYTES / 2;
	struct iovec local = {.iov_base = name, .iov_len = NAME_MAX_BYTES};
	struct iovec remote[2] = {{.iov_base = (void *)(uintptr_t)address, .iov_len = page < half ? page : half},
				  {.iov_base = (void *)(uintptr_t)(address + page), .iov_len = half}};

	return process_vm_readv(pid, &local, 1, remote, page < half ? 2 : 1, 0);
}

static int64_t write_guest(const struct seccomp_notif *request, uint64_t address, void *bytes, size_t len)
{
	struct iovec local = {.iov_base = bytes, .iov_len = len};
	struct iovec remote = {.iov_base = (void *)(uintptr_t)address, .iov_len = len};

	return process_vm_writev((pid_t)request->pid, &local, 1, &remote, 1, 0) < 0 ? -EFAULT : 0;
}

/* What is the caller's own, and would be the floor's. */
static bool own(const char *name)
{
	return strncmp(name, "/proc/self", 10) == 0 || strncmp(name, "/proc/thread-self", 17) == 0 ||
	       strncmp(name, "/dev/fd", 7) == 0 || strncmp(name, "/dev/std", 8) == 0;
}

/*
 * The path that an argument means, for a call of the floor's: relative ones start at the caller's link in /proc, which
 * is one lookup and no descriptor to get and to close. False: continue, it is not one that the floor performs.
 */
static bool locate(const struct seccomp_notif *request, bool at, int dirfd_arg, char path[PATH_BYTES])
{
	uint64_t address = request->data.args[dirfd_arg + at];
	int dirfd = at ? (int)request->data.args[dirfd_arg] : AT_FDCWD, before;
	char name[NAME_MAX_BYTES];
	ssize_t len = read_guest((pid_t)request->pid, address, name);

	if (len <= 0 || !memchr(name, '\0', (size_t)len) || !name[0] || own(name))
		return false;
	if (name[0] == '/')
		before = 0;
	else if (dirfd == AT_FDCWD)
		before = snprintf(path, PATH_BYTES, "/proc/%u/cwd/", request->pid);
	else
		before = snprintf(path, PATH_BYTES, "/proc/%u/fd/%d/", request->pid, dirfd);
	memcpy(path + before, name, strlen(name) + 1);
	return true;
}

static int64_t result(int r)
{
	return r < 0 ? -errno : r;
}

static int64_t do_stat(const struct seccomp_notif *request, const char *path, uint64_t buffer, int flags)
{
	struct stat status;

	if (fstatat(AT_FDCWD, path, &status, flags) < 0)
		return -errno;
	return write_guest(request, buffer, &status, sizeof(status));
}

static int64_t do_statx(const struct seccomp_notif *request, const char *path, uint64_t mask, uint64_t buffer,
			int flags)
{
	struct statx status = {0};

	if (flags & AT_EMPTY_PATH)
		return CONTINUE;
	if (statx(AT_FDCWD, path, flags, (unsigned)mask, &status) < 0)
		return -errno;
	return write_guest(request, buffer, &status, sizeof(status));
}

static int64_t do_readlink(const struct seccomp_notif *request, const char *path, uint64_t buffer, uint64_t cap)
{
	char target[4096];
	ssize_t len = readlink(path, target, cap < sizeof(target) ? (size_t)cap : sizeof(target));

	if (len < 0)
		return -errno;
	return write_guest(request, buffer, target, (size_t)len) < 0 ? -EFAULT : len;
}

static int64_t do_rename(const struct seccomp_notif *request, const struct row *row, const char *path, int flags)
{
	char to[PATH_BYTES];

	if (!locate(request, row->at, row->at ? 2 : 1, to))
		return CONTINUE;
	return result(renameat2(AT_FDCWD, path, AT_FDCWD, to, (unsigned)flags));
}

/* rest: the arguments after the path. What an open returns is the floor's descriptor. */
static int64_t perform(const struct seccomp_notif *request, const struct row *row, const char *path)
{
	const __u64 *rest = request->data.args + row->at + 1;
	int flags = row->flags_arg ? (int)request->data.args[row->flags_arg] : row->flags;

	switch (row->what) {
	case OPEN: /* ADDFD takes no O_PATH */
		return flags & O_PATH ? CONTINUE : result(open(path, flags | O_CLOEXEC, (mode_t)rest[1]));
	case STAT:
		return do_stat(request, path, rest[0], flags);
	case STATX:
		return do_statx(request, path, rest[1], rest[2], flags);
	case ACCESS:
		return result(faccessat(AT_FDCWD, path, (int)rest[0], flags));
	case READLINK:
		return do_readlink(request, path, rest[0], rest[1]);
	case MKDIR:
		return result(mkdir(path, (mode_t)rest[0]));
	case UNLINK:
		return result(unlinkat(AT_FDCWD, path, flags));
	case RENAME:
		return do_rename(request, row, path, flags);
	case EXEC:
		break;
	}
	return CONTINUE;
}

/* False: too many descriptors, or the caller has gone meanwhile; then no thread waits for the answer either. */
static bool give_fd(int listener, const struct seccomp_notif *request, int fd, int flags)
{
	struct seccomp_notif_addfd addfd = {.id = request->id,
					    .flags = SECCOMP_ADDFD_FLAG_SEND,
					    .srcfd = (unsigned)fd,
					    .newfd_flags = (unsigned)flags & O_CLOEXEC};
	bool given = ioctl(listener, SECCOMP_IOCTL_NOTIF_ADDFD, &addfd) >= 0;

	(void)close(fd);
	return given;
}

static const struct row *row_of(int nr)
{
	for (size_t i = 0; i < ROWS; i++) {
		if (rows[i].nr == nr)
			return &rows[i];
	}
	return &rows[ROWS - 1];
}

static void serve(int listener)
{
	struct seccomp_notif request = {0};
	struct seccomp_notif_resp response = {0};
	const struct row *row;
	char path[PATH_BYTES];
	int64_t value = CONTINUE;

	if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &request) < 0)
		return;
	row = row_of(request.data.nr);
	response.id = request.id;
	if (row->what != EXEC && locate(&request, row->at, 0, path)) {
		if (ioctl(listener, SECCOMP_IOCTL_NOTIF_ID_VALID, &request.id) < 0)
			return;
		value = perform(&request, row, path);
	}
	if (row->what == OPEN && value >= 0 && value != CONTINUE) {
		if (give_fd(listener, &request, (int)value, (int)request.data.args[row->flags_arg]))
			return;
		value = -EMFILE;
	}
	if (value == CONTINUE)
		response.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
	else if (value < 0)
		response.error = (int)value;
	else
		response.val = value;
	(void)ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &response);
}

static int run_child(char **argv, volatile int *shared, bool own_session)
{
	int listener = install();

	*shared = listener;
	if (listener < 0 || (own_session && setsid() < 0)) {
		perror("floor: seccomp or setsid");
		return 125;
	}
	(void)unshare(CLONE_FILES);
	(void)close(listener);
	(void)execvp(argv[0], argv);
	perror(argv[0]);
	return 127;
}

/* This one: moving takes up to a millisecond. */
static void stay_on_one_processor(void)
{
	int here = sched_getcpu();
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(here < 0 ? 0 : (size_t)here, &one);
	(void)sched_setaffinity(0, sizeof(one), &one);
}

static pid_t child;
static int status; /* of the child; valid once it has been reaped */

/* Before Linux 6.11 a listener hangs up only when its last task has been reaped. */
static void reap(int number)
{
	(void)number;
	(void)waitpid(child, &status, WNOHANG);
}

int main(int argc, char **argv)
{
	volatile int *shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	bool own_session = argc > 1 && strcmp(argv[1], "-s") == 0;
	bool spread = own_session || (argc > 1 && strcmp(argv[1], "-f") == 0);

	if (argc < 2 + spread || shared == MAP_FAILED) {
		fputs("usage: floor [-f|-s] PROGRAM [ARG...]\n", stderr);
		return 125;
	}
	if (!spread)
		stay_on_one_processor();
	*shared = -1;
	child = (pid_t)syscall(SYS_clone, CLONE_FILES | SIGCHLD, NULL, NULL, NULL, NULL);
	if (child == 0)
		_exit(run_child(argv + 1 + spread, shared, own_session));
	while (*shared < 0 && waitpid(child, &status, WNOHANG) == 0)
		(void)sched_yield();
	if (*shared < 0)
		return 125;
	(void)signal(SIGCHLD, reap);
	reap(SIGCHLD); /* it may have ended before */
	(void)ioctl(*shared, SECCOMP_IOCTL_NOTIF_SET_FLAGS, SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP);
	for (;;) {
		struct pollfd ready = {.fd = *shared, .events = POLLIN};

		if (poll(&ready, 1, -1) < 0)
			continue; /* interrupted by SIGCHLD */
		if (!(ready.revents & POLLIN))
			break;
		serve(*shared);
	}
	(void)waitpid(child, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
