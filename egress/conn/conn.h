/*
 * One connection of the program's: the client end (its socket's other side), the upstream end, and a mode that moves bytes
 * between them. Announced by the supervisor before it arrives, closed exactly once.
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

struct conn_mode {
	const char *name; /* for records: "relay" "http1" "h2" "proxy" "socks" … */
	/*
	 * Makes all the progress that is possible and says what it waits for (channel_wait on both ends). Called when either
	 * end is ready, a record is acknowledged, an upstream was dialled or a budget has bytes again.
	 */
	void (*pump)(struct conn *conn);
	void (*done)(struct conn *conn); /* frees conn->state; may be NULL */
};

struct conn {
	struct egress *egress;
	uint64_t id;
	pid_t pid;
	uint16_t source_port, port;
	int family;
	char host[NET_HOST_MAX]; /* approved name; "" for proxies until they know */
	const struct net_rule *rule; /* of the approved connection; NULL for proxies until they know */
	struct channel client, upstream; /* watch.fd -1: not there (yet) */
	const struct conn_mode *mode;
	void *state;             /* the mode's own */
	struct timer timer;      /* of the present phase: peek, handshake, headers, idle */
	uint64_t deadline_ns;    /* of that phase: the timer may be set for earlier, and then looks here */
	const char *timeout_cause; /* what the close record says when it fires */
	struct timer again;      /* conn_pump_after */
	struct dial *dial;       /* while it is under way */
	void (*answer)(struct conn *conn, int error, const char *reason); /* conn_open's */
	struct dial_result dialled; /* its fd is upstream's by then */
	char sni[NET_HOST_MAX], alpn[16];
	uint64_t start_ns, active_ns; /* announced; last something happened: for eviction */
	struct budget_use use;
	unsigned status;         /* conn_set_status */
	bool arrived;            /* its socket was accepted */
	bool opened;             /* its "open" record is on file */
	bool answered;           /* CONNECTED was sent */
	bool stalled;            /* to be pumped when the control line has room again */
	bool closed;
	struct conn *next_id, *next_port; /* hash chains of conn-table */
	struct task_later later; /* of a refusal to be told, then of being freed */
	bool queued;             /* later is */
	int refusal;             /* -errno for answer */
	const char *refusal_reason;
	uint64_t bytes_up, bytes_down; /* of upstreams before the present one (proxies) */
};

/* CONTROL_CONNECT: judges, dials, records, answers. */
void conn_announce(struct egress *egress, const struct control_connect *connect);
/* Its socket has come. Takes fd. */
void conn_arrive(struct conn *conn, int fd);
/* CONTROL_CANCEL. */
void conn_cancel(struct conn *conn);

/* Limits of phases, milliseconds. */
#define CONN_PEEK_MS 10000
#define CONN_HANDSHAKE_MS 10000
#define CONN_HEADERS_MS 30000
#define CONN_IDLE_MS 300000
#define CONN_ARRIVE_MS 10000 /* from CONNECTED until its socket comes */
#define CONN_MAX 4096        /* or what RLIMIT_NOFILE allows; then the longest idle one has to go for a new one … */
#define CONN_EVICT_MS 5000   /* … if it has been idle for that long, else the new one is refused */
#define CONN_BUFFER (64 * 1024) /* at most that much a direction, allocated when first needed */

/*
 * Ends the present mode (done, state NULL, its timer cleared) and begins the next, which is pumped and makes its state then.
 * Bytes read too early go through channel_unread. Nothing may be done afterwards but return.
 */
void conn_switch(struct conn *conn, const struct conn_mode *mode);
/* Calls the mode's pump now. */
void conn_pump(struct conn *conn);
/* Calls it again after that long: a budget's wait. */
void conn_pump_after(struct conn *conn, uint64_t ms);
/* Restarts the phase's clock. cause: static, of the close record when it runs out. */
void conn_timer(struct conn *conn, uint64_t ms, const char *cause);

/*
 * The end: one close record with cause (static; see control.h) and reason (static code, NULL: none), both sockets closed —
 * by reset when abort is set — and freed later. Nothing may be done with it afterwards but return. Idempotent.
 */
void conn_close(struct conn *conn, const char *cause, const char *reason, bool abort);
/* HTTP status the close record carries. */
void conn_set_status(struct conn *conn, unsigned status);

/* What its rule asks for once both ends are there: hello, http1 or relay. For the proxies: once `rule` and `host` are known. */
void conn_begin(struct conn *conn);

/*
 * For modes that come to know their destination late (proxies): judges host and port, dials, records "open". answer is
 * called once, from the loop, unless the connection is closed before: 0; or -errno with reason a static code, which is on
 * record then. host and port are set at once, on 0 conn->upstream and rule. An upstream that was there before is closed.
 */
void conn_open(struct conn *conn, const char *host, uint16_t port,
	       void (*answer)(struct conn *conn, int error, const char *reason));

/* conn_open's parts, for conn.c. */
void conn_upstream_ready(struct watch *watch, unsigned events);
void conn_drop_upstream(struct conn *conn, bool abort);
void conn_refuse_open(struct conn *conn, const char *reason); /* the record of it */

/* ---- records ---- */

/* Fills what is the connection's: conn, pid, host, port, proto, sni, alpn. */
void conn_record_init(const struct conn *conn, enum control_event event, struct control_record *ret_record);
/*
 * Sends it. With answer (wants_ack) that is called once, unless the connection is closed before: error 0: on record, go on;
 * else refuse. ctx is the caller's; conn_forget(conn, ctx) drops answers still to come for it.
 */
void conn_record(struct conn *conn, struct control_record *record,
		 void (*answer)(struct conn *conn, void *ctx, int error), void *ctx, uint64_t *ret_id);
void conn_forget(struct conn *conn, void *ctx);
/* What came of the request with that record id. */
void conn_record_done(struct conn *conn, uint64_t id, const struct control_done *done);

/* The modes. */
extern const struct conn_mode mode_hello; /* reads a ClientHello, then relay or tls */
extern const struct conn_mode mode_relay; /* bytes as they are */
extern const struct conn_mode mode_tls;   /* both handshakes, then http1 or http2 by ALPN */
extern const struct conn_mode mode_http1; /* judged requests, on plain or opened channels */
extern const struct conn_mode mode_http2;
extern const struct conn_mode mode_proxy; /* HTTP CONNECT and absolute form */
extern const struct conn_mode mode_socks;

#endif
