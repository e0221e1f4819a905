/* Threats 21 to 27, 31, 42: misleading names, aliases, procfs, descriptors used for more than they were opened for. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "tests/cases/threat.h"

/* linux/fs.h has these and repeats the flags of sys/mount.h */
#define SET_FLAGS 0x40086602
#define SET_XATTR 0x401c5820

/* spoof: mounts that would make names lie, and directories whose name claims something else. */
int threat_spoof(char **arg)
{
	char buf[4096];
	struct stat st;
	int fd;

	(void)arg; /* takes none */
	threat_refused("mount", mount("none", ".", "tmpfs", 0, NULL), EPERM);
	threat_refused("bind mount", mount("/", ".", NULL, MS_BIND, NULL), EPERM);
	threat_refused("umount", umount2("/proc", MNT_DETACH), EPERM);
	threat_refused("open_tree", syscall(SYS_open_tree, AT_FDCWD, "/", 1), ENOSYS);
	threat_refused("fsopen", syscall(SYS_fsopen, "tmpfs", 0), ENOSYS);
	threat_refused("chroot", chroot("."), EPERM);
	/* the kernel writes "gone (deleted)" for the removed one: another directory has that very name */
	threat_works("mkdir", mkdir("gone", 0755));
	threat_works("mkdir", mkdir("gone (deleted)", 0755));
	(void)close(open("gone (deleted)/file", O_WRONLY | O_CREAT, 0600)); /* looked for below */
	fd = open("gone", O_RDONLY | O_DIRECTORY);
	threat_works("rmdir", rmdir("gone"));
	threat_refused("a file in a deleted directory", openat(fd, "file", O_RDONLY), ENOENT);
	threat_refused("creation in a deleted directory", openat(fd, "new", O_WRONLY | O_CREAT, 0600), ENOENT);
	threat_works("fchdir", fchdir(fd));
	threat_refused("getcwd in a deleted directory", syscall(SYS_getcwd, buf, sizeof(buf)), ENOENT);
	threat_refused("stat in a deleted directory", stat("file", &st), ENOENT);
	return threat_result();
}

/*
 * alias READONLY LOCKED: READONLY is a file that may only be read; LOCKED is a directory with a file "secret" that a
 * rule denies. Neither gets a second name that may do more.
 */
int threat_alias(char **arg)
{
	char secret[4200];

	snprintf(secret, sizeof(secret), "%s/secret", arg[1]);
	threat_refused("link of a read-only file", link(arg[0], "alias"), 0);
	threat_refused("linkat by descriptor",
		       linkat(open(arg[0], O_RDONLY), "", AT_FDCWD, "alias", AT_EMPTY_PATH), 0);
	threat_refused("rename of a read-only file", rename(arg[0], "alias"), 0);
	threat_works("a file", close(open("mine", O_WRONLY | O_CREAT, 0600)));
	threat_refused("rename over a read-only file", rename("mine", arg[0]), 0);
	threat_refused("exchange with it", renameat2(AT_FDCWD, "mine", AT_FDCWD, arg[0], RENAME_EXCHANGE), 0);
	threat_refused("exchange the other way", renameat2(AT_FDCWD, arg[0], AT_FDCWD, "mine", RENAME_EXCHANGE), 0);
	threat_refused("write through an alias", open("alias", O_WRONLY), ENOENT);
	threat_refused("open of the denied", open(secret, O_RDONLY), EACCES);
	threat_refused("link of the denied", link(secret, "alias"), 0);
	threat_refused("rename of the denied", rename(secret, "alias"), 0);
	threat_refused("rename of its directory", rename(arg[1], "unlocked"), 0);
	threat_refused("exchange of its directory", renameat2(AT_FDCWD, arg[1], AT_FDCWD, "mine", RENAME_EXCHANGE), 0);
	threat_refused("rename onto the denied", rename("mine", secret), 0);
	threat_works("symlink to it", symlink(secret, "sym"));
	threat_refused("open by symlink", open("sym", O_RDONLY), EACCES);
	threat_refused("the alias", open("unlocked/secret", O_RDONLY), ENOENT);
	return threat_result();
}

static void put(const char *path)
{
	threat_works(path, close(open(path, O_WRONLY | O_CREAT, 0600)));
}

static void tree(const char *const *dir)
{
	for (; *dir; dir++)
		threat_works(*dir, mkdir(*dir, 0700));
}

/* By every call that gives an object another name: `from` must not come to stand at `to`, where nothing is. */
static void no_way(const char *from, const char *to)
{
	char text[64];
	int fd = open(from, O_PATH | O_NOFOLLOW);

	threat_refused(from, rename(from, to), 0);
	threat_refused(from, renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE), 0);
	threat_refused(from, linkat(AT_FDCWD, from, AT_FDCWD, to, 0), 0);
	threat_refused(from, linkat(fd, "", AT_FDCWD, to, AT_EMPTY_PATH), 0);
	(void)snprintf(text, sizeof(text), "/proc/self/fd/%d", fd);
	threat_refused(from, linkat(AT_FDCWD, text, AT_FDCWD, to, AT_SYMLINK_FOLLOW), 0);
	(void)close(fd);
	/* in exchange for a file and for a directory, and over an empty directory */
	put(to);
	threat_refused(from, renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_EXCHANGE), 0);
	threat_refused(from, renameat2(AT_FDCWD, to, AT_FDCWD, from, RENAME_EXCHANGE), 0);
	threat_works(to, unlink(to));
	threat_works(to, mkdir(to, 0700));
	threat_refused(from, renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_EXCHANGE), 0);
	threat_refused(from, renameat2(AT_FDCWD, to, AT_FDCWD, from, RENAME_EXCHANGE), 0);
	threat_refused(from, rename(from, to), 0);
	threat_works(to, rmdir(to));
}

/* Names that a rule denies and that are not there yet. In the workdir, which is empty. */
static void appear(void)
{
	static const char *const dirs[] = {"x",    "x/hooks",    "y",   "y/a", "q",   "q/p", "q/p/priv", "z",
					   "z/hg", "z/hg/store", "src", "m",   "m/n", "w",   NULL};
	int fd;

	tree(dirs);
	put("x/hooks/post-checkout");
	put("y/a/key");
	put("m/n/k.pem");
	no_way("x", ".git");	   /* @workdir/.git/hooks */
	no_way("y", "deep");	   /* @workdir/deep/a/key */
	no_way("q/p", "p");	   /* priv in any directory of the workdir */
	no_way("z/hg", "z/.hg");   /* .hg/store anywhere */
	no_way("m", "src/m");	   /* any .pem below @workdir/src */
	/* a link in their place, made, renamed and linked */
	threat_refused("symlink", symlink("x", ".git"), EACCES);
	threat_refused("symlink", symlink("/nowhere/at/all", ".git"), EACCES);
	threat_refused("symlink to be made later", symlinkat("later", AT_FDCWD, "deep"), EACCES);
	threat_refused("symlink below a glob", symlink("q/p", "p"), EACCES);
	threat_refused("symlink at a floating name", symlink("hg", "z/.hg"), EACCES);
	threat_works("a link with another name", symlink("x", "link"));
	no_way("link", ".git");
	no_way("link", "deep");
	/* a link on the way within the tree that is moved */
	threat_works("a link within", symlink("../y/a", "w/a"));
	no_way("w", "deep");
	/* where a decoy and a redirect show something else than other programs see */
	threat_refused("symlink to a decoy's directory", symlink("x", "conf"), 0);
	threat_refused("symlink to a redirect's directory", symlink("x", "red"), 0);
	threat_refused("a tree to a decoy's directory", rename("x", "conf"), EBUSY);
	threat_refused("a tree to a redirect's directory", rename("x", "red"), EBUSY);
	threat_refused("a link to a decoy's directory", rename("link", "conf"), EBUSY);
	threat_refused("a link to a redirect's directory", link("link", "red"), EBUSY);
	/* out of a directory below which a glob denies names */
	threat_refused("symlink out of src", symlink("../m/n", "src/out"), EACCES);
	threat_refused("symlink out of src", symlink("no/../../m", "src/out"), EACCES);
	/*
	 * what a redirect shows is judged by its target's name as well, so that one stays: else this would be
	 * later/secret
	 */
	threat_refused("a redirect's target", rename("target", "later"), EBUSY);
	threat_refused("a redirect's target", renameat2(AT_FDCWD, "target", AT_FDCWD, "x", RENAME_EXCHANGE), EBUSY);
	threat_refused("a redirect's target", rename("above", "later"), EBUSY);
	threat_refused("a redirect's target", rmdir("target"), EBUSY);
	threat_tries(close(open("shown/secret", O_WRONLY | O_CREAT, 0600)));
	threat_tries(close(open("shown2/secret", O_WRONLY | O_CREAT, 0600)));
	/* a file without a name */
	threat_works(".git", mkdir(".git", 0700));
	fd = open(".", O_TMPFILE | O_WRONLY, 0700);
	threat_refused("O_TMPFILE", linkat(fd, "", AT_FDCWD, ".git/hooks", AT_EMPTY_PATH), EACCES);
	threat_works(".git", rmdir(".git"));
}

/* What is no denied name may move as it does natively. */
static void harmless(void)
{
	threat_works("a link to a name beside it", symlink("q", "beside"));
	threat_works("a link elsewhere", symlink("../q/p", "q/elsewhere"));
	threat_works("a link within src", symlink("../src/m", "src/within"));
	threat_works("a link out of src to what cannot be written", symlink("/usr/bin", "src/usr"));
	threat_works("rmdir", rmdir("x/hooks") < 0 ? unlink("x/hooks/post-checkout") : 0);
	threat_works("rmdir", rmdir("x/hooks"));
	threat_works("without hooks", rename("x", ".git"));
	threat_works("and away", rename(".git", "x"));
	threat_works("without k.pem", unlink("m/n/k.pem"));
	threat_works("without k.pem", rename("m", "src/m"));
	threat_works("a tree with a link", rename("w", "w2"));
	threat_works("in exchange", renameat2(AT_FDCWD, "w2", AT_FDCWD, "y", RENAME_EXCHANGE));
}

/*
 * appear: no call makes a denied name appear, by itself or by what other programs would follow. For the rules see
 * threats/22-alias.sh. carried [DIR]: none takes what is denied to another name, in DIR.
 */
int threat_appear(char **arg)
{
	(void)arg;
	appear();
	harmless();
	return threat_result();
}

int threat_carried(char **arg)
{
	if (arg[0])
		threat_works(arg[0], chdir(arg[0]));
	no_way(".git", "old");
	threat_refused("the denied", open(".git/hooks/new", O_WRONLY | O_CREAT, 0600), EACCES);
	threat_refused("the denied", open("deep/a/key", O_RDONLY), EACCES);
	threat_refused("the denied", open("src/m/n/k.pem", O_RDONLY), EACCES);
	no_way("deep", "old");
	no_way("deep/a", "old");
	no_way("p", "src/p");
	no_way("z/.hg", "old");
	no_way("src", "old");
	no_way("src/m", "old");
	threat_works("the same names are denied there", rename("p", "p2") == 0 ? rename("p2", "p") : -1);
	threat_works("the same names are denied there", rename("z", "z2") == 0 ? rename("z2", "z") : -1);
	threat_works("the same names are denied there",
		     rename("src/m", "src/m2") == 0 ? rename("src/m2", "src/m") : -1);
	return threat_result();
}

static void look_for(const char *path, const char *secret)
{
	if (threat_reads(path, secret))
		threat_got("the secret from %s", path);
}

/* environ SECRET: it is in the caller's environment and must not be found in any that can be read. */
int threat_environ(char **arg)
{
	char path[512];
	DIR *proc = opendir("/proc");
	struct dirent *e;
	int count = 0;

	for (char **var = environ; *var; var++)
		if (strstr(*var, arg[0]))
			threat_got("%s", *var);
	look_for("/proc/self/environ", arg[0]);
	look_for("/proc/thread-self/environ", arg[0]);
	look_for("/proc/self/task/../environ", arg[0]);
	look_for("/proc/self/cmdline", "no-such");
	while (proc && (e = readdir(proc))) {
		if (e->d_name[0] < '0' || e->d_name[0] > '9')
			continue;
		count++;
		snprintf(path, sizeof(path), "/proc/%.100s/environ", e->d_name);
		look_for(path, arg[0]);
	}
	if (count > 1)
		threat_got("%d processes in /proc", count);
	for (int pid = 1; pid < 4000; pid++) {
		snprintf(path, sizeof(path), "/proc/%d/environ", pid);
		look_for(path, arg[0]);
	}
	snprintf(path, sizeof(path), "/proc/%d/environ", getppid());
	look_for(path, arg[0]);
	return threat_result();
}

static void leaves_of(const char *pid, bool own)
{
	static const char *const leaves[] = {
		"mem",           "environ",       "root/etc/shadow", "cwd/.",   "exe",
		"map_files",     "fd/0",          "ns/user",         "ns/net",  "maps",
		"status",        "stack",         "syscall",         "auxv",    "pagemap",
		"clear_refs",    "oom_score_adj", "setgroups",       "uid_map", "attr/current",
		"task",          "fdinfo/0",      "mountinfo",       "net/tcp", "coredump_filter",
		"mounts",        "mountstats",    "net",             "net/unix",
		"timerslack_ns",
	};
	/* of one's own, what neither shows the host nor changes anything about the process may be served */
	static const char *const never[] = {"mem", "map_files/.", "ns/user", "ns/net", "stack", "pagemap", "clear_refs",
					    "setgroups", "uid_map", "net/arp", "net/netlink", "syscall"};
	char path[256];
	struct stat st;

	for (size_t i = 0; !own && i < sizeof(leaves) / sizeof(leaves[0]); i++) {
		snprintf(path, sizeof(path), "/proc/%s/%s", pid, leaves[i]);
		threat_refused2(path, open(path, O_RDONLY), ENOENT, EACCES);
		threat_refused2(path, stat(path, &st), ENOENT, EACCES);
	}
	for (size_t i = 0; own && i < sizeof(never) / sizeof(never[0]); i++) {
		snprintf(path, sizeof(path), "/proc/%s/%s", pid, never[i]);
		if (!threat_kernel_reads())
			threat_refused2(path, open(path, O_RDONLY), ENOENT, EACCES);
		threat_refused2(path, open(path, O_RDWR), ENOENT, EACCES);
	}
}

/* procfs PID…: others' directories do not exist; of one's own, only harmless leaves, where reading is judged. */
int threat_procfs(char **arg)
{
	static const char *const global[] = {"/proc/kcore", "/proc/sys/kernel/core_pattern", "/proc/sysrq-trigger",
					     "/proc/kallsyms", "/proc/keys", "/proc/1/status", "/proc/timer_list",
					     "/proc/kmsg", "/sys/kernel"};
	static const char *const of_network[] = {"/proc/net/arp", "/proc/self/net/packet"}; /* the run's own */
	char id[32];

	snprintf(id, sizeof(id), "%d", getppid());
	leaves_of(id, false);
	leaves_of("1", false);
	for (; *arg; arg++)
		leaves_of(*arg, false);
	leaves_of("self", true);
	leaves_of("thread-self", true);
	for (size_t i = 0; i < sizeof(global) / sizeof(global[0]); i++)
		threat_refused2(global[i], open(global[i], O_RDONLY), ENOENT, EACCES);
	for (size_t i = 0; !threat_kernel_reads() && i < sizeof(of_network) / sizeof(of_network[0]); i++)
		threat_refused2(of_network[i], open(of_network[i], O_RDONLY), ENOENT, EACCES);
	return threat_result();
}

/* reopen READONLY: its mode allows writing, its grant does not. */
int threat_reopen(char **arg)
{
	static const char *const forms[] = {"/proc/self/fd/%d", "/dev/fd/%d", "/proc/thread-self/fd/%d"};
	int fd = open(arg[0], O_RDONLY), opath = open(arg[0], O_PATH);
	char path[64];

	threat_works("open for reading", fd);
	threat_works("open for nothing", opath);
	for (size_t f = 0; f < sizeof(forms) / sizeof(forms[0]); f++) {
		for (int i = 0; i < 2; i++) {
			/* the forms are the table above */
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
			snprintf(path, sizeof(path), forms[f], i ? opath : fd);
			threat_refused2(path, open(path, O_RDWR), EACCES, EROFS);
			threat_refused2(path, open(path, O_WRONLY | O_APPEND), EACCES, EROFS);
			threat_refused2(path, open(path, O_RDONLY | O_TRUNC), EACCES, EROFS);
			threat_refused2(path, truncate(path, 0), EACCES, EROFS);
			threat_refused2(path, chmod(path, 0600), EACCES, EROFS);
		}
	}
	threat_refused("openat of the empty path", openat(opath, "", O_RDWR), ENOENT);
	return threat_result();
}

/* The errno that fchmodat2 must fail with: a kernel before Linux 6.6 lacks it. */
static int fchmodat2_error(int error)
{
	return syscall(452, -1, NULL, 0, 0) < 0 && errno == ENOSYS ? ENOSYS : error;
}

/* metadata FILE DIR: both may only be read; the caller compares their metadata before and after. */
int threat_metadata(char **arg)
{
	static const struct timespec times[2] = {{1, 0}, {1, 0}};

	for (int i = 0; i < 2; i++) {
		int fd = open(arg[i], O_RDONLY), opath = open(arg[i], O_PATH), flags = 0x10, zero[7] = {0};

		threat_works("open", fd);
		threat_refused("fchmod", fchmod(fd, 0777), EROFS);
		threat_refused("fchmodat2 on O_PATH", syscall(452, opath, "", 0777, AT_EMPTY_PATH),
			       fchmodat2_error(EROFS));
		threat_refused("fchown", fchown(fd, getuid(), getgid()), EROFS);
		threat_refused("fchownat", fchownat(opath, "", getuid(), getgid(), AT_EMPTY_PATH), EROFS);
		threat_refused("futimens", futimens(fd, times), EROFS);
		threat_refused("futimens now", syscall(SYS_utimensat, fd, NULL, NULL, 0), EROFS);
		threat_refused("fsetxattr", fsetxattr(fd, "user.new", "x", 1, 0), EROFS);
		threat_refused("fremovexattr", fremovexattr(fd, "user.old"), EROFS);
		threat_refused("FS_IOC_SETFLAGS", ioctl(fd, SET_FLAGS, &flags), 0);
		threat_refused("FS_IOC_FSSETXATTR", ioctl(fd, SET_XATTR, zero), 0);
		threat_refused("F_SETLEASE", fcntl(fd, F_SETLEASE, F_RDLCK), EPERM);
		threat_refused("F_NOTIFY", fcntl(fd, F_NOTIFY, 1), EPERM);
		threat_refused("chmod", chmod(arg[i], 0777), EROFS);
		threat_refused("utimensat", utimensat(AT_FDCWD, arg[i], times, 0), EROFS);
		threat_refused("setxattr", setxattr(arg[i], "user.new", "x", 1, 0), EROFS);
		threat_refused("file_setattr", syscall(469, AT_FDCWD, arg[i], zero, 24, 0), 0);
	}
	threat_refused("unlink", unlink(arg[0]), EROFS);
	threat_refused("creation", openat(open(arg[1], O_RDONLY), "new", O_CREAT | O_WRONLY, 0600), EROFS);
	return threat_result();
}

/* setid: no file with set-id bits and no device is made, by whatever call. */
int threat_setid(char **arg)
{
	int fd = open("file", O_RDWR | O_CREAT, 0700);

	(void)arg; /* takes none */
	for (mode_t bits = 02000; bits <= 06000; bits += 02000) {
		threat_refused("open", open("new", O_WRONLY | O_CREAT | O_EXCL, bits | 0755), EPERM);
		threat_refused("creat", syscall(SYS_openat, AT_FDCWD, "new", O_CREAT | O_TRUNC, bits | 0755), EPERM);
		threat_refused("openat2",
			       syscall(SYS_openat2, AT_FDCWD, "new", ((uint64_t[]){O_CREAT | O_RDWR, bits, 0}), 24),
			       EPERM);
		threat_works("mkdir", mkdir("dir", bits | 0755)); /* which leaves these bits out */
		threat_works("chmod of a directory", chmod("dir", 02775));
		threat_refused("creation below it", open("dir/new", O_WRONLY | O_CREAT | O_EXCL, bits | 0755), EPERM);
		threat_works("a file below it", mknod("dir/file", S_IFREG | 0755, 0));
		threat_refused("chmod below it", chmod("dir/file", bits | 0755), EPERM);
		threat_works("a link to it", symlink("dir/file", "link"));
		threat_refused("chmod by a link", chmod("link", bits | 0755), EPERM);
		(void)unlink("link");
		(void)unlink("dir/file");
		(void)rmdir("dir");
		threat_refused("mknod", mknod("node", S_IFREG | bits | 0755, 0), EPERM);
		threat_refused("chmod", chmod("file", bits | 0755), EPERM);
		threat_refused("fchmod", fchmod(fd, bits | 0755), EPERM);
		threat_refused("fchmodat2", syscall(452, AT_FDCWD, "file", bits | 0755, 0), fchmodat2_error(EPERM));
		threat_refused("fchmodat2 empty", syscall(452, fd, "", bits | 0755, AT_EMPTY_PATH),
			       fchmodat2_error(EPERM));
	}
	threat_refused("character device", mknod("null", S_IFCHR | 0666, (dev_t)0x103), EPERM);
	threat_refused("block device", mknod("disk", S_IFBLK | 0666, (dev_t)0x800), EPERM);
	threat_refused("whiteout", mknod("white", S_IFCHR | 0666, 0), EPERM);
	return threat_result();
}

/* Whoever has no room is told so, and nothing else, of what is not there too: just after there was room, too. */
static void full_of_copies(void)
{
	struct rlimit limit = {64, 64}, lower = {20, 64};
	int last = 0;

	threat_works("setrlimit", setrlimit(RLIMIT_NOFILE, &limit));
	for (int i = 0; i < 100; i++)
		threat_refused("what is not there", open("not-there", O_RDONLY), ENOENT);
	for (int fd = dup(0); fd >= 0; fd = dup(0))
		last = fd;
	threat_refused("at once", open("not-there", O_RDONLY), EMFILE);
	threat_refused("nothing is made", open("made", O_WRONLY | O_CREAT, 0600), EMFILE);
	threat_refused("made", access("made", F_OK), ENOENT);
	(void)close(10);
	threat_refused("room again", open("not-there", O_RDONLY), ENOENT);
	threat_works("a lower limit", setrlimit(RLIMIT_NOFILE, &lower));
	threat_refused("10 is free below it", open("not-there", O_RDONLY), ENOENT);
	threat_works("dup", dup(0));
	threat_refused("nothing below it", open("not-there", O_RDONLY), EMFILE);
	for (int fd = 10; fd <= last; fd++)
		(void)close(fd);
	for (int i = 0; i < 100; i++)
		threat_refused("much room", open("not-there", O_RDONLY), ENOENT);
	lower.rlim_cur = 3;
	threat_works("none", prlimit(getpid(), RLIMIT_NOFILE, &lower, NULL));
	for (int fd = 9; fd >= 3; fd--)
		(void)close(fd);
	threat_refused("at once", open("not-there", O_RDONLY), EMFILE);
	threat_works("the limit of before", prlimit(0, RLIMIT_NOFILE, &limit, NULL));
	threat_refused("room", open("not-there", O_RDONLY), ENOENT);
}

/* full: no descriptor left to inject into is EMFILE, and nothing hangs. */
int threat_full(char **arg)
{
	struct rlimit limit = {64, 64};
	int fd, count = 0;

	(void)arg; /* takes none */
	full_of_copies();
	threat_works("setrlimit", setrlimit(RLIMIT_NOFILE, &limit));
	while ((fd = open(".", O_RDONLY | O_DIRECTORY)) >= 0)
		count++;
	threat_refused("open with a full table", fd, EMFILE);
	if (count != 61)
		threat_missed("%d descriptors, not 61", count);
	for (int i = 0; i < 1000; i++)
		threat_refused("again", open("/dev/null", O_WRONLY), EMFILE);
	(void)close(10); /* room for one */
	threat_works("open into the last free number", open("/dev/null", O_WRONLY));
	return threat_result();
}

/* names: attempts whose text would break a careless log: exactly one record each (the caller counts). */
int threat_names(char **arg)
{
	static const char *const names[] = {
		"/odd/new\nline",
		"/odd/cr\rlf\n{\"seq\":1}",
		"/odd/\x1b[2J\x1b[31mred",
		"/odd/\xff\xfe\x80invalid",
		"/odd/quote\"and\\slash",
		"/odd/tab\tnull",
		"/odd/\xe2\x80\xaeright-to-left",
		"/odd/\x7f\x01",
		"/odd/\xed\xa0\x80half",
		"/odd/\xf4\x90\x80\x80high",
		"/odd/\xc0\xaf",
		"/odd/,\n\"verdict\":\"allow\"",
	};

	(void)arg; /* takes none */
	prctl(PR_SET_NAME, "co\nm\xff\"", 0, 0, 0);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		threat_refused("open", open(names[i], O_WRONLY), ENOENT);
	return threat_result();
}
