/* What the parts of the egress process share. One a process. */
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

struct control_line; /* line.h: the queue towards the supervisor and the records that wait for an answer */
struct conn_table;   /* conn-table.h: by number and by source port */
struct resolver;     /* resolver.h: queries to the resolver process */
struct dns_server;   /* dns-server.h */
struct tls;          /* tls.h: contexts for both sides */
struct udp_relay;    /* udp-flow.h */

struct egress {
	const struct egress_options *options;
	const struct policy *policy;
	struct loop *loop;
	struct pool *pool;
	struct budgets *budgets;
	struct control_line *line;
	struct conn_table *conns;
	struct resolver *resolver;
	struct dns_server *dns;
	struct tls *tls;         /* made when first needed */
	struct udp_relay *udp;   /* a list */
	struct watch listener;   /* the guest's side: TCP */
	struct in_addr own;      /* where it listens: the run's own loopback address, which programs connect from as well */
	struct timer listener_pause; /* no descriptors left to accept with */
	struct timer end_timer;
	uint64_t end_ns;         /* when that began */
	size_t conns_max;
	enum control_phase phase; /* what the supervisor may say now */
	bool ending;
	bool accepting, end_waits; /* an end that is read meanwhile begins when the connection at hand has its place */
	int status;              /* of the process */
};

/* main.c: nothing new is taken from here on; what the program had sent goes on for a while. */
void egress_begin_end(struct egress *egress);

#endif
