/*
 * connect(2) calls that wait for an upstream. The program's socket is connected to egress' listener only when that
 * has one, so errors are the true ones; a socket that must not block is answered in time whatever egress does.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "supervisor/answer.h"
#include "supervisor/blocking.h"
#include "supervisor/gateway/private.h"

#include "base/banned.h"

#define NS_PER_MS UINT64_C(1000000)
#define LOOK_MS BLOCKING_TICK_MS
#define LOOKS_MAX 64u      /* callers asked about at a tick */
#define ARRIVING_MS 1      /* between looks at a handshake on loopback that was not over at once */

struct pending_connect {
	struct pending_connect *next;
	struct answer answer;
	uint64_t deadline_ns; /* 0: none */
	uint64_t conn;
	uint64_t cookie; /* of the socket */
	pid_t tid;
	int fd; /* owned duplicate */
	bool nonblocking;
	bool answered;  /* egress has an upstream; the handshake with its listener is not over */
	bool mapped;
	struct sockaddr_in listener;
};

static uint64_t socket_cookie(int fd)
{
	uint64_t cookie = 0;
	socklen_t len = sizeof(cookie);

	return getsockopt(fd, SOL_SOCKET, SO_COOKIE, &cookie, &len) == 0 ? cookie : 0;
}

/* SO_SNDTIMEO bounds a connect(2) as well: socket(7). 0: none is set. */
static uint64_t socket_timeout_ns(int fd)
{
	struct timeval time = {0};
	socklen_t len = sizeof(time);

	if (getsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &time, &len) < 0 || time.tv_sec < 0 || time.tv_sec > 1000000)
		return 0;
	return (uint64_t)time.tv_sec * 1000 * NS_PER_MS + (uint64_t)time.tv_usec * 1000;
}

static int socket_connect(const struct pending_connect *pending)
{
	struct sockaddr_in6 mapped = {.sin6_family = AF_INET6, .sin6_port = pending->listener.sin_port};
	const struct sockaddr *address = (const struct sockaddr *)&pending->listener;
	socklen_t len = sizeof(pending->listener);

	if (pending->mapped) {
		mapped.sin6_addr.s6_addr[10] = mapped.sin6_addr.s6_addr[11] = 0xff;
		memcpy(&mapped.sin6_addr.s6_addr[12], &pending->listener.sin_addr, sizeof(pending->listener.sin_addr));
		address = (const struct sockaddr *)&mapped;
		len = sizeof(mapped);
	}
	return connect(pending->fd, address, len) < 0 ? -errno : 0;
}

/*
 * A connect that cannot wait, were the listener's queue full: O_NONBLOCK is of the open file, which the program
 * shares, so it is put back right after. `times`: the first call begins it, and finds nothing done, since the socket
 * is locked until it returns; the second finds a handshake on loopback over, and is what the program's own later
 * connect(2) would be.
 */
static int socket_connect_at_once(const struct pending_connect *pending, int times)
{
	int flags = fcntl(pending->fd, F_GETFL), r = 0;

	if (flags < 0)
		return -errno;
	if (!(flags & O_NONBLOCK) && fcntl(pending->fd, F_SETFL, flags | O_NONBLOCK) < 0)
		return -errno;
	for (int i = 0; i < times && (i == 0 || r == -EINPROGRESS); i++)
		r = socket_connect(pending);
	if (!(flags & O_NONBLOCK))
		(void)fcntl(pending->fd, F_SETFL, flags);
	return r == -EALREADY ? -EINPROGRESS : r;
}

/* Its socket is closed first: one that its program closes then must be closed. */
static void connect_finish(struct egress_client *client, struct pending_connect **at, int result)
{
	struct pending_connect *pending = *at;
	struct answer answer = pending->answer;

	*at = pending->next;
	client->connects.count--;
	(void)close(pending->fd);
	free(pending);
	answer_end(&answer, result);
}

/* The socket will not come. */
static void connect_cancel(struct egress_client *client, struct pending_connect **at, int result)
{
	const struct control_message message = {
		.version = CONTROL_VERSION, .type = CONTROL_CANCEL, .id = {.conn = (*at)->conn}};

	/* First: once the socket is closed its port may be another's, whom egress must not take for the program. */
	(void)egress_line_send(&client->line, &message, -1); /* a line that broke is found at the next tick */
	connect_finish(client, at, result);
}

/* Another thread may have led the socket elsewhere: then egress awaits nobody at its port any more. */
static void connect_end(struct egress_client *client, struct pending_connect **at, int connected, int result)
{
	if (connected < 0 && connected != -EINPROGRESS)
		connect_cancel(client, at, connected);
	else
		connect_finish(client, at, result);
}

/*
 * The program is told what a call that could not wait longer is told; the upstream is awaited by its socket from now
 * on.
 */
static void connect_stop_waiting(struct egress_client *client, struct pending_connect **at, int result)
{
	int r = socket_connect_at_once(*at, 1);

	connect_end(client, at, r, result);
}

static void connect_arrive(struct egress_client *client, struct pending_connect **at)
{
	int r = socket_connect_at_once(*at, 2);

	(*at)->answered = true;
	if (r != -EINPROGRESS)
		connect_end(client, at, r, r);
	else if ((*at)->nonblocking)
		connect_finish(client, at, -EINPROGRESS);
}

int connects_add(struct egress_client *client, const struct call *call, int fd, const struct inet_dial *what,
	      const struct connection *conn)
{
	_cleanup_close_ int owned = fd;
	uint64_t wait_ns = what->nonblocking ? EGRESS_HOLD_MS * NS_PER_MS : socket_timeout_ns(fd);
	uint64_t cookie = socket_cookie(fd);
	struct pending_connect *pending;

	if (client->connects.count >= EGRESS_PENDING_MAX)
		return -EAGAIN;
	for (const struct pending_connect *other = client->connects.first; other; other = other->next)
		if (cookie && other->cookie == cookie)
			return -EALREADY;
	pending = calloc(1, sizeof(*pending));
	if (!pending)
		return -ENOMEM;
	*pending = (struct pending_connect){.next = client->connects.first,
					    .answer = answer_later(call),
					    .conn = conn->id,
					    .deadline_ns = wait_ns ? call->start_ns + wait_ns : 0,
					    .cookie = cookie,
					    .tid = call->tid,
					    .fd = steal_fd(&owned),
					    .nonblocking = what->nonblocking,
					    .mapped = what->mapped,
					    .listener = what->listener};
	client->connects.first = pending;
	client->connects.count++;
	return 0;
}

void connects_answer(struct egress_client *client, uint64_t conn, int error)
{
	for (struct pending_connect **at = &client->connects.first; *at; at = &(*at)->next) {
		if ((*at)->conn != conn)
			continue;
		if (error < 0)
			connect_finish(client, at, error);
		else
			connect_arrive(client, at);
		return;
	}
}

void connects_fail(struct egress_client *client, int error)
{
	while (client->connects.first)
		connect_finish(client, &client->connects.first, error);
}

/* Egress does not know of it as long as its message waits. */
static bool may_connect(const struct egress_client *client)
{
	return client->line.count == 0;
}

/* A signal to be handled; one that kills is seen by its end. */
static bool is_interrupted(const struct pending_connect *pending)
{
	uint64_t signals = pending->nonblocking ? 0 : blocking_signals_waiting(pending->tid);

	return signals != 0 && !(signals & UINT64_C(1) << (SIGKILL - 1));
}

/* True when *at has been taken off the list. */
static bool connect_act(struct egress_client *client, struct pending_connect **at, uint64_t now, bool look)
{
	struct pending_connect *pending = *at;
	size_t before = client->connects.count;

	if (look && !answer_is_awaited(&pending->answer)) {
		connect_cancel(client, at, -EINTR);
	} else if (pending->answered) {
		struct pollfd ready = {.fd = pending->fd, .events = POLLOUT};

		if (poll(&ready, 1, 0) > 0)
			connect_arrive(client, at);
	} else if (pending->deadline_ns && now >= pending->deadline_ns && may_connect(client)) {
		connect_stop_waiting(client, at, -EINPROGRESS);
	} else if (look && may_connect(client) && is_interrupted(pending)) {
		connect_stop_waiting(client, at, ANSWER_RESTART);
	}
	return client->connects.count < before;
}

static uint64_t connect_next_ns(const struct pending_connect *pending, uint64_t now)
{
	uint64_t next = LOOK_MS * NS_PER_MS;

	if (pending->answered)
		return ARRIVING_MS * NS_PER_MS;
	if (pending->deadline_ns && pending->deadline_ns < now + next)
		next = pending->deadline_ns > now ? pending->deadline_ns - now : ARRIVING_MS * NS_PER_MS;
	return next;
}

int connects_tick(struct egress_client *client)
{
	struct connects *connects = &client->connects;
	uint64_t now = io_now_ns(), wait = UINT64_MAX;
	bool looking = now >= connects->look_ns;
	size_t first = connects->looked < connects->count ? connects->looked : 0, at_index = 0;
	struct pending_connect **at = &connects->first;

	if (!connects->first)
		return -1;
	if (looking) {
		connects->look_ns = now + LOOK_MS * NS_PER_MS;
		connects->looked = first + LOOKS_MAX;
	}
	for (; *at; at_index++) {
		bool look = looking && at_index >= first && at_index - first < LOOKS_MAX;

		if (connect_act(client, at, now, look))
			continue;
		wait = connect_next_ns(*at, now) < wait ? connect_next_ns(*at, now) : wait;
		at = &(*at)->next;
	}
	return wait == UINT64_MAX ? -1 : (int)((wait + NS_PER_MS - 1) / NS_PER_MS);
}
