/*
 * Tries to read what is covered while the kernel judges reading: cases-reads-attack WORKDIR NAME… Each file of these
 * names has "SECRET" in it. Prints "GOT how" for each that it got to read, and at last how many ways it has tried.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/mount.h>
#include <linux/openat2.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define STORM_NS 300000000L

static unsigned tried;

/* Looks for the secret in what is read from a descriptor, which is closed. */
static void look(const char *how, const char *what, int fd)
{
	char bytes[256];
	ssize_t len;

	tried++;
	if (fd < 0)
		return;
	len = read(fd, bytes, sizeof(bytes) - 1);
	bytes[len > 0 ? len : 0] = '\0';
	if (strstr(bytes, "SECRET"))
		(void)printf("GOT %s: %s\n", how, what);
	(void)close(fd);
}

static void look_at(const char *how, int dirfd, const char *path)
{
	static const int flags[] = {0, O_NOFOLLOW, O_NONBLOCK, O_NOATIME, O_CREAT, O_RDWR, O_APPEND};

	for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++)
		look(how, path, openat(dirfd, path, flags[i] | O_CLOEXEC, 0600));
}

/* Opens what an O_PATH descriptor refers to again, by its names in /proc. */
static void look_by_descriptor(const char *path)
{
	static const char *const dir[] = {"/proc/self/fd", "/dev/fd", "/proc/thread-self/fd"};
	int fd = open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	char name[64];

	for (size_t i = 0; fd >= 0 && i < sizeof(dir) / sizeof(dir[0]); i++) {
		(void)snprintf(name, sizeof(name), "%s/%d", dir[i], fd);
		look_at("O_PATH", AT_FDCWD, name);
		(void)!linkat(AT_FDCWD, name, AT_FDCWD, "again", AT_SYMLINK_FOLLOW);
		look_at("link of O_PATH", AT_FDCWD, "again");
		(void)unlink("again");
	}
	(void)!linkat(fd, "", AT_FDCWD, "again", AT_EMPTY_PATH);
	look_at("link of a descriptor", AT_FDCWD, "again");
	(void)unlink("again");
	(void)close(fd);
}

static void look_by_openat2(const char *path)
{
	static const uint64_t resolve[] = {0, RESOLVE_NO_SYMLINKS, RESOLVE_NO_XDEV, RESOLVE_IN_ROOT, RESOLVE_BENEATH};

	for (size_t i = 0; i < sizeof(resolve) / sizeof(resolve[0]); i++) {
		struct open_how how = {.flags = O_RDONLY | O_CLOEXEC, .resolve = resolve[i]};

		look("openat2", path, (int)syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof(how)));
	}
}

/* Flags that filter and kernel could understand differently: bits 32 to 63, and what O_PATH makes unimportant. */
static void look_by_flags(const char *path)
{
	static const unsigned long high[] = {0, 1UL << 32, 1UL << 63, 0xffffffffUL << 32};
	static const unsigned long low[] = {0, O_ACCMODE, O_RDWR, O_TRUNC, O_PATH | O_CREAT, O_DIRECTORY | O_CREAT,
					    O_PATH | O_ACCMODE | O_TRUNC, O_TMPFILE & ~O_DIRECTORY, 1UL << 31,
					    1UL << 30};

	for (size_t i = 0; i < sizeof(high) / sizeof(high[0]); i++)
		for (size_t j = 0; j < sizeof(low) / sizeof(low[0]); j++)
			look("flags", path, (int)syscall(SYS_openat, (long)AT_FDCWD, path, high[i] | low[j], 0600UL));
}

/* Opens its directory by a call that is judged, so that the supervisor hands over a descriptor, and starts there. */
static void look_from_injected_directory(const char *path)
{
	static const uint64_t flags[] = {O_RDONLY, O_DIRECTORY, O_PATH, O_PATH | O_DIRECTORY};
	struct {
		struct open_how how;
		uint64_t more[2]; /* openat2(2) takes a larger structure, if what it does not know is 0 */
	} question = {.how = {.flags = 0}};
	char dir[4096], *slash, above[8200], again[4200];

	(void)snprintf(dir, sizeof(dir), "%s", path);
	slash = strrchr(dir, '/');
	*slash = '\0';
	for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
		int fd;

		question.how.flags = flags[i] | O_CLOEXEC;
		fd = (int)syscall(SYS_openat2, AT_FDCWD, dir, &question,
				  i % 2 ? sizeof(question) : sizeof(question.how));
		if (fd < 0)
			continue;
		look_at("an injected directory", fd, slash + 1);
		(void)snprintf(above, sizeof(above), "..%s/%s", strrchr(dir, '/'), slash + 1);
		look_at(".. of an injected directory", fd, above);
		(void)snprintf(again, sizeof(again), "/proc/self/fd/%d/%s", fd, slash + 1);
		look_at("/proc of an injected directory", AT_FDCWD, again);
		if (fchdir(fd) == 0)
			look_at("fchdir", AT_FDCWD, slash + 1);
		(void)close(fd);
	}
}

/* Gives the covered name another one, or its directory. */
static void look_by_names(const char *path)
{
	char dir[4096], *slash, moved[4096];

	(void)!link(path, "hard");
	look_at("link", AT_FDCWD, "hard");
	(void)!symlink(path, "soft");
	look_at("symlink", AT_FDCWD, "soft");
	if (rename(path, "moved") == 0)
		look_at("rename", AT_FDCWD, "moved");
	(void)syscall(SYS_renameat2, AT_FDCWD, path, AT_FDCWD, "soft", 2 /* RENAME_EXCHANGE */);
	look_at("exchange", AT_FDCWD, "soft");
	(void)unlink("hard");
	(void)unlink("soft");
	(void)unlink("moved");
	(void)snprintf(dir, sizeof(dir), "%s", path);
	slash = strrchr(dir, '/');
	*slash = '\0';
	if (mkdir("exchanged", 0700) == 0 &&
	    syscall(SYS_renameat2, AT_FDCWD, dir, AT_FDCWD, "exchanged", 2 /* RENAME_EXCHANGE */) == 0) {
		(void)snprintf(moved, sizeof(moved), "exchanged/%s", slash + 1);
		look_at("exchange of the directory", AT_FDCWD, moved);
		(void)syscall(SYS_renameat2, AT_FDCWD, dir, AT_FDCWD, "exchanged", 2);
	}
	(void)rmdir("exchanged");
	if (rename(dir, "moved-dir") < 0)
		return;
	(void)snprintf(moved, sizeof(moved), "moved-dir/%s", slash + 1);
	look_at("rename of the directory", AT_FDCWD, moved);
	(void)rename("moved-dir", dir);
}

static void look_through_proc(const char *path)
{
	static const char *const root[] = {"/proc/self/root", "/proc/thread-self/root", "/proc/1/root", "/proc/2/root",
					   "/proc/self/cwd/../../../../../.."};
	char name[8192];

	for (size_t i = 0; i < sizeof(root) / sizeof(root[0]); i++) {
		(void)snprintf(name, sizeof(name), "%s%s", root[i], path);
		look_at("a root in /proc", AT_FDCWD, name);
	}
	for (int pid = 1; pid < 10; pid++) {
		int fd;

		(void)snprintf(name, sizeof(name), "/proc/%d", pid);
		fd = open(name, O_PATH | O_CLOEXEC); /* which works also where the process is hidden */
		(void)snprintf(name, sizeof(name), "root%s", path);
		look("a hidden process", name, fd < 0 ? -1 : openat(fd, name, O_RDONLY | O_CLOEXEC));
		if (fd >= 0 && pid == 1 && (fchdir(fd) == 0 || openat(fd, "environ", O_RDONLY | O_CLOEXEC) >= 0))
			(void)printf("GOT the supervisor's directory in /proc\n");
		if (fd >= 0)
			(void)close(fd);
	}
}

/* Goes up from each directory that the program can open, past the root of its mounts. */
static void look_from_above(const char *path)
{
	static const char *const from[] = {"/", "/proc", "/proc/self", "/proc/sys", "/dev", "/dev/pts", "/tmp", "."};
	static const char *const in[] = {"", "/.callgate-still", "/.callgate-root", "/.callgate-listings/covers/0"};

	for (size_t i = 0; i < sizeof(from) / sizeof(from[0]); i++) {
		int fd = open(from[i], O_RDONLY | O_DIRECTORY | O_CLOEXEC);

		for (size_t j = 0; fd >= 0 && j < sizeof(in) / sizeof(in[0]); j++) {
			char name[8192];

			(void)snprintf(name, sizeof(name), "../../../../../../../../..%s%s", in[j], path);
			look("..", name, openat(fd, name, O_RDONLY | O_CLOEXEC));
		}
		(void)close(fd);
	}
}

/* What would take the cover away. All of it must be refused. */
static void look_without_mount(const char *path)
{
	char dir[4096];

	(void)!umount2(path, MNT_DETACH);
	look_at("umount", AT_FDCWD, path);
	(void)!unshare(CLONE_NEWUSER | CLONE_NEWNS);
	(void)!umount2(path, MNT_DETACH);
	(void)snprintf(dir, sizeof(dir), "%s", path);
	*strrchr(dir, '/') = '\0';
	(void)mount(dir, dir, NULL, MS_BIND, NULL);
	look_at("bind", AT_FDCWD, path);
	look("open_tree", path, (int)syscall(SYS_open_tree, AT_FDCWD, dir, 1 /* OPEN_TREE_CLONE */));
	look("fsopen", path, (int)syscall(SYS_fsopen, "tmpfs", 0));
	if (chroot(dir) == 0)
		look_at("chroot", AT_FDCWD, strrchr(path, '/'));
}

/* ---- a directory with a covered name is renamed while the name is opened ---- */

struct storm {
	char one[4096], other[4096];
	volatile int ended;
};

static void *storm_rename(void *ctx)
{
	struct storm *storm = ctx;

	while (!storm->ended) {
		(void)rename(storm->one, storm->other);
		(void)rename(storm->other, storm->one);
	}
	return NULL;
}

static void look_in_storm(const char *path)
{
	static struct storm storm;
	char at[8192];
	const char *name = strrchr(path, '/') + 1;
	struct timespec begin, now;
	pthread_t thread;

	(void)snprintf(storm.one, sizeof(storm.one), "%.*s", (int)(name - 1 - path), path);
	(void)snprintf(storm.other, sizeof(storm.other), "storm");
	if (pthread_create(&thread, NULL, storm_rename, &storm) != 0)
		return;
	(void)clock_gettime(CLOCK_MONOTONIC, &begin);
	do {
		look("rename storm", path, open(path, O_RDONLY | O_CLOEXEC));
		(void)snprintf(at, sizeof(at), "storm/%s", name);
		look("rename storm", at, open(at, O_RDONLY | O_CLOEXEC));
		(void)clock_gettime(CLOCK_MONOTONIC, &now);
	} while ((now.tv_sec - begin.tv_sec) * 1000000000L + now.tv_nsec - begin.tv_nsec < STORM_NS);
	storm.ended = 1;
	(void)pthread_join(thread, NULL);
}

int main(int argc, char **argv)
{
	if (argc < 3 || chdir(argv[1]) < 0)
		return 2;
	for (int i = 2; i < argc; i++) {
		look_at("open", AT_FDCWD, argv[i]);
		look_by_descriptor(argv[i]);
		look_by_openat2(argv[i]);
		look_by_flags(argv[i]);
		look_from_injected_directory(argv[i]);
		if (chdir(argv[1]) < 0)
			return 2;
		look_by_names(argv[i]);
		look_through_proc(argv[i]);
		look_from_above(argv[i]);
		look_without_mount(argv[i]);
	}
	look_in_storm(argv[2]);
	(void)printf("tried %u\n", tried);
	return 0;
}
