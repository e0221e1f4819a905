/* What pipes and sockets have in them. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/sockios.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/pidfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "supervisor/limits/held.h"
#include "syscalls/account/memfds.h"

#include "base/banned.h"

#ifndef SO_MEMINFO
#define SO_MEMINFO 55
#endif
/* include/uapi/linux/sock_diag.h: SK_MEMINFO_*. The header clashes with the C library's. */
enum { MEMINFO_RMEM, MEMINFO_RCVBUF, MEMINFO_WMEM, MEMINFO_SNDBUF, MEMINFO_FWD, MEMINFO_QUEUED, MEMINFO_OPTMEM,
       MEMINFO_BACKLOG, MEMINFO_VARS };

#define UNIX_QUEUE_BYTES 425984 /* what one side can have under way with net.core.wmem_default, which is not raised */
#define PIPE_BYTES 65536
#define EVENT_FACTOR 4    /* 16 bytes and a name, as they are read, are 64 and more in the kernel */
#define WATCH_BYTES 1536  /* with the inode that it keeps */
#define EPOLL_ITEM_BYTES 256

static int by_inode(const void *a, const void *b)
{
	const uint64_t one = *(const uint64_t *)a, other = *(const uint64_t *)b;

	return one < other ? -1 : one > other;
}

/* A pipe with one byte may have as many pages as it has places. */
static uint64_t pipe_bytes(int fd)
{
	int inside = 0, size = fcntl(fd, F_GETPIPE_SZ);

	if (ioctl(fd, FIONREAD, &inside) == 0 && inside == 0)
		return 0;
	return size > 0 ? (uint64_t)size : PIPE_BYTES;
}

/* Connections that nobody has accepted, each as full as its other end, which may be closed, could make it. */
static bool is_waited_for(int fd)
{
	struct pollfd ready = {.fd = fd, .events = POLLIN};
	int listens = 0, domain = 0;
	socklen_t len = sizeof(int);

	return getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &len) == 0 && listens &&
	       getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &len) == 0 && domain == AF_UNIX &&
	       poll(&ready, 1, 0) > 0 && ready.revents & POLLIN;
}

/* Also of packets without a byte, the first of which is all that SIOCINQ tells about. */
static bool has_packets(int fd)
{
	struct pollfd ready = {.fd = fd, .events = POLLIN};
	int type = 0;
	socklen_t len = sizeof(type);

	return getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &len) == 0 && type == SOCK_SEQPACKET &&
	       poll(&ready, 1, 0) > 0 && ready.revents & POLLIN;
}

/*
 * What waits in a unix socket is charged to the one that sent it, which may be closed: such a socket counts as full.
 * What another one has counts where it is.
 */
static uint64_t socket_bytes(int fd)
{
	uint32_t info[MEMINFO_VARS] = {0};
	socklen_t len = sizeof(info);
	int inside = 0;

	if (getsockopt(fd, SOL_SOCKET, SO_MEMINFO, info, &len) < 0)
		return UNIX_QUEUE_BYTES;
	if (is_waited_for(fd))
		return (uint64_t)(MEMFDS_BACKLOG_MAX + 1) * (UNIX_QUEUE_BYTES / 2);
	if (info[MEMINFO_RMEM] == 0 && ((ioctl(fd, SIOCINQ, &inside) == 0 && inside > 0) || has_packets(fd)))
		return UNIX_QUEUE_BYTES / 2;
	return (uint64_t)info[MEMINFO_RMEM] + info[MEMINFO_WMEM] + info[MEMINFO_QUEUED] + info[MEMINFO_FWD] +
	       info[MEMINFO_BACKLOG];
}

enum kind { OTHER, PIPE, SOCKET, INOTIFY, EPOLL };

/*
 * "pipe:[123]", "socket:[123]", "anon_inode:inotify", "anon_inode:[eventpoll]". Of the last two none has an inode of
 * its own.
 */
static enum kind read_kind(int dirfd, const char *name, uint64_t *ret_inode)
{
	char text[48];
	ssize_t len = readlinkat(dirfd, name, text, sizeof(text) - 1);

	if (len <= 0)
		return OTHER;
	text[len] = '\0';
	if (strcmp(text, "anon_inode:inotify") == 0)
		return INOTIFY;
	if (strcmp(text, "anon_inode:[eventpoll]") == 0)
		return EPOLL;
	if (strncmp(text, "pipe:[", 6) != 0 && strncmp(text, "socket:[", 8) != 0)
		return OTHER;
	*ret_inode = strtoull(strchr(text, '[') + 1, NULL, 10);
	return text[0] == 'p' ? PIPE : SOCKET;
}

/* Lines of /proc/PID/fdinfo/N: one for each watch, and a few more. */
static uint64_t watched(pid_t pid, const char *name)
{
	char path[32 + NAME_MAX];

	(void)snprintf(path, sizeof(path), "/proc/%d/fdinfo/%s", pid, name); /* bounded by an int and a name */
	return held_lines(path);
}

/*
 * Events that nobody has read, and watches. Where nobody can look into it there are none: file-watch.c needs a
 * duplicate.
 */
static uint64_t inotify_bytes(int pidfd, pid_t pid, const char *name)
{
	_cleanup_close_ int fd = pidfd < 0 ? -1 : pidfd_getfd(pidfd, (int)strtol(name, NULL, 10), 0);
	int inside = 0;

	if (fd < 0 || ioctl(fd, FIONREAD, &inside) < 0)
		return 0;
	return (uint64_t)inside * EVENT_FACTOR + watched(pid, name) * WATCH_BYTES;
}

/*
 * Whether the inode was met before; remembers it. Without memory to do so it counts again: that errs on the safe
 * side.
 */
static bool is_known(struct held_buffers *buffers, uint64_t inode)
{
	if (bsearch(&inode, buffers->inode, buffers->sorted, sizeof(inode), by_inode))
		return true;
	for (size_t i = buffers->sorted; i < buffers->count; i++)
		if (buffers->inode[i] == inode)
			return true;
	if (buffers->count == buffers->room) {
		size_t room = buffers->room ? buffers->room * 2 : 256;
		uint64_t *more = reallocarray(buffers->inode, room, sizeof(*more));

		if (!more)
			return false;
		buffers->inode = more;
		buffers->room = room;
	}
	buffers->inode[buffers->count++] = inode;
	if (buffers->count - buffers->sorted > 64) {
		qsort(buffers->inode, buffers->count, sizeof(*buffers->inode), by_inode);
		buffers->sorted = buffers->count;
	}
	return false;
}

static void add_one(struct held_buffers *buffers, int pidfd, int number, bool is_pipe)
{
	_cleanup_close_ int fd = pidfd < 0 ? -1 : pidfd_getfd(pidfd, number, 0);

	if (fd < 0) /* a container's filter may refuse that */
		buffers->bytes += is_pipe ? PIPE_BYTES : UNIX_QUEUE_BYTES / 2;
	else
		buffers->bytes += is_pipe ? pipe_bytes(fd) : socket_bytes(fd);
}

/* Also of a thread that is not its process's first (PIDFD_THREAD, Linux 6.9). */
static int open_task(pid_t pid)
{
	int pidfd = pidfd_open(pid, 0);

	return pidfd < 0 ? pidfd_open(pid, O_EXCL) : pidfd;
}

static void add_table(struct held_buffers *buffers, pid_t pid)
{
	_cleanup_close_ int pidfd = open_task(pid);
	char path[48];
	struct dirent *entry;
	DIR *dir;
	uint64_t epolls = 0, entries = 0;

	(void)snprintf(path, sizeof(path), "/proc/%d/fd", pid); /* bounded by an int */
	dir = opendir(path);
	while (dir && (entry = readdir(dir))) {
		uint64_t inode = 0;
		const enum kind kind = read_kind(dirfd(dir), entry->d_name, &inode);

		entries++;
		if (kind == INOTIFY)
			buffers->bytes += inotify_bytes(pidfd, pid, entry->d_name);
		else if (kind == EPOLL)
			epolls++;
		else if (kind != OTHER && !is_known(buffers, inode))
			add_one(buffers, pidfd, (int)strtol(entry->d_name, NULL, 10), kind == PIPE);
	}
	if (dir)
		(void)closedir(dir);
	/* Each may have them all. To count these in fdinfo takes so long that samples would become rare. */
	buffers->bytes += epolls * entries * EPOLL_ITEM_BYTES;
}

/* Whether or not a thread's table is its own: what was met counts once. */
void held_buffers_add(struct held_buffers *buffers, pid_t pid)
{
	struct dirent *entry;
	char path[48];
	DIR *dir;

	add_table(buffers, pid);
	(void)snprintf(path, sizeof(path), "/proc/%d/task", pid);
	dir = opendir(path);
	while (dir && (entry = readdir(dir))) {
		pid_t tid = (pid_t)strtol(entry->d_name, NULL, 10);

		if (tid > 0 && tid != pid && held_table(pid, tid) != HELD_TABLE_SHARED)
			add_table(buffers, tid);
	}
	if (dir)
		(void)closedir(dir);
}

void held_buffers_done(struct held_buffers *buffers)
{
	free(buffers->inode);
	*buffers = (struct held_buffers){0};
}
