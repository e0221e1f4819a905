/*
 * What supervisor and egress say to each other over a SOCK_SEQPACKET pair: messages of one fixed size each kind,
 * versioned, checked on arrival (control_receive_message). Which of them each end may get, in which phase and with how
 * many descriptors, is a table in control.c (control_admits_message). The supervisor trusts nothing in them: texts are
 * bounded and escaped by the log, and whether a name may be connected to it asks the policy itself.
 *
 * A connection: the program's connect(2) is judged and recorded by the supervisor, which binds the socket and announces
 * its source port (CONNECT). Egress resolves, dials and asks for an "open" record (RECORD, wants_ack); told that it is
 * on record (ACK) it answers (CONNECTED). Then the supervisor connects the program's socket to egress' listener, which
 * serves announced source ports only. When the wait gets too long for a socket that must not block, the supervisor
 * connects first. After the last byte egress sends the one "close" record.
 */
#ifndef CALLGATE_EGRESS_CONTROL_H
#define CALLGATE_EGRESS_CONTROL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "policy/network/net.h"

#define CONTROL_VERSION 1u

enum control_type {
	/* supervisor -> egress */
	CONTROL_GUEST,     /* with descriptors, in this order: TCP listener, DNS UDP socket, DNS TCP listener */
	CONTROL_CONNECT,   /* struct control_connect */
	/*
	 * struct control_connect with a descriptor: a socket on which the program's datagrams to that endpoint arrive,
	 * for all of its sockets
	 */
	CONTROL_UDP,
	CONTROL_CANCEL,    /* struct control_id: the program no longer waits and its socket will not come */
	CONTROL_ACK,       /* struct control_ack */
	CONTROL_END,       /* close everything, send the close records, then exit */
	/* egress -> supervisor */
	CONTROL_READY,     /* after CONTROL_GUEST */
	CONTROL_NAME,      /* struct control_name: an address was given to a name. Sent before the DNS answer is */
	CONTROL_CONNECTED, /* struct control_connected */
	CONTROL_RECORD,    /* struct control_record */
	CONTROL_DONE,      /* struct control_done: the outcome of a recorded request */
	CONTROL_TYPE_MAX,
};

struct control_id {
	uint64_t conn;
};

struct control_connect {
	uint64_t conn;       /* chosen by the supervisor, never used twice */
	int32_t pid;
	uint16_t port;       /* the destination's, host order */
	uint16_t source_port; /* of the program's socket, host order; 0 for CONTROL_UDP */
	uint8_t family;      /* AF_INET, AF_INET6: the program's view */
	char host[NET_HOST_MAX]; /* name that the address stands for; "" for the proxies: see CONTROL_PORT_* */
	char exe[256];
};
/* Destination ports at the run's own address (pool_own), when the policy offers proxies. */
#define CONTROL_PORT_HTTP_PROXY 3128
#define CONTROL_PORT_SOCKS 1080

struct control_connected {
	uint64_t conn;
	int32_t error; /* 0 or -errno for the program: ECONNREFUSED, ETIMEDOUT, EHOSTUNREACH, ENETUNREACH … */
};

struct control_name {
	uint32_t index; /* pool.h: both of its addresses; UINT32_MAX: `address` instead ("dns": "real") */
	uint8_t address_family, address[16];
	char host[NET_HOST_MAX];
};

enum control_event {
	CONTROL_EVENT_OPEN,
	CONTROL_EVENT_REQUEST,
	CONTROL_EVENT_CLOSE,
	CONTROL_EVENT_DNS, /* a denied name, rate-limited */
	CONTROL_EVENT_MAX,
};

/*
 * One audit record. Empty texts are left out of it. All texts end in NUL; control characters are the log's to escape.
 */
struct control_record {
	uint64_t id;   /* of this record, for ACK and DONE */
	uint64_t conn; /* 0 for CONTROL_EVENT_DNS */
	uint8_t event;
	uint8_t wants_ack, allow;
	uint8_t truncated; /* the path was longer than shown */
	uint16_t port;
	int32_t pid;
	uint32_t status;   /* close of HTTP, refused requests: status of the response */
	int32_t error;     /* refused or failed open: -errno of the connection; 0: not known */
	uint32_t count;    /* CONTROL_EVENT_DNS: how many refusals since the last record; else 1 */
	uint64_t bytes_up, bytes_down, dns_us, connect_us, duration_us;
	char host[NET_HOST_MAX];
	char real[64];      /* address dialled, with port */
	char dropped[256];  /* "10.0.0.1 private, ::1 loopback" */
	char sni[NET_HOST_MAX];
	char alpn[16];
	char proto[16];     /* https http tcp udp h2 websocket proxy socks dns */
	char method[NET_METHOD_MAX];
	char path[NET_PATH_MAX]; /* "/a?…" when there was a query */
	char rule[256];
	char reason[32];    /* code: granted no_rule denied_addr sni_mismatch … */
	char credential[64]; /* names of the credential's header and secrets */
	char cause[32];     /* close: client server idle_timeout cap_bytes cancelled … */
};

struct control_ack {
	uint64_t id;
	int32_t error; /* 0: on record; -errno: it could not be, so nothing may be done */
};

struct control_done {
	uint64_t id;
	int64_t result; /* status of the response, or -errno */
	uint64_t duration_us, bytes_up, bytes_down;
};

struct control_message {
	uint32_t version, type;
	union {
		struct control_id id;
		struct control_connect connect;
		struct control_connected connected;
		struct control_name name;
		struct control_record record;
		struct control_ack ack;
		struct control_done done;
	};
};

#define CONTROL_FDS_MAX 3

enum control_side { CONTROL_SUPERVISOR, CONTROL_EGRESS };

/* The phase of one end, by what that end has received so far. It begins with the first phase and never goes back. */
enum control_phase {
	CONTROL_STARTING,
	CONTROL_RUNNING, /* egress: CONTROL_GUEST has come; the supervisor: CONTROL_READY */
	CONTROL_ENDING,  /* egress: CONTROL_END has come */
	CONTROL_PHASE_MAX,
};

/*
 * Whether `receiver` may get this message, with so many descriptors, in its phase, which then changes with it. False:
 * the other side has broken the protocol and is to be given up.
 */
bool control_admits_message(enum control_side receiver, enum control_phase *phase,
			    const struct control_message *message, size_t fds_count);

/* The bytes of a message of this type, header included. */
size_t control_get_message_size(enum control_type type);

/*
 * Never waits (MSG_DONTWAIT). 0; -EAGAIN: no room, keep it and poll for POLLOUT; -EPIPE and others: the other side is
 * gone. fds (may be NULL) are duplicated.
 */
int control_send_message(int fd, const struct control_message *message, const int *fds, size_t fds_count);

/*
 * Never waits. 0 with a message whose version, type, size and texts are sound; -EAGAIN; -EPIPE: closed; -EBADMSG:
 * unsound, the other side is to be given up. Descriptors are owned by the caller; *ret_fds_count is how many came.
 */
int control_receive_message(int fd, struct control_message *ret_message, int ret_fds[CONTROL_FDS_MAX],
			    size_t *ret_fds_count);

#endif
