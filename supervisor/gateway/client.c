/* The supervisor's client of egress: checks and handles egress' messages. An illegal message ends the run's network. */
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "supervisor/gateway/private.h"

#define EGRESS_MESSAGES_PER_TURN_MAX 256 /* messages that are read at a time, so that notifications do not wait */
#define EGRESS_LAST_RECORDS_TIMEOUT_MS 2000 /* how long egress' last records are awaited at the run's end */
#define END_NETWORK_TIMEOUT_MS 2000         /* how long egress may take to end when an after entry closes the network */

int egress_client_create(struct sandbox *sandbox, struct pool *pool, int control_fd, struct egress_client **ret_client)
{
	struct egress_client *client = calloc(1, sizeof(*client));
	struct network_usage *usage = usage_create(sandbox->policy);

	if (!client || !usage) {
		cleanup_close(&control_fd);
		pool_free(pool);
		free(client);
		free(usage);
		return -ENOMEM;
	}
	*client = (struct egress_client){.sandbox = sandbox, .pool = pool, .usage = usage};
	summary_init(&client->summary);
	egress_line_init(&client->line, control_fd);
	*ret_client = client;
	return 0;
}

int egress_client_start(struct sandbox *sandbox, struct egress_process *egress,
			const struct egress_program_sockets *sockets, struct egress_client **ret_client)
{
	struct inet_options options = {.policy = sandbox->policy,
				       .has_own_netns = sockets->has_own_netns,
				       .loopback = sockets->loopback,
				       .listener_port = sockets->listener_port,
				       .dns_port = sockets->dns_port,
				       .sink_port = sockets->sink_port,
				       .catch_up = egress_client_exchange_messages,
				       .udp = egress_client_send_udp_socket,
				       .alive = egress_client_is_alive};
	struct pool *pool = NULL;
	int r = pool_create(sandbox->policy, &pool);

	if (r == 0)
		r = egress_client_create(sandbox, pool, steal_fd(&egress->control_fd), ret_client);
	if (r < 0)
		return r;
	options.pool = pool;
	options.egress = *ret_client;
	return inet_create(&options, &sandbox->inet);
}

/* Gives egress up: all its connections end in the log with this cause. */
static void client_close_control_line(struct egress_client *client, const char *cause)
{
	if (client->line.fd < 0)
		return;
	egress_line_close(&client->line);
	connects_fail_all_pending(client, -ENETDOWN);
	records_close_all(client, cause);
}

void egress_client_free(struct egress_client *client)
{
	if (!client)
		return;
	connects_fail_all_pending(client, -ECONNABORTED);
	client_close_control_line(client, "run_ended");
	summary_release(&client->summary);
	pool_free(client->pool);
	free(client->usage);
	free(client);
}

bool egress_client_is_alive(const void *client)
{
	return ((const struct egress_client *)client)->line.fd >= 0;
}

unsigned egress_client_get_poll_events(const struct egress_client *client)
{
	return (client->line.queued_message_count < EGRESS_LINE_QUEUED_MESSAGES_MAX ? EPOLLIN : 0u) |
	       (client->line.queued_message_count > 0 ? EPOLLOUT : 0u);
}

int egress_client_watch_socket(struct egress_client *client, int epoll_fd, void *mark)
{
	struct epoll_event event = {.events = egress_client_get_poll_events(client), .data.ptr = mark};
	int r;

	/* A closed socket is no longer in the epoll. */
	if (client->line.fd < 0 || event.events == client->registered_epoll_events)
		return 0;
	r = epoll_ctl(epoll_fd, client->registered_epoll_events ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, client->line.fd,
		      &event);
	client->registered_epoll_events = event.events;
	return r < 0 ? -errno : 0;
}

/* ---- messages that egress sends ---- */

/* Whether a rule of the name has "dns": "real" and permits dialling the address. */
static bool client_policy_permits_real_address(const struct egress_client *client, const char *host,
					const struct sockaddr *address)
{
	size_t count;
	const struct net_rule *rule = policy_net_get_rules(client->sandbox->policy, &count);

	for (size_t i = 0; i < count; i++, rule++)
		if (rule->uses_real_dns && net_host_matches(rule->host, host) &&
		    !net_address_get_refusal_reason(
			    address, rule->allows_private_addresses ? NET_LIFT_PRIVATE_AND_LOOPBACK : NET_LIFT_NONE))
			return true;
	return false;
}

/* Notes that a real address, in place of a synthetic one, stands for an approved name. */
static int client_note_name_of_real_address(struct egress_client *client, const struct control_name_approved *name)
{
	struct sockaddr_in v4 = {.sin_family = AF_INET};
	struct sockaddr_in6 v6 = {.sin6_family = AF_INET6};
	const struct sockaddr *address = (const struct sockaddr *)&v4;

	if (name->address_family != AF_INET && name->address_family != AF_INET6)
		return -EBADMSG;
	memcpy(&v4.sin_addr, name->address, sizeof(v4.sin_addr));
	memcpy(&v6.sin6_addr, name->address, sizeof(v6.sin6_addr));
	if (name->address_family == AF_INET6)
		address = (const struct sockaddr *)&v6;
	if (!client_policy_permits_real_address(client, name->host, address))
		return -EBADMSG;
	/*
	 * An address that stands for another name already keeps that name. If the address cannot be stored, connecting
	 * to it is refused, because its name is unknown.
	 */
	(void)pool_add_real_address(client->pool, address, name->host);
	return 0;
}

/* Handles egress' message that the program has resolved an approved name. -EBADMSG: egress lies. */
static int client_on_name_approved_message(struct egress_client *client, const struct control_name_approved *name)
{
	char host[NET_HOST_SIZE];

	if (net_host_canonicalise(name->host, strlen(name->host), host) < 0 || strcmp(host, name->host) != 0 ||
	    !(policy_net_judge_name(client->sandbox->policy, host).is_allowed ||
	      policy_net_may_ask_about_name(client->sandbox->policy, host)))
		return -EBADMSG;
	if (name->pool_index == UINT32_MAX)
		return client_note_name_of_real_address(client, name);
	return pool_set_name_at_index(client->pool, name->pool_index, host) == -EBADMSG ? -EBADMSG : 0;
}

/* Handles CONTROL_CONNECTED. The connection may be closed already. */
static int client_on_connected(struct egress_client *client, const struct control_connected *connected)
{
	struct connection *conn = connections_find_by_id(&client->connections, connected->conn_id);
	enum connection_step step = connected->error == 0 ? STEP_UPSTREAM_CONNECTED : STEP_UPSTREAM_FAILED;

	if (connected->error > 0 || connected->error < -ERRNO_MAX || connected->conn_id == 0 ||
	    connected->conn_id > client->connections.last_id || !connection_permits_step(conn, step))
		return -EBADMSG;
	if (!conn)
		return 0;
	conn->connect_was_answered = true;
	connects_on_connected(client, conn->id, connected->error);
	return 0;
}

/* Handles a message that control_admits_message() has accepted. */
static int client_on_message(struct egress_client *client, const struct control_message *message)
{
	if (message->type == CONTROL_NAME_APPROVED)
		return client_on_name_approved_message(client, &message->name);
	if (message->type == CONTROL_CONNECTED)
		return client_on_connected(client, &message->connected);
	if (message->type == CONTROL_RECORD)
		return records_handle_record(client, &message->record);
	if (message->type == CONTROL_QUESTION)
		return records_handle_question(client, &message->question);
	if (message->type == CONTROL_REQUEST_DONE)
		return requests_end(client, &message->done);
	return message->type == CONTROL_READY ? 0 : -EBADMSG;
}

/* Handles received messages. 0, or -errno: the control socket must be closed. */
static int client_receive_messages(struct egress_client *client)
{
	struct control_message message;
	int r = 0;

	for (int i = 0; i < EGRESS_MESSAGES_PER_TURN_MAX && r == 0; i++) {
		r = egress_line_receive(&client->line, &message);
		if (r == 0)
			r = client_on_message(client, &message);
		else if (r == -EAGAIN)
			return 0;
	}
	return r;
}

void egress_client_exchange_messages(void *context)
{
	struct egress_client *client = context;
	int r = egress_line_send_queued(&client->line);

	if (r == 0 && client->line.fd >= 0)
		r = client_receive_messages(client);
	if (r < 0)
		client_close_control_line(client, client->is_ending ? "run_ended" : "egress_failed");
}

int egress_client_check_pending_connects(struct egress_client *client)
{
	int wait = connects_check_all_pending(client);

	if (client->line.queued_message_count == 0)
		return wait;
	if (egress_line_send_queued(&client->line) < 0)
		client_close_control_line(client, "egress_failed");
	return wait >= 0 && wait < 100 ? wait : 100;
}

/* ---- messages that are sent to egress ---- */

static int client_send_connection_to_egress(struct egress_client *client, enum control_type type,
				      const struct control_connect *what, const struct connection *conn, int fd)
{
	struct control_message message = {.version = CONTROL_VERSION, .type = type, .connect = *what};

	message.connect.conn_id = conn->id;
	message.connect.pid = conn->pid;
	(void)snprintf(message.connect.exe, sizeof(message.connect.exe), "%s", conn->exe); /* cut, for display */
	return egress_line_send(&client->line, &message, fd);
}

/* 0 if a message can be queued for egress; -EAGAIN; or -ENETDOWN: egress is gone. */
static int client_fail_if_queue_is_full(const struct egress_client *client)
{
	if (!client || client->line.fd < 0)
		return -ENETDOWN;
	return client->line.queued_message_count < EGRESS_LINE_QUEUED_MESSAGES_MAX ? 0 : -EAGAIN;
}

int egress_client_start_connect(struct egress_client *client, struct call *call)
{
	_cleanup_free_ struct inet_egress_connect *what = steal_pointer(&call->outcome.egress_connect);
	_cleanup_close_ int fd = steal_fd(&call->outcome.fd);
	struct connection *conn;
	int r = client_fail_if_queue_is_full(client);

	if (r == 0)
		r = connections_add(&client->connections, call->task, &what->request, &conn);
	if (r < 0)
		return r;
	if (policy_has_on_deny_actions(client->sandbox->policy)) {
		conn->pidfd = (int)syscall(SYS_pidfd_open, call->task->tgid, 0);
		if (conn->pidfd < 0) {
			connections_remove(&client->connections, conn); /* not announced yet */
			return -EAGAIN;
		}
	}
	conn->answer = call->answer ? call->answer->answer_word : NULL;
	memcpy(conn->address, what->address, sizeof(conn->address));
	conn->address[sizeof(conn->address) - 1] = '\0';
	r = connects_add_waiting(client, call, steal_fd(&fd), what, conn);
	if (r < 0) {
		connections_remove(&client->connections, conn); /* egress does not know the connection yet */
		return r;
	}
	if (client_send_connection_to_egress(client, CONTROL_CONNECT, &what->request, conn, -1) < 0)
		/* client_close_control_line() responds to the call */
		client_close_control_line(client, "egress_failed");
	return 0;
}

int egress_client_send_udp_socket(void *context, const struct control_connect *endpoint, int fd)
{
	struct egress_client *client = context;
	struct connection *conn;
	int r = client_fail_if_queue_is_full(client);

	if (r == 0)
		r = connections_add(&client->connections, NULL, endpoint, &conn);
	if (r < 0)
		return r;
	conn->connect_was_answered = true; /* no connect(2) waits for a response */
	conn->answer = endpoint->was_answered ? "run" : NULL;
	r = client_send_connection_to_egress(client, CONTROL_UDP_ENDPOINT, endpoint, conn, fd);
	if (r < 0) {
		connections_remove(&client->connections, conn);
		client_close_control_line(client, "egress_failed");
	}
	return r;
}

void egress_client_end_run(struct egress_client *client)
{
	const struct control_message end = {.version = CONTROL_VERSION, .type = CONTROL_END};
	uint64_t until = io_read_clock_ns() + EGRESS_LAST_RECORDS_TIMEOUT_MS * UINT64_C(1000000), now;

	connects_fail_all_pending(client, -ECONNABORTED); /* the calling threads are dead */
	client->is_ending = true;
	if (client->line.fd < 0)
		return;
	if (egress_line_send(&client->line, &end, -1) < 0)
		client_close_control_line(client, "egress_failed");
	while (client->line.fd >= 0 && (now = io_read_clock_ns()) < until) {
		struct pollfd line = {.fd = client->line.fd, .events = (short)egress_client_get_poll_events(client)};

		(void)poll(&line, 1, (int)((until - now) / 1000000) + 1);
		egress_client_exchange_messages(client);
	}
	client_close_control_line(client, "run_ended");
}

/* Waits until egress has closed its end: it has left its loop, so it moves no more bytes. False: it has not. */
static bool client_await_egress_close(struct egress_client *client)
{
	uint64_t until = io_read_clock_ns() + END_NETWORK_TIMEOUT_MS * UINT64_C(1000000), now;
	struct pollfd line = {.fd = client->line.fd, .events = POLLRDHUP};

	if (shutdown(client->line.fd, SHUT_WR) < 0)
		return false;
	while ((now = io_read_clock_ns()) < until) {
		if (poll(&line, 1, (int)((until - now) / 1000000) + 1) > 0 && line.revents & (POLLHUP | POLLRDHUP))
			return true;
	}
	return false;
}

bool egress_client_end_network(struct egress_client *client)
{
	bool ended = client->line.fd < 0 || client_await_egress_close(client);

	client_close_control_line(client, "after_read");
	return ended;
}

/* ---- the network part of the result ---- */

void egress_client_add_refusal(struct egress_client *client, const char *host, unsigned port, const char *rule,
			       const char *reason)
{
	const struct summary_item item = {.host = host, .port = port, .rule = rule, .reason = reason, .count = 1};

	summary_add_entry(&client->summary, &item);
}

void egress_client_get_counts(const struct egress_client *client, volatile uint64_t *ret_open,
			      volatile uint64_t *ret_denied)
{
	*ret_open = client->connections.count;
	*ret_denied = client->denied_count;
}

void egress_client_make_report(const struct egress_client *client, struct network_report *ret_report)
{
	*ret_report = (struct network_report){.list = json_incref(client->summary.list),
					      .advice = json_incref(client->summary.advice),
					      .budgets = usage_make_json(client->usage),
					      .unlisted_entry_count = client->summary.unlisted_entry_count,
					      .denied_count = client->denied_count};
}

void network_report_release(struct network_report *report)
{
	json_decref(report->list);
	json_decref(report->advice);
	json_decref(report->budgets);
	*report = (struct network_report){0};
}
