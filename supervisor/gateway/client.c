/* The line to egress: what it says is checked and acted upon, what breaks it ends the network of the run. */
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "supervisor/gateway/client-private.h"

#include "base/banned.h"

#define MESSAGES_MAX 256 /* taken at a time: others wait as well */
#define FINISH_MS 2000

int egress_client_create(struct sandbox *sandbox, struct pool *pool, int control_fd, struct egress_client **ret_client)
{
	_cleanup_close_ int owned = control_fd;
	struct egress_client *client = calloc(1, sizeof(*client));

	if (!client)
		return -ENOMEM;
	client->network = network_create();
	client->usage = usage_create(sandbox->policy);
	if (!client->network || !client->usage) {
		network_free(client->network);
		usage_free(client->usage);
		free(client);
		return -ENOMEM;
	}
	client->sandbox = sandbox;
	client->pool = pool;
	client->control_fd = steal_fd(&owned);
	queue_init(&client->queue);
	*ret_client = client;
	return 0;
}

/* Every connection has its one close record, also when egress has not sent it. */
static void close_all(struct egress_client *client, const char *cause)
{
	struct conn_entry *conn;

	while ((conn = conns_any(&client->conns)))
		client_close(client, conn, cause);
}

static void give_up(struct egress_client *client, const char *cause)
{
	if (client->control_fd < 0)
		return;
	(void)close(client->control_fd); /* egress ends by that */
	client->control_fd = -1;
	queue_done(&client->queue);
	dials_fail(client, -ENETDOWN);
	close_all(client, cause);
}

void egress_client_free(struct egress_client *client)
{
	if (!client)
		return;
	dials_fail(client, -ECONNABORTED);
	give_up(client, "run_ended");
	network_free(client->network);
	usage_free(client->usage);
	free(client);
}

int egress_client_fd(const struct egress_client *client)
{
	return client->control_fd;
}

bool egress_client_alive(const void *client)
{
	return ((const struct egress_client *)client)->control_fd >= 0;
}

unsigned egress_client_interest(const struct egress_client *client)
{
	return (client->queue.count < QUEUE_MAX ? EPOLLIN : 0u) | (client->queue.count > 0 ? EPOLLOUT : 0u);
}

int client_send(struct egress_client *client, const struct control_message *message)
{
	return client->control_fd < 0 ? -ENETDOWN : queue_send(&client->queue, client->control_fd, message, -1);
}

/* ---- what it says ---- */

/* "dns": "real" of one of the name's rules, and an address that may be dialled for it. */
static bool is_real_allowed(const struct egress_client *client, const char *host, const struct sockaddr *address)
{
	size_t count;
	const struct net_rule *rule = policy_net_rules(client->sandbox->policy, &count);

	for (size_t i = 0; i < count; i++, rule++)
		if (rule->dns_real && net_host_matches(rule->host, host) &&
		    !net_address_refused(address, rule->private_addresses ? NET_LIFT_NAMED : NET_LIFT_NONE))
			return true;
	return false;
}

static int learn_real(struct egress_client *client, const struct control_name *name)
{
	struct sockaddr_in v4 = {.sin_family = AF_INET};
	struct sockaddr_in6 v6 = {.sin6_family = AF_INET6};
	const struct sockaddr *address = name->address_family == AF_INET ? (const struct sockaddr *)&v4 : (const struct sockaddr *)&v6;

	if (name->address_family != AF_INET && name->address_family != AF_INET6)
		return -EBADMSG;
	memcpy(&v4.sin_addr, name->address, sizeof(v4.sin_addr));
	memcpy(&v6.sin6_addr, name->address, sizeof(v6.sin6_addr));
	if (!is_real_allowed(client, name->host, address))
		return -EBADMSG;
	/* One that stands for another name stays that name's; no room or memory: it is not known, and so refused. */
	(void)pool_learn_real(client->pool, address, name->host);
	return 0;
}

static int on_name(struct egress_client *client, const struct control_name *name)
{
	char host[NET_HOST_MAX];

	if (net_host_canonical(name->host, strlen(name->host), host) < 0 || strcmp(host, name->host) != 0 ||
	    !policy_net_name(client->sandbox->policy, host).allow)
		return -EBADMSG;
	if (name->index == UINT32_MAX)
		return learn_real(client, name);
	return pool_learn(client->pool, name->index, host) == -EBADMSG ? -EBADMSG : 0;
}

/* What was announced may have been closed meanwhile. */
static int on_connected(struct egress_client *client, const struct control_connected *connected)
{
	struct conn_entry *conn = conns_find(&client->conns, connected->conn);

	if (connected->error > 0 || connected->error < -ERRNO_MAX || connected->conn == 0 || connected->conn > client->conns.next)
		return -EBADMSG;
	if (!conn)
		return connected->error == 0 ? -EBADMSG : 0;
	if (conn->answered || conn->udp || (connected->error == 0 && conn->host[0] && !conn->opened))
		return -EBADMSG;
	conn->answered = true;
	dials_answer(client, conn->id, connected->error);
	return 0;
}

static int on_message(struct egress_client *client, const struct control_message *message)
{
	switch ((enum control_type)message->type) {
	case CONTROL_READY:
		return 0;
	case CONTROL_NAME:
		return on_name(client, &message->name);
	case CONTROL_CONNECTED:
		return on_connected(client, &message->connected);
	case CONTROL_RECORD:
		return client_record(client, &message->record);
	case CONTROL_DONE:
		return client_done(client, &message->done);
	case CONTROL_GUEST:
	case CONTROL_CONNECT:
	case CONTROL_UDP:
	case CONTROL_CANCEL:
	case CONTROL_ACK:
	case CONTROL_END:
	case CONTROL_TYPE_MAX:
	default:
		return -EBADMSG; /* ours to say */
	}
}

/* 0: nothing more is there now; -errno: nothing more will come. */
static int receive(struct egress_client *client)
{
	struct control_message message;
	int fds[CONTROL_FDS_MAX];
	size_t count;

	for (int i = 0; i < MESSAGES_MAX && client->queue.count < QUEUE_MAX; i++) {
		int r = control_receive(client->control_fd, &message, fds, &count);

		if (r == 0 && count > 0) { /* it has nothing to give */
			while (count > 0)
				(void)close(fds[--count]);
			r = -EBADMSG;
		}
		if (r == -EAGAIN)
			return 0;
		if (r == 0)
			r = on_message(client, &message);
		if (r < 0)
			return r;
	}
	return 0;
}

static void exchange(struct egress_client *client)
{
	int r = client->control_fd < 0 ? 0 : queue_flush(&client->queue, client->control_fd);

	if (r == 0 && client->control_fd >= 0)
		r = receive(client);
	if (r < 0)
		give_up(client, client->ending ? "run_ended" : "egress_failed");
}

void egress_client_event(struct egress_client *client, unsigned events)
{
	(void)events; /* both ways do not wait */
	exchange(client);
}

void egress_client_catch_up(void *client)
{
	exchange(client);
}

int egress_client_tick(struct egress_client *client)
{
	int wait = dials_tick(client);

	if (client->queue.count == 0 || client->control_fd < 0)
		return wait;
	if (queue_flush(&client->queue, client->control_fd) < 0) /* or nobody listens any more */
		give_up(client, "egress_failed");
	return wait >= 0 && wait < 100 ? wait : 100;
}

/* ---- what it is told ---- */

static int announce(struct egress_client *client, enum control_type type, const struct control_connect *what,
		    const struct conn_entry *conn, int fd)
{
	struct control_message message = {.version = CONTROL_VERSION, .type = type, .connect = *what};

	message.connect.conn = conn->id;
	message.connect.pid = conn->pid;
	(void)snprintf(message.connect.exe, sizeof(message.connect.exe), "%s", conn->exe); /* cut, for display */
	return queue_send(&client->queue, client->control_fd, &message, fd);
}

static int room(const struct egress_client *client)
{
	if (!client || client->control_fd < 0)
		return -ENETDOWN;
	return client->queue.count < QUEUE_MAX ? 0 : -EAGAIN;
}

int egress_client_connect(struct egress_client *client, struct call *call)
{
	_cleanup_free_ struct inet_dial *what = steal_pointer(&call->outcome.egress);
	_cleanup_close_ int fd = steal_fd(&call->outcome.fd);
	struct conn_entry *conn;
	int r = room(client);

	if (r == 0)
		r = conns_add(&client->conns, call->task, &what->request, &conn);
	if (r < 0)
		return r;
	memcpy(conn->address, what->address, sizeof(conn->address));
	conn->address[sizeof(conn->address) - 1] = '\0';
	r = dials_add(client, call, steal_fd(&fd), what, conn);
	if (r < 0) {
		conns_remove(&client->conns, conn); /* egress never heard of it */
		return r;
	}
	if (announce(client, CONTROL_CONNECT, &what->request, conn, -1) < 0)
		give_up(client, "egress_failed"); /* that has answered the call */
	return 0;
}

int egress_client_udp(void *context, const struct control_connect *endpoint, int fd)
{
	struct egress_client *client = context;
	struct conn_entry *conn;
	int r = room(client);

	if (r == 0)
		r = conns_add(&client->conns, NULL, endpoint, &conn);
	if (r < 0)
		return r;
	conn->udp = true;
	r = announce(client, CONTROL_UDP, endpoint, conn, fd);
	if (r < 0) {
		conns_remove(&client->conns, conn);
		give_up(client, "egress_failed");
	}
	return r;
}

void egress_client_finish(struct egress_client *client)
{
	const struct control_message end = {.version = CONTROL_VERSION, .type = CONTROL_END};
	uint64_t until = io_now_ns() + FINISH_MS * UINT64_C(1000000), now;

	dials_fail(client, -ECONNABORTED); /* whoever waited is dead */
	client->ending = true;
	if (client_send(client, &end) < 0)
		give_up(client, "egress_failed");
	while (client->control_fd >= 0 && (now = io_now_ns()) < until) {
		struct pollfd line = {.fd = client->control_fd, .events = POLLIN};

		if (client->queue.count > 0)
			line.events = client->queue.count < QUEUE_MAX ? POLLIN | POLLOUT : POLLOUT;
		(void)poll(&line, 1, (int)((until - now) / 1000000) + 1);
		exchange(client);
	}
	give_up(client, "run_ended");
}

/* ---- for the result ---- */

void egress_client_refused(void *context, const char *host, unsigned port, const char *rule, const char *reason)
{
	struct egress_client *client = context;
	const struct network_item item = {.host = host, .port = port, .rule = rule, .reason = reason, .count = 1};

	network_add(client->network, &item);
}

uint64_t egress_client_denied(const struct egress_client *client)
{
	return client->denied;
}

json_t *egress_client_network(const struct egress_client *client, uint64_t *ret_unlisted)
{
	return network_json(client->network, ret_unlisted);
}

json_t *egress_client_budgets(const struct egress_client *client)
{
	return usage_json(client->usage);
}

json_t *egress_client_advice(const struct egress_client *client)
{
	return network_advice(client->network);
}
