/* What the files of agents/http/ share. */
#ifndef CALLGATE_AGENTS_HTTP_PRIVATE_H
#define CALLGATE_AGENTS_HTTP_PRIVATE_H

#include "agents/http/http.h"
#include "base/buf.h"

struct http_server {
	struct loop *loop;
	struct MHD_Daemon *daemon;
	struct loop_source *daemon_source; /* the daemon's epoll descriptor */
	struct loop_timer *daemon_timer;   /* of what is due by the clock */
	struct http_server_options options;
	bool wakeup_is_scheduled; /* the timer is due at once */
	size_t held_body_bytes;   /* held of all bodies */
};

enum http_body_use {
	HTTP_BODY_UNDECIDED,
	HTTP_BODY_READ,    /* into memory */
	HTTP_BODY_STREAM,  /* to a handler */
	HTTP_BODY_DISCARD, /* the answer does not depend on it */
};

struct http_request {
	struct http_server *server;
	struct MHD_Connection *connection;
	const char *method;
	char *path; /* owned */
	int fd;     /* the client's socket, libmicrohttpd's */

	enum http_body_use body_use;
	struct buf body;
	size_t body_max, discarded_bytes;
	void (*on_body)(void *data, struct http_request *request, const char *bytes, size_t len);
	void *body_data;
	struct http_body_handler body_handler;
	struct loop_timer *body_timer;
	bool body_has_ended;

	struct MHD_Response *pending_headers; /* holds headers that are added before there is a response; NULL: none */
	struct MHD_Response *response;
	unsigned status;
	bool response_is_queued; /* libmicrohttpd has the response */

	struct buf stream_queue; /* of a streamed answer: out.data[out_at] on is not sent yet */
	size_t out_sent_bytes;
	bool is_stream, stream_has_ended, wants_room;
	void (*on_room)(void *data);
	void *room_data;

	bool is_suspended;
	struct loop_source *hangup_source; /* watches for the client's end while libmicrohttpd does not */
	bool is_disconnected;              /* the client has hung up, or the connection is to be cut */
	void (*on_done)(void *data, bool complete);
	void *owner_data;
};

/* libmicrohttpd has something to do: it is called soon. */
void http_server_wake(struct http_server *server);
/* Its epoll descriptor is ready. */
void http_server_on_event(void *data, uint32_t events);

void http_request_free(struct http_request *request);
/* Tells the owner, once. */
void http_request_finish(struct http_request *request, bool complete);

/* While a request waits for its owner, libmicrohttpd leaves its connection alone. */
void http_request_suspend(struct http_request *request);
void http_request_resume(struct http_request *request);

/* The three calls of libmicrohttpd for one request: header, bytes of the body, end of the body (and after a resume). */
enum MHD_Result http_request_on_header(struct http_request *request);
enum MHD_Result http_request_on_bytes(struct http_request *request, const char *bytes, size_t *len);
enum MHD_Result http_request_on_body_end(struct http_request *request);

#endif
