/* Shared by the files of egress' client only. */
#ifndef CALLGATE_SUPERVISOR_GATEWAY_PRIVATE_H
#define CALLGATE_SUPERVISOR_GATEWAY_PRIVATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "egress/conn/pool.h"
#include "egress/control.h"
#include "supervisor/gateway/client.h"
#include "syscalls/net/inet.h"

/* ---- line.c ---- */

#define LINE_QUEUE_MAX 2048 /* messages; then nothing more is read: egress has to listen first */

struct queued;
struct egress_line {
	int fd;                   /* owned; -1: given up */
	enum control_phase phase; /* what egress may say now */
	struct queued *first, **last;
	size_t count;
	uint64_t stuck_ns; /* since when nothing has left the queue, while there is something in it */
};

/* Takes fd. */
void egress_line_init(struct egress_line *line, int fd);
/* Gives it up. */
void egress_line_done(struct egress_line *line);
/*
 * Sends it, or keeps it (and a duplicate of fd, -1: none) behind what waits already. 0, -ENETDOWN, -ENOMEM, -EPIPE
 * and others: it is to be given up, by whoever called the caller.
 */
int egress_line_send(struct egress_line *line, const struct control_message *message, int fd);
/* Sends what is possible. 0 or -errno: the other side is gone, or has taken nothing for too long. */
int egress_line_flush(struct egress_line *line);
/* The next legal message; -EAGAIN: there is none now; other -errno: there will be none, or what came was not legal. */
int egress_line_receive(struct egress_line *line, struct control_message *ret_message);

/* ---- connections.c ---- */

#define CONNS_MAX 2048    /* announced and not closed; egress serves fewer (CONN_MAX) */
#define REQUESTS_MAX 8192 /* recorded without an outcome */
#define BUCKETS 1024

struct request {
	uint64_t id; /* of its record */
	struct audit_slot slot;
	struct connection *conn;
	struct request *next, *next_of_conn;
	char *host, *method, *path, *rule;
	unsigned port;
};

/* Whose it is is known from the call that announced it; egress only says which one it means. */
struct connection {
	uint64_t id;
	struct connection *next;
	struct request *requests;
	char *exe;
	char *rule; /* of its open record; NULL */
	pid_t pid, ppid, host_pid;
	uint16_t port;
	bool opened;
	bool answered;   /* its connect(2); of a datagram socket from the beginning */
	bool listed;     /* something of it is in the network list already */
	char denied[32]; /* reason of its last denial */
	char address[NET_ADDRESS_TEXT];
	char host[NET_HOST_MAX]; /* "": a proxy, whose destinations its records name */
};

struct connections {
	struct connection *bucket[BUCKETS];
	struct request *request_bucket[BUCKETS];
	size_t count, requests;
	uint64_t next; /* number to give */
};

/* What egress says about a connection; about a name it is none's. */
enum connection_step {
	STEP_NAME,      /* a record: a name was refused */
	STEP_OPEN,      /* records that were granted: an upstream, … */
	STEP_REQUEST,   /* … a request */
	STEP_REFUSAL,   /* a record of one that was not */
	STEP_CLOSE,     /* the last record */
	STEP_CONNECTED, /* CONTROL_CONNECTED without an error */
	STEP_FAILED,    /* … with one */
	STEP_MAX,
};

/* What a call announces. -EAGAIN: too many; -ENOMEM. Owned by the table until connections_remove. */
int connections_add(struct connections *connections, const struct task *task, const struct control_connect *what,
		    struct connection **ret_conn);
struct connection *connections_find(const struct connections *connections, uint64_t id);
/* Any one of them, or NULL. */
struct connection *connections_any(const struct connections *connections);
/* Its requests must be gone. */
void connections_remove(struct connections *connections, struct connection *conn);
/* Whether that may be said of it now. conn: NULL: it is not known. */
bool connection_permits(const struct connection *conn, enum connection_step step);

/* Each 0, or -errno: egress is to be given up. */
int connections_record(struct egress_client *client, const struct control_record *record);
int connections_done(struct egress_client *client, const struct control_done *done);
/* A close record of our own, when egress has sent none. */
void connection_close(struct egress_client *client, struct connection *conn, const char *cause);

/* ---- summary.c: the result's lists ---- */

#define SUMMARY_MAX 1000
#define ADVICE_MAX 100

struct summary;
struct summary_item { /* texts borrow; NULL or "": null */
	const char *host, *method, *path, *rule, *reason;
	unsigned port, status; /* 0: null */
	bool allow;
	uint64_t bytes_up, bytes_down, count;
};

struct summary *summary_create(void);
void summary_free(struct summary *summary);
/* Equal ones (all but bytes and count) are one. Memory exhausted: counted only. */
void summary_add(struct summary *summary, const struct summary_item *item);
json_t *summary_json(const struct summary *summary, uint64_t *ret_unlisted);
/* A client that did not take the run's certificate authority. */
void summary_advise(struct summary *summary, const char *host, const char *reason);
json_t *summary_advice(const struct summary *summary);

/* Budgets of rules, which are named by their labels. */
struct usage;
struct usage *usage_create(const struct policy *policy);
void usage_free(struct usage *usage);
void usage_open(struct usage *usage, const char *label);
void usage_request(struct usage *usage, const char *label);
void usage_close(struct usage *usage, const char *label, uint64_t bytes_up, uint64_t bytes_down);
/* A refusal: whether it was for a budget, and which. */
void usage_hit(struct usage *usage, const char *label, const struct control_record *record);
json_t *usage_json(const struct usage *usage);

/* ---- connects.c: connect(2) calls that wait for an upstream ---- */

struct pending_connect;
struct connects {
	struct pending_connect *first;
	size_t count, looked; /* looked: whose turn it is to be looked at */
	uint64_t look_ns;
};

/* Takes fd, a duplicate of the program's socket. 0 or -errno. */
int connects_add(struct egress_client *client, const struct call *call, int fd, const struct inet_dial *what,
		 const struct connection *conn);
/* CONNECTED. error 0: the socket is connected, else the call gets it. No such connect: nothing. */
void connects_answer(struct egress_client *client, uint64_t conn, int error);
/* All that wait get the error. */
void connects_fail(struct egress_client *client, int error);
/* Milliseconds to the next thing to do; -1: nothing. */
int connects_tick(struct egress_client *client);

#define ERRNO_MAX 133 /* EHWPOISON: beyond are the kernel's own, which no program may be given */

/* ---- client.c ---- */

struct egress_client {
	struct sandbox *sandbox; /* borrowed, as the next */
	struct pool *pool;
	bool ending;
	struct egress_line line;
	struct connections connections;
	struct connects connects;
	struct summary *summary;
	struct usage *usage;
	uint64_t last_record; /* its number */
	uint64_t denied;
};

#endif
