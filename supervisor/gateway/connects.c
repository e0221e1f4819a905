/*
 * connect(2) calls that wait for an upstream connection. The program's socket is connected to egress' listener only
 * when egress has the upstream connection, so that the program gets the true error. A nonblocking connect
 * waits EGRESS_NONBLOCKING_CONNECT_MAX_MS at most, and then gets EINPROGRESS.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/times.h"
#include "supervisor/answer.h"
#include "supervisor/workers/blocking.h"
#include "supervisor/gateway/private.h"

/* how often it is checked whether threads still wait in connect(2) */
#define INTERRUPTION_CHECK_INTERVAL_MS BLOCKING_JOB_CHECK_INTERVAL_MS
#define CONNECTS_CHECKED_PER_TICK_MAX 64u      /* connects checked for interruptions at a tick */
#define HANDSHAKE_CHECK_INTERVAL_MS 1      /* interval between checks of an unfinished handshake on loopback */

/* A connect(2) of the program that waits until egress is connected. */
struct pending_connect {
	struct pending_connect *next;
	struct delayed_response delayed_response;
	uint64_t deadline_ns; /* when the connect fails with ETIMEDOUT; 0: no deadline */
	uint64_t conn_id;     /* id of the connection in messages to egress */
	uint64_t socket_cookie; /* the socket's SO_COOKIE */
	pid_t tid;
	int fd; /* a duplicate of the program's socket, owned */
	bool is_nonblocking;       /* the program's socket has O_NONBLOCK */
	bool egress_is_connected;  /* egress has an upstream connection; the handshake with its listener is under way */
	bool connect_was_called;   /* connect(2) to the listener was called here and has not failed */
	uint16_t source_port; /* the port that was announced to egress */
	int domain; /* the socket's domain */
	struct inet_address listener; /* egress' listener, to which the socket connects */
};

static uint64_t connect_get_socket_cookie(int fd)
{
	uint64_t cookie = 0;
	socklen_t len = sizeof(cookie);

	return getsockopt(fd, SOL_SOCKET, SO_COOKIE, &cookie, &len) == 0 ? cookie : 0;
}

/* Reads SO_SNDTIMEO, which limits connect(2) as well: socket(7). 0: not set. */
static uint64_t connect_get_timeout_ns(int fd)
{
	struct timeval time = {0};
	socklen_t len = sizeof(time);

	if (getsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &time, &len) < 0 || time.tv_sec < 0 || time.tv_sec > 1000000)
		return 0;
	return (uint64_t)time.tv_sec * 1000 * NS_PER_MS + (uint64_t)time.tv_usec * 1000;
}

/* Whether the socket is connected to egress' listener from the announced port. */
static bool connect_socket_is_at_egress(const struct pending_connect *pending)
{
	struct sockaddr_storage own = {0}, peer = {0};
	socklen_t own_len = sizeof(own), peer_len = sizeof(peer);
	struct inet_address from, to;

	return getsockname(pending->fd, (struct sockaddr *)&own, &own_len) == 0 &&
	       getpeername(pending->fd, (struct sockaddr *)&peer, &peer_len) == 0 &&
	       inet_read_socket_name(&own, &from) && inet_read_socket_name(&peer, &to) &&
	       inet_address_equals(&to, &pending->listener) && to.port == pending->listener.port &&
	       from.port == pending->source_port;
}

/*
 * Connects the socket to egress' listener. connect(2) also succeeds, once, if a connect that another thread began has
 * ended, and is -EALREADY before (net/ipv4/af_inet.c: SS_CONNECTING). If the socket is then connected to something
 * else, the result is -EISCONN.
 */
static int connect_socket_to_egress_listener(struct pending_connect *pending)
{
	struct sockaddr_storage address;
	socklen_t len = inet_write_sockaddr(pending->domain, &pending->listener, &address);

	if (connect(pending->fd, (const struct sockaddr *)&address, len) == 0)
		return connect_socket_is_at_egress(pending) ? 0 : -EISCONN;
	if (errno == EINPROGRESS)
		pending->connect_was_called = true;
	return errno == EALREADY && !pending->connect_was_called ? -EISCONN : -errno;
}

/*
 * Connects without blocking, even if the listener's backlog is full. O_NONBLOCK belongs to the file description, which
 * the program shares, so it is reset at once. times: the first connect(2) starts the handshake and cannot see its end;
 * a second one, like the program's own later one, finds a handshake on loopback complete.
 */
static int connect_socket_without_blocking(struct pending_connect *pending, int times)
{
	int flags = fcntl(pending->fd, F_GETFL), r = 0;

	if (flags < 0)
		return -errno;
	if (!(flags & O_NONBLOCK) && fcntl(pending->fd, F_SETFL, flags | O_NONBLOCK) < 0)
		return -errno;
	for (int i = 0; i < times && (i == 0 || r == -EINPROGRESS); i++)
		r = connect_socket_to_egress_listener(pending);
	if (!(flags & O_NONBLOCK))
		(void)fcntl(pending->fd, F_SETFL, flags);
	return r == -EALREADY ? -EINPROGRESS : r;
}

/* Ends the call. The socket is closed before the response, for the same reason as in answer_add_descriptor(). */
static void connect_end_call(struct egress_client *client, struct pending_connect **at, int result)
{
	struct pending_connect *pending = *at;
	struct delayed_response answer = pending->delayed_response;

	*at = pending->next;
	client->connects.count--;
	(void)close(pending->fd);
	free(pending);
	answer_send_and_end_record(&answer, result);
}

/* Tells egress to forget a connect, because the program's socket will not be connected to egress. Ends the call. */
static void connect_cancel_at_egress(struct egress_client *client, struct pending_connect **at, int result)
{
	const struct control_message message = {
		.version = CONTROL_VERSION, .type = CONTROL_CANCEL, .id = {.conn_id = (*at)->conn_id}};

	/* Egress is told first: after the close another process may get the port, and be taken for the program. */
	(void)egress_line_send(&client->line, &message, -1); /* a failure is noticed at the next tick */
	connect_end_call(client, at, result);
}

/* Ends the call. If another thread has connected the socket elsewhere, egress must not wait for it any longer. */
static void connect_end_call_or_cancel(struct egress_client *client, struct pending_connect **at, int connected,
				       int result)
{
	if (connected < 0 && connected != -EINPROGRESS)
		connect_cancel_at_egress(client, at, connected);
	else
		connect_end_call(client, at, result);
}

/* Ends the call, for example after a timeout. From now on the socket itself waits for the upstream connection. */
static void connect_stop_waiting(struct egress_client *client, struct pending_connect **at, int result)
{
	int r = connect_socket_without_blocking(*at, 1);

	connect_end_call_or_cancel(client, at, r, result);
}

/* Connects the program's socket to egress' listener, once egress is connected itself. */
static void connect_begin_to_egress_listener(struct egress_client *client, struct pending_connect **at)
{
	int r = connect_socket_without_blocking(*at, 2);

	(*at)->egress_is_connected = true;
	if (r != -EINPROGRESS)
		connect_end_call_or_cancel(client, at, r, r);
	else if ((*at)->is_nonblocking)
		connect_end_call(client, at, -EINPROGRESS);
}

int connects_add_waiting(struct egress_client *client, const struct call *call, int fd,
			 const struct inet_egress_connect *what, const struct connection *conn)
{
	_cleanup_close_ int owned = fd;
	uint64_t wait_ns =
		what->is_nonblocking ? EGRESS_NONBLOCKING_CONNECT_MAX_MS * NS_PER_MS : connect_get_timeout_ns(fd);
	uint64_t cookie = connect_get_socket_cookie(fd);
	struct pending_connect *pending;

	if (client->connects.count >= EGRESS_WAITING_CONNECTS_MAX)
		return -EAGAIN;
	for (const struct pending_connect *other = client->connects.first_pending_connect; other; other = other->next)
		if (cookie && other->socket_cookie == cookie)
			return -EALREADY;
	pending = calloc(1, sizeof(*pending));
	if (!pending)
		return -ENOMEM;
	*pending = (struct pending_connect){.next = client->connects.first_pending_connect,
					    .delayed_response = answer_make_for_later_response(call),
					    .conn_id = conn->id,
					    .deadline_ns = wait_ns ? call->start_ns + wait_ns : 0,
					    .socket_cookie = cookie,
					    .tid = call->tid,
					    .fd = steal_fd(&owned),
					    .is_nonblocking = what->is_nonblocking,
					    .domain = what->domain,
					    .source_port = what->request.source_port,
					    .listener = what->egress_listener};
	client->connects.first_pending_connect = pending;
	client->connects.count++;
	return 0;
}

void connects_on_connected(struct egress_client *client, uint64_t conn, int error)
{
	for (struct pending_connect **at = &client->connects.first_pending_connect; *at; at = &(*at)->next) {
		if ((*at)->conn_id != conn)
			continue;
		if (error < 0)
			connect_end_call(client, at, error);
		else
			connect_begin_to_egress_listener(client, at);
		return;
	}
}

void connects_fail_all_pending(struct egress_client *client, int error)
{
	while (client->connects.first_pending_connect)
		connect_end_call(client, &client->connects.first_pending_connect, error);
}

bool egress_client_serves_thread(const struct egress_client *client, pid_t tid)
{
	for (const struct pending_connect *pending = client->connects.first_pending_connect; pending;
	     pending = pending->next)
		if (pending->tid == tid)
			return true;
	return false;
}

/* Whether a signal other than SIGKILL is pending. */
static bool connect_is_interrupted(const struct pending_connect *pending)
{
	uint64_t signals = pending->is_nonblocking ? 0 : blocking_read_pending_signals(pending->tid);

	return signals != 0 && !(signals & UINT64_C(1) << (SIGKILL - 1));
}

/* Checks one connect. True: *at was removed from the list. */
static bool connect_check_pending(struct egress_client *client, struct pending_connect **at, uint64_t now,
				  bool checks_interruption)
{
	struct pending_connect *pending = *at;
	size_t before = client->connects.count;
	bool announced = client->line.queued_message_count == 0; /* false: the announcement may be queued still */

	if (checks_interruption && !answer_thread_still_waits(&pending->delayed_response)) {
		connect_cancel_at_egress(client, at, -EINTR);
	} else if (pending->egress_is_connected) {
		struct pollfd ready = {.fd = pending->fd, .events = POLLOUT};

		if (poll(&ready, 1, 0) > 0)
			connect_begin_to_egress_listener(client, at);
	} else if (pending->deadline_ns && now >= pending->deadline_ns && announced) {
		connect_stop_waiting(client, at, -EINPROGRESS);
	} else if (checks_interruption && announced && connect_is_interrupted(pending)) {
		connect_stop_waiting(client, at, ANSWER_ERESTARTSYS);
	}
	return client->connects.count < before;
}

/* Time until the connect must be checked again: for its deadline, a signal or the end of the handshake. */
static uint64_t connect_get_next_check_ns(const struct pending_connect *pending, uint64_t now)
{
	uint64_t next = INTERRUPTION_CHECK_INTERVAL_MS * NS_PER_MS;

	if (pending->egress_is_connected)
		return HANDSHAKE_CHECK_INTERVAL_MS * NS_PER_MS;
	if (pending->deadline_ns && pending->deadline_ns < now + next)
		next = pending->deadline_ns > now ? pending->deadline_ns - now
						  : HANDSHAKE_CHECK_INTERVAL_MS * NS_PER_MS;
	return next;
}

int connects_check_all_pending(struct egress_client *client)
{
	struct connects *connects = &client->connects;
	uint64_t now = io_read_clock_ns(), wait = UINT64_MAX;
	bool looking = now >= connects->next_check_ns;
	size_t first = connects->next_checked < connects->count ? connects->next_checked : 0, at_index = 0;
	struct pending_connect **at = &connects->first_pending_connect;

	if (!connects->first_pending_connect)
		return -1;
	if (looking) {
		connects->next_check_ns = now + INTERRUPTION_CHECK_INTERVAL_MS * NS_PER_MS;
		connects->next_checked = first + CONNECTS_CHECKED_PER_TICK_MAX;
	}
	for (; *at; at_index++) {
		bool checks_interruption =
			looking && at_index >= first && at_index - first < CONNECTS_CHECKED_PER_TICK_MAX;

		if (connect_check_pending(client, at, now, checks_interruption))
			continue;
		wait = connect_get_next_check_ns(*at, now) < wait ? connect_get_next_check_ns(*at, now) : wait;
		at = &(*at)->next;
	}
	return wait == UINT64_MAX ? -1 : (int)((wait + NS_PER_MS - 1) / NS_PER_MS);
}
