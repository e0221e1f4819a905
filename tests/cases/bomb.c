/*
 * Uses up one resource until it is stopped. Prints what it got; exits with 0 when it got all that it asked for.
 *
 *   cases-bomb KIND MIB|COUNT
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MIB ((size_t)1 << 20)

static int complain(const char *what, long done)
{
	printf("%s after %ld: %s\n", what, done, strerrorname_np(errno));
	return 1;
}

static int anonymous(long mib)
{
	for (long i = 0; i < mib; i++) {
		char *block = mmap(NULL, MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		if (block == MAP_FAILED)
			return complain("mmap", i);
		memset(block, 1, MIB);
	}
	return 0;
}

/* The pages stay, but no process has them in its tables. */
static int hidden(long mib)
{
	char *block = mmap(NULL, (size_t)mib * MIB, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (block == MAP_FAILED)
		return complain("mmap", 0);
	for (long i = 0; i < mib; i++) {
		memset(block + (size_t)i * MIB, 1, MIB);
		(void)madvise(block + (size_t)i * MIB, MIB, MADV_DONTNEED);
	}
	return 0;
}

/* Nothing but page tables: the page that is read everywhere is the kernel's own, of zeroes. */
static int tables(long mib)
{
	size_t len = (size_t)mib * 512 * MIB;
	char *block = mmap(NULL, len, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (block == MAP_FAILED)
		return complain("mmap", 0);
	(void)madvise(block, len, MADV_NOHUGEPAGE);
	for (size_t at = 0; at < len; at += 2 * MIB)
		(void)*(volatile char *)(block + at);
	(void)sleep(3); /* which is looked at in between */
	return 0;
}

static int send_fd(int socket, int fd)
{
	char control[CMSG_SPACE(sizeof(int))] = {0}, byte = 0;
	struct iovec data = {&byte, 1};
	struct msghdr message = {
		.msg_iov = &data, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof(control)};
	struct cmsghdr *header = CMSG_FIRSTHDR(&message);

	header->cmsg_level = SOL_SOCKET;
	header->cmsg_type = SCM_RIGHTS;
	header->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(header), &fd, sizeof(int));
	return sendmsg(socket, &message, 0) < 0 ? -1 : 0;
}

/* Memory of the kind without a name: 4 MiB each. `hide`: nobody has it open, it is under way in a socket. */
static int memfds(long mib, bool hide, bool give_back)
{
	static char block[MIB];
	int pair[2];

	memset(block, 1, sizeof(block));
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) < 0)
		return complain("socketpair", 0);
	for (long i = 0; i < mib; i += 4) {
		int fd = memfd_create("bomb", MFD_CLOEXEC);

		if (fd < 0)
			return complain("memfd_create", i);
		for (int j = 0; j < 4; j++)
			if (write(fd, block, sizeof(block)) < 0)
				return complain("write", i);
		if (hide && send_fd(pair[0], fd) < 0)
			return complain("sendmsg", i);
		if (hide || give_back)
			(void)close(fd);
	}
	return 0;
}

static int file(const char *path, long mib)
{
	static char block[MIB];
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);

	memset(block, 1, sizeof(block));
	if (fd < 0)
		return complain(path, 0);
	for (long i = 0; i < mib; i++)
		if (write(fd, block, sizeof(block)) < 0)
			return complain("write", i);
	return 0;
}

static void burn(long ms)
{
	struct timespec now;

	do
		(void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	while (now.tv_sec * 1000 + now.tv_nsec / 1000000 < ms);
}

static int spin(long processes)
{
	for (long i = 1; i < processes; i++)
		if (fork() == 0)
			break;
	burn(600000);
	return 0;
}

/* One child after the other, whose time nobody reaps. */
static int relay(long children, bool ignore, long ms)
{
	if (ignore)
		(void)signal(SIGCHLD, SIG_IGN);
	for (long i = 0; i < children; i++) {
		pid_t pid = fork();

		if (pid == 0) {
			burn(ms);
			_exit(0);
		}
		if (pid < 0)
			return complain("fork", i);
		(void)waitpid(pid, NULL, 0);
	}
	return 0;
}

/* Children that stay. */
static int crowd(long children)
{
	for (long i = 0; i < children; i++) {
		pid_t pid = fork();

		if (pid < 0)
			return complain("fork", i);
		if (pid == 0) {
			(void)pause();
			_exit(0);
		}
	}
	return 0;
}

static void *wait_for_ever(void *arg)
{
	(void)pause();
	return arg;
}

static int threads(long count)
{
	for (long i = 0; i < count; i++) {
		pthread_t thread;

		errno = pthread_create(&thread, NULL, wait_for_ever, NULL);
		if (errno)
			return complain("pthread_create", i);
	}
	return 0;
}

/* Every process forks for ever, and so do its children. */
static int bomb(long ms)
{
	struct timespec begin, now;

	(void)signal(SIGCHLD, SIG_IGN);
	(void)clock_gettime(CLOCK_MONOTONIC, &begin);
	do {
		(void)fork();
		(void)clock_gettime(CLOCK_MONOTONIC, &now);
	} while ((now.tv_sec - begin.tv_sec) * 1000 + (now.tv_nsec - begin.tv_nsec) / 1000000 < ms);
	return 0;
}

/* Short-lived children, one at a time: the number of processes stays two. */
static int serial(long children)
{
	for (volatile long i = 0; i < children; i++) {
		pid_t pid = i % 2 ? vfork() : fork();

		if (pid == 0)
			_exit(0);
		if (pid < 0)
			return complain("fork", i);
		(void)waitpid(pid, NULL, 0);
	}
	return 0;
}

/* The same pages in many processes are there once. */
static int share(long mib)
{
	if (anonymous(mib))
		return 1;
	return crowd(8) || usleep(400000);
}

/* A grandchild uses it up; whoever waits for it ends as if all were well. */
static int in_child(long mib)
{
	pid_t pid = fork();

	if (pid == 0)
		_exit(anonymous(mib));
	(void)waitpid(pid, NULL, 0);
	return 0;
}

int main(int argc, char **argv)
{
	const char *kind = argc == 3 ? argv[1] : "";
	long much = argc == 3 ? strtol(argv[2], NULL, 10) : 0;
	int result = 2;

	setvbuf(stdout, NULL, _IONBF, 0);
	if (strcmp(kind, "anonymous") == 0)
		result = anonymous(much);
	else if (strcmp(kind, "hidden") == 0)
		result = hidden(much);
	else if (strcmp(kind, "tables") == 0)
		result = tables(much);
	else if (strcmp(kind, "memfds") == 0)
		result = memfds(much, false, false);
	else if (strcmp(kind, "memfds-hidden") == 0)
		result = memfds(much, true, false);
	else if (strcmp(kind, "memfds-closed") == 0)
		result = memfds(much, false, true);
	else if (strcmp(kind, "shm") == 0)
		result = file("/dev/shm/bomb", much);
	else if (strcmp(kind, "spin") == 0)
		result = spin(much);
	else if (strcmp(kind, "relay") == 0)
		result = relay(much, false, 60);
	else if (strcmp(kind, "relay-ignored") == 0)
		result = relay(much, true, 60);
	else if (strcmp(kind, "relay-quick") == 0)
		result = relay(much, true, 5);
	else if (strcmp(kind, "crowd") == 0)
		result = crowd(much);
	else if (strcmp(kind, "threads") == 0)
		result = threads(much);
	else if (strcmp(kind, "bomb") == 0)
		result = bomb(much);
	else if (strcmp(kind, "serial") == 0)
		result = serial(much);
	else if (strcmp(kind, "share") == 0)
		result = share(much);
	else if (strcmp(kind, "in-child") == 0)
		result = in_child(much);
	else if (strcmp(kind, "suicide") == 0)
		result = raise(SIGKILL);
	else if (strcmp(kind, "xcpu") == 0)
		result = raise(SIGXCPU);
	if (result == 0)
		printf("%s: got all\n", kind);
	return result;
}
