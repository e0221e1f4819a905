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

/* After this time a connect(2) of a nonblocking socket gets a response, whatever egress does. */
#define EGRESS_NONBLOCKING_CONNECT_MAX_MS 250
/* waiting connects at a time; further ones get EAGAIN */
#define EGRESS_WAITING_CONNECTS_MAX 1024

/*
 * Makes the client and sandbox->inet. Takes control_fd of `egress`. 0, or -errno, perhaps with a client. inet_free()
 * and then egress_client_free() release them.
 */
int egress_client_start(struct sandbox *sandbox, struct egress_process *egress,
			const struct egress_program_sockets *sockets, struct egress_client **ret_client);
/* Makes only the client, without sandbox->inet. Takes pool and control_fd, also on failure. 0 or -ENOMEM. */
int egress_client_create(struct sandbox *sandbox, struct pool *pool, int control_fd, struct egress_client **ret_client);
/* Ends connects that still wait with ECONNABORTED, and frees the client. */
void egress_client_free(struct egress_client *client);

/* EPOLLIN and, while messages are queued, EPOLLOUT. May change at each event or tick. */
unsigned egress_client_get_poll_events(const struct egress_client *client);
/* Watches the control socket for the events that it needs now, with data.ptr = mark. 0 or -errno. */
int egress_client_watch_socket(struct egress_client *client, int epoll_fd, void *mark);
/* Sends and reads messages without waiting. inet.h calls it too, to learn names that egress has just handed out. */
void egress_client_exchange_messages(void *client);
/* Ends connects that timed out or were interrupted. Milliseconds until the next call is due; -1: none. */
int egress_client_check_pending_connects(struct egress_client *client);

/*
 * Handles OUTCOME_CONNECT_BY_EGRESS. 0: takes the outcome's descriptor, and responds and ends the record later. Else
 * -errno.
 */
int egress_client_start_connect(struct egress_client *client, struct call *call);
/* For inet.h: sends egress a socket for the datagrams to an endpoint. Borrows fd. 0 or -errno. */
int egress_client_send_udp_socket(void *client, const struct control_connect *endpoint, int fd);

/* Called after the program's end: egress closes everything, and its last records are taken. Waits up to 2 s. */
void egress_client_end_run(struct egress_client *client);
/*
 * Ends the network of the run at once: egress closes all connections and ends; connects that wait fail with ENETDOWN.
 * False: egress has not closed its end within 2 s.
 */
bool egress_client_end_network(struct egress_client *client);
/* Whether a connect(2) of this thread waits for egress. */
bool egress_client_serves_thread(const struct egress_client *client, pid_t tid);
/* For inet.h. False: egress has died or broken the protocol; every connect is refused (ENETDOWN, "egress_failed"). */
bool egress_client_is_alive(const void *client);
/* Adds a refusal that egress does not know of to the result. Texts are copied; rule may be NULL. */
void egress_client_add_refusal(struct egress_client *client, const char *host, unsigned port, const char *rule,
			       const char *reason);

/* How many connections are open now, and how often egress has refused something so far. */
void egress_client_get_counts(const struct egress_client *client, volatile uint64_t *ret_open,
			      volatile uint64_t *ret_denied);

/* The network in the result and in the report. All zeros: no network. */
struct network_report {
	/*
	 * [{host, port, method, path, status, bytes_up, bytes_down, decision, rule, reason, count}], at most 1,000;
	 * equal entries are one with a count. Owned, like `advice` and `budgets`.
	 */
	json_t *list;
	json_t *advice;    /* [{host, reason, advice}] */
	json_t *budgets;   /* the use of each rule's budget */
	uint64_t unlisted_entry_count; /* entries that are not in the list */
	uint64_t denied_count; /* refusals by egress; refused connect(2) calls are counted as calls */
};
void egress_client_make_report(const struct egress_client *client, struct network_report *ret_report);
void network_report_release(struct network_report *report);

#endif
