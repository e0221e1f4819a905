/*
 * The supervisor's end of the control socket to egress: connect(2) calls that wait for an upstream connection, records
 * that egress asks for, and the network part of the result. Runs in the supervisor thread and never blocks.
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

/* A connect(2) of a non-blocking socket gets a response after this time, whatever egress does. */
#define EGRESS_HOLD_MS 250
/* Waiting connects at a time; more get EAGAIN. */
#define EGRESS_PENDING_MAX 1024

/*
 * Makes the client and sandbox->inet. Takes side's control_fd. 0, or -errno, perhaps with a client. Release with
 * inet_free and then egress_client_free.
 */
int egress_client_start(struct sandbox *sandbox, struct egress_side *side, const struct egress_guest *guest,
			struct egress_client **ret_client);
/* Makes only the client, without sandbox->inet. Takes pool and control_fd, also on failure. 0 or -ENOMEM. */
int egress_client_create(struct sandbox *sandbox, struct pool *pool, int control_fd, struct egress_client **ret_client);
/* Connects that still wait get ECONNABORTED. */
void egress_client_free(struct egress_client *client);

/* EPOLLIN and, while messages are queued, EPOLLOUT. May change at each event or tick. */
unsigned egress_client_get_poll_events(const struct egress_client *client);
/* Watches the control socket for its present interest, with data.ptr = mark. 0 or -errno. */
int egress_client_watch_socket(struct egress_client *client, int epoll_fd, void *mark);
/* Sends and reads messages without waiting. inet.h calls it too, to learn names that egress has just given out. */
void egress_client_exchange_messages(void *client);
/* Ends connects that timed out or were interrupted. Milliseconds until the next call is due; -1: none. */
int egress_client_check_connects(struct egress_client *client);

/* OUTCOME_EGRESS. 0: takes the outcome's descriptor, responds and ends the record later. -errno: the caller does. */
int egress_client_start_connect(struct egress_client *client, struct call *call);
/* For inet.h: sends egress a socket for the datagrams to an endpoint. Borrows fd. 0 or -errno. */
int egress_client_send_udp_socket(void *client, const struct control_connect *endpoint, int fd);

/* After the program's end: has egress close everything and takes its last records. Waits up to two seconds. */
void egress_client_end_run(struct egress_client *client);
/* For inet.h. False: egress has died or broken the protocol; every connect is refused (ENETDOWN, "egress_failed"). */
bool egress_client_is_alive(const void *client);
/* For inet.h: lists a refusal that egress knows nothing of. */
void egress_client_add_refusal(void *client, const char *host, unsigned port, const char *rule, const char *reason);

/* The network in the result and in the report. Zeroed: no network. */
struct network_report {
	/*
	 * [{host, port, method, path, status, bytes_up, bytes_down, decision, rule, reason, count}], at most 1,000;
	 * equal entries are one with a count. Owned, as the next two.
	 */
	json_t *list;
	json_t *advice;    /* [{host, reason, advice}] */
	json_t *budgets;   /* the use of each rule's budget */
	uint64_t unlisted; /* how many are not in the list */
	uint64_t denied; /* requests, connections and names that egress refused; refused connect(2) calls are calls */
};
void egress_client_make_report(const struct egress_client *client, struct network_report *ret_report);
void network_report_release(struct network_report *report);

#endif
