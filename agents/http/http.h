/*
 * An HTTP/1.1 server over libmicrohttpd, in the one thread of callgate-agents. For each request on_request decides by
 * method, path and headers how the request's body is read. A request is answered at once or later: by one text, or by
 * a stream that is written piece by piece.
 *
 * This module owns a request and frees it. Others may use their pointer to a request until its on_done was called.
 */
#ifndef CALLGATE_AGENTS_HTTP_HTTP_H
#define CALLGATE_AGENTS_HTTP_HTTP_H

#include <jansson.h>
#include <microhttpd.h>
#include <stdbool.h>
#include <stddef.h>

#include "agents/loop.h"

#define HTTP_CONNECTIONS_MAX 1024u
#define HTTP_CONNECTION_BYTES_MAX (64u << 10)  /* libmicrohttpd's memory for a connection, request headers included */
#define HTTP_HEADER_TIMEOUT_MS 30000u          /* time for the first request's headers to arrive */
#define HTTP_HALF_CLOSED_TIMEOUT_MS 1000u      /* time for a request to be complete once the client has half-closed */
#define HTTP_BODY_TIMEOUT_MS 60000u            /* time for a request body to arrive, if it is read into memory */
#define HTTP_IDLE_TIMEOUT_S 300u               /* a connection without traffic is closed */
#define HTTP_ALL_BODIES_BYTES_MAX (256u << 20) /* request bodies in memory, of all requests together */
/* Most bytes of a request body that are read and dropped after the answer. If more come, the connection is cut. */
#define HTTP_DISCARDED_BODY_BYTES_MAX (64u << 20)
/* When so many bytes of a streamed answer wait for the client, http_write_stream() asks its caller to pause. */
#define HTTP_STREAM_HIGH_WATER_BYTES (256u << 10)
/* When more than so many bytes of a streamed answer wait for the client, the connection is cut. */
#define HTTP_STREAM_QUEUED_BYTES_MAX (64u << 20)

struct http_server;
struct http_request;

/* What an HTTP server is created with. */
struct http_server_options {
	int listen_fd;            /* a listening socket; taken */
	unsigned connections_max; /* further clients wait until one of them has gone; at most HTTP_CONNECTIONS_MAX */
	/* Called when a request's headers have arrived. Calls http_read_body() or http_stream_body(), or answers. */
	void (*on_request)(void *data, struct http_request *request);
	void *data;
};

/* Starts to serve requests. 0 or -errno. */
int http_server_create(struct loop *loop, const struct http_server_options *options, struct http_server **ret_server);
/* Closes all connections, after on_done of each request, and frees the server. NULL is fine. */
void http_server_free(struct http_server *server);
unsigned http_server_count_connections(const struct http_server *server);

/* ---- a request's URL and headers ---- */

const char *http_get_method(const struct http_request *request);
const char *http_get_path(const struct http_request *request); /* percent-decoded, without the query */
/* Path and query, byte for byte as the client has sent them. */
const char *http_get_target(const struct http_request *request);
/* Value of a header, or of a parameter in the URL's query. NULL: not in the request. Borrowed until on_done. */
const char *http_get_header(const struct http_request *request, const char *name);
const char *http_get_query_parameter(const struct http_request *request, const char *name);
/* Calls `visit` for each header of the request. */
void http_for_each_header(const struct http_request *request,
			  void (*visit)(void *data, const char *name, const char *value), void *data);
#define HTTP_PATH_WILDCARDS_MAX 2 /* most "{}" in a pattern of http_match_path() */
#define HTTP_PATH_WILDCARD_SIZE 256 /* size of the part of a URL's path that a wildcard of a route matches */
/*
 * Whether a path matches a pattern such as "/sandboxes/{}/timeout". Each "{}" stands for one component of the path,
 * which is copied into ret_part.
 */
bool http_match_path(const char *pattern, const char *path,
		     char ret_part[HTTP_PATH_WILDCARDS_MAX][HTTP_PATH_WILDCARD_SIZE]);

/*
 * Makes the caller the request's owner. on_done is called once, as the request's last callback; complete: the client
 * got the whole answer. on_done NULL: the request loses its owner; on_done, on_room and body handlers are not called.
 */
void http_set_owner(struct http_request *request, void (*on_done)(void *data, bool complete), void *data);

/* ---- reading a request's body ---- */

/*
 * Reads the request's body into memory; a body of more than bytes_max is answered with 413. on_body gets the body,
 * borrowed and with a NUL behind its end.
 */
void http_read_body(struct http_request *request, size_t bytes_max,
		    void (*on_body)(void *data, struct http_request *request, const char *bytes, size_t len),
		    void *data);

/* Gets a request's body piece by piece. */
struct http_body_handler {
	/* Returns how many bytes it has taken. After less than len, it is not called until http_resume_body(). */
	size_t (*on_bytes)(void *data, const char *bytes, size_t len);
	void (*on_end)(void *data); /* the body is complete */
	void *data;
};
void http_stream_body(struct http_request *request, const struct http_body_handler *handler);
/* Makes a parser for a body that is an HTML form. Owned by the caller; NULL: Content-Type names no form. */
struct MHD_PostProcessor *http_create_form_parser(struct http_request *request, MHD_PostDataIterator on_part,
						  void *data);
void http_resume_body(struct http_request *request);

/* ---- answering a request ---- */

void http_add_header(struct http_request *request, const char *name, const char *value); /* before the answer */
/* Answers with bytes, which are copied. The unread part of the request's body is read and dropped. */
void http_answer(struct http_request *request, unsigned status, const char *content_type, const char *bytes,
		 size_t len);
void http_answer_json(struct http_request *request, unsigned status, json_t *value); /* takes value */

/* Begins a streamed answer. bytes_total: its Content-Length; -1: unknown. on_room: see http_write_stream(). */
void http_begin_stream(struct http_request *request, unsigned status, const char *content_type, int64_t bytes_total,
		       void (*on_room)(void *data), void *data);
/* Queues bytes of a streamed answer. False: the client is slow; the caller should write no more until on_room. */
bool http_write_stream(struct http_request *request, const char *bytes, size_t len);
void http_end_stream(struct http_request *request);
/*
 * The protocol that the client asks to change to, such as "websocket"; borrowed. NULL: none, or several; or the request
 * is not one that may ask for it (HTTP/1.0, another method than GET, a body, no "Connection: Upgrade").
 */
const char *http_get_upgrade(const struct http_request *request);
/*
 * Answers with 101, and changes to `protocol`. Then the answer is a stream, and so is what the client sends: on_end of
 * `handler` says that the client has closed its end of the connection. The connection ends with the answer's stream, or
 * when no byte has come or gone for HTTP_IDLE_TIMEOUT_S. 0; or -errno, and nothing is answered: -EPROTO: the client has
 * sent more than the request, which may be another request, and must not be taken for bytes of the new protocol.
 */
int http_begin_upgrade(struct http_request *request, const char *protocol, const struct http_body_handler *handler,
		       void (*on_room)(void *data), void *data);
/* Cuts the connection: for a streamed answer that cannot be completed, which must not look complete. */
void http_abort(struct http_request *request);

#endif
