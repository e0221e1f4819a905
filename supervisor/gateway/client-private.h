/* Shared by the files of the client only. */
#ifndef CALLGATE_SUPERVISOR_GATEWAY_CLIENT_PRIVATE_H
#define CALLGATE_SUPERVISOR_GATEWAY_CLIENT_PRIVATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "egress/conn/pool.h"
#include "egress/control.h"
#include "supervisor/gateway/client.h"
#include "syscalls/net/inet.h"

/* ---- egress-client-queue.c: what is said to egress ---- */

struct queued;
struct send_queue {
	struct queued *first, **last;
	size_t count;
	uint64_t stuck_ns; /* since when nothing has left it; 0: it is empty */
};
#define QUEUE_MAX 2048      /* then nothing more is read: egress has to listen first */
#define QUEUE_STUCK_MS 10000 /* … and is given up when it does not */

void queue_init(struct send_queue *queue);
void queue_done(struct send_queue *queue);
/* Sends it, or keeps it (and a duplicate of fd, -1: none) behind what waits already. 0, -ENOMEM, -EPIPE and others: it is gone. */
int queue_send(struct send_queue *queue, int control_fd, const struct control_message *message, int fd);
/* Sends what is possible. 0 or -errno: the other side is gone, or deaf for too long. */
int queue_flush(struct send_queue *queue, int control_fd);

/* ---- egress-client-conns.c: what was announced, and the requests on it ---- */

#define CONNS_MAX 2048    /* announced and not closed; egress serves fewer (CONN_MAX) */
#define REQUESTS_MAX 8192 /* recorded without an outcome */
#define BUCKETS 1024

struct request_entry {
	uint64_t id; /* of its record */
	struct audit_slot slot;
	struct conn_entry *conn;
	struct request_entry *next, *next_of_conn;
	char *host, *method, *path, *rule;
	unsigned port;
};

/* Who asked for it is known from the call that announced it; egress only says which it means. */
struct conn_entry {
	uint64_t id;
	struct conn_entry *next;
	struct request_entry *requests;
	char *exe;
	char *rule; /* of its open record; NULL */
	pid_t pid, ppid, host_pid;
	uint16_t port;
	bool udp, opened, answered;
	bool listed; /* something of it is in the network list already */
	char denied[32]; /* reason of its last denial */
	char address[NET_ADDRESS_TEXT];
	char host[NET_HOST_MAX]; /* "": a proxy, whose destinations its records name */
};

struct conns {
	struct conn_entry *bucket[BUCKETS];
	struct request_entry *request_bucket[BUCKETS];
	size_t count, requests;
	uint64_t next; /* number to give */
};

/* What a call announces. -EAGAIN: too many; -ENOMEM. Owned by the table until conns_remove. */
int conns_add(struct conns *conns, const struct task *task, const struct control_connect *what, struct conn_entry **ret_conn);
struct conn_entry *conns_find(const struct conns *conns, uint64_t id);
/* Any one of them, or NULL. */
struct conn_entry *conns_any(const struct conns *conns);
/* Its requests must be gone. */
void conns_remove(struct conns *conns, struct conn_entry *conn);

/* Copies the texts of the record. -EAGAIN, -ENOMEM. */
int conns_add_request(struct conns *conns, struct conn_entry *conn, const struct control_record *record,
		      struct request_entry **ret_request);
struct request_entry *conns_find_request(const struct conns *conns, uint64_t id);
void conns_remove_request(struct conns *conns, struct request_entry *request);

/* ---- egress-client-network.c: the result's lists ---- */

#define NETWORK_MAX 1000
#define ADVICE_MAX 100

struct network;
struct network_item { /* texts borrow; NULL or "": null */
	const char *host, *method, *path, *rule, *reason;
	unsigned port, status; /* 0: null */
	bool allow;
	uint64_t bytes_up, bytes_down, count;
};

struct network *network_create(void);
void network_free(struct network *network);
/* Equal ones (all but bytes and count) are one. Memory exhausted: counted only. */
void network_add(struct network *network, const struct network_item *item);
/* Sums are told, not relied on; they stop at what JSON's integers hold. */
uint64_t network_sum(uint64_t one, uint64_t other);
json_t *network_json(const struct network *network, uint64_t *ret_unlisted);
/* A client that did not take the run's certificate authority. */
void network_advise(struct network *network, const char *host, const char *reason);
json_t *network_advice(const struct network *network);

/* ---- egress-client-usage.c: budgets of rules, which are named by their labels ---- */

struct usage;
struct usage *usage_create(const struct policy *policy);
void usage_free(struct usage *usage);
void usage_open(struct usage *usage, const char *label);
void usage_request(struct usage *usage, const char *label);
void usage_close(struct usage *usage, const char *label, uint64_t bytes_up, uint64_t bytes_down);
/* A refusal: whether it was for a budget, and which. */
void usage_hit(struct usage *usage, const char *label, const struct control_record *record);
json_t *usage_json(const struct usage *usage);

/* ---- egress-client-dial.c: connect(2) calls that wait ---- */

struct dial;
struct dials {
	struct dial *first;
	size_t count, looked; /* looked: whose turn it is to be looked at */
	uint64_t look_ns;
};

/* ---- egress-client.c ---- */

struct egress_client {
	struct sandbox *sandbox; /* borrowed, as the next */
	struct pool *pool;
	int control_fd; /* -1: given up */
	bool ending;
	struct send_queue queue;
	struct conns conns;
	struct dials dials;
	struct network *network;
	struct usage *usage;
	uint64_t last_record; /* its number */
	uint64_t denied;
};

/* As queue_send; a message that cannot be kept ends it all (egress_client_fail by whoever called the caller). */
int client_send(struct egress_client *client, const struct control_message *message);

/* Takes dial's fd and what the call has in outcome.egress. 0 or -errno. */
int dials_add(struct egress_client *client, const struct call *call, int fd, const struct inet_dial *what,
	      const struct conn_entry *conn);
/* CONNECTED. error 0: the socket is connected, else the call gets it. No such dial: nothing. */
void dials_answer(struct egress_client *client, uint64_t conn, int error);
/* All that wait get the error. */
void dials_fail(struct egress_client *client, int error);
/* Milliseconds to the next thing to do; -1: nothing. */
int dials_tick(struct egress_client *client);

#define ERRNO_MAX 133 /* EHWPOISON: beyond are the kernel's own, which no program may be given */

/* ---- egress-client-record.c: each 0, or -errno: egress is to be given up ---- */

int client_record(struct egress_client *client, const struct control_record *record);
int client_done(struct egress_client *client, const struct control_done *done);
/* A close record of our own, when egress has sent none. */
void client_close(struct egress_client *client, struct conn_entry *conn, const char *cause);

#endif
