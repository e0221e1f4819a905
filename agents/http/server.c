/* Starts libmicrohttpd, and makes a struct http_request of each request that it reports. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agents/http/private.h"

/*
 * Watches a connection while it waits for the headers of a request. Unless the first headers arrive within
 * HTTP_HEADER_TIMEOUT_MS, the connection is cut. After a half-close of the client, perhaps in the middle of a header,
 * it is cut after HTTP_HALF_CLOSED_TIMEOUT_MS, because libmicrohttpd would go on waiting.
 */
struct http_header_wait {
	struct loop *loop;
	struct loop_source *hangup_source; /* NULL: a request has begun, or the client's half-close was seen */
	struct loop_timer *timer;
	int fd;
};

/* ---- callbacks of libmicrohttpd ---- */

static void header_wait_on_timeout(void *data)
{
	struct http_header_wait *wait = data;

	wait->timer = NULL;
	(void)shutdown(wait->fd, SHUT_RDWR); /* libmicrohttpd sees the shutdown, and closes the connection */
}

static void header_wait_on_hangup(void *data, uint32_t events)
{
	struct http_header_wait *wait = data;

	(void)events;
	loop_remove_source(wait->hangup_source);
	wait->hangup_source = NULL;
	loop_cancel_timer(wait->timer); /* not cut at once: bytes sent before the half-close may be a whole request */
	wait->timer = loop_add_timer(wait->loop, HTTP_HALF_CLOSED_TIMEOUT_MS, header_wait_on_timeout, wait);
}

/* Watches for a hang-up of the client while the headers of its request have not arrived. */
static void header_wait_begin(struct http_header_wait *wait)
{
	if (wait && !wait->hangup_source)
		wait->hangup_source = loop_add_source(wait->loop, wait->fd, EPOLLRDHUP, header_wait_on_hangup, wait);
}

/* The headers of the request have arrived, or the connection is closed: waits no more. */
static void header_wait_end(struct http_header_wait *wait)
{
	if (!wait)
		return;
	loop_remove_source(wait->hangup_source);
	wait->hangup_source = NULL;
	loop_cancel_timer(wait->timer);
	wait->timer = NULL;
}

/* The state of waiting for the headers of the connection's next request. NULL: none. */
static struct http_header_wait *connection_get_header_wait(struct MHD_Connection *connection)
{
	const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);

	return info ? info->socket_context : NULL;
}

static void server_on_connection(void *cls, struct MHD_Connection *connection, void **context,
				 enum MHD_ConnectionNotificationCode code)
{
	struct http_server *server = cls;
	struct http_header_wait *wait = *context;

	if (code == MHD_CONNECTION_NOTIFY_STARTED) {
		const union MHD_ConnectionInfo *info =
			MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);

		wait = info ? calloc(1, sizeof(*wait)) : NULL;
		if (wait) {
			wait->loop = server->loop;
			wait->fd = info->connect_fd;
			wait->timer =
				loop_add_timer(server->loop, HTTP_HEADER_TIMEOUT_MS, header_wait_on_timeout, wait);
			header_wait_begin(wait);
		}
		*context = wait;
	} else if (wait) {
		header_wait_end(wait);
		free(wait);
		*context = NULL;
	}
}

/*
 * Called by libmicrohttpd when the first line of a request has arrived. Keeps the target, which is not decoded yet.
 * Returns the new request, which libmicrohttpd passes to server_on_access() as *context.
 */
static void *server_on_request_target(void *cls, const char *target, struct MHD_Connection *connection)
{
	const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
	struct http_request *request = info ? calloc(1, sizeof(*request)) : NULL;

	if (!request)
		return NULL;
	request->server = cls;
	request->connection = connection;
	request->fd = info->connect_fd;
	request->target = strdup(target);
	if (request->target)
		return request;
	free(request);
	return NULL;
}

/* Called when a request's headers have arrived. */
static enum MHD_Result request_begin(struct http_request *request, const char *path, const char *method,
				     const char *version)
{
	header_wait_end(connection_get_header_wait(request->connection));
	request->method = method;
	request->is_http_1_1 = strcmp(version, MHD_HTTP_VERSION_1_1) == 0;
	request->path = strdup(path);
	return request->path ? http_request_on_headers(request) : MHD_NO;
}

/* libmicrohttpd's callback for a request: once for its headers, for each part of its body, and for its end. */
static enum MHD_Result server_on_access(void *cls, struct MHD_Connection *connection, const char *url,
					const char *method, const char *version, const char *bytes, size_t *len,
					void **context)
{
	struct http_request *request = *context;

	(void)cls;
	(void)connection;
	if (!request)
		return MHD_NO; /* server_on_request_target() had no memory */
	if (!request->path)
		return request_begin(request, url, method, version);
	if (request->is_disconnected)
		return MHD_NO;
	return *len > 0 ? http_request_on_body_bytes(request, bytes, len) : http_request_on_body_end(request);
}

static void server_on_completed(void *cls, struct MHD_Connection *connection, void **context,
				enum MHD_RequestTerminationCode code)
{
	struct http_request *request = *context;

	(void)cls;
	*context = NULL;
	header_wait_begin(connection_get_header_wait(connection));
	if (!request)
		return;
	http_request_notify_owner(request, code == MHD_REQUEST_TERMINATED_COMPLETED_OK);
	http_request_free(request);
}

/* ---- */

int http_server_create(struct loop *loop, const struct http_server_options *options, struct http_server **ret_server)
{
	struct http_server *server = calloc(1, sizeof(*server));
	const union MHD_DaemonInfo *info;

	if (!server) {
		(void)close(options->listen_fd);
		return -ENOMEM;
	}
	server->loop = loop;
	server->options = *options;
	server->daemon = MHD_start_daemon(
		MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME | MHD_ALLOW_UPGRADE, 0, NULL, NULL, server_on_access, server,
		MHD_OPTION_LISTEN_SOCKET, options->listen_fd, MHD_OPTION_CONNECTION_LIMIT, options->connections_max,
		MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)HTTP_CONNECTION_BYTES_MAX, MHD_OPTION_CONNECTION_TIMEOUT,
		HTTP_IDLE_TIMEOUT_S, MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_URI_LOG_CALLBACK,
		server_on_request_target, server, MHD_OPTION_NOTIFY_COMPLETED, server_on_completed, server,
		MHD_OPTION_NOTIFY_CONNECTION, server_on_connection, server, MHD_OPTION_END);
	info = server->daemon ? MHD_get_daemon_info(server->daemon, MHD_DAEMON_INFO_EPOLL_FD) : NULL;
	if (!server->daemon)
		(void)close(options->listen_fd);
	else if (info)
		server->daemon_source =
			loop_add_source(loop, info->epoll_fd, EPOLLIN, http_server_on_daemon_event, server);
	if (!server->daemon_source) {
		http_server_free(server);
		return -ENOMEM;
	}
	*ret_server = server;
	return 0;
}

void http_server_free(struct http_server *server)
{
	if (!server)
		return;
	while (server->upgraded_requests) /* libmicrohttpd insists that these are closed before it stops */
		http_abort(server->upgraded_requests);
	loop_remove_source(server->daemon_source);
	loop_cancel_timer(server->daemon_timer);
	server->daemon_timer = NULL;
	server->wakeup_is_scheduled = true; /* so that http_server_wake() does nothing: libmicrohttpd runs no more */
	if (server->daemon)
		MHD_stop_daemon(server->daemon);
	free(server);
}
