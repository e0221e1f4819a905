/*
 * HTTP/1.1 requests of clients, over libmicrohttpd, in the one thread of callgate-agents. on_request decides by method,
 * path and header how the body is read; the answer is one text, or a stream that is written bit by bit.
 *
 * A request belongs to this module. Its owner's pointer is valid until on_done.
 */
#ifndef CALLGATE_AGENTS_HTTP_HTTP_H
#define CALLGATE_AGENTS_HTTP_HTTP_H

#include <jansson.h>
#include <microhttpd.h>
#include <stdbool.h>
#include <stddef.h>

#include "agents/loop.h"

#define HTTP_CONNECTIONS_MAX 1024u
#define HTTP_HEADER_BYTES_MAX (64u << 10)      /* memory of a connection, header included */
#define HTTP_HEADER_TIMEOUT_MS 30000u          /* for the first header of a connection */
#define HTTP_HALF_CLOSED_TIMEOUT_MS 1000u      /* from when a client has closed its end to when it counts as gone */
#define HTTP_BODY_TIMEOUT_MS 60000u            /* for a body that is read as a whole */
#define HTTP_IDLE_TIMEOUT_S 300u               /* without a byte in either direction */
#define HTTP_ALL_BODIES_BYTES_MAX (256u << 20) /* all bodies that are held in memory */
#define HTTP_DISCARDED_BODY_BYTES_MAX \
	(64u << 20) /* read of a body that nothing wants, for the client to see the answer */
#define HTTP_STREAM_HIGH_WATER_BYTES \
	(256u << 10) /* of a streamed answer in memory: then http_write_stream() asks to pause */
#define HTTP_STREAM_QUEUED_BYTES_MAX (64u << 20) /* ... and when that does not help, the connection is cut */

struct http_server;
struct http_request;

struct http_server_options {
	int listen_fd; /* a listening socket; taken */
	/* The header is there. It calls one of http_read_body(), http_stream_body() and the http_answer…() below. */
	void (*on_request)(void *data, struct http_request *request);
	void *data;
};

/* 0 or -errno. */
int http_server_create(struct loop *loop, const struct http_server_options *options, struct http_server **ret_server);
/* Ends all requests (on_done) and connections. NULL is fine. */
void http_server_free(struct http_server *server);
unsigned http_server_count_connections(const struct http_server *server);

/* ---- what the client sent ---- */

const char *http_get_method(const struct http_request *request);
const char *http_get_path(const struct http_request *request); /* decoded, without the query */
/* Value of a header, or of a parameter of the query; NULL: it has none. Borrowed until on_done. */
const char *http_get_header(const struct http_request *request, const char *name);
const char *http_get_query(const struct http_request *request, const char *name);
/* Calls `visit` for all headers. */
void http_for_each_header(const struct http_request *request,
			  void (*visit)(void *data, const char *name, const char *value), void *data);
/* Calls `visit` for all parameters of the query, decoded; value NULL: it has none, not even an empty one. */
void http_for_each_query(const struct http_request *request,
			 void (*visit)(void *data, const char *name, const char *value), void *data);
/* Path patterns: "/sandboxes/{}/timeout". True: it matches, and each {} has put a part of the path into ret_part. */
#define HTTP_PATH_PARTS_MAX 2
#define HTTP_PATH_PART_SIZE 256
bool http_match_path(const char *pattern, const char *path, char ret_part[HTTP_PATH_PARTS_MAX][HTTP_PATH_PART_SIZE]);

/* What the owner of a request wants to know: on_done is called once, the last. complete: the client got all. */
void http_set_owner(struct http_request *request, void (*on_done)(void *data, bool complete), void *data);

/* ---- its body ---- */

/* Reads the body into memory. Larger bodies are answered with 413. on_body gets it, ended by a NUL; borrowed. */
void http_read_body(struct http_request *request, size_t bytes_max,
		    void (*on_body)(void *data, struct http_request *request, const char *bytes, size_t len),
		    void *data);

struct http_body_handler {
	/* Returns how many bytes were taken. Less than len: none come until http_resume_body(). */
	size_t (*on_bytes)(void *data, const char *bytes, size_t len);
	void (*on_end)(void *data); /* the body is complete */
	void *data;
};
void http_stream_body(struct http_request *request, const struct http_body_handler *handler);
/* A parser for a body that is a form; the owner frees it. NULL: the body is none. */
struct MHD_PostProcessor *http_create_form_parser(struct http_request *request, MHD_PostDataIterator on_part,
						  void *data);
void http_resume_body(struct http_request *request);

/* ---- the answer ---- */

void http_add_header(struct http_request *request, const char *name, const char *value); /* before the answer */
/* Answers with bytes, copied. What is left of the body is read and thrown away. */
void http_answer(struct http_request *request, unsigned status, const char *content_type, const char *bytes,
		 size_t len);
void http_answer_json(struct http_request *request, unsigned status, json_t *value); /* takes value */

/* Begins a streamed answer of bytes_total bytes; -1: unknown. on_room: see http_write_stream(). */
void http_begin_stream(struct http_request *request, unsigned status, const char *content_type, int64_t bytes_total,
		       void (*on_room)(void *data), void *data);
/* Queues bytes. False: enough is queued; the owner pauses its source until on_room. */
bool http_write_stream(struct http_request *request, const char *bytes, size_t len);
void http_end_stream(struct http_request *request);
/* Cuts the connection: a streamed answer that cannot be completed must not look complete. */
void http_abort(struct http_request *request);

#endif
