#include "keeper/custodian.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fdpass.h"
#include "confine/cgroup-private.h"
#include "confine/privs.h"
#include "confine/selffilter.h"
#include "keeper/store.h"
#include "supervisor/environment.h"

/* The first byte of a request to the custodian. */
enum custodian_request { REQUEST_STORE = 's', REQUEST_REMOVE = 'r' };

#define CUSTODIAN_CGROUP_REMOVALS_MAX 8 /* most directories to remove: more than a machine has cgroup hierarchies */
#define CUSTODIAN_CGROUP_NAME_SIZE 64

/* Receives a request (enum custodian_request and a text) and its descriptor. False: the keeper has exited. */
static bool custodian_receive_request(int fd, char *name, size_t size, int *ret_from)
{
	ssize_t len = fdpass_receive(fd, name, size - 1, ret_from, 1, 0);

	if (len <= 0)
		return false;
	name[len] = '\0';
	return true;
}

/*
 * Stores the open file `from`. text: one byte with the number of the directory (enum custodian_dir), then the path of
 * the file below that directory.
 */
static int custodian_perform_store_request(const int dir_fd[CUSTODIAN_DIR_COUNT], int from, const char *text)
{
	const unsigned dir = (unsigned char)text[0] - (unsigned)'0';
	struct stat st;

	if (dir >= CUSTODIAN_DIR_COUNT || dir_fd[dir] < 0 || from < 0 || fstat(from, &st) < 0 || !S_ISREG(st.st_mode))
		return -EINVAL;
	return store_file(dir_fd[dir], from, &st, text + 1);
}

/* Directories that the custodian removes at the end of the run. */
struct custodian_removals {
	size_t count; /* used entries of the list */
	struct {
		int parent_fd;
		char name[CUSTODIAN_CGROUP_NAME_SIZE];
	} item[CUSTODIAN_CGROUP_REMOVALS_MAX];
};

/* Takes parent_fd. Accepts only names of control groups: the keeper runs as another user and is not trusted. */
static int custodian_add_removal(struct custodian_removals *removals, int parent_fd, const char *name)
{
	_cleanup_close_ int fd = parent_fd;

	if (fd < 0 || removals->count == CUSTODIAN_CGROUP_REMOVALS_MAX || strlen(name) >= CUSTODIAN_CGROUP_NAME_SIZE ||
	    strchr(name, '/') || strncmp(name, CGROUP_UID_DIR_PREFIX, strlen(CGROUP_UID_DIR_PREFIX)) != 0)
		return -EINVAL;
	removals->item[removals->count].parent_fd = steal_fd(&fd);
	memcpy(removals->item[removals->count++].name, name, strlen(name) + 1);
	return 0;
}

static _Noreturn void custodian_main(int fd, const int dir_fd[CUSTODIAN_DIR_COUNT])
{
	struct custodian_removals removals = {.count = 0};
	char text[2 + PATH_MAX];
	int from;

	while (custodian_receive_request(fd, text, sizeof(text), &from)) {
		int32_t error = -EINVAL;

		if (text[0] == REQUEST_REMOVE)
			error = custodian_add_removal(&removals, steal_fd(&from), text + 1);
		else if (text[0] == REQUEST_STORE)
			error = custodian_perform_store_request(dir_fd, from, text + 1);
		cleanup_close(&from);
		if (send(fd, &error, sizeof(error), MSG_NOSIGNAL) < 0)
			break; /* the keeper died */
	}
	for (size_t i = 0; i < removals.count; i++)
		/* Fails, and leaves the directory, when another run uses it. */
		(void)unlinkat(removals.item[i].parent_fd, removals.item[i].name, AT_REMOVEDIR);
	_exit(0);
}

/*
 * Copies a descriptor to the number `to`, which no other descriptor that is still needed may have: the caller has
 * copied these to higher numbers first. Returns `to`, or -1.
 */
static int custodian_place_fd(int fd, int to)
{
	return fd < 0 ? -1 : dup2(fd, to);
}

/* number of the custodian's socket; the descriptors of the directories have the numbers after it */
#define CUSTODIAN_SOCKET_FD_NUMBER 3
/* one above the descriptors that the custodian keeps; higher ones are closed */
#define CUSTODIAN_FD_NUMBERS_END (CUSTODIAN_SOCKET_FD_NUMBER + 1 + CUSTODIAN_DIR_COUNT)

/* Keeps only the socket and the directories, drops privileges, and handles requests. */
static _Noreturn void custodian_isolate_and_serve(int fd, const int borrowed_fd[CUSTODIAN_DIR_COUNT], bool self_filter)
{
	int dir_fd[CUSTODIAN_DIR_COUNT];
	sigset_t all;
	bool failed;

	(void)sigfillset(&all); /* a Ctrl-C is for the keeper to handle */
	(void)sigprocmask(SIG_SETMASK, &all, NULL);
	(void)setsid();
	fd = fcntl(fd, F_DUPFD, CUSTODIAN_FD_NUMBERS_END);
	for (int i = 0; i < CUSTODIAN_DIR_COUNT; i++)
		dir_fd[i] = borrowed_fd[i] < 0 ? -1 : fcntl(borrowed_fd[i], F_DUPFD, CUSTODIAN_FD_NUMBERS_END);
	failed = custodian_place_fd(fd, CUSTODIAN_SOCKET_FD_NUMBER) < 0 || syscall(SYS_close_range, 0U, 2U, 0U) < 0;
	for (int i = 0; i < CUSTODIAN_DIR_COUNT; i++) {
		const int to = CUSTODIAN_SOCKET_FD_NUMBER + 1 + i;

		dir_fd[i] = custodian_place_fd(dir_fd[i], to);
		failed = failed || (borrowed_fd[i] >= 0 && dir_fd[i] < 0);
		if (dir_fd[i] < 0)
			(void)close(to); /* one of the keeper's descriptors may have this number */
	}
	if (failed || syscall(SYS_close_range, (unsigned)CUSTODIAN_FD_NUMBERS_END, ~0U, 0U) < 0 ||
	    privs_drop_all() < 0 || prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
		_exit(1);
	environment_wipe_own();
	if (self_filter && selffilter_install(SELF_CUSTODIAN) < 0)
		_exit(1);
	custodian_main(CUSTODIAN_SOCKET_FD_NUMBER, dir_fd);
}

int custodian_start(const int dir_fd[CUSTODIAN_DIR_COUNT], bool self_filter, struct custodian *ret_custodian)
{
	int pair[2];
	long pid;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return -errno;
	/* Forked with exit signal 0, so that waitpid(2) reports the custodian with __WALL only. */
	pid = syscall(SYS_clone, 0UL, 0L, 0L, 0L, 0L);
	if (pid == 0)
		custodian_isolate_and_serve(pair[1], dir_fd, self_filter);
	cleanup_close(&pair[1]);
	if (pid < 0) {
		cleanup_close(&pair[0]);
		return -errno;
	}
	*ret_custodian = (struct custodian){.pid = (pid_t)pid, .fd = pair[0]};
	return 0;
}

static int custodian_send_request(const struct custodian *custodian, enum custodian_request request, int fd,
				  const char *text)
{
	char message[1 + PATH_MAX];
	const size_t len = strlen(text);
	int32_t error;
	int r;

	if (len > PATH_MAX)
		return -ENAMETOOLONG;
	message[0] = (char)request;
	memcpy(message + 1, text, len);
	r = fdpass_send(custodian->fd, message, 1 + len, &fd, 1, 0);
	if (r < 0)
		return r;
	if (recv(custodian->fd, &error, sizeof(error), 0) != (ssize_t)sizeof(error))
		return -EPIPE;
	return error > 0 ? -EIO : error;
}

int custodian_store_file(const struct custodian *custodian, enum custodian_dir dir, int from_fd, const char *rest)
{
	char text[1 + PATH_MAX] = {(char)('0' + dir)};

	if (strlen(rest) >= PATH_MAX - 1)
		return -ENAMETOOLONG;
	memcpy(text + 1, rest, strlen(rest) + 1);
	return custodian_send_request(custodian, REQUEST_STORE, from_fd, text);
}

int custodian_remove_dir_at_end(const struct custodian *custodian, int parent_fd, const char *name)
{
	return custodian_send_request(custodian, REQUEST_REMOVE, parent_fd, name);
}

void custodian_stop(struct custodian *custodian)
{
	if (custodian->pid <= 0)
		return;
	(void)close(custodian->fd);
	while (waitpid(custodian->pid, NULL, __WALL) < 0 && errno == EINTR)
		;
	*custodian = (struct custodian){.fd = -1};
}
