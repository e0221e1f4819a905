/* Measures the bytes held in pipes and sockets. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/sockios.h>
#include <poll.h>
#include <search.h>
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
#include "syscalls/account/limits/memfds.h"

#ifndef SO_MEMINFO
#define SO_MEMINFO 55 /* getsockopt(2): memory of a socket, Linux 4.12 */
#endif
/* include/uapi/linux/sock_diag.h: SK_MEMINFO_*. The header clashes with the C library's. */
enum { MEMINFO_RMEM, MEMINFO_RCVBUF, MEMINFO_WMEM, MEMINFO_SNDBUF, MEMINFO_FWD, MEMINFO_QUEUED, MEMINFO_OPTMEM,
       MEMINFO_BACKLOG, MEMINFO_VARS };

#define UNIX_SOCKET_QUEUE_BYTES_MAX 425984 /* most bytes in a unix socket with the default net.core.wmem_default */
#define PIPE_DEFAULT_CAPACITY_BYTES 65536  /* what a pipe counts as that cannot be measured */
#define INOTIFY_KERNEL_BYTES_PER_EVENT_BYTE \
	4                         /* kernel bytes for each byte of an event: 16 bytes and a name take 64 and more */
#define INOTIFY_WATCH_KERNEL_BYTES 1536  /* an inotify watch, with the inode that it pins */
#define EPOLL_ITEM_KERNEL_BYTES 256      /* kernel memory for each descriptor that an epoll instance watches */

static int held_compare_inodes(const void *a, const void *b)
{
	const uint64_t one = *(const uint64_t *)a, other = *(const uint64_t *)b;

	return one < other ? -1 : one > other;
}

/* The bytes that a pipe holds. A pipe with one byte may have all its pages allocated. */
static uint64_t held_measure_pipe(int fd)
{
	int inside = 0, size = fcntl(fd, F_GETPIPE_SZ);

	if (ioctl(fd, FIONREAD, &inside) == 0 && inside == 0)
		return 0;
	return size > 0 ? (uint64_t)size : PIPE_DEFAULT_CAPACITY_BYTES;
}

static int held_read_socket_option(int fd, int option)
{
	int value = 0;
	socklen_t len = sizeof(value);

	return getsockopt(fd, SOL_SOCKET, option, &value, &len) == 0 ? value : 0;
}

/* Whether the descriptor has bytes or connections that no process has read or accepted. */
static bool held_fd_has_unread_input(int fd)
{
	struct pollfd ready = {.fd = fd, .events = POLLIN};

	return poll(&ready, 1, 0) > 0 && ready.revents & POLLIN;
}

/*
 * The bytes that a socket holds. Bytes in a unix socket are charged to the sender's socket, which may be closed. So a
 * unix socket with input counts as full. Other sockets are charged for their own bytes.
 */
static uint64_t held_measure_socket(int fd)
{
	uint32_t info[MEMINFO_VARS] = {0};
	socklen_t len = sizeof(info);
	int inside = 0;
	bool input;

	if (getsockopt(fd, SOL_SOCKET, SO_MEMINFO, info, &len) < 0)
		return UNIX_SOCKET_QUEUE_BYTES_MAX;
	input = held_fd_has_unread_input(fd);
	/* Each connection that is not accepted yet may be full, even if its other end is closed. */
	if (input && held_read_socket_option(fd, SO_ACCEPTCONN) && held_read_socket_option(fd, SO_DOMAIN) == AF_UNIX)
		return (uint64_t)(MEMFDS_UNIX_BACKLOG_MAX + 1) * (UNIX_SOCKET_QUEUE_BYTES_MAX / 2);
	/* SIOCINQ reports only the first packet, which may be empty. */
	if (info[MEMINFO_RMEM] == 0 && ((ioctl(fd, SIOCINQ, &inside) == 0 && inside > 0) ||
					(input && held_read_socket_option(fd, SO_TYPE) == SOCK_SEQPACKET)))
		return UNIX_SOCKET_QUEUE_BYTES_MAX / 2;
	return (uint64_t)info[MEMINFO_RMEM] + info[MEMINFO_WMEM] + info[MEMINFO_QUEUED] + info[MEMINFO_FWD] +
	       info[MEMINFO_BACKLOG];
}

enum descriptor_kind { KIND_OTHER, KIND_PIPE, KIND_SOCKET, KIND_INOTIFY, KIND_EPOLL };

/* "pipe:[1]", "socket:[1]", "anon_inode:inotify" or "anon_inode:[eventpoll]"; the last two have the same inode. */
static enum descriptor_kind held_read_descriptor_kind(int dirfd, const char *name, uint64_t *ret_inode)
{
	char text[48];
	ssize_t len = readlinkat(dirfd, name, text, sizeof(text) - 1);

	if (len <= 0)
		return KIND_OTHER;
	text[len] = '\0';
	if (strcmp(text, "anon_inode:inotify") == 0)
		return KIND_INOTIFY;
	if (strcmp(text, "anon_inode:[eventpoll]") == 0)
		return KIND_EPOLL;
	if (strncmp(text, "pipe:[", 6) != 0 && strncmp(text, "socket:[", 8) != 0)
		return KIND_OTHER;
	*ret_inode = strtoull(strchr(text, '[') + 1, NULL, 10);
	return text[0] == 'p' ? KIND_PIPE : KIND_SOCKET;
}

/* Bytes of unread events and watches. Adding a watch needs pidfd_getfd(2), so without it there are none. */
static uint64_t held_measure_inotify(int pidfd, pid_t pid, const char *name)
{
	_cleanup_close_ int fd = pidfd < 0 ? -1 : pidfd_getfd(pidfd, (int)strtol(name, NULL, 10), 0);
	char leaf[32];
	int inside = 0;

	if (fd < 0 || ioctl(fd, FIONREAD, &inside) < 0)
		return 0;
	(void)snprintf(leaf, sizeof(leaf), "fdinfo/%.11s", name); /* a file with a line for each watch */
	return (uint64_t)inside * INOTIFY_KERNEL_BYTES_PER_EVENT_BYTE +
	       held_count_lines_of_proc_file(pid, leaf) * INOTIFY_WATCH_KERNEL_BYTES;
}

/* Whether the inode was counted before; remembers it. Without memory it counts again: the sum is never too low. */
static bool held_inode_was_counted(struct held_buffers *buffers, uint64_t inode)
{
	uint64_t *item = malloc(sizeof(*item)), **found;

	if (!item)
		return false;
	*item = inode;
	found = tsearch(item, &buffers->inodes, held_compare_inodes);
	if (found && *found == item)
		return false;
	free(item);
	return found != NULL;
}

/* Adds the bytes queued in a pipe or socket. pidfd -1: they count as full. */
static void held_add_buffer_of_descriptor(struct held_buffers *buffers, int pidfd, int number, bool is_pipe)
{
	_cleanup_close_ int fd = pidfd < 0 ? -1 : pidfd_getfd(pidfd, number, 0);

	if (fd < 0) /* a container's filter may refuse pidfd_getfd(2) */
		buffers->total_bytes += is_pipe ? PIPE_DEFAULT_CAPACITY_BYTES : UNIX_SOCKET_QUEUE_BYTES_MAX / 2;
	else
		buffers->total_bytes += is_pipe ? held_measure_pipe(fd) : held_measure_socket(fd);
}

/* Opens a pidfd of a process or thread (PIDFD_THREAD, Linux 6.9). */
static int held_open_pidfd(pid_t pid)
{
	int pidfd = pidfd_open(pid, 0);

	return pidfd < 0 ? pidfd_open(pid, O_EXCL) : pidfd;
}

/* Adds what pipes, sockets and epoll instances of a process's descriptors hold. */
static void held_add_buffers_of_fd_table(struct held_buffers *buffers, pid_t pid)
{
	_cleanup_closedir_ DIR *dir = held_open_proc_pid_dir(pid, "fd");
	_cleanup_close_ int pidfd = held_open_pidfd(pid);
	struct dirent *entry;
	uint64_t epolls = 0, entries = 0;

	while (dir && (entry = readdir(dir))) {
		uint64_t inode = 0;
		const enum descriptor_kind kind = held_read_descriptor_kind(dirfd(dir), entry->d_name, &inode);

		entries++;
		if (kind == KIND_INOTIFY)
			buffers->total_bytes += held_measure_inotify(pidfd, pid, entry->d_name);
		else if (kind == KIND_EPOLL)
			epolls++;
		else if (kind != KIND_OTHER && !held_inode_was_counted(buffers, inode))
			held_add_buffer_of_descriptor(buffers, pidfd, (int)strtol(entry->d_name, NULL, 10),
						      kind == KIND_PIPE);
	}
	/* Each epoll descriptor may watch all others. Counting its watches in fdinfo would take too long. */
	buffers->total_bytes += epolls * entries * EPOLL_ITEM_KERNEL_BYTES;
}

/* Adds the descriptors of a process. A table that may be shared is read too: each inode counts once. */
void held_buffers_add_process(struct held_buffers *buffers, pid_t pid)
{
	_cleanup_closedir_ DIR *dir = held_open_proc_pid_dir(pid, "task");
	pid_t tid;

	held_add_buffers_of_fd_table(buffers, pid);
	while ((tid = held_read_next_tid(dir)))
		if (tid != pid && held_compare_fd_tables(pid, tid) != HELD_TABLE_SHARED)
			held_add_buffers_of_fd_table(buffers, tid);
}

void held_buffers_release(struct held_buffers *buffers)
{
	tdestroy(buffers->inodes, free);
	*buffers = (struct held_buffers){0};
}
