/* Runs libmicrohttpd in the event loop: when its epoll descriptor is ready, and when its next timeout is due. */
#include "agents/http/private.h"

static void server_run_daemon(struct http_server *server);

unsigned http_server_count_connections(const struct http_server *server)
{
	const union MHD_DaemonInfo *info = MHD_get_daemon_info(server->daemon, MHD_DAEMON_INFO_CURRENT_CONNECTIONS);

	return info ? info->num_connections : 0;
}

static void server_on_timer(void *data)
{
	struct http_server *server = data;

	server->daemon_timer = NULL;
	server_run_daemon(server);
}

/* Lets libmicrohttpd do what is due, and sets the timer for the next time. */
static void server_run_daemon(struct http_server *server)
{
	const unsigned connections = http_server_count_connections(server);
	MHD_UNSIGNED_LONG_LONG delay_ms;

	/* while libmicrohttpd runs, http_server_wake() need not set a timer: one is set below */
	server->wakeup_is_scheduled = true;
	(void)MHD_run(server->daemon);      /* fails only for a daemon with a thread of its own */
	server->wakeup_is_scheduled = false;
	loop_cancel_timer(server->daemon_timer);
	server->daemon_timer = NULL;
	if (MHD_get_timeout(server->daemon, &delay_ms) == MHD_YES)
		server->daemon_timer = loop_add_timer(server->loop, delay_ms, server_on_timer, server);
	/*
	 * With as many connections as there may be, libmicrohttpd takes its listening socket out of its epoll set. It
	 * puts it back at the start of a run, and nothing else may make it run when connections have gone.
	 */
	if (http_server_count_connections(server) < connections)
		http_server_wake(server);
}

void http_server_on_daemon_event(void *data, uint32_t events)
{
	(void)events;
	server_run_daemon(data);
}

void http_server_wake(struct http_server *server)
{
	if (server->wakeup_is_scheduled)
		return;
	loop_cancel_timer(server->daemon_timer);
	server->daemon_timer = loop_add_timer(server->loop, 0, server_on_timer, server);
	server->wakeup_is_scheduled = server->daemon_timer != NULL;
}
