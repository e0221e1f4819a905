/* Queries over TCP (RFC 7766): one after the other, each with its length before it. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "egress/conn/line.h"
#include "egress/dns/server-private.h"
#include "egress/state.h"

#include "base/banned.h"

#define STREAMS_MAX 32
#define IDLE_MS 10000
#define LENGTH 2

struct dns_stream {
	struct dns_stream *next;
	struct dns_server *server;
	struct watch watch;
	struct timer timer;
	bool busy;  /* a query is being answered */
	bool ended; /* no more will come */
	bool dead;  /* pump frees it */
	bool pumping;
	size_t len;
	uint8_t data[LENGTH + DNS_QUERY_MAX];
};

static void stream_free(struct dns_stream *stream)
{
	struct dns_server *server = stream->server;
	struct dns_stream **slot = &server->streams;

	while (*slot != stream)
		slot = &(*slot)->next;
	*slot = stream->next;
	server->streams_count--;
	dns_tasks_drop(server, stream);
	loop_timer_clear(server->egress->loop, &stream->timer);
	loop_remove(server->egress->loop, &stream->watch);
	(void)close(stream->watch.fd);
	free(stream);
}

/* The bytes of the first query; 0: it is not whole. */
static size_t whole(const struct dns_stream *stream)
{
	size_t len = stream->len < LENGTH ? 0 : (size_t)stream->data[0] << 8 | stream->data[1];

	return len && stream->len - LENGTH >= len ? len : 0;
}

static void serve_first(struct dns_stream *stream, size_t len)
{
	const struct dns_peer peer = {.stream = stream};

	stream->busy = true;
	if (!dns_serve(stream->server, &peer, stream->data + LENGTH, len))
		stream->dead = true;
	stream->len -= LENGTH + len;
	memmove(stream->data, stream->data + LENGTH + len, stream->len);
}

static void read_more(struct dns_stream *stream)
{
	ssize_t got = recv(stream->watch.fd, stream->data + stream->len, sizeof(stream->data) - stream->len,
			   MSG_DONTWAIT);

	if (got > 0)
		stream->len += (size_t)got;
	else if (got == 0)
		stream->ended = true;
	else if (errno != EAGAIN && errno != EINTR)
		stream->dead = true;
}

/* What is there is answered, at most one query at a time, and what waits is decided. Frees it when it has come to its end. */
static void pump(struct dns_stream *stream)
{
	size_t len;

	if (stream->pumping)
		return;
	stream->pumping = true;
	while (!stream->dead && !stream->busy && (len = whole(stream)))
		serve_first(stream, len);
	stream->pumping = false;
	if (!stream->busy && (stream->ended || stream->len == sizeof(stream->data)))
		stream->dead = true; /* cut off, or longer than a query is */
	if (stream->dead) {
		stream_free(stream);
		return;
	}
	loop_set(stream->server->egress->loop, &stream->watch, stream->busy ? 0 : EPOLLIN);
}

static void stream_ready(struct watch *watch, unsigned events)
{
	struct dns_stream *stream = (struct dns_stream *)(void *)((char *)watch - offsetof(struct dns_stream, watch));

	(void)events;
	/* Room it will have: pump ends one that is full. Without the timer it would never end. */
	read_more(stream);
	if (line_full(stream->server->egress->line) ||
	    loop_timer_set(stream->server->egress->loop, &stream->timer, IDLE_MS) < 0)
		stream->dead = true;
	pump(stream);
}

static void stream_expired(struct timer *timer)
{
	stream_free((struct dns_stream *)(void *)((char *)timer - offsetof(struct dns_stream, timer)));
}

/* Answers are smaller than any socket's buffer: who lets so many of them lie that one does not fit loses the connection. */
void dns_stream_reply(struct dns_stream *stream, const uint8_t *data, size_t len)
{
	uint8_t message[LENGTH + DNS_REPLY_MAX] = {(uint8_t)(len >> 8), (uint8_t)len};

	memcpy(message + LENGTH, data, len);
	if (send(stream->watch.fd, message, LENGTH + len, MSG_DONTWAIT | MSG_NOSIGNAL) != (ssize_t)(LENGTH + len))
		stream->dead = true;
	stream->busy = false;
	pump(stream); /* for what else has come, when a task calls; from pump itself it does nothing */
}

void dns_stream_fail(struct dns_stream *stream)
{
	stream->dead = true;
	pump(stream);
}

/* The longest idle one goes: its time would be over first. */
static void evict(struct dns_server *server)
{
	struct dns_stream *oldest = server->streams;

	for (struct dns_stream *stream = server->streams; stream; stream = stream->next)
		if (stream->timer.due_ns < oldest->timer.due_ns)
			oldest = stream;
	stream_free(oldest);
}

void dns_stream_accept(struct dns_server *server, int fd)
{
	struct dns_stream *stream;

	if (server->streams_count >= STREAMS_MAX)
		evict(server);
	stream = calloc(1, sizeof(*stream));
	if (!stream) {
		(void)close(fd);
		return;
	}
	stream->server = server;
	stream->watch = (struct watch){.fd = fd, .ready = stream_ready};
	stream->timer.fire = stream_expired;
	stream->next = server->streams;
	server->streams = stream;
	server->streams_count++;
	if (loop_add(server->egress->loop, &stream->watch, EPOLLIN) < 0 ||
	    loop_timer_set(server->egress->loop, &stream->timer, IDLE_MS) < 0)
		stream_free(stream);
}

void dns_streams_free(struct dns_server *server)
{
	while (server->streams)
		stream_free(server->streams);
}
