/* The listening sockets of a run without a network namespace, and the connects to them: see inet-private.h. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "syscalls/net/inet-private.h"

#define SEARCHED_PROCESSES_MAX 4096 /* most processes that are searched for a socket */

/* A TCP socket of the run that listens. */
struct run_listener {
	struct inet_address at;
	ino_t ino;
	pid_t tgid; /* the process that has the socket as its descriptor target_fd */
	int target_fd; /* descriptor of the socket in process tgid */
	int held_fd; /* a duplicate of the socket if pidfd_getfd(2) is refused; else -1 */
};

/* A connect in progress: the socket, and the listener, which is kept open until the connect ends. */
struct pending_connect {
	int socket_fd, held_fd;
};

/* The TCP sockets of the run that listen, and the connects to them that are in progress. */
struct inet_listeners {
	struct run_listener item[INET_LISTENERS_MAX];
	size_t count; /* used entries of item[] */
	struct pending_connect pending_connect[INET_PENDING_CONNECTS_MAX];
	size_t pending_connect_count;   /* used entries of pending_connect[] */
	uint64_t next_connect_check_ns; /* when `pending_connect` is checked next */
};

struct inet_listeners *inet_listeners_create(void)
{
	return calloc(1, sizeof(struct inet_listeners));
}

static void listeners_remove(struct inet_listeners *listeners, size_t i)
{
	if (listeners->item[i].held_fd >= 0)
		(void)close(listeners->item[i].held_fd);
	listeners->item[i] = listeners->item[--listeners->count];
}

void inet_listeners_free(struct inet_listeners *listeners)
{
	if (!listeners)
		return;
	while (listeners->count)
		listeners_remove(listeners, listeners->count - 1);
	for (size_t i = 0; i < listeners->pending_connect_count; i++) {
		(void)close(listeners->pending_connect[i].socket_fd);
		(void)close(listeners->pending_connect[i].held_fd);
	}
	free(listeners);
}

/* ---- finding a process that has the listening socket ---- */

static ino_t listeners_get_inode(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && S_ISSOCK(st.st_mode) ? st.st_ino : 0;
}

/* A duplicate of a process's descriptor, or -errno. */
static int listeners_duplicate_fd_of_process(pid_t tgid, int number)
{
	_cleanup_close_ int pidfd = (int)syscall(SYS_pidfd_open, tgid, 0);
	int fd = pidfd < 0 ? -1 : (int)syscall(SYS_pidfd_getfd, pidfd, number, 0);

	return fd < 0 ? -errno : fd;
}

/* The descriptor number under which a process has the socket, or -1. */
static int listeners_find_fd_number_in_process(pid_t tgid, ino_t ino)
{
	_cleanup_closedir_ DIR *dir = NULL;
	char path[64], want[64], link[64];
	const struct dirent *entry;

	(void)snprintf(path, sizeof(path), "/proc/%d/fd", tgid); /* bounded by an int */
	(void)snprintf(want, sizeof(want), "socket:[%lu]", (unsigned long)ino);
	dir = opendir(path);
	while (dir && (entry = readdir(dir))) {
		ssize_t len = readlinkat(dirfd(dir), entry->d_name, link, sizeof(link) - 1);

		if (len <= 0)
			continue;
		link[len] = '\0';
		if (strcmp(link, want) == 0)
			return (int)strtol(entry->d_name, NULL, 10);
	}
	return -1;
}

/* Finds a process of the run that has the socket, and stores it in the item. False: no process has it. */
static bool listeners_find_holder(const struct call *call, struct run_listener *item)
{
	_cleanup_free_ pid_t *member = calloc(SEARCHED_PROCESSES_MAX, sizeof(*member));
	size_t count = member ? task_table_list_processes(call->sandbox->tree, member, SEARCHED_PROCESSES_MAX) : 0;

	for (size_t i = 0; i < count && i < SEARCHED_PROCESSES_MAX; i++) {
		int number = listeners_find_fd_number_in_process(member[i], item->ino);

		if (number < 0)
			continue;
		item->tgid = member[i];
		item->target_fd = number;
		return true;
	}
	return false;
}

/* A duplicate of the item's socket, or -ENOENT. Without held_fd it may be another socket with a reused inode number. */
static int listeners_duplicate_socket(const struct call *call, struct run_listener *item)
{
	_cleanup_close_ int fd = -1;

	if (item->held_fd >= 0)
		return listeners_find_holder(call, item) ? fcntl(item->held_fd, F_DUPFD_CLOEXEC, 0) : -ENOENT;
	fd = listeners_duplicate_fd_of_process(item->tgid, item->target_fd);
	if (fd < 0 || listeners_get_inode(fd) != item->ino) {
		close_fd(&fd);
		fd = listeners_find_holder(call, item) ? listeners_duplicate_fd_of_process(item->tgid, item->target_fd)
						       : -1;
	}
	return fd >= 0 && listeners_get_inode(fd) == item->ino ? steal_fd(&fd) : -ENOENT;
}

static bool listeners_has_address(const struct run_listener *item, const struct inet_address *at)
{
	return inet_address_equals(&item->at, at) && item->at.port == at->port;
}

/* A duplicate of the item's socket, if the socket still listens at the item's address; else -ENOENT. */
static int listeners_duplicate_if_listening(const struct call *call, struct run_listener *item)
{
	_cleanup_close_ int fd = listeners_duplicate_socket(call, item);
	struct inet_socket socket = {.fd = fd};
	struct inet_address bound = {.family = AF_UNSPEC};

	return fd >= 0 && inet_get_tcp_state(fd) == TCP_LISTEN && inet_read_bound(&socket, &bound) == 0 &&
			       listeners_has_address(item, &bound)
		       ? steal_fd(&fd)
		       : -ENOENT;
}

/* ---- adding, finding and removing listeners ---- */

void inet_listeners_close_orphans(struct inet_listeners *listeners, const struct call *call)
{
	for (size_t i = listeners->count; i-- > 0;) {
		struct run_listener *item = &listeners->item[i];

		if (item->held_fd >= 0 && !listeners_find_holder(call, item))
			listeners_remove(listeners, i);
	}
}

/* Removes closed listeners. */
static void listeners_make_room(struct inet_listeners *listeners, const struct call *call)
{
	for (size_t i = listeners->count; i-- > 0;) {
		_cleanup_close_ int fd = listeners_duplicate_if_listening(call, &listeners->item[i]);

		if (fd < 0)
			listeners_remove(listeners, i);
	}
}

int inet_listeners_add(struct inet_listeners *listeners, const struct call *call, int socket_fd,
		       const struct inet_address *at)
{
	struct run_listener item = {.at = *at,
				.ino = listeners_get_inode(socket_fd),
				.tgid = call->task->tgid,
				.target_fd = call_get_int(call, 0),
				.held_fd = -1};
	_cleanup_close_ int again = listeners_duplicate_fd_of_process(item.tgid, item.target_fd);

	for (size_t i = listeners->count; i-- > 0;)
		if (listeners_has_address(&listeners->item[i], at))
			listeners_remove(listeners, i);
	if (listeners->count == INET_LISTENERS_MAX)
		listeners_make_room(listeners, call);
	if (listeners->count == INET_LISTENERS_MAX)
		return -ENOSPC;
	if (again < 0)
		item.held_fd = fcntl(socket_fd, F_DUPFD_CLOEXEC, 0);
	listeners->item[listeners->count++] = item;
	return 0;
}

int inet_listeners_duplicate_socket_at(struct inet_listeners *listeners, const struct call *call,
				       const struct inet_address *at)
{
	for (size_t i = listeners->count; i-- > 0;) {
		struct run_listener *item = &listeners->item[i];
		_cleanup_close_ int fd = -1;

		if (!listeners_has_address(item, at))
			continue;
		fd = listeners_duplicate_if_listening(call, item);
		if (fd >= 0)
			return steal_fd(&fd);
		listeners_remove(listeners, i);
	}
	return -ENOENT;
}

/* ---- nonblocking connects in progress ---- */

/* Closes the held listeners of connects that have ended. */
static void listeners_close_ended_connects(struct inet_listeners *listeners)
{
	for (size_t i = listeners->pending_connect_count; i-- > 0;) {
		struct pending_connect *pending = &listeners->pending_connect[i];

		if (inet_get_tcp_state(pending->socket_fd) == TCP_SYN_SENT)
			continue;
		(void)close(pending->socket_fd);
		(void)close(pending->held_fd);
		*pending = listeners->pending_connect[--listeners->pending_connect_count];
	}
}

bool inet_listeners_hold_until_connected(struct inet_listeners *listeners, int socket_fd, int held_fd)
{
	_cleanup_close_ int held = held_fd;
	_cleanup_close_ int copy = -1;

	listeners_close_ended_connects(listeners);
	if (inet_get_tcp_state(socket_fd) != TCP_SYN_SENT)
		return true;
	copy = fcntl(socket_fd, F_DUPFD_CLOEXEC, 0);
	if (copy < 0 || listeners->pending_connect_count == INET_PENDING_CONNECTS_MAX)
		return false;
	listeners->pending_connect[listeners->pending_connect_count++] =
		(struct pending_connect){.socket_fd = steal_fd(&copy), .held_fd = steal_fd(&held)};
	return true;
}

bool inet_listeners_close_ended_connects(struct inet_listeners *listeners, uint64_t now_ns)
{
	if (listeners->pending_connect_count > 0 && now_ns >= listeners->next_connect_check_ns) {
		listeners->next_connect_check_ns = now_ns + INET_CONNECT_CHECK_INTERVAL_MS * UINT64_C(1000000);
		listeners_close_ended_connects(listeners);
	}
	return listeners->pending_connect_count > 0;
}

/* ---- connects that a worker thread performs ---- */

/* A connect to a listener of the run that a worker thread makes. */
struct connect_work {
	struct call_work work;
	struct sockaddr_storage address;
	socklen_t len;
	int listener_fd; /* the listener to connect to, owned; -1: not held */
};

static atomic_uint connecting_count; /* connects in threads that hold a listener */

static int64_t listeners_run_connect_work(struct call_work *work, int fd, bool (*go_on)(void *ctx), void *ctx)
{
	const struct connect_work *connecting = (const struct connect_work *)work;
	int64_t r;

	do
		r = connect(fd, (const struct sockaddr *)&connecting->address, connecting->len) < 0 ? -errno : 0;
	while (r == -EINTR && go_on(ctx));
	/* The listener is released next, so the pending connect must end. A restarted call connects again. */
	if (r < 0 && connecting->listener_fd >= 0 && inet_get_tcp_state(fd) == TCP_SYN_SENT)
		inet_end_tcp_connect(fd);
	return r;
}

static void listeners_free_connect_work(struct call_work *work)
{
	struct connect_work *connecting = (struct connect_work *)work;

	if (connecting->listener_fd >= 0) {
		(void)close(connecting->listener_fd);
		atomic_fetch_sub(&connecting_count, 1);
	}
	free(connecting);
}

struct call_work *inet_listeners_make_connect_work(const struct sockaddr_storage *address, socklen_t len, int held_fd)
{
	_cleanup_close_ int held = held_fd;
	struct connect_work *connecting = calloc(1, sizeof(*connecting));

	if (!connecting)
		return NULL;
	connecting->work = (struct call_work){.run = listeners_run_connect_work, .free = listeners_free_connect_work};
	connecting->address = *address;
	connecting->len = len;
	connecting->listener_fd = steal_fd(&held);
	if (connecting->listener_fd >= 0)
		atomic_fetch_add(&connecting_count, 1);
	return &connecting->work;
}

/*
 * A held listener can still stop listening. So all nonblocking connects that are in progress are ended before, to
 * whichever listener they go. A connect in a thread cannot be ended here.
 */
bool inet_listeners_socket_may_stop(const struct inet *inet, int socket_fd)
{
	struct inet_listeners *listeners = inet->listeners;

	if (inet->options.has_own_netns || inet_get_tcp_state(socket_fd) != TCP_LISTEN)
		return true;
	for (size_t i = 0; i < listeners->pending_connect_count; i++)
		if (inet_get_tcp_state(listeners->pending_connect[i].socket_fd) == TCP_SYN_SENT)
			inet_end_tcp_connect(listeners->pending_connect[i].socket_fd);
	listeners_close_ended_connects(listeners);
	return atomic_load(&connecting_count) == 0;
}
