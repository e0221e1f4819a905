/* mode_relay: copies bytes both ways. They are written at once; only what the peer has no room for is buffered. */
#include <errno.h>
#include <linux/sock_diag.h>
#include <sys/socket.h>

#include "egress/conn/conn.h"
#include "egress/state.h"

#define RELAY_SHARED_BUFFER_BYTES (1024 * 1024)
/* Most bytes that a relay moves in one direction in one round of the loop. */
#define RELAY_BYTES_PER_LOOP_ROUND_MAX (2 * RELAY_SHARED_BUFFER_BYTES)

/* The bytes on their way in one direction of a relay. */
struct relay_direction {
	struct bytes buffered_bytes;
	bool uses_shared_buffer; /* the last read returned a full buffer */
};

/* The state of a connection whose bytes are moved without looking at them. */
struct relay {
	struct relay_direction up, down;
	const char *end_closed_first; /* the end that closed first, for the close record */
};

/* The result of moving the bytes of one direction. */
struct relay_progress {
	bool wants_read, wants_write;
	uint64_t budget_wait_ms;  /* time until the budget allows bytes again; 0: no wait */
	const char *close_cause; /* why the connection is to be closed; NULL: go on */
	const char *close_reason;
};

/* A buffer that all relays share: egress has one thread, and no data stays in the buffer between calls. */
static uint8_t bulk[RELAY_SHARED_BUFFER_BYTES];

/* Notes why the relay ends the connection; relay_set_events() closes it. */
static void relay_set_close_cause(struct relay_progress *progress, const char *cause, const char *reason)
{
	progress->close_cause = cause;
	progress->close_reason = reason;
}

/* Writes as much as possible and returns how much was written. The caller buffers the rest. */
static size_t relay_write_bytes(struct channel *to, const uint8_t *data, size_t len, bool up,
				struct relay_progress *progress)
{
	size_t done = 0;

	while (done < len) {
		ssize_t n = channel_write(to, data + done, len - done);

		if (n == -EAGAIN) {
			progress->wants_write = true;
			break;
		}
		if (n < 0) {
			relay_set_close_cause(progress, up ? "server_reset" : "client_reset", NULL);
			break;
		}
		done += (size_t)n;
	}
	return done;
}

/* Writes the buffered bytes. False: bytes are still buffered. */
static bool relay_flush_buffer(struct bytes *buffered, struct channel *to, bool up, struct relay_progress *progress)
{
	if (!buffered->data)
		return true;
	bytes_drop(buffered,
		   relay_write_bytes(to, buffered->data + buffered->at, bytes_count_left(buffered), up, progress));
	return !buffered->data;
}

/*
 * How much to read at once: CONN_BUFFER_BYTES, and for a bulk stream also what the peer's send buffer has room for,
 * minus an eighth for the kernel's overhead. Larger reads halve the CPU time of a bulk stream.
 */
static size_t relay_get_read_size(const struct relay_direction *direction, const struct channel *to)
{
	uint32_t memory[SK_MEMINFO_VARS];
	socklen_t len = sizeof(memory);
	size_t room;

	if (!direction->uses_shared_buffer || to->ssl ||
	    getsockopt(to->watch.fd, SOL_SOCKET, SO_MEMINFO, memory, &len) < 0 || len < sizeof(memory) ||
	    memory[SK_MEMINFO_WMEM_QUEUED] > memory[SK_MEMINFO_SNDBUF])
		return CONN_BUFFER_BYTES;
	room = CONN_BUFFER_BYTES + (memory[SK_MEMINFO_SNDBUF] - memory[SK_MEMINFO_WMEM_QUEUED]) / 8 * 7;
	return room < sizeof(bulk) ? room : sizeof(bulk);
}

/* Reads at most `want` bytes into `bulk`. 0: the stream has ended, or `progress` says what to wait for. */
static size_t relay_read_bytes(struct conn *conn, size_t want, bool up, struct relay_progress *progress)
{
	ssize_t got = conn_read_bytes(conn, up, bulk, want, &progress->budget_wait_ms);

	if (got == -EAGAIN)
		progress->wants_read = true;
	else if (got == -EDQUOT)
		relay_set_close_cause(progress, up ? "cap_bytes_up" : "cap_bytes_down", "cap_bytes");
	else if (got < 0 && got != -EBUSY)
		relay_set_close_cause(progress, up ? "client_reset" : "server_reset", NULL);
	return got > 0 ? (size_t)got : 0;
}

/* Moves the bytes of one direction until it has to wait. Returns the bytes moved. */
static size_t relay_move_bytes(struct conn *conn, struct relay_direction *direction, bool up,
			       struct relay_progress *progress)
{
	struct channel *from = up ? &conn->client : &conn->upstream, *to = up ? &conn->upstream : &conn->client;
	size_t moved = 0;

	while (relay_flush_buffer(&direction->buffered_bytes, to, up, progress) && !from->peer_has_ended &&
	       moved < RELAY_BYTES_PER_LOOP_ROUND_MAX) {
		size_t want = relay_get_read_size(direction, to), got = relay_read_bytes(conn, want, up, progress);
		size_t done;

		if (!got)
			break;
		direction->uses_shared_buffer = got >= CONN_BUFFER_BYTES;
		moved += got;
		done = relay_write_bytes(to, bulk, got, up, progress);
		if (done < got && !progress->close_cause &&
		    bytes_add(&direction->buffered_bytes, bulk + done, got - done))
			relay_set_close_cause(progress, "no_memory", NULL);
		if (progress->close_cause || progress->wants_write)
			break;
		if (got < want && !channel_has_bytes(from)) { /* less was read than asked for: the socket is empty */
			progress->wants_read = true;
			break;
		}
	}
	if (moved >= RELAY_BYTES_PER_LOOP_ROUND_MAX)
		progress->wants_read = true;
	if (from->peer_has_ended && !direction->buffered_bytes.data && !progress->close_cause &&
	    channel_half_close(to) == -EAGAIN)
		progress->wants_write = true;
	return moved;
}

/* Waits for what both directions need next, or closes the connection, after an error or when both have ended. */
static void relay_set_events(struct conn *conn, const struct relay_progress *up, const struct relay_progress *down)
{
	const struct relay_progress *progress = up->close_cause ? up : down;
	struct relay *relay = conn->state;
	uint64_t wait_ms;

	if (progress->close_cause) {
		conn_close(conn, progress->close_cause, progress->close_reason, true);
		return;
	}
	if (!relay->end_closed_first && (conn->client.peer_has_ended || conn->upstream.peer_has_ended))
		relay->end_closed_first = conn->client.peer_has_ended ? "client" : "server";
	if (conn->client.fin_was_sent && conn->upstream.fin_was_sent) {
		conn_close(conn, relay->end_closed_first, NULL, false);
		return;
	}
	wait_ms = !up->budget_wait_ms || (down->budget_wait_ms && down->budget_wait_ms < up->budget_wait_ms)
			  ? down->budget_wait_ms
			  : up->budget_wait_ms;
	if (channel_has_bytes(&conn->client) || channel_has_bytes(&conn->upstream))
		conn_pump_mode_after(conn, wait_ms ? 1 : 0);
	else if (wait_ms)
		conn_pump_mode_after(conn, wait_ms);
	channel_set_events(&conn->client, up->wants_read, down->wants_write);
	channel_set_events(&conn->upstream, down->wants_read, up->wants_write);
}

static void relay_pump(struct conn *conn)
{
	struct relay_progress up = {0}, down = {0};
	struct relay *relay = conn->state;
	size_t moved = relay_move_bytes(conn, &relay->up, true, &up);

	moved += up.close_cause ? 0 : relay_move_bytes(conn, &relay->down, false, &down);
	if (moved)
		conn_set_phase_timeout(conn, CONN_IDLE_TIMEOUT_MS, "idle_timeout");
	relay_set_events(conn, &up, &down);
}

static void relay_free_buffers(struct conn *conn)
{
	struct relay *relay = conn->state;

	bytes_release(&relay->up.buffered_bytes);
	bytes_release(&relay->down.buffered_bytes);
}

const struct conn_mode mode_relay = {.name = "relay",
				     .state_size = sizeof(struct relay),
				     .first_timeout_ms = CONN_IDLE_TIMEOUT_MS,
				     .first_timeout_cause = "idle_timeout",
				     .pump = relay_pump,
				     .done = relay_free_buffers};
