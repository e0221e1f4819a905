/* Shared by the files of egress' client only: client.c and the files named below. Supervisor thread. */
#ifndef CALLGATE_SUPERVISOR_GATEWAY_PRIVATE_H
#define CALLGATE_SUPERVISOR_GATEWAY_PRIVATE_H

#include "egress/conn/pool.h"
#include "egress/control.h"
#include "supervisor/gateway/client.h"
#include "syscalls/net/inet.h"

/* ---- line.c ---- */

#define LINE_QUEUE_MAX 2048 /* messages; beyond that none are read until egress has read some */

struct queued;
struct egress_line {
	int fd;                   /* owned; -1: closed after an error */
	enum control_phase phase; /* which messages egress may send now */
	struct queued *first, **last;
	size_t count;
	uint64_t stuck_ns; /* when a message last left the queue, while it is not empty */
};

/* Takes fd. */
void egress_line_init(struct egress_line *line, int fd);
/* Closes the socket and drops the queue. */
void egress_line_close(struct egress_line *line);
/*
 * Sends a message, or queues it with a duplicate of fd (-1: none). 0 or -errno: the line is broken, and client.c must
 * close it.
 */
int egress_line_send(struct egress_line *line, const struct control_message *message, int fd);
/* Sends queued messages. 0, or -errno: egress is dead or has read nothing for too long. */
int egress_line_send_queued(struct egress_line *line);
/* The next message; -EAGAIN: none now; other -errno: egress is dead, or the message is not permitted (control.h). */
int egress_line_receive(struct egress_line *line, struct control_message *ret_message);

/* ---- summary.c: the result's lists ---- */

#define SUMMARY_MAX 1000
#define ADVICE_MAX 100

struct summary {
	json_t *list;   /* the entries, as in the result. Owned, as the next two */
	json_t *index;  /* the same entries, by their JSON text without bytes and count */
	json_t *advice; /* for clients that did not accept the run's certificate authority */
	uint64_t unlisted;
};

struct summary_item { /* texts borrow; NULL or "": null */
	const char *host, *method, *path, *rule, *reason;
	unsigned port, status; /* 0: null */
	bool allow;
	uint64_t bytes_up, bytes_down, count;
};

/* Initialises. Without memory all is counted as unlisted. */
void summary_init(struct summary *summary);
void summary_release(struct summary *summary);
/* Adds to an entry that is equal but for bytes and count, or makes one. */
void summary_add_entry(struct summary *summary, const struct summary_item *item);
void summary_add_advice(struct summary *summary, const char *host, const char *reason);

/* The use of rules' budgets. A rule is identified by its label. Released with free(3). */
struct usage;
struct usage *usage_create(const struct policy *policy);
void usage_count_connection(struct usage *usage, const char *label);
void usage_count_request(struct usage *usage, const char *label);
void usage_end_connection(struct usage *usage, const char *label, uint64_t bytes_up, uint64_t bytes_down);
/* Counts a refusal: marks the budget that caused it, if a budget did. */
void usage_mark_hit_budget(struct usage *usage, const char *label, const struct control_record *record);
json_t *usage_make_json(const struct usage *usage);

/* ---- connections.c ---- */

#define CONNS_MAX 2048    /* announced and not closed; above the limit of egress (CONN_MAX) */
#define REQUESTS_MAX 8192 /* recorded, without an outcome yet */

struct request {
	uint64_t id; /* of its record */
	struct audit_slot slot;
	struct connection *conn;
	struct request *next_of_conn;
	char *texts;              /* of item. Owned */
	struct summary_item item; /* what is known of the request before its outcome */
};

/* The connection's process is known from its announcement. Egress only names the connection's id. */
struct connection {
	uint64_t id;
	struct request *requests;
	char *exe;
	char *rule; /* the rule of the "open" record; NULL: not opened */
	pid_t pid, ppid, host_pid;
	uint16_t port;
	bool opened;
	bool answered;   /* the program's connect(2) got a response; always true for datagrams */
	bool listed;     /* the result lists something of this connection already */
	char denied[32]; /* reason of the connection's last denial */
	char address[NET_ADDRESS_TEXT];
	char host[NET_HOST_MAX]; /* "": a proxy; its records name the destinations */
};

struct connections {
	void *tree;         /* of struct connection by id: tsearch(3). Owned */
	void *request_tree; /* of struct request by id. Owned */
	size_t count, requests;
	uint64_t next; /* the last id given */
};

/* What egress reports about a connection, or about a name without one. */
enum connection_step {
	STEP_NAME,      /* a record: a name was refused */
	STEP_OPEN,      /* a record: an upstream connection was granted */
	STEP_REQUEST,   /* a record: a request was granted */
	STEP_REFUSAL,   /* a record: either was refused */
	STEP_CLOSE,     /* the last record */
	STEP_CONNECTED, /* CONTROL_CONNECTED without an error */
	STEP_FAILED,    /* CONTROL_CONNECTED with an error */
	STEP_MAX,
};

/* Adds the connection of a call; task NULL: datagrams. -EAGAIN: too many; -ENOMEM. Owned by the table. */
int connections_add(struct connections *connections, const struct task *task, const struct control_connect *what,
		    struct connection **ret_conn);
struct connection *connections_find_by_id(const struct connections *connections, uint64_t id);
/* Removes and frees a connection, which must have no requests. */
void connections_remove(struct connections *connections, struct connection *conn);
/* Whether egress may report this step now. conn NULL: unknown to us. */
bool connection_permits_step(const struct connection *conn, enum connection_step step);

/* Handle messages of egress. 0, or -errno: client.c must close the line. */
int connections_handle_record(struct egress_client *client, const struct control_record *record);
int connections_end_request(struct egress_client *client, const struct control_done *done);
/* Closes all connections, and writes the close records that egress has not sent. */
void connections_close_all(struct egress_client *client, const char *cause);

/* ---- connects.c: connect(2) calls that wait for an upstream ---- */

struct pending_connect;
struct connects {
	struct pending_connect *first;
	size_t count, looked; /* looked: index of the next one to be checked for interruptions */
	uint64_t look_ns;     /* when */
};

/* Takes fd, a duplicate of the program's socket. 0 or -errno. */
int connects_add_waiting(struct egress_client *client, const struct call *call, int fd, const struct inet_dial *what,
			 const struct connection *conn);
/* CONTROL_CONNECTED: connects the socket to egress' listener, or ends the call with the error. */
void connects_on_connected(struct egress_client *client, uint64_t conn, int error);
/* Ends all waiting connects with the error. */
void connects_fail_all(struct egress_client *client, int error);
/* Milliseconds until the next call is due; -1: none. */
int connects_check_all(struct egress_client *client);

#define ERRNO_MAX 133 /* EHWPOISON: higher ones are internal to the kernel */

/* ---- client.c ---- */

struct egress_client {
	struct sandbox *sandbox; /* borrowed */
	struct pool *pool;       /* owned */
	unsigned interest;       /* events registered with epoll; 0: none */
	bool ending;
	struct egress_line line;
	struct connections connections;
	struct connects connects;
	struct summary summary;
	struct usage *usage;
	uint64_t last_record; /* its id */
	uint64_t denied;
};

#endif
