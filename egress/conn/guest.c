#include "egress/conn/guest.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stddef.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "egress/conn/line.h"
#include "egress/state.h"

#include "base/banned.h"

#define ACCEPTS_MAX 64 /* a round of the loop */
#define PAUSE_MS 100   /* while no file descriptor is free */

static const struct conn_mode *const modes[CONN_MODE_MAX] = {
	[CONN_RELAY] = &mode_relay, [CONN_HELLO] = &mode_hello, [CONN_TLS] = &mode_tls,	    [CONN_HTTP1] = &mode_http1,
	[CONN_HTTP2] = &mode_http2, [CONN_PROXY] = &mode_proxy, [CONN_SOCKS] = &mode_socks,
};

/* Answer of conn_open for a connection that was announced with its destination. */
static void announce_answered(struct conn *conn, int error, const char *reason)
{
	conn_send_connected(conn, error);
	if (error < 0)
		conn_close(conn, "refused", reason, true);
	else if (conn->arrived)
		conn_begin(conn);
	else
		conn_timer(conn, CONN_ARRIVE_MS, "cancelled");
}

/* Evicts the longest idle connection: thousands of idle ones must not block a new one. False: there is no room. */
static bool make_room(struct egress *egress)
{
	uint64_t oldest_ns = loop_now_ns(egress->loop) - CONN_EVICT_MS * (uint64_t)NS_PER_MS;
	struct conn *oldest = NULL;

	if (egress->conns_count < egress->conns_max)
		return true;
	for (struct conn *conn = egress->conns; conn; conn = conn->next) {
		if (!conn->arrived || conn->active_ns >= oldest_ns)
			continue;
		oldest = conn;
		oldest_ns = conn->active_ns;
	}
	if (oldest)
		conn_close(oldest, "evicted", NULL, true);
	return oldest != NULL;
}

void conn_announce(struct egress *egress, const struct control_connect *connect)
{
	const char *reason = egress->ending ? "ending" : make_room(egress) ? NULL : "too_many_connections";
	struct conn *former = egress->expected[connect->source_port];
	struct conn *conn;

	if (former) /* its socket is closed, else the port would not be free */
		conn_close(former, "cancelled", NULL, true);
	conn = conn_create(egress, connect, modes);
	if (!conn) { /* the supervisor would wait for an answer for ever */
		line_fail(egress->line);
		return;
	}
	if (reason) {
		conn_record_refusal(conn, reason);
		announce_answered(conn, -ECONNREFUSED, reason);
	} else if (conn->host[0]) {
		conn_open(conn, connect->host, connect->port, announce_answered);
	} else {
		announce_answered(conn, 0, NULL);
	}
}

/* The announced connection of a source port, which identifies it only at the run's own address. NULL: none. */
static struct conn *conn_of_peer(struct egress *egress, const struct sockaddr_in *peer)
{
	if (peer->sin_family != AF_INET || peer->sin_addr.s_addr != egress->own.s_addr)
		return NULL;
	/* The announcement was sent before the socket was connected, but it may still be unread. */
	if (!egress->ending)
		line_read(egress->line);
	return egress->expected[ntohs(peer->sin_port)];
}

static void accept_some(struct egress *egress, int most)
{
	static const struct linger reset = {.l_onoff = 1, .l_linger = 0};
	static const int on = 1;

	for (int n = 0; n < most && egress->listener.fd >= 0; n++) {
		struct sockaddr_in peer = {0};
		socklen_t len = sizeof(peer);
		int fd = accept4(egress->listener.fd, (struct sockaddr *)&peer, &len, SOCK_CLOEXEC | SOCK_NONBLOCK);
		struct conn *conn;

		if (fd < 0 && (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS)) {
			loop_set(egress->loop, &egress->listener, 0); /* level-triggered: it would be ready at once */
			loop_timer_set(egress->loop, &egress->listener_pause, PAUSE_MS);
		}
		if (fd < 0 && errno != ECONNABORTED && errno != EINTR)
			return;
		if (fd < 0)
			continue;
		conn = conn_of_peer(egress, &peer);
		if (!conn) {
			(void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
			(void)close(fd);
			continue;
		}
		/* Nagle's algorithm would wait for the peer's delayed ACK, 40 ms. Best effort: affects latency only. */
		(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
		conn_arrive(conn, fd);
	}
}

static void listener_ready(struct watch *watch)
{
	struct egress *egress = owner_of(watch, struct egress, listener);

	accept_some(egress, ACCEPTS_MAX);
}

static void pause_over(struct timer *timer)
{
	struct egress *egress = owner_of(timer, struct egress, listener_pause);

	loop_set(egress->loop, &egress->listener, EPOLLIN);
}

int guest_listen(struct egress *egress, int fd)
{
	struct sockaddr_in own = {0};
	socklen_t len = sizeof(own);
	int error;

	if (egress->listener.fd >= 0)
		return -EALREADY;
	if (getsockname(fd, (struct sockaddr *)&own, &len) < 0 || own.sin_family != AF_INET)
		return -EINVAL;
	egress->own = own.sin_addr;
	egress->listener_pause.fire = pause_over;
	egress->listener = (struct watch){.fd = fd, .ready = listener_ready};
	error = loop_add(egress->loop, &egress->listener, EPOLLIN);
	if (error < 0)
		egress->listener.fd = -1;
	return error;
}

void guest_end(struct egress *egress)
{
	loop_timer_clear(egress->loop, &egress->listener_pause);
	if (egress->listener.fd < 0)
		return;
	accept_some(egress, CONN_MAX); /* the backlog may hold connections with data of a program that has ended */
	loop_close(egress->loop, &egress->listener);
}
