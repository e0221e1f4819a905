/*
 * One function an operation. A path is absolute where the floor shall emulate the call; what is made is made in the
 * working directory, which is writable everywhere.
 */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/micro.h"

static struct sockaddr_storage address; /* where listener listens */
static socklen_t address_len;
static int listener = -1, held = -1;

static int once_getpid(const char *path)
{
	(void)path;
	return (int)syscall(SYS_getpid);
}

static int once_open(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	return fd < 0 ? -1 : close(fd);
}

/* For what is not there or not granted: success would be the mistake. */
static int once_refused(const char *path)
{
	int fd = openat(AT_FDCWD, path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return 0;
	(void)close(fd);
	errno = EEXIST;
	return -1;
}

static int once_stat(const char *path)
{
	struct stat status;

	return stat(path, &status);
}

static int once_mixed(const char *path)
{
	return once_open(path) < 0 ? -1 : once_stat(path);
}

static int begin_fstat(const char *path)
{
	held = open(path, O_RDONLY | O_CLOEXEC);
	return held < 0 ? -1 : 0;
}

/* As glibc's fstat does it. */
static int once_fstat(const char *path)
{
	struct stat status;

	(void)path;
	return (int)syscall(SYS_newfstatat, held, "", &status, AT_EMPTY_PATH);
}

static int once_access(const char *path)
{
	return access(path, R_OK);
}

static int once_readlink(const char *path)
{
	char target[256];

	return (int)readlink(path, target, sizeof(target));
}

static int once_mkdir(const char *path)
{
	return mkdir(path, 0700) < 0 ? -1 : rmdir(path);
}

static int make_file(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	return fd < 0 ? -1 : close(fd);
}

/* There and back again, so that every call renames. */
static int once_rename(const char *path)
{
	char other[256];

	(void)snprintf(other, sizeof(other), "%s.b", path);
	return rename(path, other) < 0 ? -1 : rename(other, path);
}

static int once_unlink(const char *path)
{
	return make_file(path) < 0 ? -1 : unlink(path);
}

static void end_file(const char *path)
{
	(void)unlink(path);
}

static int listen_at(int family)
{
	listener = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (listener < 0 || bind(listener, (const struct sockaddr *)&address, address_len) < 0 ||
	    listen(listener, 16) < 0)
		return -1;
	return getsockname(listener, (struct sockaddr *)&address, &address_len);
}

static int begin_tcp(const char *path)
{
	const struct sockaddr_in loopback = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};

	(void)path;
	(void)memcpy(&address, &loopback, sizeof(loopback));
	address_len = sizeof(loopback);
	return listen_at(AF_INET);
}

static int begin_unix(const char *path)
{
	struct sockaddr_un name = {.sun_family = AF_UNIX};

	(void)snprintf(name.sun_path, sizeof(name.sun_path), "%s", path);
	(void)memcpy(&address, &name, sizeof(name));
	address_len = sizeof(name);
	return listen_at(AF_UNIX);
}

/* The other end is accepted and both are closed, or the backlog would be full. */
static int once_connect(const char *path)
{
	int fd = socket(address.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0), peer;

	(void)path;
	if (fd < 0 || connect(fd, (const struct sockaddr *)&address, address_len) < 0)
		return -1;
	peer = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	return peer < 0 || close(peer) < 0 ? -1 : close(fd);
}

static int wait_for(pid_t child)
{
	int status = 0;

	if (child < 0 || waitpid(child, &status, 0) < 0)
		return -1;
	errno = ECHILD;
	return status == 0 ? 0 : -1;
}

static int once_fork(const char *path)
{
	pid_t child = fork();

	(void)path;
	if (child == 0)
		_exit(EXIT_SUCCESS);
	return wait_for(child);
}

static int once_exec(const char *path)
{
	char *argv[] = {strdup(path), NULL};
	pid_t child = argv[0] ? fork() : -1;

	if (child == 0) {
		(void)execv(path, argv);
		_exit(127);
	}
	free(argv[0]);
	return wait_for(child);
}

static void *idle(void *unused)
{
	return unused;
}

static int once_thread(const char *path)
{
	pthread_t thread;

	(void)path;
	errno = pthread_create(&thread, NULL, idle, NULL);
	return errno || pthread_join(thread, NULL) != 0 ? -1 : 0;
}

static const struct micro_operation operations[] = {
	{"getpid", NULL, once_getpid, NULL},
	{"open", NULL, once_open, NULL},
	{"missing", NULL, once_refused, NULL},
	{"denied", NULL, once_refused, NULL},
	{"stat", NULL, once_stat, NULL},
	{"mixed", NULL, once_mixed, NULL},
	{"fstat", begin_fstat, once_fstat, NULL},
	{"access", NULL, once_access, NULL},
	{"readlink", NULL, once_readlink, NULL},
	{"mkdir", NULL, once_mkdir, NULL},
	{"rename", make_file, once_rename, end_file},
	{"unlink", NULL, once_unlink, NULL},
	{"tcp", begin_tcp, once_connect, NULL},
	{"unix", begin_unix, once_connect, end_file},
	{"fork", NULL, once_fork, NULL},
	{"exec", NULL, once_exec, NULL},
	{"thread", NULL, once_thread, NULL},
};

const struct micro_operation *micro_find(const char *name)
{
	for (size_t i = 0; i < sizeof(operations) / sizeof(operations[0]); i++)
		if (strcmp(operations[i].name, name) == 0)
			return &operations[i];
	return NULL;
}

void micro_list(void)
{
	for (size_t i = 0; i < sizeof(operations) / sizeof(operations[0]); i++)
		(void)fprintf(stderr, "%s\n", operations[i].name);
}
