/* State of the egress process, shared by its files. One instance, owned by main.c. */
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

struct control_line; /* conn/line.h */
struct resolver;     /* dns/resolver.h */
struct dns_server;   /* dns/server.h */
struct tls;          /* tls/context.h */
struct udp_relay;    /* conn/udp.c */

struct egress {
	const struct egress_options *options;
	const struct policy *policy;
	struct loop *loop;
	struct pool *pool;
	struct budgets *budgets;
	struct control_line *line;
	struct conn *conns;      /* all; a list */
	size_t conns_count, conns_max;
	struct conn **expected;  /* by source port: the connections whose sockets have not arrived; owned */
	struct resolver *resolver;
	struct dns_server *dns;
	struct tls *tls;         /* NULL: no rule intercepts TLS */
	struct udp_relay *udp;   /* list of UDP endpoints */
	struct watch listener;   /* for TCP connections of the program */
	struct in_addr own;      /* the run's own loopback address, where it listens and programs connect from */
	struct timer listener_pause; /* while no file descriptor is free */
	struct timer end_timer;  /* CONTROL_END starts it */
	uint64_t end_ns;         /* when `ending` was set */
	enum control_phase phase; /* what the supervisor may say now */
	bool ending;             /* no new connections */
	int status;              /* exit status */
};

#endif
