/* The egress process: set-up, lock-down, what the supervisor says, and an orderly end. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "egress/conn/guest.h"
#include "egress/conn/line.h"
#include "egress/conn/table.h"
#include "egress/conn/udp.h"
#include "egress/dns/resolver.h"
#include "egress/dns/server.h"
#include "egress/egress.h"
#include "egress/state.h"
#include "egress/tls/context.h"

#include "base/banned.h"

#define RESERVED_FDS 96  /* what is no connection's: line, listener, names, upstreams being dialled */
#define END_MS 300       /* after the program: for what it had sent and others have yet to take */
#define END_LINE_MS 1500 /* then for the supervisor to take the last records */
#define END_STEP_MS 5
#define NS_PER_MS 1000000u

static void take_guest(struct egress *egress, int *fds, size_t count)
{
	static const struct control_message ready = {.version = CONTROL_VERSION, .type = CONTROL_READY};

	if (guest_listen(egress, fds[0]) < 0) {
		line_fail(egress->line);
		while (count)
			(void)close(fds[--count]);
		return;
	}
	if (dns_server_create(egress, fds[1], fds[2], &egress->dns) < 0)
		line_fail(egress->line);
	else
		(void)line_send(egress->line, &ready); /* without a supervisor the process ends */
}

/* ---- the end ---- */

static void close_conn(struct conn *conn, void *ctx)
{
	(void)ctx;
	conn_close(conn, "end", NULL, true);
}

/* Its sockets are closed by now: what it had sent is in ours, and goes on. */
static void flush_conn(struct conn *conn, void *ctx)
{
	(void)ctx;
	if (conn->arrived)
		conn_pump(conn);
	else
		conn_close(conn, "cancelled", NULL, true);
}

/* Nobody is left to read an answer, so one whose request is out is over. */
static void close_flushed(struct conn *conn, void *ctx)
{
	(void)ctx;
	if (conn->client.ended && (conn->upstream.shut || conn->upstream.watch.fd < 0))
		conn_close(conn, "end", NULL, false);
}

static void end_step(struct egress *egress)
{
	uint64_t passed_ms = (loop_now_ns(egress->loop) - egress->end_ns) / NS_PER_MS;

	conn_table_each(egress->conns, passed_ms < END_MS ? close_flushed : close_conn, NULL);
	if ((!conn_table_count(egress->conns) && line_idle(egress->line)) || passed_ms >= END_LINE_MS ||
	    loop_timer_set(egress->loop, &egress->end_timer, END_STEP_MS) < 0)
		loop_stop(egress->loop);
}

static void end_due(struct timer *timer)
{
	end_step((struct egress *)((char *)timer - offsetof(struct egress, end_timer)));
}

/* Refuses new connections and starts to forward what the program has sent. */
static void begin_end(struct task_later *task)
{
	struct egress *egress = (struct egress *)((char *)task - offsetof(struct egress, end_task));

	egress->ending = true;
	egress->end_ns = loop_now_ns(egress->loop);
	egress->end_timer.fire = end_due;
	guest_end(egress);
	udp_end(egress);
	conn_table_each(egress->conns, flush_conn, NULL);
	end_step(egress);
}

/* ---- what the supervisor says ---- */

static void on_connection(struct egress *egress, const struct control_message *message)
{
	struct conn *conn;

	if (message->type == CONTROL_CONNECT) {
		conn_announce(egress, &message->connect);
	} else if (message->type == CONTROL_CANCEL) {
		conn = conn_table_find(egress->conns, message->id.conn);
		if (conn)
			conn_cancel(conn);
	}
}

static void on_message(struct egress *egress, const struct control_message *message, int *fds, size_t fds_count)
{
	if (!control_admits(CONTROL_EGRESS, &egress->phase, message, fds_count)) {
		while (fds_count)
			(void)close(fds[--fds_count]);
		line_fail(egress->line);
	} else if (message->type == CONTROL_GUEST) {
		take_guest(egress, fds, fds_count);
	} else if (message->type == CONTROL_UDP) {
		udp_announce(egress, &message->connect, fds[0]);
	} else if (message->type == CONTROL_ACK) {
		line_acknowledge(egress->line, &message->ack);
	} else if (message->type == CONTROL_END) {
		/* Later: guest.c may be reading this message while it accepts a connection that is not stored yet. */
		egress->end_task.run = begin_end;
		loop_later(egress->loop, &egress->end_task);
	} else {
		on_connection(egress, message);
	}
}

static void resume(struct conn *conn, void *ctx)
{
	(void)ctx;
	if (!conn->stalled)
		return;
	conn->stalled = false;
	conn_pump(conn);
}

static void on_drained(struct egress *egress)
{
	conn_table_each(egress->conns, resume, NULL);
}

/* Nothing could be recorded any more, so nothing may go on. */
static void on_gone(struct egress *egress)
{
	if (egress->phase != CONTROL_ENDING)
		egress->status = EXIT_FAILURE;
	loop_stop(egress->loop);
}

/* ---- set-up ---- */

static size_t raise_descriptors(void)
{
	struct rlimit limit;
	size_t conns;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
		return CONN_MAX / 16;
	limit.rlim_cur = limit.rlim_max;
	if (limit.rlim_max > 4 * CONN_MAX)
		limit.rlim_cur = 4 * CONN_MAX;
	(void)setrlimit(RLIMIT_NOFILE, &limit); /* lowering or keeping what is allowed; what holds is asked for next */
	if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur < 2 * RESERVED_FDS)
		return CONN_MAX / 64;
	conns = (size_t)(limit.rlim_cur - RESERVED_FDS) / 2;
	return conns < CONN_MAX ? conns : CONN_MAX;
}

static int set_up(struct egress *egress)
{
	static const struct line_events events = {.message = on_message, .drained = on_drained, .gone = on_gone};
	const struct egress_options *options = egress->options;
	int error;

	(void)signal(SIGPIPE, SIG_IGN);
	egress->conns_max = raise_descriptors();
	if ((error = loop_create(&egress->loop)) < 0 || (error = pool_create(egress->policy, &egress->pool)) < 0 ||
	    (error = budgets_create(egress->policy, &egress->budgets)) < 0 ||
	    (error = conn_table_create(&egress->conns)) < 0 ||
	    (error = line_create(egress, options->control_fd, &events, &egress->line)) < 0 ||
	    (error = resolver_create(egress->loop, options->resolver_fd, &egress->resolver)) < 0)
		return error;
	if (options->ca)
		error = tls_create(options->ca, options->upstream_roots, options->upstream_roots_len, &egress->tls);
	secrets_lock(options->secrets);
	if (error == 0 && options->lock_down)
		error = options->lock_down(options->lock_ctx);
	return error;
}

/* Ends with the process: what the kernel takes back anyway is not given back one by one. Secrets are wiped. */
static void tear_down(struct egress *egress)
{
	egress->ending = true; /* no message is read any more */
	if (egress->conns && egress->line)
		conn_table_each(egress->conns, close_conn, NULL);
	guest_end(egress);
	if (egress->line)
		udp_end(egress);
	dns_server_free(egress->dns);
	resolver_free(egress->resolver);
	line_free(egress->line);
	tls_free(egress->tls);
	conn_table_free(egress->conns);
	budgets_free(egress->budgets);
	pool_free(egress->pool);
	ca_free(egress->options->ca);
	secrets_free(egress->options->secrets);
	free(egress->options->upstream_roots);
}

int egress_main(const struct egress_options *options)
{
	struct egress egress = {.options = options, .policy = options->policy, .listener = {.fd = -1}};
	int error = set_up(&egress);

	if (error == 0)
		error = loop_run(egress.loop);
	tear_down(&egress);
	loop_free(egress.loop);
	return error == 0 ? egress.status : EXIT_FAILURE;
}
