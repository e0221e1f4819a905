/* For tests of egress' client: a program whose connect(2) is notified, and the test in the part of egress. */
#ifndef CALLGATE_TESTS_CLIENT_RIG_H
#define CALLGATE_TESTS_CLIENT_RIG_H

#include <jansson.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "egress/control.h"
#include "supervisor/gateway/private.h"
#include "tests/unit/policy/policy-rig.h"

#define CLIENT_RIG_HOST "api.test"
#define CLIENT_RIG_PORT 443

struct client_rig {
	struct sandbox sandbox;
	struct egress_client *client;
	struct rig policy_rig;
	struct policy *policy;
	struct pool *pool;
	int egress_fd;      /* the other end of the line */
	int listener_fd;    /* where egress would serve */
	uint16_t listener_port;
	char log[64];
	bool log_ended;
	pid_t pid;          /* of the program; 0: none */
	int outcome_fd;     /* what it says at its end */
	unsigned calls;
	uint64_t record_id; /* last one used */
	struct task task;
};

void client_rig_setup(struct client_rig *rig);
void client_rig_teardown(struct client_rig *rig);

/* Runs program under a filter that notifies connect(2); what it returns can be read by client_rig_outcome. */
void client_rig_start(struct client_rig *rig, int (*program)(void));
/* Lets notifications, messages and the clock through, for at most some milliseconds. */
void client_rig_step(struct client_rig *rig);
/* What the program returned, when it has ended. */
int client_rig_outcome(struct client_rig *rig);

/* The next message to egress, which must be of that type. */
void client_rig_expect(struct client_rig *rig, enum control_type type, struct control_message *ret_message);
void client_rig_send(struct client_rig *rig, struct control_message *message);
/* A message with a type; a record with the next number and what every record of conn has. */
struct control_message client_rig_message(enum control_type type);
struct control_message client_rig_record(struct client_rig *rig, enum control_event event, uint64_t conn);
/* The upstream is there: its open record, the answer to it, CONNECTED. */
void client_rig_open(struct client_rig *rig, uint64_t conn);
void client_rig_close(struct client_rig *rig, uint64_t conn);
/* Accepts the program's socket at egress' listener. */
int client_rig_accept(struct client_rig *rig);

/* A program that connects to the address. Programs return 0 or an errno. */
int client_rig_connects(void);
extern const struct sockaddr_in client_rig_address;
/* The program's connect comes to egress. The number of the connection. */
uint64_t client_rig_announced(struct client_rig *rig);
/* Egress says CONNECTED. */
void client_rig_answer(struct client_rig *rig, uint64_t conn, int error);
/* The record of a request that is granted. */
struct control_message client_rig_request(struct client_rig *rig, uint64_t conn, const char *method, const char *path);

/* The one record of an event, or a text in it. Borrowed until the next call. Ends the log. */
json_t *client_rig_the_record(struct client_rig *rig, const char *event);
const char *client_rig_text_of(struct client_rig *rig, const char *event, const char *key);
/* Ends the log. Its records about `event` (NULL: connect calls), an array the caller decrefs. */
json_t *client_rig_log(struct client_rig *rig, const char *event);
uint64_t client_rig_now_ms(void);

#endif
