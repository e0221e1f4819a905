/* Shared by the files of egress' client only, in the supervisor thread: client.c and the files named below. */
#ifndef CALLGATE_SUPERVISOR_GATEWAY_PRIVATE_H
#define CALLGATE_SUPERVISOR_GATEWAY_PRIVATE_H

#include "egress/conn/pool.h"
#include "egress/control.h"
#include "supervisor/gateway/client.h"
#include "supervisor/gateway/questions.h"
#include "syscalls/net/inet.h"

/* ---- line.c: the control socket to egress ---- */

/* queued messages: if there are more, no message of egress is received until egress has read some of them */
#define EGRESS_LINE_QUEUED_MESSAGES_MAX 2048

struct queued_message;
/* The control line: its socket and the messages that wait to be sent. */
struct egress_line {
	int fd;                   /* owned; -1: closed after an error */
	enum control_phase phase; /* decides which messages egress may send now */
	struct queued_message *first, **last;
	size_t queued_message_count; /* messages from `first` on */
	uint64_t last_progress_ns; /* time when a message last left the queue; only while the queue is not empty */
};

/* Begins with an empty queue on the control socket fd, which it takes. */
void egress_line_init(struct egress_line *line, int fd);
/* Closes the socket and drops the queue. */
void egress_line_close(struct egress_line *line);
/*
 * Sends a message, or queues it with a duplicate of fd (-1: no descriptor). 0; -errno: the line is broken, and client.c
 * must close it.
 */
int egress_line_send(struct egress_line *line, const struct control_message *message, int fd);
/* Sends queued messages. 0, or -errno: egress is dead or has read nothing for too long. */
int egress_line_send_queued(struct egress_line *line);
/* Receives a message. -EAGAIN: none now; other -errno: egress is dead, or control.h forbids the message. */
int egress_line_receive(struct egress_line *line, struct control_message *ret_message);

/* ---- summary.c: the network's lists in the result ---- */

#define SUMMARY_ENTRIES_MAX 1000       /* destinations and requests listed in the result */
#define SUMMARY_ADVICE_ENTRIES_MAX 100 /* hosts for which the result gives advice on certificates */

/* The destinations and requests of the run, counted for the result. */
struct summary {
	json_t *list;   /* the entries of the result; owned, like `index` and `advice` */
	json_t *index;  /* the same entries, keyed by their JSON text without bytes and count */
	json_t *advice; /* advice for clients that did not accept the run's certificate authority */
	uint64_t unlisted_entry_count; /* entries beyond SUMMARY_ENTRIES_MAX */
};

struct summary_item { /* texts are borrowed; NULL or "" become null */
	const char *host, *method, *path, *rule, *reason;
	unsigned port, status; /* 0: null */
	bool is_allowed;
	uint64_t bytes_up, bytes_down, count;
};

/* Makes an empty list. Without memory, all entries that are added count as unlisted. */
void summary_init(struct summary *summary);
void summary_release(struct summary *summary);
/* Adds to the entry that is equal except for bytes and count, or makes a new entry. */
void summary_add_entry(struct summary *summary, const struct summary_item *item);
/* Adds the advice for a host whose certificate, made by egress, the program did not accept. */
void summary_add_certificate_advice(struct summary *summary, const char *host, const char *reason);

/* How far rules' budgets are used. A rule is identified by its label. free(3) releases it. */
struct network_usage;
struct network_usage *usage_create(const struct policy *policy);
/* Counts the begin of a connection of the rule with this label. */
void usage_count_connection(struct network_usage *usage, const char *label);
/* Counts an HTTP request that the rule with this label has allowed. */
void usage_count_request(struct network_usage *usage, const char *label);
/* Counts the end of a connection of the rule with this label, and the bytes that it has moved. */
void usage_end_connection(struct network_usage *usage, const char *label, uint64_t bytes_up, uint64_t bytes_down);
/* Counts a refusal: if a budget caused it, marks that budget. */
void usage_mark_hit_budget(struct network_usage *usage, const char *label, const struct control_record *record);
json_t *usage_make_json(const struct network_usage *usage);

/* ---- connections.c: connections that were announced to egress ---- */

#define CONNECTIONS_OPEN_MAX 2048    /* connections announced and not closed; more than egress permits (CONNS_MAX) */
#define HTTP_REQUESTS_WITHOUT_OUTCOME_MAX 8192 /* requests recorded without an outcome */

/* An HTTP request that egress has granted, and whose outcome is not known yet. */
struct request {
	uint64_t id; /* id of the request's record */
	struct audit_outcome_location outcome_location;
	struct connection *conn;
	struct request *next_of_conn;
	char *texts;              /* the texts of `item`; owned */
	struct summary_item item; /* what is known of the request before its outcome */
};

/* A connection that was announced to egress. The announcement told its process; egress sends only its id. */
struct connection {
	uint64_t id;
	struct request *requests; /* list of its requests without an outcome */
	struct egress_question *questions; /* list of questions about its requests, which are not recorded yet */
	char *exe;
	char *rule; /* the rule of the "open" record; NULL: not opened yet */
	const char *answer; /* the answer that permits the connection, which the policy denies; static; NULL: none */
	pid_t pid, ppid, host_pid;
	unsigned program_number; /* in a session: the number of the program that the connection belongs to; 0: none */
	int pidfd; /* a pidfd of the process `pid`, owned; opened only where a rule has "on_deny"; -1: not open */
	uint16_t port;
	bool is_opened;              /* egress has reported that the destination is reached */
	bool connect_was_answered;   /* the program's connect(2) got its response; always true for datagrams */
	bool has_asked;              /* egress has asked about a request */
	bool is_listed_in_result;     /* the result has an entry about this connection */
	char last_denial_reason[32];  /* the reason of the connection's last denial; "": none */
	char address[NET_ADDRESS_TEXT_SIZE];
	char host[NET_HOST_SIZE]; /* "": the proxy; its records name the destinations */
};

/* The connections announced to egress, and the HTTP requests on them. */
struct connections {
	void *tree;         /* tree of struct connection by id: tsearch(3). Owned */
	void *request_tree; /* tree of struct request by id. Owned */
	size_t count, requests;
	uint64_t last_id; /* the id of the connection that was announced last: ids ascend */
};

/* What egress reports about a connection, or about a name without one. */
enum connection_step {
	STEP_NAME_REFUSED,       /* a record: a name was refused */
	STEP_UPSTREAM_GRANTED,   /* a record: an upstream connection was granted */
	STEP_REQUEST_ASKED,      /* CONTROL_QUESTION: a request is asked about */
	STEP_REQUEST_GRANTED,    /* a record: a request was granted */
	STEP_CONNECTION_REFUSED, /* a record: a connection or a request was refused */
	STEP_LAST_RECORD,        /* the last record */
	STEP_UPSTREAM_CONNECTED, /* CONTROL_CONNECTED without an error */
	STEP_UPSTREAM_FAILED,    /* CONTROL_CONNECTED with an error */
	STEP_MAX,
};

/* Adds the connection of a call; task NULL: of datagrams. The table owns it. 0; -EAGAIN: too many; -ENOMEM. */
int connections_add(struct connections *connections, const struct task *task, const struct control_connect *what,
		    struct connection **ret_conn);
struct connection *connections_find_by_id(const struct connections *connections, uint64_t id);
/* Removes and frees a connection, which must have no requests. */
void connections_remove(struct connections *connections, struct connection *conn);
/* Compares ids, which are the first members of the items of both trees. For tsearch(3). */
int connections_compare_ids(const void *a, const void *b);
/* Whether egress may report this step now. conn NULL: the connection is unknown. */
bool connection_permits_step(const struct connection *conn, enum connection_step step);
/* Whether the record of this step names the connection's destination. */
bool connection_step_names_destination(enum connection_step step);
/* Whether the connection is to the proxy. Then only its records tell its destinations. */
bool connection_is_proxy(const struct connection *conn);

/* ---- requests.c: requests without an outcome ---- */

/* Adds a request whose outcome egress will report. The table owns it. 0; -EAGAIN: too many; -ENOMEM. */
int requests_add(struct connections *connections, struct connection *conn, const struct control_record *record,
		 struct request **ret_request);
/* Ends the record of a request, lists the request in the result, and frees it. */
void requests_end_with_outcome(struct egress_client *client, struct request *request,
			       const struct control_request_done *done);
/* Handles egress' message about an outcome. 0, or -errno: client.c must close the line. */
int requests_end(struct egress_client *client, const struct control_request_done *done);

/* ---- records.c: records and questions of egress ---- */

/* Handle messages of egress. 0, or -errno: client.c must close the line. */
int records_handle_question(struct egress_client *client, const struct control_question *asked);
int records_handle_record(struct egress_client *client, const struct control_record *record);
/* Closes all connections, and writes the close records that egress has not sent. */
void records_close_all(struct egress_client *client, const char *cause);

/* ---- connects.c: connect(2) calls that wait for an upstream ---- */

struct pending_connect;
/* The connects of the program that wait for egress. */
struct connects {
	struct pending_connect *first_pending_connect;
	size_t count;               /* how many connects wait */
	size_t next_checked;        /* index of the connect that is checked next for interruptions */
	uint64_t next_check_ns;     /* when the waiting connects are checked next */
};

/* Adds a connect that waits. Takes fd, a duplicate of the program's socket. 0 or -errno. */
int connects_add_waiting(struct egress_client *client, const struct call *call, int fd,
			 const struct inet_egress_connect *what, const struct connection *conn);
/* Handles CONTROL_CONNECTED: connects the socket to egress' listener, or ends the call with the error. */
void connects_on_connected(struct egress_client *client, uint64_t conn, int error);
/* Ends all waiting connects with this error. */
void connects_fail_all_pending(struct egress_client *client, int error);
/* Checks the waiting connects. Returns the milliseconds until the next check; -1: no connect waits. */
int connects_check_all_pending(struct egress_client *client);

#define ERRNO_MAX 133 /* EHWPOISON: higher numbers are internal to the kernel */

/* ---- client.c ---- */

/* The supervisor's side of the connection to egress. */
struct egress_client {
	struct sandbox *sandbox; /* borrowed */
	struct pool *pool;       /* owned */
	unsigned registered_epoll_events; /* events registered with epoll; 0: none */
	bool is_ending;                   /* the run is over: only last records are awaited */
	struct egress_line line;
	struct connections connections;
	struct connects connects;
	struct summary summary;
	struct network_usage *usage;
	uint64_t last_record_id; /* id of the last record that egress has sent: the next one must be higher */
	struct egress_asker asker; /* zeroed: no request is asked about */
	unsigned question_count;   /* questions about requests that are not recorded yet */
	uint64_t denied_count;   /* connections and requests that egress has refused */
};

#endif
