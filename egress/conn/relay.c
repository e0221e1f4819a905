/* Bytes as they are, both ways. What arrives goes on at once; only what the other side has no room for is kept. */
#include <errno.h>
#include <linux/sock_diag.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "egress/conn/conn.h"
#include "egress/state.h"

#include "base/banned.h"

#define PASSING (1024 * 1024)
#define QUOTA (2 * PASSING) /* bytes a direction and turn: then other connections have theirs */

struct way {
	uint8_t *kept; /* owned; NULL: nothing */
	size_t at, len;
	bool bulk;     /* the last read was as much as was asked for */
};

struct relay {
	struct way up, down;
	const char *first; /* to say its last: the close record's cause */
};

/* What came of a turn. */
struct turn {
	bool wants_read, wants_write;
	uint64_t wait_ms;  /* for the budget; 0: not */
	const char *cause; /* the connection is over; NULL: it is not */
	const char *reason;
};

/* What is on its way while it is in nobody's buffer: one thread, and nothing keeps it over a call. */
static uint8_t passing[PASSING];

static void drop_kept(struct way *way)
{
	free(way->kept);
	way->kept = NULL;
	way->at = way->len = 0;
}

static void over(struct turn *turn, const char *cause, const char *reason)
{
	turn->cause = cause;
	turn->reason = reason;
}

/* Writes what it can of data. Bytes written; the rest is to be kept. */
static size_t put(struct channel *to, const uint8_t *data, size_t len, bool up, struct turn *turn)
{
	size_t done = 0;

	while (done < len) {
		ssize_t n = channel_write(to, data + done, len - done);

		if (n == -EAGAIN) {
			turn->wants_write = true;
			break;
		}
		if (n < 0) {
			over(turn, up ? "server_reset" : "client_reset", NULL);
			break;
		}
		done += (size_t)n;
	}
	return done;
}

static bool keep(struct way *way, const uint8_t *data, size_t len)
{
	way->kept = malloc(len);
	if (!way->kept)
		return false;
	memcpy(way->kept, data, len);
	way->at = 0;
	way->len = len;
	return true;
}

/* False: there is still something kept. */
static bool flush(struct way *way, struct channel *to, bool up, struct turn *turn)
{
	if (!way->kept)
		return true;
	way->at += put(to, way->kept + way->at, way->len - way->at, up, turn);
	if (way->at < way->len)
		return false;
	drop_kept(way);
	return true;
}

/* The budget is spent: that matters when there is one more byte, not when this was all. */
static size_t spent(struct channel *from, bool up, struct turn *turn)
{
	ssize_t got = channel_read(from, passing, 1);

	if (got > 0)
		over(turn, up ? "cap_bytes_up" : "cap_bytes_down", "cap_bytes");
	else if (got == -EAGAIN)
		turn->wants_read = true;
	else if (got < 0)
		over(turn, up ? "client_reset" : "server_reset", NULL);
	return 0;
}

/*
 * How much to read at once. More than may be kept only when the other side will take it, which the room in its socket
 * tells (but for an eighth, which the kernel counts for itself): a long stream then takes half the processor's time.
 */
static size_t portion(const struct way *way, const struct channel *to)
{
	uint32_t memory[SK_MEMINFO_VARS];
	socklen_t len = sizeof(memory);
	size_t room;

	if (!way->bulk || to->ssl || getsockopt(to->watch.fd, SOL_SOCKET, SO_MEMINFO, memory, &len) < 0 ||
	    len < sizeof(memory) || memory[SK_MEMINFO_WMEM_QUEUED] > memory[SK_MEMINFO_SNDBUF])
		return CONN_BUFFER;
	room = CONN_BUFFER + (memory[SK_MEMINFO_SNDBUF] - memory[SK_MEMINFO_WMEM_QUEUED]) / 8 * 7;
	return room < sizeof(passing) ? room : sizeof(passing);
}

/* Bytes read into `passing`, at most want; 0: none now (turn says why) or the end. */
static size_t take(struct conn *conn, struct channel *from, size_t want, bool up, struct turn *turn)
{
	uint64_t wait_ms = 0;
	size_t room = budget_room(&conn->use, up, want, loop_now_ns(conn->egress->loop), &wait_ms);
	ssize_t got;

	if (!room && wait_ms == UINT64_MAX)
		return spent(from, up, turn);
	if (!room) {
		turn->wait_ms = wait_ms;
		return 0;
	}
	got = channel_read(from, passing, room);
	if (got == -EAGAIN)
		turn->wants_read = true;
	else if (got < 0)
		over(turn, up ? "client_reset" : "server_reset", NULL);
	if (got <= 0)
		return 0;
	budget_spend(&conn->use, up, (size_t)got);
	return (size_t)got;
}

/* One direction, until it waits for something. Bytes moved. */
static size_t move(struct conn *conn, struct way *way, bool up, struct turn *turn)
{
	struct channel *from = up ? &conn->client : &conn->upstream, *to = up ? &conn->upstream : &conn->client;
	size_t moved = 0;

	while (flush(way, to, up, turn) && !from->ended && moved < QUOTA) {
		size_t want = portion(way, to), got = take(conn, from, want, up, turn), done;

		if (!got)
			break;
		way->bulk = got >= CONN_BUFFER;
		moved += got;
		done = put(to, passing, got, up, turn);
		if (done < got && !turn->cause && !keep(way, passing + done, got - done))
			over(turn, "no_memory", NULL);
		if (turn->cause || turn->wants_write)
			break;
		if (got < want && !channel_has_bytes(from)) { /* there was no more */
			turn->wants_read = true;
			break;
		}
	}
	if (moved >= QUOTA)
		turn->wants_read = true;
	if (from->ended && !way->kept && !turn->cause && channel_shutdown(to) == -EAGAIN)
		turn->wants_write = true;
	return moved;
}

static void finish(struct conn *conn, const struct turn *up, const struct turn *down)
{
	const struct turn *turn = up->cause ? up : down;
	struct relay *relay = conn->state;

	if (turn->cause) {
		conn_close(conn, turn->cause, turn->reason, true);
		return;
	}
	if (!relay->first && (conn->client.ended || conn->upstream.ended))
		relay->first = conn->client.ended ? "client" : "server";
	if (conn->client.shut && conn->upstream.shut) {
		conn_close(conn, relay->first, NULL, false);
		return;
	}
	if (up->wait_ms || down->wait_ms)
		conn_pump_after(conn, down->wait_ms && (!up->wait_ms || down->wait_ms < up->wait_ms) ? down->wait_ms
												  : up->wait_ms);
	if (channel_has_bytes(&conn->client) || channel_has_bytes(&conn->upstream))
		conn_pump_after(conn, up->wait_ms || down->wait_ms ? 1 : 0);
	channel_wait(&conn->client, up->wants_read, down->wants_write);
	channel_wait(&conn->upstream, down->wants_read, up->wants_write);
}

static void relay_pump(struct conn *conn)
{
	struct turn up = {0}, down = {0};
	size_t moved;
	struct relay *relay = conn->state;

	if (!relay) {
		relay = conn->state = calloc(1, sizeof(*relay));
		conn_timer(conn, CONN_IDLE_MS, "idle_timeout");
	}
	if (!relay) {
		conn_close(conn, "no_memory", NULL, true);
		return;
	}
	moved = move(conn, &relay->up, true, &up);
	moved += up.cause ? 0 : move(conn, &relay->down, false, &down);
	if (moved)
		conn_timer(conn, CONN_IDLE_MS, "idle_timeout");
	finish(conn, &up, &down);
}

static void relay_done(struct conn *conn)
{
	struct relay *relay = conn->state;

	if (!relay)
		return;
	drop_kept(&relay->up);
	drop_kept(&relay->down);
	free(relay);
}

const struct conn_mode mode_relay = {.name = "relay", .pump = relay_pump, .done = relay_done};
