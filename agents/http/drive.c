/* Drives libmicrohttpd from the loop: it is called when a descriptor is ready, and when something is due. */
#include "agents/http/private.h"

static void server_run(struct http_server *server);

static void server_on_time(void *data)
{
	struct http_server *server = data;

	server->timer = NULL;
	server_run(server);
}

static void server_run(struct http_server *server)
{
	MHD_UNSIGNED_LONG_LONG delay_ms;

	server->is_woken = true;       /* what is resumed meanwhile is handled below */
	(void)MHD_run(server->daemon); /* fails for a daemon that polls by itself only */
	server->is_woken = false;
	loop_cancel(server->timer);
	server->timer = NULL;
	if (MHD_get_timeout(server->daemon, &delay_ms) == MHD_YES)
		server->timer = loop_after(server->loop, delay_ms, server_on_time, server);
}

void http_server_on_event(void *data, uint32_t events)
{
	(void)events;
	server_run(data);
}

void http_server_wake(struct http_server *server)
{
	if (server->is_woken)
		return;
	loop_cancel(server->timer);
	server->timer = loop_after(server->loop, 0, server_on_time, server);
	server->is_woken = server->timer != NULL;
}
