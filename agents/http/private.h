/* What the files of agents/http/ share. */
#ifndef CALLGATE_AGENTS_HTTP_PRIVATE_H
#define CALLGATE_AGENTS_HTTP_PRIVATE_H

#include "agents/http/http.h"
#include "base/buf.h"

/* An HTTP server, which libmicrohttpd serves within the loop. */
struct http_server {
	struct loop *loop;
	struct MHD_Daemon *daemon;
	struct loop_source *daemon_source; /* watches libmicrohttpd's epoll descriptor */
	struct loop_timer *daemon_timer;   /* expires when libmicrohttpd is to be called; NULL: not set */
	struct http_server_options options;
	bool wakeup_is_scheduled; /* daemon_timer is due at once, or libmicrohttpd is running */
	size_t held_body_bytes;   /* of all request bodies in memory */
	struct http_request *upgraded_requests; /* list */
};

/* What is done with a request's body. */
enum http_body_use {
	HTTP_BODY_UNDECIDED,
	HTTP_BODY_TO_MEMORY,  /* http_read_body() */
	HTTP_BODY_TO_HANDLER, /* http_stream_body() */
	HTTP_BODY_DISCARD,    /* read and dropped */
};

/* Functions of upgrade.c, which request.c calls for a connection that has changed to another protocol. */
struct http_upgrade_operations {
	/* to be called when there is more to send, or the stream has ended */
	void (*update)(struct http_request *request);
	void (*resume_input)(struct http_request *request);
	void (*close)(struct http_request *request);
};

/* A client's request, until it is answered, and the connection that an upgrade makes of it. */
struct http_request {
	struct http_server *server;
	struct MHD_Connection *connection;
	const char *method;
	bool is_http_1_1;
	char *target, *path; /* owned; path NULL: the headers have not arrived yet */
	int fd;              /* the connection's socket; borrowed from libmicrohttpd */

	enum http_body_use body_use;
	struct buf body;
	size_t body_max_bytes, discarded_bytes;
	void (*on_body)(void *data, struct http_request *request, const char *bytes, size_t len);
	void *on_body_data;
	struct http_body_handler body_handler;
	struct loop_timer *body_timer; /* limits how long the client may take for the body */
	bool body_has_ended;

	struct MHD_Response *pending_headers; /* keeps headers of the answer until `response` exists; NULL: none */
	struct MHD_Response *response;
	unsigned answer_status;  /* HTTP status of the answer */
	bool response_is_queued; /* libmicrohttpd was given the response */

	struct buf stream_queue; /* bytes of a streamed answer; those from stream_sent_bytes on wait for the client */
	size_t stream_sent_bytes;
	bool is_stream, stream_has_ended, wants_room;
	void (*on_room)(void *data);
	void *room_data;

	/* Members of upgrade.c, for a connection that has changed to another protocol (status 101): */
	const struct http_upgrade_operations *upgrade_operations; /* NULL: the connection is HTTP, or is closed */
	struct MHD_UpgradeResponseHandle *upgrade_handle; /* of libmicrohttpd, if `upgrade_operations` is not NULL */
	struct http_request *next_upgraded;
	struct loop_source *upgrade_source;
	struct loop_timer *upgrade_timer;
	uint64_t upgrade_last_used_ms; /* when bytes were sent or received last */
	bool upgrade_input_is_paused;
	bool client_has_ended; /* the client sends no more */
	bool client_is_gone;   /* the client neither sends nor reads any more */
	/* everything was sent and the socket shut down for writing; the client is to close it */
	bool is_awaiting_client_close;

	bool is_suspended; /* libmicrohttpd leaves the connection alone */
	struct loop_source
		*hangup_source; /* watches the socket for a hang-up of the client; NULL: libmicrohttpd does */
	bool is_disconnected;   /* the client has hung up, or the connection was cut */
	void (*on_done)(void *data, bool complete);
	void *owner_data;
};

/* Lets libmicrohttpd run in the loop's next turn. */
void http_server_wake(struct http_server *server);
/* Callback for libmicrohttpd's epoll descriptor. */
void http_server_on_daemon_event(void *data, uint32_t events);

void http_request_free(struct http_request *request);
/* Calls on_done of the request's owner, unless that was called before. */
void http_request_notify_owner(struct http_request *request, bool complete);

/*
 * Stop and restart libmicrohttpd's work on the request's connection, which rests while the request waits for its owner.
 */
void http_request_suspend(struct http_request *request);
void http_request_resume(struct http_request *request);

/*
 * Watches the socket for a hang-up of the client. libmicrohttpd does not look at a suspended connection. And after a
 * half-close in the middle of a body it would wait for the rest of the body.
 */
void http_request_watch_hangup(struct http_request *request);
/* Stops to watch for the client's hang-up; libmicrohttpd notices it. */
void http_request_unwatch_hangup(struct http_request *request);

/* Cuts the connection. libmicrohttpd notices the shutdown, and calls server_on_completed() for the request. */
void http_request_disconnect(struct http_request *request);

/*
 * Answers the request with a response of libmicrohttpd, which is taken. Does nothing if the response is NULL (no
 * memory), or if the request has a response already.
 */
void http_request_set_response(struct http_request *request, unsigned status, const char *content_type,
			       struct MHD_Response *response);
/* len more bytes of stream_queue were sent. Calls on_room when there is room again. */
void http_request_advance_stream(struct http_request *request, size_t len);

/*
 * libmicrohttpd calls its access handler several times for a request. The handler calls one of these functions:
 * http_request_on_headers() when the headers have arrived, http_request_on_body_bytes() for each piece of the body,
 * http_request_on_body_end() at the body's end and after each resume.
 */
enum MHD_Result http_request_on_headers(struct http_request *request);
enum MHD_Result http_request_on_body_bytes(struct http_request *request, const char *bytes, size_t *len);
enum MHD_Result http_request_on_body_end(struct http_request *request);

#endif
