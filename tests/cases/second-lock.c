/* cases-second-lock: files and programs. See second-lock.h. */
#include "tests/cases/second-lock.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/elf-machine.h"

#ifndef RENAME_EXCHANGE
#define RENAME_EXCHANGE 2
#endif

static unsigned breaches;

bool got(long ret, const char *what, const char *where)
{
	if (ret < 0)
		return false;
	printf("got %s %s\n", what, where);
	breaches++;
	return true;
}

void unheld(long ret, const char *what)
{
	printf("%s %s\n", ret < 0 ? "held" : "unheld", what);
}

static void join(char out[PATH_MAX], const char *dir, const char *name)
{
	(void)snprintf(out, PATH_MAX, "%s/%s", dir, name);
}

static void try_open(const char *what, const char *path, int flags)
{
	int fd = open(path, flags | O_CLOEXEC, 0600);

	if (got(fd, what, path))
		(void)close(fd);
}

static int bind_name(const char *path)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM, 0), ret = -1;

	if (strlen(path) < sizeof(address.sun_path)) {
		memcpy(address.sun_path, path, strlen(path) + 1);
		ret = bind(fd, (const struct sockaddr *)&address, sizeof(address));
	}
	(void)close(fd);
	return ret;
}

/* Names that are not there yet; each is removed again when it could be made. */
static void try_make(const char *dir)
{
	char path[PATH_MAX];

	join(path, dir, "made-by-second-lock");
	try_open("create", path, O_CREAT | O_EXCL | O_WRONLY);
	(void)unlink(path);
	try_open("tmpfile", dir, O_TMPFILE | O_RDWR);
	if (got(mkdir(path, 0700), "mkdir", path))
		got(rmdir(path), "rmdir", path);
	if (got(mkfifo(path, 0600), "mkfifo", path))
		got(unlink(path), "unlink", path);
	if (got(mknod(path, S_IFREG | 0600, 0), "mknod", path))
		(void)unlink(path);
	if (got(symlink("/etc/passwd", path), "symlink", path))
		(void)unlink(path);
	if (got(bind_name(path), "socket", path))
		(void)unlink(path);
}

/* A file and an empty directory that are there already. */
static void try_change(const struct second_lock *lock, const char *dir)
{
	char victim[PATH_MAX], sub[PATH_MAX], other[PATH_MAX];

	join(victim, dir, "victim");
	join(sub, dir, "sub");
	join(other, dir, "sub/other");
	try_open("read", victim, O_RDONLY);
	try_open("write", victim, O_WRONLY);
	try_open("append", victim, O_WRONLY | O_APPEND);
	try_open("list", dir, O_RDONLY | O_DIRECTORY);
	if (lock->abi >= 3)
		got(truncate(victim, 1), "truncate", victim);
	try_open("overwrite", victim, O_RDWR | O_TRUNC);
	if (got(link(victim, other), "link", victim))
		(void)unlink(other);
	if (got(rename(victim, other), "rename", victim))
		(void)rename(other, victim);
	got(syscall(SYS_renameat2, AT_FDCWD, victim, AT_FDCWD, sub, RENAME_EXCHANGE), "exchange", victim);
	got(rmdir(sub), "rmdir", sub);
	got(unlink(victim), "unlink", victim);
}

/* By way of an O_PATH descriptor, which Landlock lets anybody have. */
static void try_reopen(const char *path)
{
	char link_to[64];
	int pin = open(path, O_PATH | O_CLOEXEC), fd;

	if (pin < 0)
		return;
	(void)snprintf(link_to, sizeof(link_to), "/proc/self/fd/%d", pin);
	fd = open(link_to, O_RDONLY | O_CLOEXEC);
	if (got(fd, "reopen", path))
		(void)close(fd);
	(void)close(pin);
}

void try_files(const struct second_lock *lock)
{
	static const char *const readable[] = {"/etc/passwd",    "/etc/os-release", "/proc/self/environ",
					       "/proc/self/mem", "/proc/self/maps", "/proc/version",
					       "/dev/null",      "/dev/zero",       "/dev/urandom"};
	static const char *const listed[] = {"/", "/etc", "/usr/lib", "/proc", "/proc/self/fd", "/dev", "/sys", "/tmp"};
	const char *const dirs[] = {lock->outside, lock->work, lock->home, "/tmp", "/var/tmp", "/dev/shm"};
	char path[PATH_MAX];

	for (size_t i = 0; i < sizeof(readable) / sizeof(readable[0]); i++)
		try_open("read", readable[i], O_RDONLY);
	for (size_t i = 0; i < sizeof(listed) / sizeof(listed[0]); i++)
		try_open("list", listed[i], O_RDONLY | O_DIRECTORY);
	try_open("write", "/dev/null", O_WRONLY);
	(void)snprintf(path, sizeof(path), "/proc/%d/environ", lock->pid);
	try_open("read", path, O_RDONLY);
	join(path, lock->outside, "victim");
	try_reopen(path);
	try_reopen("/etc/passwd");
	for (size_t i = 0; i < sizeof(dirs) / sizeof(dirs[0]); i++)
		try_make(dirs[i]);
	for (size_t i = 0; i < 3; i++)
		try_change(lock, dirs[i]);
	/* Capabilities of a user namespace do not lift a domain. */
	if (unshare(CLONE_NEWUSER | CLONE_NEWNS) == 0)
		got(mount("none", lock->outside, "tmpfs", 0, NULL), "mount", lock->outside);
}

/* 0 when the program ran and ended well. */
static int run(const char *path, char *const argv[])
{
	int status = -1;
	pid_t child = fork();

	if (child == 0) {
		(void)execv(path, argv);
		_exit(111);
	}
	if (child < 0 || waitpid(child, &status, 0) != child)
		return -1;
	return status == 0 ? 0 : -1;
}

void try_exec(const struct second_lock *lock)
{
	static const char *const loader[] = ELF_LOADERS;
	static const char *const programs[] = {"/bin/true", "/usr/bin/env", "/bin/sh"};
	char *const plain[] = {(char[]){"true"}, (char[]){"-c"}, (char[]){"true"}, NULL};
	char *const loaded[] = {(char[]){"ld.so"}, (char[]){"/bin/true"}, NULL};
	char script[PATH_MAX];

	for (size_t i = 0; i < sizeof(programs) / sizeof(programs[0]); i++)
		got(run(programs[i], i == 1 ? plain + 2 : plain), "exec", programs[i]);
	/* The loader itself may be executed, since programs need it: not with a file that may not be. */
	got(run(loader[0], loaded), "loader", "/bin/true");
	join(script, lock->work, "script");
	got(run(script, plain), "script", script);
}

/* Becomes the program; 111 when it may not. */
static int try_one(char *path)
{
	char *const argv[] = {path, NULL};

	(void)execv(path, argv);
	perror(path);
	return 111;
}

static int number(const char *text)
{
	return (int)strtol(text, NULL, 10);
}

int main(int argc, char **argv)
{
	struct second_lock lock;

	if (argc == 3 && strcmp(argv[1], "exec") == 0)
		return try_one(argv[2]);
	if (argc != 10)
		return 2;
	lock = (struct second_lock){.outside = argv[1], .work = argv[2], .home = argv[3], .tcp_port = number(argv[4]),
				    .udp_port = number(argv[5]), .abstract = argv[6], .path = argv[7],
				    .pid = number(argv[8]), .abi = number(argv[9])};
	try_net(&lock);
	try_processes(&lock);
	try_unheld(&lock);
	try_exec(&lock);
	try_files(&lock);
	(void)fflush(stdout);
	return breaches ? 1 : 0;
}
