/*
 * One TCP connection of the program: the client end (the peer of the program's socket), the upstream end (connected to
 * the endpoint) and a mode that moves bytes between them. The supervisor announces a connection before its socket
 * arrives. A connection is closed exactly once. Called in the egress process by main.c and by the modes. A connection
 * owns both sockets, its mode's state and its use of the rule's budget.
 */
#ifndef CALLGATE_EGRESS_CONN_CONN_H
#define CALLGATE_EGRESS_CONN_CONN_H

#include <stdbool.h>
#include <stdint.h>

#include "egress/budget.h"
#include "egress/conn/channel.h"
#include "egress/conn/dial.h"
#include "egress/conn/loop.h"
#include "egress/control.h"
#include "policy/network/net.h"

struct conn;
struct egress;

enum conn_mode_id {
	CONN_MODE_RELAY, /* forwards bytes unchanged */
	CONN_MODE_HELLO, /* checks the ClientHello, then CONN_MODE_RELAY (pass-through) or CONN_MODE_TLS */
	CONN_MODE_TLS,   /* TLS interception: both handshakes, then CONN_MODE_HTTP1 or CONN_MODE_HTTP2 by ALPN */
	CONN_MODE_HTTP1, /* HTTP/1 requests, each judged, in the clear or inside intercepted TLS */
	CONN_MODE_HTTP2,
	CONN_MODE_PROXY, /* HTTP proxy: CONNECT and absolute-form targets */
	CONN_MODE_SOCKS, /* SOCKS5 proxy */
	CONN_MODE_MAX,
};

/* A mode of connections: what moves their bytes. */
struct conn_mode {
	const char *name;   /* name of the mode in audit records */
	size_t state_size;  /* size of conn->state, which is zeroed before the first pump; 0: no state */
	uint64_t first_timeout_ms;  /* time limit of the mode's first phase; 0: pump sets it */
	const char *first_timeout_cause; /* cause in the close record if first_timeout_ms expires */
	/*
	 * Makes all progress that is possible, then sets what to wait for (channel_set_events on both ends). Called
	 * when an end is ready, a record is acknowledged, the upstream is connected or a budget allows bytes again.
	 */
	void (*pump)(struct conn *conn);
	void (*done)(struct conn *conn); /* frees what conn->state owns, if there is a state; may be NULL */
};

/* A connection of the program through egress, from its announcement by the supervisor to its close record. */
struct conn {
	struct egress *egress;
	const struct conn_mode *const *modes; /* indexed by enum conn_mode_id; borrowed */
	uint64_t id;
	pid_t pid;
	uint16_t source_port, port;
	int address_family;          /* of the program's socket */
	bool was_answered;           /* the answer to a question permits the endpoint it was announced with */
	char host[NET_HOST_SIZE];    /* the endpoint's name; "" for a proxy that has read no destination yet */
	const struct net_rule *rule; /* the rule that approves host; NULL for a proxy that has no destination yet */
	struct channel client, upstream; /* watch.fd is -1 while not connected */
	const struct conn_mode *mode;
	void *state;             /* the mode's state; owned */
	/* limits the present phase (handshake, head, idle); may fire before phase_deadline_ns */
	struct timer phase_timer;
	uint64_t phase_deadline_ns;
	const char *timeout_cause; /* cause in the close record if the deadline passes */
	struct timer pump_timer; /* timer of conn_pump_mode_after() */
	struct dial *running_dial;       /* the dial under way; NULL: none */
	void (*answer)(struct conn *conn, int error, const char *reason); /* gets the result of conn_open_upstream() */
	struct dial_result upstream_dial_result; /* its fd is -1: `upstream` has the socket */
	char sni[NET_HOST_SIZE], alpn[16];
	uint64_t start_ns, active_ns; /* start_ns: when it was announced; active_ns: its last event, for eviction */
	struct budget_use use;
	unsigned http_status;         /* HTTP status for the close record; 0: none */
	bool client_was_accepted;            /* the client's socket was accepted */
	bool open_record_written;             /* the "open" record is written */
	bool connected_was_sent;              /* the message CONNECTED was sent */
	/* the mode is to go on when the queue of the control line has room again */
	bool waits_for_control_line;
	unsigned waiting_request_count; /* requests that wait for the approver's answer */
	bool is_closed;            /* conn_close() was called: only the freeing is left */
	struct conn *next, **slot; /* in the list egress->conns until freed; slot: the pointer to this one */
	/* calls conn->answer for a refusal; once the connection is closed, frees it */
	struct timer refuse_or_free_timer;
	uint64_t bytes_up, bytes_down; /* bytes that earlier upstream connections moved, for the close record */
};

/* Creates a connection that waits for its socket. NULL: no memory. modes: CONN_MODE_MAX entries, borrowed. */
struct conn *conn_create(struct egress *egress, const struct control_connect *connect,
			 const struct conn_mode *const *modes);
/* To be called when the connection's socket was accepted. Takes fd. */
void conn_set_accepted_socket(struct conn *conn, int fd);
/* Sends CONNECTED with 0 or -errno to the supervisor. Does nothing the second time. */
void conn_send_connected(struct conn *conn, int error);

/* Time limits of a connection's phases. */
#define CONN_FIRST_BYTES_TIMEOUT_MS 10000
#define CONN_TLS_HANDSHAKE_TIMEOUT_MS 10000
#define CONN_HTTP_HEAD_TIMEOUT_MS 30000
#define CONN_IDLE_TIMEOUT_MS 300000
#define CONN_CLIENT_SOCKET_TIMEOUT_MS 10000 /* from CONNECTED until the socket arrives */
#define CONNS_MAX 4096                      /* most connections; RLIMIT_NOFILE may allow fewer */
/*
 * At CONNS_MAX, a new connection closes the longest idle one, but only one that was idle for this time. If there is
 * none, the new connection is refused.
 */
#define CONN_EVICT_AFTER_IDLE_MS 5000
#define CONN_BUFFER_BYTES (64 * 1024) /* bytes buffered in each direction; allocated at first use */

/*
 * Ends the present mode with its state and timers, starts another mode and pumps it. Bytes that were read too early
 * must be put back first (channel_put_back_bytes). The caller returns without using conn.
 */
void conn_switch_mode(struct conn *conn, enum conn_mode_id mode);
/* Call the `pump` of the connection's mode: at once, or after `ms` milliseconds. */
void conn_pump_mode(struct conn *conn);
void conn_pump_mode_after(struct conn *conn, uint64_t ms);
/*
 * Reads from the program (up) or from the endpoint, as much as the rule's budget allows. Returns as channel_read does,
 * or -EBUSY: no byte is allowed for *ret_wait_ms milliseconds; -EDQUOT: there are more bytes than the budget allows in
 * all.
 */
ssize_t conn_read_bytes(struct conn *conn, bool up, void *data, size_t cap, uint64_t *ret_wait_ms);
/*
 * Restarts the phase's time limit. If it expires, `cause` (static) goes into the close record. No effect while a
 * request waits for the approver.
 */
void conn_set_phase_timeout(struct conn *conn, uint64_t ms, const char *cause);
/* Takes the time limit away, until another one is set: the approver's time is limited by the supervisor. */
void conn_stop_phase_timeout(struct conn *conn);

/*
 * Writes the close record with `cause` (static; see control.h) and `reason` (static code; may be NULL), closes both
 * sockets, by a reset if `abort` is set, and lets the loop free conn. The caller returns without using conn. May be
 * called again.
 */
void conn_close(struct conn *conn, const char *cause, const char *reason, bool abort);

/* Starts the first mode, which the connection's rule selects, once both ends are connected. Without a rule: a proxy. */
void conn_start_first_mode(struct conn *conn);

/*
 * Judges host and port, dials, and writes the "open" record. Sets host, port and rule at once and closes a former
 * upstream. `answer` is called once, from the loop, unless the connection is closed before: with 0 when conn->upstream
 * is connected, or with -errno and a reason, a static code that is recorded by then.
 */
void conn_open_upstream(struct conn *conn, const char *host, uint16_t port,
			void (*answer)(struct conn *conn, int error, const char *reason));
void conn_drop_upstream(struct conn *conn, bool abort);

/* Sets the fields that every record of a connection has: conn, pid, host, port, proto, rule, sni, alpn. */
void conn_init_record(const struct conn *conn, enum control_event event, struct control_record *ret_record);
/* Writes the "open" record of a refused connection. */
void conn_write_refusal_record(struct conn *conn, const char *reason);
/* Completes a request's record with `done` and the time since start_ns. */
void conn_record_request_outcome(struct conn *conn, uint64_t start_ns, struct control_request_done done);

extern const struct conn_mode mode_hello, mode_relay, mode_tls, mode_http1, mode_http2, mode_proxy, mode_socks;

#endif
