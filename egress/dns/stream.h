/*
 * DNS over TCP (RFC 7766): the program's connections, each with one query at a time. Called in the egress process by
 * server.c, which answers the queries. Owns the sockets.
 */
#ifndef CALLGATE_EGRESS_DNS_STREAM_H
#define CALLGATE_EGRESS_DNS_STREAM_H

#include <stddef.h>
#include <stdint.h>

struct dns_stream;
struct egress;

/* All connections of the program to DNS over TCP. */
struct dns_streams {
	struct egress *egress;
	/* Called when a query was read. It is answered by dns_stream_send_answer or dns_stream_fail. */
	void (*serve)(struct dns_streams *streams, struct dns_stream *stream, const uint8_t *data, size_t len);
	/* Called when the stream is about to be freed. */
	void (*closed)(struct dns_streams *streams, struct dns_stream *stream);
	struct dns_stream *first_stream;
	size_t count;
};

/* Takes fd, a connected non-blocking socket. */
void dns_stream_accept(struct dns_streams *streams, int fd);
/* Sends one answer, without its length field. Then the stream's next query is read. */
void dns_stream_send_answer(struct dns_stream *stream, const uint8_t *data, size_t len);
/* Closes the stream, because its query will not be answered. */
void dns_stream_fail(struct dns_stream *stream);
void dns_streams_close(struct dns_streams *streams);

#endif
