/* The connections that were announced to egress and are not closed, and what egress may report of them when. */
#include <errno.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "supervisor/gateway/private.h"

/* ---- the table of announced connections ---- */

int connections_compare_ids(const void *a, const void *b)
{
	const uint64_t one = *(const uint64_t *)a, other = *(const uint64_t *)b;

	return one < other ? -1 : one > other;
}

int connections_add(struct connections *connections, const struct task *task, const struct control_connect *what,
		    struct connection **ret_conn)
{
	struct connection *conn;

	if (connections->count >= CONNECTIONS_OPEN_MAX)
		return -EAGAIN;
	conn = calloc(1, sizeof(*conn));
	if (!conn)
		return -ENOMEM;
	conn->id = connections->last_id + 1;
	conn->pidfd = -1;
	conn->exe = task ? strdup(task->exe) : strdup("");
	if (!conn->exe || !tsearch(conn, &connections->tree, connections_compare_ids)) {
		free(conn->exe);
		free(conn);
		return -ENOMEM;
	}
	if (task) {
		conn->pid = task->tgid;
		conn->ppid = task->ppid;
		conn->host_pid = task->host_pid;
		conn->program_number = task->session_program_number;
	}
	conn->port = what->port;
	(void)snprintf(conn->host, sizeof(conn->host), "%s", what->host);
	connections->last_id++;
	connections->count++;
	*ret_conn = conn;
	return 0;
}

struct connection *connections_find_by_id(const struct connections *connections, uint64_t id)
{
	struct connection *const *found = tfind(&id, &connections->tree, connections_compare_ids);

	return found ? *found : NULL;
}

void connections_remove(struct connections *connections, struct connection *conn)
{
	(void)tdelete(conn, &connections->tree, connections_compare_ids);
	connections->count--;
	close_fd(&conn->pidfd);
	free(conn->exe);
	free(conn->rule);
	free(conn);
}

/* ---- which steps a connection permits in which state ---- */

bool connection_is_proxy(const struct connection *conn)
{
	return conn->host[0] == '\0';
}

/* Which records of a connection the log has. */
enum connection_state {
	CONNECTION_UNKNOWN,         /* the connection was never announced, or is closed */
	CONNECTION_ANNOUNCED,       /* the call's record: egress was asked to connect */
	CONNECTION_OPENED,          /* egress has reported that it got through to the destination */
	CONNECTION_OPENED_AND_USED, /* opened, and a request or refusal is recorded as well, or a request asked about */
	CONNECTION_PROXY_ANNOUNCED, /* the program has connected to egress' proxy */
	CONNECTION_PROXY_OPENED,    /* and the proxy has reached a destination */
};

static enum connection_state connection_get_state(const struct connection *conn)
{
	if (!conn)
		return CONNECTION_UNKNOWN;
	if (connection_is_proxy(conn))
		return conn->is_opened ? CONNECTION_PROXY_OPENED : CONNECTION_PROXY_ANNOUNCED;
	if (!conn->is_opened)
		return CONNECTION_ANNOUNCED;
	return conn->is_listed_in_result || conn->has_asked ? CONNECTION_OPENED_AND_USED : CONNECTION_OPENED;
}

#define IN(state) (1u << (state))
/* Mask of all states but CONNECTION_UNKNOWN. */
#define CONNECTION_STATES_SINCE_ANNOUNCED                                                    \
	(IN(CONNECTION_ANNOUNCED) | IN(CONNECTION_OPENED) | IN(CONNECTION_OPENED_AND_USED) | \
	 IN(CONNECTION_PROXY_ANNOUNCED) | IN(CONNECTION_PROXY_OPENED))

/* When egress may report a step of a connection. Otherwise it is taken for compromised. */
static const struct connection_step_rule {
	unsigned allowed_states;  /* connection states in which egress may report the step */
	/* the step is possible only until the program's connect(2) got its response */
	bool only_before_connect_response;
	bool record_names_destination; /* the record names the connection's destination */
} rules[] = {
	[STEP_NAME_REFUSED] = {.allowed_states = IN(CONNECTION_UNKNOWN)},
	/* A second upstream connection is possible only after a request. */
	[STEP_UPSTREAM_GRANTED] = {.allowed_states = CONNECTION_STATES_SINCE_ANNOUNCED & ~IN(CONNECTION_OPENED),
				   .record_names_destination = true},
	[STEP_REQUEST_ASKED] = {.allowed_states = IN(CONNECTION_OPENED) | IN(CONNECTION_OPENED_AND_USED) |
						  IN(CONNECTION_PROXY_OPENED),
				.record_names_destination = true},
	[STEP_REQUEST_GRANTED] = {.allowed_states = IN(CONNECTION_OPENED) | IN(CONNECTION_OPENED_AND_USED) |
						    IN(CONNECTION_PROXY_OPENED),
				  .record_names_destination = true},
	[STEP_CONNECTION_REFUSED] = {.allowed_states = CONNECTION_STATES_SINCE_ANNOUNCED},
	[STEP_LAST_RECORD] = {.allowed_states = CONNECTION_STATES_SINCE_ANNOUNCED},
	[STEP_UPSTREAM_CONNECTED] = {.allowed_states = CONNECTION_STATES_SINCE_ANNOUNCED & ~IN(CONNECTION_ANNOUNCED),
				     .only_before_connect_response = true},
	/* The connection may be closed already. */
	[STEP_UPSTREAM_FAILED] = {.allowed_states = CONNECTION_STATES_SINCE_ANNOUNCED | IN(CONNECTION_UNKNOWN),
				  .only_before_connect_response = true},
};
_Static_assert(sizeof(rules) / sizeof(rules[0]) == STEP_MAX, "each step has its rule");

bool connection_permits_step(const struct connection *conn, enum connection_step step)
{
	return rules[step].allowed_states & IN(connection_get_state(conn)) &&
	       !(rules[step].only_before_connect_response && conn && conn->connect_was_answered);
}

bool connection_step_names_destination(enum connection_step step)
{
	return rules[step].record_names_destination;
}
