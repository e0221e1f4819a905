/* An HTTP request: its owner, its connection while it waits, its URL and headers. */
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "agents/http/private.h"

/* ---- life ---- */

void http_request_free(struct http_request *request)
{
	loop_remove_source(request->hangup_source);
	loop_cancel_timer(request->body_timer);
	request->server->held_body_bytes -= request->body.len;
	buf_release(&request->body);
	buf_release(&request->stream_queue);
	if (request->pending_headers)
		MHD_destroy_response(request->pending_headers);
	if (request->response)
		MHD_destroy_response(request->response);
	free(request->target);
	free(request->path);
	free(request);
}

void http_request_notify_owner(struct http_request *request, bool complete)
{
	void (*on_done)(void *data, bool complete) = request->on_done;

	request->on_done = NULL;
	request->on_room = NULL;
	request->body_handler = (struct http_body_handler){0};
	if (on_done)
		on_done(request->owner_data, complete);
}

void http_set_owner(struct http_request *request, void (*on_done)(void *data, bool complete), void *data)
{
	request->on_done = on_done;
	request->owner_data = data;
	if (on_done)
		return;
	request->on_room = NULL; /* the rest of the answer is sent without an owner */
	request->body_handler = (struct http_body_handler){0};
}

/* ---- waiting ---- */

static void request_on_hangup(void *data, uint32_t events)
{
	struct http_request *request = data;
	int unread = 0;

	if (!request->is_suspended && !(events & (EPOLLERR | EPOLLHUP)) && ioctl(request->fd, FIONREAD, &unread) == 0 &&
	    unread > 0)
		return; /* libmicrohttpd reads the unread bytes, and they may complete the body */
	if (!request->is_suspended) {
		http_abort(request);
		return;
	}
	request->is_disconnected = true;
	http_request_notify_owner(request, false);
	/* libmicrohttpd then calls server_on_access(), which returns MHD_NO to close the connection */
	http_request_resume(request);
}

void http_request_watch_hangup(struct http_request *request)
{
	if (!request->hangup_source)
		request->hangup_source =
			loop_add_source(request->server->loop, request->fd, EPOLLRDHUP, request_on_hangup, request);
}

void http_request_unwatch_hangup(struct http_request *request)
{
	loop_remove_source(request->hangup_source);
	request->hangup_source = NULL;
}

void http_request_suspend(struct http_request *request)
{
	if (request->is_suspended)
		return;
	request->is_suspended = true;
	MHD_suspend_connection(request->connection);
	http_request_watch_hangup(request);
}

void http_request_resume(struct http_request *request)
{
	if (!request->is_suspended)
		return;
	request->is_suspended = false;
	if (request->body_has_ended || request->is_disconnected)
		http_request_unwatch_hangup(request);
	MHD_resume_connection(request->connection);
	http_server_wake(request->server);
}

void http_request_disconnect(struct http_request *request)
{
	request->is_disconnected = true;
	http_request_unwatch_hangup(request);
	if (request->upgrade_operations) {
		request->upgrade_operations->close(request);
		return;
	}
	(void)shutdown(request->fd, SHUT_RDWR);
	http_request_resume(request);
}

void http_abort(struct http_request *request)
{
	http_request_notify_owner(request, false);
	http_request_disconnect(request);
}

/* ---- a request's URL and headers ---- */

const char *http_get_method(const struct http_request *request)
{
	return request->method;
}

const char *http_get_path(const struct http_request *request)
{
	return request->path;
}

const char *http_get_target(const struct http_request *request)
{
	return request->target;
}

const char *http_get_header(const struct http_request *request, const char *name)
{
	return MHD_lookup_connection_value(request->connection, MHD_HEADER_KIND, name);
}

const char *http_get_query_parameter(const struct http_request *request, const char *name)
{
	return MHD_lookup_connection_value(request->connection, MHD_GET_ARGUMENT_KIND, name);
}

/* What is called for each header field of a request. */
struct http_header_visitor {
	void (*visit)(void *data, const char *name, const char *value);
	void *data;
};

/* libmicrohttpd's callback that passes a header to the visitor `cls`. */
static enum MHD_Result request_visit_header(void *cls, enum MHD_ValueKind kind, const char *name, const char *value)
{
	const struct http_header_visitor *visitor = cls;

	(void)kind;
	visitor->visit(visitor->data, name, value ? value : "");
	return MHD_YES;
}

void http_for_each_header(const struct http_request *request,
			  void (*visit)(void *data, const char *name, const char *value), void *data)
{
	struct http_header_visitor call = {visit, data};

	(void)MHD_get_connection_values(request->connection, MHD_HEADER_KIND, request_visit_header, &call);
}

bool http_match_path(const char *pattern, const char *path,
		     char ret_part[HTTP_PATH_WILDCARDS_MAX][HTTP_PATH_WILDCARD_SIZE])
{
	size_t part = 0, len;

	while (*pattern) {
		if (pattern[0] != '{') {
			if (*pattern++ != *path++)
				return false;
			continue;
		}
		len = strcspn(path, "/");
		if (len == 0 || len >= HTTP_PATH_WILDCARD_SIZE || part == HTTP_PATH_WILDCARDS_MAX)
			return false;
		memcpy(ret_part[part], path, len);
		ret_part[part++][len] = '\0';
		path += len;
		pattern += 2;
	}
	return *path == '\0';
}
