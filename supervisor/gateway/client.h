/*
 * The supervisor's end of the line to egress: connects that wait for an upstream, records that egress asks for, and
 * what the result says about the network. Part of the supervisor's loop, never blocks.
 */
#ifndef CALLGATE_SUPERVISOR_GATEWAY_CLIENT_H
#define CALLGATE_SUPERVISOR_GATEWAY_CLIENT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "supervisor/gateway/start.h"
#include "syscalls/call/call.h"

struct control_connect;
struct egress_client;
struct pool;

/* A socket that must not block is answered after that long, whatever egress does. */
#define EGRESS_HOLD_MS 250
/* Connects waiting at a time; then EAGAIN. */
#define EGRESS_PENDING_MAX 1024

/* Borrows all but control_fd, which is taken also on failure. 0 or -errno. */
int egress_client_create(struct sandbox *sandbox, struct pool *pool, int control_fd, struct egress_client **ret_client);
/* What still waits is answered with ECONNABORTED. */
void egress_client_free(struct egress_client *client);

/* -1: it is given up, its descriptor closed. */
int egress_client_fd(const struct egress_client *client);
/* EPOLLIN and, while messages are queued, EPOLLOUT: ask again after each event or tick. */
unsigned egress_client_interest(const struct egress_client *client);
/*
 * Sends and reads what there is now, without waiting. Also for inet.h, so that a name given out a moment ago is known.
 */
void egress_client_exchange(void *client);
/*
 * Answers what has waited long enough or is waited for no more; milliseconds until it wants to be called again, -1:
 * never.
 */
int egress_client_tick(struct egress_client *client);

/* OUTCOME_EGRESS: takes the outcome's descriptor. 0: it is answered and recorded later; -errno: the caller must. */
int egress_client_connect(struct egress_client *client, struct call *call);
/* For inet.h: hands egress a socket for the datagrams to an endpoint. Borrows fd. 0 or -errno. */
int egress_client_udp(void *client, const struct control_connect *endpoint, int fd);

/* The program has ended: asks egress to close everything and takes its last records, for at most two seconds. */
void egress_client_finish(struct egress_client *client);
/*
 * False: it has died or spoken nonsense. Then every connect is refused (ENETDOWN, "egress_failed"). Signature for
 * inet.h.
 */
bool egress_client_alive(const void *client);
/* For inet.h: what was refused before egress heard of it, for the result. */
void egress_client_refused(void *client, const char *host, unsigned port, const char *rule, const char *reason);

/*
 * How many requests, connections and names were refused by egress; connects that were are calls, and counted as such.
 */
uint64_t egress_client_denied(const struct egress_client *client);

/*
 * The result's "network": [{host, port, method, path, status, bytes_up, bytes_down, decision, rule, reason, count}],
 * at most 1,000; equal ones are counted, *ret_unlisted tells how many more there were. And advice
 * (client_rejected_ca) as {"host", "reason", "advice"} in "network_advice". And of each rule with a budget what it
 * came to, in "network_budgets". Owned by the caller; NULL: no memory.
 */
json_t *egress_client_network(const struct egress_client *client, uint64_t *ret_unlisted);
json_t *egress_client_budgets(const struct egress_client *client);
json_t *egress_client_advice(const struct egress_client *client);

#endif
