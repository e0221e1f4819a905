/*
 * Restrictions that a program sets on itself: they hold for the calls that the supervisor performs for it as well, or
 * are refused. Each function is a row of doc/security.md, "What a program restricts itself by".
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <linux/openat2.h>
#include <mqueue.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/cases/threat.h"

/*
 * landlock PATH: the program locks itself out of everything, and then opens PATH. Also run with a filter that lets all
 * pass, so it takes no refusal for granted.
 */
static void landlock(const char *path)
{
	struct landlock_ruleset_attr attr = {.handled_access_fs = LANDLOCK_ACCESS_FS_READ_FILE};
	long version = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
	long ruleset = syscall(SYS_landlock_create_ruleset, &attr, sizeof(attr), 0);

	threat_refused("Landlock's version", version, EOPNOTSUPP);
	threat_refused("a ruleset", ruleset, EOPNOTSUPP);
	threat_refused("a rule", syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &attr, 0),
		       EOPNOTSUPP);
	if (syscall(SYS_landlock_restrict_self, ruleset, 0) == 0)
		threat_refused("open behind its own lock", open(path, O_RDONLY), EACCES);
	else
		threat_refused("the lock", -1, EOPNOTSUPP);
}

/* In a child, because it lasts. False: something is wrong, and the child has said what. */
static bool holds(void (*run)(const char *path), const char *path)
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		run(path);
		_exit(threat_result());
	}
	return waitpid(pid, &status, 0) == pid && status == 0;
}

static void size_limit(const char *path)
{
	int fd = open(path, O_RDWR);

	signal(SIGXFSZ, SIG_IGN);
	(void)setrlimit(RLIMIT_FSIZE, &(struct rlimit){4096, 4096});
	threat_refused("truncate past RLIMIT_FSIZE", truncate(path, 8192), EFBIG);
	threat_refused("fallocate past RLIMIT_FSIZE", fallocate(fd, 0, 0, 8192), EFBIG);
	threat_works("truncate up to RLIMIT_FSIZE", truncate(path, 4096));
}

static void descriptor_limit(const char *path)
{
	(void)setrlimit(RLIMIT_NOFILE, &(struct rlimit){3, 3});
	threat_refused("open past RLIMIT_NOFILE", open(path, O_RDONLY), EMFILE);
	threat_refused("O_PATH past RLIMIT_NOFILE", open(path, O_PATH), EMFILE);
}

static void queue_limit(const char *path)
{
	struct mq_attr attr = {.mq_maxmsg = 2, .mq_msgsize = 64};
	mqd_t queue = mq_open("/promise", O_CREAT | O_RDWR, 0600, &attr);

	(void)path; /* has no use for it */
	if (queue < 0 && errno == ENOSYS)
		return; /* no ipc namespace: there are none */
	threat_works("a queue", queue);
	(void)mq_unlink("/promise");
	(void)setrlimit(RLIMIT_MSGQUEUE, &(struct rlimit){64, 64});
	threat_refused("a queue past RLIMIT_MSGQUEUE", mq_open("/promise", O_CREAT | O_RDWR, 0600, &attr), EMFILE);
	(void)mq_unlink("/promise");
}

static mode_t mode_of(const char *name)
{
	struct stat status;

	return lstat(name, &status) < 0 ? 0 : status.st_mode & 07777;
}

static void *unmasked(void *arg)
{
	(void)arg; /* takes none */
	if (unshare(CLONE_FS) < 0)
		return NULL; /* a container refuses it */
	(void)umask(0);
	threat_works("chdir of a thread", chdir("/"));
	return NULL;
}

/* The mask holds for what is made, and it and the cwd are the thread's own once they are not shared. */
static void mask(const char *path)
{
	pthread_t thread;

	(void)path; /* has no use for it */
	(void)umask(077);
	if (pthread_create(&thread, NULL, unmasked, NULL) != 0 || pthread_join(thread, NULL) != 0)
		threat_missed("no thread");
	threat_works("mkdir", mkdir("masked", 0777));
	if (mode_of("masked") != 0700)
		threat_got("a directory of mode %o in the cwd", mode_of("masked"));
	(void)rmdir("masked");
}

static void openat2_limits(const char *path)
{
	struct open_how beneath = {.flags = O_RDONLY, .resolve = RESOLVE_BENEATH};
	struct open_how straight = {.flags = O_RDONLY, .resolve = RESOLVE_NO_SYMLINKS};

	threat_refused("RESOLVE_BENEATH", syscall(SYS_openat2, AT_FDCWD, path, &beneath, sizeof(beneath)), EXDEV);
	threat_works("symlink", symlink(path, "promise-link"));
	threat_refused("RESOLVE_NO_SYMLINKS",
		       syscall(SYS_openat2, AT_FDCWD, "promise-link", &straight, sizeof(straight)), ELOOP);
	threat_refused("O_NOFOLLOW", open("promise-link", O_RDONLY | O_NOFOLLOW), ELOOP);
	(void)unlink("promise-link");
}

static void seals(const char *path)
{
	char name[64];
	int fd = memfd_create("sealed", MFD_ALLOW_SEALING);
	int again;

	(void)path; /* has no use for it */
	threat_works("seals", fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK));
	(void)snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
	threat_refused("truncate of a sealed memfd", truncate(name, 4096), 0);
	again = open(name, O_RDWR);
	if (again >= 0)
		threat_refused("write to a sealed memfd", write(again, "x", 1), EPERM);
}

/* Memory without access is none for what is performed either. */
static void memory(const char *path)
{
	char *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct stat status;

	(void)snprintf(page, 4096, "%s", path);
	threat_works("PROT_READ", mprotect(page, 4096, PROT_READ));
	threat_refused("stat into memory that cannot be written", stat(path, (struct stat *)(void *)page), EFAULT);
	threat_works("PROT_NONE", mprotect(page, 4096, PROT_NONE));
	threat_refused("stat of a path that cannot be read", stat(page, &status), EFAULT);
	threat_refused("a protection key", syscall(SYS_pkey_alloc, 0, 3), ENOSPC);
}

/* Refused, since they could not be held, or would be of use to an attacker. */
static void not_offered(const char *path)
{
	threat_refused("chroot", chroot("."), EPERM);
	threat_refused("pivot_root", syscall(SYS_pivot_root, ".", "."), EPERM);
	threat_refused("securebits", prctl(PR_SET_SECUREBITS, 1, 0, 0, 0), 0);
	threat_refused("flusher", prctl(57 /* PR_SET_IO_FLUSHER */, 1, 0, 0, 0), 0);
	threat_refused("user dispatch", prctl(59 /* PR_SET_SYSCALL_USER_DISPATCH */, 1, 0, 0, 0), 0);
	threat_refused("another uid", setresuid(54399, 54399, 54399), 0);
	threat_refused("another gid", setresgid(54399, 54399, 54399), 0);
	threat_refused("no groups", (long)syscall(SYS_setgroups, 1, &(gid_t){54399}), EPERM);
	threat_refused("a keyring", syscall(SYS_keyctl, 1 /* JOIN_SESSION_KEYRING */, 0, 0, 0, 0), ENOSYS);
	threat_refused("another personality", personality(0x0400000 /* READ_IMPLIES_EXEC */), EPERM);
	(void)setfsuid(54399); /* changes nothing and never says so */
	threat_works("open as before", open(path, O_RDONLY));
}

/* A domain of its own would be entered by a write there. */
static void no_lsm(const char *path)
{
	(void)path; /* has no use for it */
	threat_refused("/proc/self/attr/exec", open("/proc/self/attr/exec", O_WRONLY), 0);
	threat_refused("lsm_set_self_attr", syscall(460, 101, NULL, 0, 0), ENOSYS);
}

/* promises FILE: a file that it may read and write, by its absolute path. */
int threat_promises(char **arg)
{
	static void (*const all[])(const char *path) = {
		landlock,       size_limit, descriptor_limit, queue_limit, mask,
		openat2_limits, seals,      memory,           not_offered, no_lsm,
	};
	bool hold = true;

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		hold = holds(all[i], arg[0]) && hold;
	return hold ? 0 : 1;
}
