/*
 * One TCP connection of the program: the client end (its socket's peer), the upstream end (the endpoint) and a mode
 * that moves bytes between them. The supervisor announces it before its socket arrives; it is closed exactly once.
 * Called in the egress process by main.c and by the modes. A connection owns both sockets, its
 * mode's state and its share of the rule's budget.
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
	CONN_RELAY, /* bytes as they are */
	CONN_HELLO, /* checks the ClientHello, then CONN_RELAY (pass-through) or CONN_TLS */
	CONN_TLS,   /* TLS interception: both handshakes, then CONN_HTTP1 or CONN_HTTP2 by ALPN */
	CONN_HTTP1, /* judged requests, in the clear or inside intercepted TLS */
	CONN_HTTP2,
	CONN_PROXY, /* HTTP proxy: CONNECT and absolute-form targets */
	CONN_SOCKS, /* SOCKS5 proxy */
	CONN_MODE_MAX,
};

struct conn_mode {
	const char *name;   /* for records */
	size_t state_size;  /* of conn->state, which is zeroed before the first pump; 0: NULL */
	uint64_t limit_ms;  /* time limit of its first phase; 0: set by pump */
	const char *limit_cause; /* cause of the close record when that expires */
	/*
	 * Makes all progress that is possible, then sets what to wait for (channel_set_wait on both ends). Called when
	 * an end is ready, a record is acknowledged, the upstream is connected or a budget allows bytes again.
	 */
	void (*pump)(struct conn *conn);
	void (*done)(struct conn *conn); /* frees what conn->state owns, if there is a state; may be NULL */
};

struct conn {
	struct egress *egress;
	const struct conn_mode *const *modes; /* by enum conn_mode_id; borrowed */
	uint64_t id;
	pid_t pid;
	uint16_t source_port, port;
	int family;
	char host[NET_HOST_MAX]; /* approved name; "" for a proxy that has read no destination yet */
	const struct net_rule *rule; /* the rule that approves host; NULL for a proxy that has no destination yet */
	struct channel client, upstream; /* watch.fd -1: not connected */
	const struct conn_mode *mode;
	void *state;             /* of the mode; owned */
	struct timer timer;      /* of the present phase: peek, handshake, head, idle; may be due before deadline_ns */
	uint64_t deadline_ns;
	const char *timeout_cause; /* cause of the close record at the deadline */
	struct timer pump_timer; /* conn_pump_mode_after */
	struct dial *dial;       /* while one is under way */
	void (*answer)(struct conn *conn, int error, const char *reason); /* of conn_open_upstream */
	struct dial_result dialled; /* dialled.fd has moved to upstream */
	char sni[NET_HOST_MAX], alpn[16];
	uint64_t start_ns, active_ns; /* announced; last event, for eviction */
	struct budget_use use;
	unsigned status;         /* HTTP status for the close record; 0: none */
	bool arrived;            /* the client's socket was accepted */
	bool opened;             /* the "open" record is written */
	bool answered;           /* CONNECTED was sent */
	bool stalled;            /* to be pumped when the control line has room again */
	bool closed;
	struct conn *next, **slot; /* in egress->conns, also while closed */
	struct timer later;      /* reports a refusal; after the end frees the connection */
	uint64_t bytes_up, bytes_down; /* of earlier upstream connections */
};

/* Makes a connection that waits for its socket. NULL: no memory. modes has CONN_MODE_MAX entries; borrowed. */
struct conn *conn_create(struct egress *egress, const struct control_connect *connect,
			 const struct conn_mode *const *modes);
/* The connection's socket was accepted. Takes fd. */
void conn_take_socket(struct conn *conn, int fd);
/* Sends CONNECTED with 0 or -errno, once. */
void conn_send_connected(struct conn *conn, int error);

/* Time limits of the phases. */
#define CONN_PEEK_MS 10000
#define CONN_HANDSHAKE_MS 10000
#define CONN_HEADERS_MS 30000
#define CONN_IDLE_MS 300000
#define CONN_ARRIVE_MS 10000 /* from CONNECTED until the socket arrives */
#define CONN_MAX 4096        /* or what RLIMIT_NOFILE allows; then a new connection evicts the longest idle one … */
#define CONN_EVICT_MS 5000   /* … if that was idle for this long, else the new one is refused */
#define CONN_BUFFER (64 * 1024) /* bytes buffered a direction; allocated on first use */

/*
 * Ends the present mode (its done, its timers) and starts another, which is pumped at once. Bytes read too early are to
 * be given back by channel_put_back_bytes first. The caller returns without touching conn.
 */
void conn_switch_mode(struct conn *conn, enum conn_mode_id mode);
/* Calls the mode's pump now, or after ms milliseconds. */
void conn_pump_mode(struct conn *conn);
void conn_pump_mode_after(struct conn *conn, uint64_t ms);
/*
 * Reads from the program (up) or the endpoint, as the rule's budget allows. As channel_read, or -EBUSY: nothing is
 * allowed for *ret_wait_ms milliseconds; -EDQUOT: there are bytes past the budget's cap.
 */
ssize_t conn_read_bytes(struct conn *conn, bool up, void *data, size_t cap, uint64_t *ret_wait_ms);
/* Restarts the phase's time limit. cause (static) goes into the close record when it expires. */
void conn_set_limit(struct conn *conn, uint64_t ms, const char *cause);

/*
 * Writes the one close record with cause (static; see control.h) and reason (static code; NULL: none), closes both
 * sockets, by reset when abort is set, and frees conn later. The caller returns without touching conn. Idempotent.
 */
void conn_close(struct conn *conn, const char *cause, const char *reason, bool abort);

/* Starts the first mode that the connection's rule asks for, once both ends are connected; without a rule a proxy. */
void conn_start_first_mode(struct conn *conn);

/*
 * Judges host and port, dials, writes the "open" record. Sets host, port and rule at once and closes a former upstream.
 * answer is called once, from the loop, unless the connection is closed before: 0, and conn->upstream is connected; or
 * -errno with reason, a static code that is recorded by then.
 */
void conn_open_upstream(struct conn *conn, const char *host, uint16_t port,
			void (*answer)(struct conn *conn, int error, const char *reason));
void conn_drop_upstream(struct conn *conn, bool abort);

/* The fields every record of a connection has: conn, pid, host, port, proto, rule, sni, alpn. */
void conn_init_record(const struct conn *conn, enum control_event event, struct control_record *ret_record);
/* Writes the "open" record of a refusal. */
void conn_write_refusal_record(struct conn *conn, const char *reason);
/* Completes a request's record. done: without the duration, which is since start_ns. */
void conn_complete_record(struct conn *conn, uint64_t start_ns, struct control_done done);

extern const struct conn_mode mode_hello, mode_relay, mode_tls, mode_http1, mode_http2, mode_proxy, mode_socks;

#endif
