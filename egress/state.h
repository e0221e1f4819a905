/* The state of the egress process, shared by its files. There is one instance, which main.c owns. */
#ifndef CALLGATE_EGRESS_STATE_H
#define CALLGATE_EGRESS_STATE_H

#include <netinet/in.h>
#include <openssl/ssl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "egress/budget.h"
#include "egress/conn/conn.h"
#include "egress/conn/loop.h"
#include "egress/conn/pool.h"
#include "egress/egress.h"

struct control_line; /* defined in conn/line.h */
struct resolver;     /* defined in dns/resolver.h */
struct dns_server;   /* defined in dns/server.h */
struct tls;          /* defined in tls/context.h */
struct udp_relay;    /* defined in conn/udp.c */

/* The state of the egress process. */
struct egress {
	const struct egress_options *options;
	const struct policy *policy;
	struct loop *loop;
	struct pool *pool;
	struct budgets *budgets;
	struct control_line *line;
	struct conn *conns;      /* list of all connections */
	size_t conns_count, conns_max;
	unsigned question_count; /* questions about requests whose records are not sent */
	struct conn **expected;  /* the connections whose sockets have not arrived, by source port; owned */
	struct resolver *resolver;
	struct dns_server *dns;
	struct tls *tls;         /* NULL: no rule intercepts TLS */
	struct udp_relay *udp;   /* list of all UDP endpoints */
	struct watch listener;   /* socket that accepts the program's TCP connections */
	struct in_addr own; /* the run's own loopback address, of egress' listener and of programs' sockets */
	struct timer listener_pause_timer; /* ends a pause of accepting, while no file descriptor is free */
	struct timer end_timer;  /* started by CONTROL_END */
	uint64_t ending_start_ns;         /* time when `is_ending` was set */
	enum control_phase phase; /* which messages the supervisor may send now */
	bool is_ending;           /* no new connections are accepted */
	int exit_status;              /* exit status of the process */
};

#endif
