/*
 * The egress process: set-up, lock-down, messages from the supervisor, and an orderly end. Also the program's side of
 * TCP: announced connections, and the one listener at the run's loopback address, which serves announced source ports
 * only.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "egress/conn/line.h"
#include "egress/conn/udp.h"
#include "egress/dns/resolver.h"
#include "egress/dns/server.h"
#include "egress/egress.h"
#include "egress/state.h"
#include "egress/tls/context.h"

/* Number of descriptors for everything except connections: control line, listener, names, dialling. */
#define EGRESS_FDS_BESIDES_CONNECTIONS 96
#define EGRESS_END_DELIVER_BYTES_TIMEOUT_MS 300 /* time after the program's end to forward what it sent */
/* time after the program's end for the supervisor to take the last records */
#define EGRESS_END_SEND_RECORDS_TIMEOUT_MS 1500
#define EGRESS_END_POLL_INTERVAL_MS 5       /* at the end: between two looks whether all bytes and records are sent */
#define ACCEPTS_PER_LOOP_ROUND_MAX 64       /* most connections accepted in one round of the loop */
#define ACCEPT_PAUSE_WITHOUT_FREE_FD_MS 100 /* pause of accepting while no file descriptor is free */

/* ---- connections of the program ---- */

static const struct conn_mode *const modes[CONN_MODE_MAX] = {
	[CONN_MODE_RELAY] = &mode_relay, [CONN_MODE_HELLO] = &mode_hello, [CONN_MODE_TLS] = &mode_tls,
	[CONN_MODE_HTTP1] = &mode_http1, [CONN_MODE_HTTP2] = &mode_http2, [CONN_MODE_PROXY] = &mode_proxy,
	[CONN_MODE_SOCKS] = &mode_socks,
};

/* Called by conn_open_upstream() for a connection that was announced with its destination. */
static void egress_on_upstream_opened(struct conn *conn, int error, const char *reason)
{
	conn_send_connected(conn, error);
	if (error < 0)
		conn_close(conn, "refused", reason, true);
	else if (conn->client_was_accepted)
		conn_start_first_mode(conn);
	else
		conn_set_phase_timeout(conn, CONN_CLIENT_SOCKET_TIMEOUT_MS, "cancelled");
}

/* Evicts the longest idle connection, so that idle ones do not block a new one. False: there is no room. */
static bool egress_evict_idle_conn(struct egress *egress)
{
	uint64_t oldest_ns = loop_get_now_ns(egress->loop) - CONN_EVICT_AFTER_IDLE_MS * (uint64_t)NS_PER_MS;
	struct conn *oldest = NULL;

	if (egress->conns_count < egress->conns_max)
		return true;
	for (struct conn *conn = egress->conns; conn; conn = conn->next) {
		if (!conn->client_was_accepted || conn->waiting_request_count || conn->active_ns >= oldest_ns)
			continue;
		oldest = conn;
		oldest_ns = conn->active_ns;
	}
	if (oldest)
		conn_close(oldest, "evicted", NULL, true);
	return oldest != NULL;
}

/* The supervisor announces a connection: dials its destination, or refuses it. */
static void egress_on_connect(struct egress *egress, const struct control_connect *connect)
{
	const char *reason = egress->is_ending                ? "ending"
			     : egress_evict_idle_conn(egress) ? NULL
							      : "too_many_connections";
	struct conn *former = egress->expected[connect->source_port];
	struct conn *conn;

	if (former) /* the former socket must be closed, or its port would not be free */
		conn_close(former, "cancelled", NULL, true);
	conn = conn_create(egress, connect, modes);
	if (!conn) { /* otherwise the supervisor would wait for an answer for ever */
		line_report_supervisor_gone(egress->line);
		return;
	}
	if (reason) {
		conn_write_refusal_record(conn, reason);
		egress_on_upstream_opened(conn, -ECONNREFUSED, reason);
	} else if (conn->host[0]) {
		conn_open_upstream(conn, connect->host, connect->port, egress_on_upstream_opened);
	} else {
		egress_on_upstream_opened(conn, 0, NULL);
	}
}

/*
 * Finds the announced connection whose socket has this address, by its port: the ports are those of the run's own
 * address. NULL: none.
 */
static struct conn *egress_find_conn_of_peer(struct egress *egress, const struct sockaddr_in *peer)
{
	if (peer->sin_family != AF_INET || peer->sin_addr.s_addr != egress->own.s_addr)
		return NULL;
	/* The announcement was sent before the socket was connected, but it may still be unread. */
	if (!egress->is_ending)
		line_read_messages(egress->line);
	return egress->expected[ntohs(peer->sin_port)];
}

/* Accepts up to `most` of the program's connections, and resets those that the supervisor has not announced. */
static void accept_connections(struct egress *egress, int most)
{
	static const struct linger reset = {.l_onoff = 1, .l_linger = 0};
	static const int on = 1;

	for (int n = 0; n < most && egress->listener.fd >= 0; n++) {
		struct sockaddr_in peer = {0};
		socklen_t len = sizeof(peer);
		int fd = accept4(egress->listener.fd, (struct sockaddr *)&peer, &len, SOCK_CLOEXEC | SOCK_NONBLOCK);
		struct conn *conn;

		if (fd < 0 && (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS)) {
			/* epoll is level-triggered: the listener would be reported again at once. */
			loop_set_interest(egress->loop, &egress->listener, 0);
			loop_set_timer(egress->loop, &egress->listener_pause_timer, ACCEPT_PAUSE_WITHOUT_FREE_FD_MS);
		}
		if (fd < 0 && errno != ECONNABORTED && errno != EINTR)
			return;
		if (fd < 0)
			continue;
		conn = egress_find_conn_of_peer(egress, &peer);
		if (!conn) {
			(void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
			(void)close(fd);
			continue;
		}
		/* Nagle's algorithm would wait for the peer's delayed ACK, 40 ms. Best effort: affects latency only. */
		(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
		conn_set_accepted_socket(conn, fd);
	}
}

static void listener_on_ready(struct watch *watch)
{
	struct egress *egress = container_of(watch, struct egress, listener);

	accept_connections(egress, ACCEPTS_PER_LOOP_ROUND_MAX);
}

static void listener_on_pause_due(struct timer *timer)
{
	struct egress *egress = container_of(timer, struct egress, listener_pause_timer);

	loop_set_interest(egress->loop, &egress->listener, EPOLLIN);
}

/* Watches the listener of the program's connections. 0 or -errno. */
static int listener_start_accepting(struct egress *egress, int fd)
{
	struct sockaddr_in own = {0};
	socklen_t len = sizeof(own);
	int error;

	if (egress->listener.fd >= 0)
		return -EALREADY;
	if (getsockname(fd, (struct sockaddr *)&own, &len) < 0 || own.sin_family != AF_INET)
		return -EINVAL;
	egress->own = own.sin_addr;
	egress->listener_pause_timer.fire = listener_on_pause_due;
	egress->listener = (struct watch){.fd = fd, .ready = listener_on_ready};
	error = loop_add_watch(egress->loop, &egress->listener, EPOLLIN);
	if (error < 0)
		egress->listener.fd = -1;
	return error;
}

static void listener_stop_accepting(struct egress *egress)
{
	loop_clear_timer(egress->loop, &egress->listener_pause_timer);
	if (egress->listener.fd < 0)
		return;
	/* the backlog may hold connections with data from a program that has ended */
	accept_connections(egress, CONNS_MAX);
	loop_close_watch(egress->loop, &egress->listener);
}

/* ---- messages and the end ---- */

static void egress_close_fds(int *fds, size_t count)
{
	while (count)
		(void)close(fds[--count]);
}

/* Starts to serve the run's program sockets: a listener for connections, and two sockets of its DNS. */
static void egress_take_program_sockets(struct egress *egress, int *fds, size_t count)
{
	static const struct control_message ready = {.version = CONTROL_VERSION, .type = CONTROL_READY};

	if (listener_start_accepting(egress, fds[0]) < 0) {
		line_report_supervisor_gone(egress->line);
		egress_close_fds(fds, count);
		return;
	}
	if (dns_server_create(egress, fds[1], fds[2], &egress->dns) < 0)
		line_report_supervisor_gone(egress->line);
	else
		(void)line_send_message(egress->line, &ready); /* without a supervisor the process ends */
}

static void egress_close_conns(struct egress *egress)
{
	for (struct conn *conn = egress->conns; conn; conn = conn->next)
		conn_close(conn, "end", NULL, true);
}

/* Closes connections whose request is sent: the program has ended, so no process reads the response. */
static void egress_close_flushed_conns(struct egress *egress)
{
	for (struct conn *conn = egress->conns; conn; conn = conn->next)
		if (conn->client.peer_has_ended && (conn->upstream.fin_was_sent || conn->upstream.watch.fd < 0))
			conn_close(conn, "end", NULL, false);
}

/* Ends the loop once all bytes and records are delivered, or their time is over; else checks again later. */
static void egress_stop_when_finished(struct egress *egress)
{
	uint64_t passed_ms = (loop_get_now_ns(egress->loop) - egress->ending_start_ns) / NS_PER_MS;

	if (passed_ms < EGRESS_END_DELIVER_BYTES_TIMEOUT_MS)
		egress_close_flushed_conns(egress);
	else
		egress_close_conns(egress);
	if ((!egress->conns && line_queue_is_empty(egress->line)) || passed_ms >= EGRESS_END_SEND_RECORDS_TIMEOUT_MS)
		loop_stop(egress->loop);
	else
		loop_set_timer(egress->loop, &egress->end_timer, EGRESS_END_POLL_INTERVAL_MS);
}

/* Checks again whether egress can end. */
static void egress_on_end_due(struct timer *timer)
{
	egress_stop_when_finished(container_of(timer, struct egress, end_timer));
}

/*
 * Refuses new connections and starts to forward what the program has sent. The program's sockets are closed by now; the
 * bytes that they sent are in egress' sockets.
 */
static void egress_start_ending(struct timer *timer)
{
	struct egress *egress = container_of(timer, struct egress, end_timer);

	egress->is_ending = true;
	egress->ending_start_ns = loop_get_now_ns(egress->loop);
	egress->end_timer.fire = egress_on_end_due;
	listener_stop_accepting(egress);
	udp_close_all_endpoints(egress);
	for (struct conn *conn = egress->conns; conn; conn = conn->next) {
		if (conn->client_was_accepted)
			conn_pump_mode(conn);
		else
			conn_close(conn, "cancelled", NULL, true);
	}
	egress_stop_when_finished(egress);
}

/* The supervisor cancels an announced connection. One that was accepted meanwhile goes on. */
static void egress_on_cancel(struct egress *egress, uint64_t id)
{
	struct conn *conn = egress->conns;

	while (conn && conn->id != id)
		conn = conn->next;
	if (conn && !conn->client_was_accepted)
		conn_close(conn, "cancelled", NULL, true);
}

/* Handles a message of the supervisor. One that may not come now ends egress. */
static void egress_on_message(struct egress *egress, const struct control_message *message, int *fds, size_t fds_count)
{
	if (!control_admits_message(CONTROL_EGRESS, &egress->phase, message, fds_count)) {
		egress_close_fds(fds, fds_count);
		line_report_supervisor_gone(egress->line);
	} else if (message->type == CONTROL_PROGRAM_SOCKETS) {
		egress_take_program_sockets(egress, fds, fds_count);
	} else if (message->type == CONTROL_UDP_ENDPOINT) {
		udp_open_endpoint(egress, &message->connect, fds[0]);
	} else if (message->type == CONTROL_RECORD_ACK) {
		line_acknowledge_record(egress->line, &message->ack);
	} else if (message->type == CONTROL_END) {
		/*
		 * The end begins in a timer callback, because this message may be read while a connection is accepted
		 * that is not stored yet.
		 */
		egress->end_timer.fire = egress_start_ending;
		loop_set_timer(egress->loop, &egress->end_timer, 0);
	} else if (message->type == CONTROL_CONNECT) {
		egress_on_connect(egress, &message->connect);
	} else if (message->type == CONTROL_CANCEL) {
		egress_on_cancel(egress, message->id.conn_id);
	}
}

/* Continues the connections that waited for room on the control line. */
static void egress_resume_stalled_conns(struct egress *egress)
{
	for (struct conn *conn = egress->conns; conn; conn = conn->next) {
		if (!conn->waits_for_control_line)
			continue;
		conn->waits_for_control_line = false;
		conn_pump_mode(conn);
	}
}

/* Ends the process: nothing can be recorded any more, so nothing may go on. */
static void egress_on_supervisor_gone(struct egress *egress)
{
	if (egress->phase != CONTROL_ENDING)
		egress->exit_status = EXIT_FAILURE;
	loop_stop(egress->loop);
}

/* Raises the limit of descriptors as far as allowed. Returns for how many connections it suffices. */
static size_t egress_raise_fd_limit(void)
{
	struct rlimit limit;
	size_t conns;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
		return CONNS_MAX / 16;
	limit.rlim_cur = limit.rlim_max < 4 * CONNS_MAX ? limit.rlim_max : 4 * CONNS_MAX;
	(void)setrlimit(RLIMIT_NOFILE, &limit); /* cannot fail: it is not above the hard limit */
	if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur < 2 * EGRESS_FDS_BESIDES_CONNECTIONS)
		return CONNS_MAX / 64;
	conns = (size_t)(limit.rlim_cur - EGRESS_FDS_BESIDES_CONNECTIONS) / 2;
	return conns < CONNS_MAX ? conns : CONNS_MAX;
}

/* Creates what egress needs, then locks the process down. 0 or -errno. */
static int egress_set_up(struct egress *egress)
{
	static const struct line_callbacks events = {.message = egress_on_message,
						     .drained = egress_resume_stalled_conns,
						     .gone = egress_on_supervisor_gone};
	const struct egress_options *options = egress->options;
	int error;

	(void)signal(SIGPIPE, SIG_IGN);
	egress->conns_max = egress_raise_fd_limit();
	egress->expected = calloc(UINT16_MAX + 1, sizeof(struct conn *));
	if (!egress->expected)
		return -ENOMEM;
	if ((error = loop_create(&egress->loop)) < 0 || (error = pool_create(egress->policy, &egress->pool)) < 0 ||
	    (error = budgets_create(egress->policy, &egress->budgets)) < 0 ||
	    (error = line_create(egress, options->control_fd, &events, &egress->line)) < 0 ||
	    (error = resolver_create(egress->loop, options->resolver_fd, &egress->resolver)) < 0)
		return error;
	if (options->ca)
		error = tls_create(options->ca, options->upstream_roots, options->upstream_roots_len, &egress->tls);
	secrets_mlock_values(options->secrets);
	if (error == 0 && options->lock_down)
		error = options->lock_down(options->lock_ctx);
	return error;
}

/* Writes the last records and wipes secrets. What the kernel takes back when the process ends is not all freed here. */
static void egress_tear_down(struct egress *egress)
{
	egress->is_ending = true; /* no message is read from now on */
	egress_close_conns(egress);
	listener_stop_accepting(egress);
	if (egress->line)
		udp_close_all_endpoints(egress);
	dns_server_free(egress->dns);
	resolver_free(egress->resolver);
	line_free(egress->line);
	tls_free(egress->tls);
	free(egress->expected);
	budgets_free(egress->budgets);
	pool_free(egress->pool);
	ca_free(egress->options->ca);
	secrets_free(egress->options->secrets);
	free(egress->options->upstream_roots);
}

int egress_main(const struct egress_options *options)
{
	struct egress egress = {.options = options, .policy = options->policy, .listener = {.fd = -1}};
	int error = egress_set_up(&egress);

	if (error == 0 && options->program_socket_fds) {
		egress.phase = CONTROL_RUNNING;
		egress_take_program_sockets(&egress, options->program_socket_fds, CONTROL_FDS_MAX);
	}
	if (error == 0)
		error = loop_run(egress.loop);
	egress_tear_down(&egress);
	loop_free(egress.loop);
	return error == 0 ? egress.exit_status : EXIT_FAILURE;
}
