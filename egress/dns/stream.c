#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "egress/conn/line.h"
#include "egress/dns/message.h"
#include "egress/dns/stream.h"
#include "egress/state.h"

#define DNS_STREAMS_MAX 32
#define DNS_STREAM_IDLE_MS 10000
#define DNS_TCP_LENGTH_FIELD_BYTES 2

/* A connection of the program to DNS over TCP. */
struct dns_stream {
	struct dns_stream *next;
	struct dns_streams *streams;
	struct watch watch;
	struct timer timer;
	bool query_awaits_answer; /* a query waits for its answer */
	bool program_half_closed; /* the program has half-closed the stream */
	bool must_be_freed;       /* to be freed by stream_serve_queries() */
	bool is_being_served;     /* stream_serve_queries() uses it */
	size_t len;
	uint8_t data[DNS_TCP_LENGTH_FIELD_BYTES + DNS_QUERY_BYTES_MAX];
};

static void stream_free(struct dns_stream *stream)
{
	struct dns_streams *streams = stream->streams;
	struct dns_stream **slot = &streams->first_stream;

	while (*slot != stream)
		slot = &(*slot)->next;
	*slot = stream->next;
	streams->count--;
	streams->closed(streams, stream);
	loop_clear_timer(streams->egress->loop, &stream->timer);
	loop_close_watch(streams->egress->loop, &stream->watch);
	free(stream);
}

/* The length of the first query in the buffer; 0: it is incomplete. */
static size_t stream_get_query_len(const struct dns_stream *stream)
{
	size_t len = stream->len < DNS_TCP_LENGTH_FIELD_BYTES ? 0 : (size_t)stream->data[0] << 8 | stream->data[1];

	return len && stream->len - DNS_TCP_LENGTH_FIELD_BYTES >= len ? len : 0;
}

/* Reads what has arrived of queries, or notes the end of the connection. */
static void stream_read_bytes(struct dns_stream *stream)
{
	ssize_t got = recv(stream->watch.fd, stream->data + stream->len, sizeof(stream->data) - stream->len,
			   MSG_DONTWAIT);

	if (got > 0)
		stream->len += (size_t)got;
	else if (got == 0)
		stream->program_half_closed = true;
	else if (errno != EAGAIN && errno != EINTR)
		stream->must_be_freed = true;
}

/* Serves queries one at a time, then sets what to wait for. Frees a stream that is dead or has ended. */
static void stream_serve_queries(struct dns_stream *stream)
{
	size_t len;

	if (stream->is_being_served)
		return;
	stream->is_being_served = true;
	while (!stream->must_be_freed && !stream->query_awaits_answer && (len = stream_get_query_len(stream))) {
		stream->query_awaits_answer = true;
		stream->streams->serve(stream->streams, stream, stream->data + DNS_TCP_LENGTH_FIELD_BYTES, len);
		stream->len -= DNS_TCP_LENGTH_FIELD_BYTES + len;
		memmove(stream->data, stream->data + DNS_TCP_LENGTH_FIELD_BYTES + len, stream->len);
	}
	stream->is_being_served = false;
	if (!stream->query_awaits_answer && (stream->program_half_closed || stream->len == sizeof(stream->data)))
		stream->must_be_freed = true; /* half-closed inside a query, or the query is longer than the buffer */
	if (stream->must_be_freed) {
		stream_free(stream);
		return;
	}
	loop_set_interest(stream->streams->egress->loop, &stream->watch, stream->query_awaits_answer ? 0 : EPOLLIN);
}

static void stream_on_ready(struct watch *watch)
{
	struct dns_stream *stream = container_of(watch, struct dns_stream, watch);

	stream_read_bytes(stream); /* the buffer has room: stream_serve_queries closes full ones */
	loop_set_timer(stream->streams->egress->loop, &stream->timer, DNS_STREAM_IDLE_MS);
	if (line_queue_is_full(stream->streams->egress->line))
		stream->must_be_freed = true;
	stream_serve_queries(stream);
}

static void stream_on_expired(struct timer *timer)
{
	stream_free(container_of(timer, struct dns_stream, timer));
}

/*
 * Writes an answer, which is smaller than any send buffer. Only for a client that leaves many answers unread there is
 * no room; it loses the connection.
 */
void dns_stream_send_answer(struct dns_stream *stream, const uint8_t *data, size_t len)
{
	uint8_t message[DNS_TCP_LENGTH_FIELD_BYTES + DNS_REPLY_BYTES_MAX] = {(uint8_t)(len >> 8), (uint8_t)len};

	memcpy(message + DNS_TCP_LENGTH_FIELD_BYTES, data, len);
	if (send(stream->watch.fd, message, DNS_TCP_LENGTH_FIELD_BYTES + len, MSG_DONTWAIT | MSG_NOSIGNAL) !=
	    (ssize_t)(DNS_TCP_LENGTH_FIELD_BYTES + len))
		stream->must_be_freed = true;
	stream->query_awaits_answer = false;
	stream_serve_queries(stream); /* does nothing if stream_serve_queries() is the caller */
}

void dns_stream_fail(struct dns_stream *stream)
{
	stream->must_be_freed = true;
	stream_serve_queries(stream);
}

/* Closes the stream whose idle timer would expire first. */
static void stream_close_oldest(struct dns_streams *streams)
{
	struct dns_stream *oldest = streams->first_stream;

	for (struct dns_stream *stream = streams->first_stream; stream; stream = stream->next)
		if (stream->timer.due_ns < oldest->timer.due_ns)
			oldest = stream;
	stream_free(oldest);
}

void dns_stream_accept(struct dns_streams *streams, int fd)
{
	struct dns_stream *stream;

	if (streams->count >= DNS_STREAMS_MAX)
		stream_close_oldest(streams);
	stream = calloc(1, sizeof(*stream));
	if (!stream) {
		(void)close(fd);
		return;
	}
	stream->streams = streams;
	stream->watch = (struct watch){.fd = fd, .ready = stream_on_ready};
	stream->timer.fire = stream_on_expired;
	stream->next = streams->first_stream;
	streams->first_stream = stream;
	streams->count++;
	loop_set_timer(streams->egress->loop, &stream->timer, DNS_STREAM_IDLE_MS);
	if (loop_add_watch(streams->egress->loop, &stream->watch, EPOLLIN) < 0)
		stream_free(stream);
}

void dns_streams_close(struct dns_streams *streams)
{
	while (streams->first_stream)
		stream_free(streams->first_stream);
}
