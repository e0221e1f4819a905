#include "keeper/custodian.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "confine/cgroup-private.h"
#include "confine/privs.h"
#include "confine/selffilter.h"
#include "keeper/output.h"
#include "supervisor/environment.h"

#include "base/banned.h"

/* What a packet begins with. */
enum ask { ASK_STORE = 's', ASK_REMOVE = 'r' };

#define LEAVINGS_MAX 8 /* more than there are hierarchies that are used */
#define LEAVING_NAME_MAX 64

/* Room for one descriptor in a message. */
union control {
	struct cmsghdr header; /* for its alignment */
	char bytes[CMSG_SPACE(sizeof(int))];
};

/* ---- the custodian ---- */

/* One packet: a text, and one descriptor, or -1 when there is none. False at the end. */
static bool receive(int fd, char *name, size_t size, int *ret_from)
{
	union control control = {.bytes = {0}};
	struct iovec part = {.iov_base = name, .iov_len = size - 1};
	struct msghdr message = {.msg_iov = &part,
				 .msg_iovlen = 1,
				 .msg_control = control.bytes,
				 .msg_controllen = sizeof(control.bytes)};
	struct cmsghdr *header;
	ssize_t len;

	do
		len = recvmsg(fd, &message, MSG_CMSG_CLOEXEC);
	while (len < 0 && errno == EINTR);
	if (len <= 0)
		return false;
	name[len] = '\0';
	header = CMSG_FIRSTHDR(&message);
	*ret_from = -1;
	if (header && header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS &&
	    header->cmsg_len == CMSG_LEN(sizeof(int)))
		memcpy(ret_from, CMSG_DATA(header), sizeof(int));
	return true;
}

static int store(int output_fd, int from, const char *name)
{
	struct stat st;

	if (from < 0 || fstat(from, &st) < 0 || !S_ISREG(st.st_mode))
		return -EINVAL;
	return output_store(output_fd, from, &st, name);
}

/* Directories to be removed at the end. */
struct leavings {
	size_t count;
	struct {
		int parent_fd;
		char name[LEAVING_NAME_MAX];
	} item[LEAVINGS_MAX];
};

/* Takes parent_fd. By other names the keeper, who has another user's rights by then, is not to have things removed. */
static int leave(struct leavings *leavings, int parent_fd, const char *name)
{
	if (parent_fd < 0 || leavings->count == LEAVINGS_MAX || strlen(name) >= LEAVING_NAME_MAX || strchr(name, '/') ||
	    strncmp(name, CGROUP_BASE, strlen(CGROUP_BASE)) != 0) {
		if (parent_fd >= 0)
			(void)close(parent_fd);
		return -EINVAL;
	}
	leavings->item[leavings->count].parent_fd = parent_fd;
	memcpy(leavings->item[leavings->count++].name, name, strlen(name) + 1);
	return 0;
}

static _Noreturn void custodian_main(int fd, int output_fd)
{
	struct leavings leavings = {.count = 0};
	char text[1 + PATH_MAX];
	int from;

	while (receive(fd, text, sizeof(text), &from)) {
		int32_t error;

		if (text[0] == ASK_REMOVE) {
			error = leave(&leavings, from, text + 1);
		} else {
			error = text[0] == ASK_STORE ? store(output_fd, from, text + 1) : -EINVAL;
			if (from >= 0)
				(void)close(from);
		}
		if (send(fd, &error, sizeof(error), MSG_NOSIGNAL) < 0)
			break; /* the keeper died: as at its end */
	}
	for (size_t i = 0; i < leavings.count; i++)
		(void)unlinkat(leavings.item[i].parent_fd, leavings.item[i].name,
			       AT_REMOVEDIR); /* another run's in it: stays */
	_exit(0);
}

/* Keeps the two descriptors, as 3 and 4, and nothing else of what callgate was started with. */
static _Noreturn void settle(int fd, int output_fd, bool self_filter)
{
	sigset_t all;

	(void)sigfillset(&all); /* Ctrl-C is the keeper's to act on */
	(void)sigprocmask(SIG_SETMASK, &all, NULL);
	(void)setsid();
	/* By way of copies above both: each may have the other's number. -2: there is no --output. */
	fd = fcntl(fd, F_DUPFD, 5);
	output_fd = output_fd < 0 ? -2 : fcntl(output_fd, F_DUPFD, 5);
	fd = fd < 0 ? -1 : dup2(fd, 3);
	output_fd = output_fd < 0 ? output_fd : dup2(output_fd, 4);
	if (fd < 0 || output_fd == -1 || syscall(SYS_close_range, 0U, 2U, 0U) < 0 ||
	    syscall(SYS_close_range, output_fd < 0 ? 4U : 5U, ~0U, 0U) < 0 || privs_drop() < 0 ||
	    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
		_exit(1);
	environment_scrub();
	if (self_filter && selffilter_install(SELF_CUSTODIAN) < 0)
		_exit(1);
	custodian_main(fd, output_fd);
}

/* ---- the keeper ---- */

int custodian_start(int output_fd, bool self_filter, struct custodian *ret_custodian)
{
	int pair[2];
	long pid;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return -errno;
	/* No signal at its end: it is not to be mistaken for a process of the run. */
	pid = syscall(SYS_clone, 0UL, 0L, 0L, 0L, 0L);
	if (pid == 0)
		settle(pair[1], output_fd, self_filter);
	if (pid < 0) {
		int error = -errno;

		(void)close(pair[0]);
		(void)close(pair[1]);
		return error;
	}
	(void)close(pair[1]);
	*ret_custodian = (struct custodian){.pid = (pid_t)pid, .fd = pair[0]};
	return 0;
}

static int ask(const struct custodian *custodian, enum ask what, int fd, const char *text)
{
	union control control = {.bytes = {0}};
	char kind = (char)what;
	struct iovec part[] = {{.iov_base = &kind, .iov_len = 1},
			       {.iov_base = (void *)(uintptr_t)text, .iov_len = strlen(text)}};
	struct msghdr message = {.msg_iov = part,
				 .msg_iovlen = 2,
				 .msg_control = control.bytes,
				 .msg_controllen = sizeof(control.bytes)};
	struct cmsghdr *header = CMSG_FIRSTHDR(&message);
	int32_t error;

	if (part[1].iov_len >= PATH_MAX)
		return -ENAMETOOLONG;
	header->cmsg_level = SOL_SOCKET;
	header->cmsg_type = SCM_RIGHTS;
	header->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(header), &fd, sizeof(int));
	if (sendmsg(custodian->fd, &message, MSG_NOSIGNAL) < 0)
		return -errno;
	if (recv(custodian->fd, &error, sizeof(error), 0) != (ssize_t)sizeof(error))
		return -EPIPE;
	return error > 0 ? -EIO : error;
}

int custodian_store(const struct custodian *custodian, int from_fd, const char *rest)
{
	return ask(custodian, ASK_STORE, from_fd, rest);
}

int custodian_remove_at_end(const struct custodian *custodian, int parent_fd, const char *name)
{
	return ask(custodian, ASK_REMOVE, parent_fd, name);
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
