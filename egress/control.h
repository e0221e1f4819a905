/*
 * The messages between supervisor and egress, over a SOCK_SEQPACKET pair. Each type of message has a fixed size;
 * messages are versioned and checked on arrival (control_receive_message). A table in control.c says which message each
 * side may receive, in which phase and with how many descriptors (control_admits_message). The supervisor trusts no
 * message: texts are bounded and escaped by the log, and it asks the policy itself whether a name may be connected to.
 *
 * A connection: the supervisor judges and records the program's connect(2), binds the socket and announces its source
 * port (CONNECT). Egress resolves, dials and asks for an "open" record (RECORD with wants_ack). When the record is
 * acknowledged (ACK), egress answers (CONNECTED). Then the supervisor connects the program's socket to egress'
 * listener, which serves announced source ports only. If this takes too long for a socket that must not block, the
 * supervisor connects first. After the last byte egress sends the "close" record.
 *
 * A request that the policy denies and asks about: egress holds the request back and sends QUESTION. The supervisor
 * asks, and answers by RECORD_ACK. Exactly one record of the request follows in any case, with `question_id`. If it
 * comes before the answer, the question is withdrawn. Egress has at most CONTROL_QUESTIONS_MAX questions whose records
 * are not sent.
 */
#ifndef CALLGATE_EGRESS_CONTROL_H
#define CALLGATE_EGRESS_CONTROL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "policy/network/net.h"

#define CONTROL_VERSION 1u

enum control_type {
	/* messages from the supervisor to egress: */
	CONTROL_PROGRAM_SOCKETS, /* brings descriptors: TCP listener, DNS UDP socket, DNS TCP listener */
	CONTROL_CONNECT,         /* struct control_connect: a connection is announced */
	/*
	 * struct control_connect with a descriptor: the socket on which datagrams of all the program's sockets to that
	 * endpoint arrive
	 */
	CONTROL_UDP_ENDPOINT,
	/* struct control_cancel: an announced connection is not wanted any more: its socket will not come */
	CONTROL_CANCEL,
	CONTROL_RECORD_ACK, /* struct control_ack: a record was written, or could not be */
	CONTROL_END,        /* egress is to close everything, send the close records and exit */
	/* messages from egress to the supervisor: */
	CONTROL_READY, /* egress has the descriptors of CONTROL_PROGRAM_SOCKETS and is ready */
	/* struct control_name_approved: a name got an address. Sent before the DNS answer */
	CONTROL_NAME_APPROVED,
	CONTROL_CONNECTED, /* struct control_connected: the upstream is connected, or not */
	CONTROL_RECORD,    /* struct control_record: to be written to the audit log */
	/* struct control_question: may a request that the policy denies be forwarded? Answered by CONTROL_RECORD_ACK */
	CONTROL_QUESTION,
	CONTROL_REQUEST_DONE, /* struct control_request_done: the outcome of a recorded request */
	CONTROL_TYPE_MAX,
};

/* The supervisor tells that a connection is not wanted any more. */
struct control_cancel {
	uint64_t conn_id;
};

/* The supervisor announces a connection, or an endpoint for datagrams, that it has approved. */
struct control_connect {
	uint64_t conn_id;       /* number of the connection, chosen by the supervisor, never used twice */
	int32_t pid;
	uint16_t port;       /* destination port, host order */
	uint16_t source_port; /* source port of the program's socket, host order; 0 for CONTROL_UDP_ENDPOINT */
	uint8_t family;      /* AF_INET or AF_INET6, as the program sees the connection */
	uint8_t was_answered;     /* the answer to a question permits the connection, although the policy denies it */
	char host[NET_HOST_SIZE]; /* name that the address stands for; "" for a proxy: see CONTROL_PORT_* */
	char exe[256];
};
/*
 * Destination ports at the run's own address (POOL_INDEX_OF_PROXIES) that lead to the proxies, if the policy offers
 * them.
 */
#define CONTROL_PORT_HTTP_PROXY 3128
#define CONTROL_PORT_SOCKS 1080 /* port at which the program reaches egress as a SOCKS proxy */

/* Egress tells whether the destination of an announced connection is connected. */
struct control_connected {
	uint64_t conn_id;
	int32_t error; /* 0 or -errno for the program: ECONNREFUSED, ETIMEDOUT, EHOSTUNREACH, ENETUNREACH … */
};

/* Egress tells which name an address stands for, before its DNS gives the address to the program. */
struct control_name_approved {
	/*
	 * index in the pool, which has two addresses; UINT32_MAX: the name has the real address in `address` ("dns":
	 * "real")
	 */
	uint32_t pool_index;
	uint8_t address_family, address[16];
	char host[NET_HOST_SIZE];
};

enum control_event {
	CONTROL_EVENT_OPEN,    /* a connection was opened or refused */
	CONTROL_EVENT_REQUEST, /* an HTTP request was judged */
	CONTROL_EVENT_CLOSE,   /* a connection was closed */
	CONTROL_EVENT_DNS,     /* a denied name; the rate of these records is limited */
	CONTROL_EVENT_MAX,
};

/* One audit record. Empty texts are left out of it. All texts end in NUL; the log escapes control characters. */
struct control_record {
	uint64_t id;   /* number of this record, for ACK and DONE */
	uint64_t conn_id; /* number of the connection; 0 for CONTROL_EVENT_DNS */
	uint64_t question_id; /* number of the question about the request; 0: none; or CONTROL_TOO_MANY_QUESTIONS */
	uint8_t event;    /* CONTROL_EVENT_*: what the record tells */
	uint8_t wants_ack, allow;
	uint8_t path_is_truncated; /* the path was longer than `path` has room for */
	uint16_t port;
	int32_t pid;
	uint32_t http_status;   /* HTTP status: in the close record of HTTP, and of a refused request */
	int32_t error;     /* -errno of a refused or failed connection; 0: not known */
	uint32_t refusal_count;    /* for CONTROL_EVENT_DNS, how many refusals since the last record; else 1 */
	uint64_t bytes_up, bytes_down, dns_us, connect_us, duration_us;
	char host[NET_HOST_SIZE];
	char real_address[64];      /* the address that was dialled, with port */
	char addresses_not_dialled[256]; /* addresses that may not be dialled: "10.0.0.1 private, ::1 loopback" */
	char sni[NET_HOST_SIZE];
	char alpn[16];
	char proto[16];     /* https, http, tcp, udp, h2, websocket, proxy, socks or dns */
	char method[NET_METHOD_SIZE];
	char path[NET_PATH_SIZE]; /* with "?…" in place of a query, which may hold secrets */
	char rule[256];           /* label of the rule that decided */
	char reason[32];    /* code of the reason: granted, no_rule, denied_addr, sni_mismatch … */
	char credential_names[64]; /* names of the credential's header and of its secrets */
	char close_cause[32]; /* why the connection was closed: client, server, idle_timeout, cap_bytes, cancelled … */
};

#define CONTROL_QUESTIONS_MAX 256u            /* questions without a record */
#define CONTROL_TOO_MANY_QUESTIONS UINT64_MAX /* `question_id`: not asked, because there are so many */
#define CONTROL_QUERY_SIZE 2048               /* a request with a longer query is not asked about */
#define CONTROL_BODY_OF_UNKNOWN_LENGTH (-1)

/* A request that egress holds back. All texts end in NUL. */
struct control_question {
	uint64_t id; /* from the same sequence as those of records */
	uint64_t conn_id;
	int64_t body_bytes; /* 0: the request has no body; or CONTROL_BODY_OF_UNKNOWN_LENGTH */
	uint16_t port;
	uint8_t asks_for_websocket;
	char host[NET_HOST_SIZE];
	char method[NET_METHOD_SIZE];
	char path[NET_PATH_SIZE];       /* normalised, as it would be forwarded */
	char query[CONTROL_QUERY_SIZE]; /* "?…", as it would be forwarded; "": none */
};

/* The supervisor's answer to a record or a question. */
struct control_ack {
	uint64_t id;
	/*
	 * 0: on record, or the request may be forwarded; -errno: it could not be recorded, or is not permitted, so the
	 * action must not happen
	 */
	int32_t error;
};

/* Egress tells how an HTTP request ended whose record was acknowledged. */
struct control_request_done {
	uint64_t id;
	int64_t result; /* HTTP status of the response, or -errno */
	uint64_t duration_us, bytes_up, bytes_down;
};

/* A message between supervisor and egress; `type` says which member of the union is valid. */
struct control_message {
	uint32_t version, type;
	union {
		struct control_cancel id;
		struct control_connect connect;
		struct control_connected connected;
		struct control_name_approved name;
		struct control_record record;
		struct control_question question;
		struct control_ack ack;
		struct control_request_done done;
	};
};

#define CONTROL_FDS_MAX 3 /* most file descriptors that one message carries */

enum control_side { CONTROL_SUPERVISOR, CONTROL_EGRESS };

/* The phase of one side, by the messages that it has received. It starts with the first and never goes back. */
enum control_phase {
	CONTROL_STARTING, /* the side has received no message that starts it */
	CONTROL_RUNNING,  /* egress has received CONTROL_PROGRAM_SOCKETS; the supervisor has received CONTROL_READY */
	CONTROL_ENDING,   /* egress has received CONTROL_END */
	CONTROL_PHASE_MAX,
};

/*
 * Whether `receiver` may get this message, with so many descriptors, in its phase. Advances the phase. False: the other
 * side has broken the protocol and must not be trusted further.
 */
bool control_admits_message(enum control_side receiver, enum control_phase *phase,
			    const struct control_message *message, size_t fds_count);

/* The size of a message of this type in bytes, header included. */
size_t control_get_message_size(enum control_type type);

/*
 * Sends a message without waiting (MSG_DONTWAIT). 0; -EAGAIN: no room: keep the message and poll for POLLOUT; -EPIPE
 * and other errors: the other side is gone. fds (may be NULL) are duplicated.
 */
int control_send_message(int fd, const struct control_message *message, const int *fds, size_t fds_count);

/*
 * Receives a message without waiting. 0 with a message whose version, type, size and texts are valid; -EAGAIN; -EPIPE:
 * the other side has closed; -EBADMSG: the message is invalid. The caller owns the *ret_fds_count descriptors.
 */
int control_receive_message(int fd, struct control_message *ret_message, int ret_fds[CONTROL_FDS_MAX],
			    size_t *ret_fds_count);

#endif
