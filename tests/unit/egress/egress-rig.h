/*
 * An egress process of a test's own, with its resolver, and around it what the supervisor and the program would do: it
 * announces, answers records and collects them (in a thread), and connects sockets from announced source ports. Servers
 * are the test's. Everything fails the test that goes wrong; waiting ends after ERIG_WAIT_MS.
 *
 *     struct egress_rig *rig = erig_start("{\"network\": {\"allow\": [{\"host\": \"a.test\", \"port\": 7, …
 *     int fd = erig_connect(rig, "a.test", 7);      the program's socket, blocking
 *     …
 *     ck_assert_int_eq(erig_end(rig), 0);           also: exactly one close a connection
 */
#ifndef CALLGATE_TESTS_EGRESS_RIG_H
#define CALLGATE_TESTS_EGRESS_RIG_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "egress/control.h"
#include "egress/secrets/secret.h"
#include "egress/tls/ca.h"
#include "policy/policy.h"

#define ERIG_WAIT_MS 100000

struct erig_options { /* zeroed: none of it */
	struct ca *ca;            /* stays the test's */
	struct secrets *secrets;  /* likewise */
	const char *roots;        /* PEM text to verify servers with */
	const char *own_address;  /* "127.0.0.1" */
	int (*lock_down)(void *ctx);
	rlim_t descriptors;       /* RLIMIT_NOFILE of egress; 0: as it is */
	bool silent;              /* reads nothing and answers nothing until erig_speak */
	int ack_error;            /* what open and request records are answered with */
};

struct egress_rig;

/* A policy of one file: JSON text with "network", its "resolve" naming 127.0.0.1 for the test's servers. */
struct egress_rig *erig_start(const char *policy_json);
struct egress_rig *erig_start_with(const char *policy_json, const struct erig_options *options);

const struct policy *erig_policy(const struct egress_rig *rig);
pid_t erig_pid(const struct egress_rig *rig);
/* Where the program would ask for names: UDP and TCP, both at 127.0.0.1. */
uint16_t erig_dns_udp_port(const struct egress_rig *rig);
uint16_t erig_dns_tcp_port(const struct egress_rig *rig);
void erig_speak(struct egress_rig *rig);

/* The whole of it: announced, CONNECTED, connected. The program's socket, blocking; or -errno of CONNECTED. */
int erig_connect(struct egress_rig *rig, const char *host, uint16_t port);
/* The number of the connection announced last. */
uint64_t erig_last(const struct egress_rig *rig);

/* The steps of it. A bound socket whose port is announced; its connection's number. */
uint64_t erig_announce(struct egress_rig *rig, const char *host, uint16_t port, int *ret_fd);
/* Waits for CONNECTED: its error. */
int erig_connected(struct egress_rig *rig, uint64_t conn);
/* Connects a bound socket to egress' listener. 0 or -errno. */
int erig_join(struct egress_rig *rig, int fd);
void erig_cancel(struct egress_rig *rig, uint64_t conn);
/* CONTROL_UDP_ENDPOINT: a socket at 127.0.0.1 whose port the program's datagrams go to. */
uint64_t erig_udp(struct egress_rig *rig, const char *host, uint16_t port, struct sockaddr_in *ret_at);

/* The record of a connection (0: any) with that event, the index-th (from 0), waited for. */
struct control_record erig_record(struct egress_rig *rig, uint64_t conn, enum control_event event, size_t index);
/* How many have come by now. */
size_t erig_records(struct egress_rig *rig, uint64_t conn, enum control_event event);
/* The index-th question about a request, waited for; and its answer. */
struct control_question erig_question(struct egress_rig *rig, size_t index);
void erig_answer_question(struct egress_rig *rig, uint64_t id, int error);
/* The index-th DONE, waited for. */
struct control_request_done erig_done(struct egress_rig *rig, size_t index);
/* The name an index was given to (CONTROL_NAME_APPROVED), or "" when it has not come. */
const char *erig_name(struct egress_rig *rig, const char *host, struct control_name_approved *ret_name);

/*
 * CONTROL_END, then the exit status (-signal when it was killed). Checks that each announced connection has one close.
 */
int erig_end(struct egress_rig *rig);
/* The supervisor dies instead. The exit status. */
int erig_abandon(struct egress_rig *rig);

/* A listening TCP socket at 127.0.0.1 and its port; blocking. */
int erig_server(uint16_t *ret_port);
/* One that does not listen: connecting there is refused. */
int erig_bound(uint16_t *ret_port);
/* Accepts, at most ERIG_WAIT_MS. */
int erig_accept(int server);
/* The milliseconds of CLOCK_MONOTONIC. */
uint64_t erig_ms(void);

#endif
