#include "egress/conn/udp.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "egress/conn/line.h"
#include "egress/state.h"

#define DATAGRAM_BYTES_MAX 65536
#define DATAGRAMS_PER_LOOP_ROUND_MAX 64
#define UDP_FLOW_WAITING_DATAGRAMS_MAX 8 /* datagrams that a flow keeps while it is dialled; more are lost */

/* A flow: the datagrams between one address of the program and one endpoint, with an upstream socket of its own. */
struct udp_flow {
	struct udp_flow *next_flow;
	struct udp_relay *relay;
	struct sockaddr_storage client; /* address of the program's socket */
	socklen_t client_len;
	struct dial *running_dial;
	struct watch upstream_watch;
	struct budget_use use;
	struct timer idle_timer; /* closes the idle flow, and then frees it */
	uint64_t last_active_ns;
	struct {
		uint8_t *data; /* owned */
		size_t len;
	} waiting[UDP_FLOW_WAITING_DATAGRAMS_MAX]; /* datagrams that wait for the upstream socket */
	size_t waiting_datagram_count;
};

/* An endpoint with its flows. */
struct udp_relay {
	struct udp_relay *next;
	struct egress *egress;
	uint64_t conn_id; /* number by which the supervisor knows the endpoint */
	pid_t pid;
	uint16_t port; /* of the endpoint, in host byte order */
	char host[NET_HOST_SIZE];
	const struct net_rule *rule; /* the rule that allows the endpoint */
	struct watch program_watch; /* socket for datagrams from and to the program */
	struct udp_flow *flows;
	size_t flow_count;
	enum { UDP_NEW, UDP_ASKED, UDP_OPEN, UDP_REFUSED } state; /* state of the endpoint's "open" record */
	uint64_t start_ns, bytes_up, bytes_down;
	struct timer free_timer; /* frees the relay after it was closed */
	bool is_closed;
};

static uint8_t datagram[DATAGRAM_BYTES_MAX];

/* ---- records and closing ---- */

/* Begins a record about the endpoint. */
static void udp_init_record(const struct udp_relay *relay, enum control_event event, struct control_record *ret_record)
{
	*ret_record = (struct control_record){.conn_id = relay->conn_id,
					      .pid = relay->pid,
					      .event = (uint8_t)event,
					      .port = relay->port,
					      .refusal_count = 1};
	LINE_COPY_TEXT(ret_record->host, relay->host);
	LINE_COPY_TEXT(ret_record->proto, "udp");
	if (relay->rule)
		LINE_COPY_TEXT(ret_record->rule, relay->rule->label);
}

/* Records that datagrams to the endpoint are refused. dropped: addresses that may not be dialled. */
static void udp_write_refusal_record(struct udp_relay *relay, const char *reason, const char *dropped)
{
	struct control_record record;

	udp_init_record(relay, CONTROL_EVENT_OPEN, &record);
	LINE_COPY_TEXT(record.reason, reason);
	LINE_COPY_TEXT(record.addresses_not_dialled, dropped);
	relay->state = UDP_REFUSED;
	/* egress exits when this message to the supervisor fails */
	(void)line_send_record(relay->egress->line, &record, NULL, NULL, NULL);
}

static void flow_on_free_due(struct timer *timer)
{
	free(container_of(timer, struct udp_flow, idle_timer));
}

static void flow_drop_waiting_datagrams(struct udp_flow *flow)
{
	while (flow->waiting_datagram_count)
		free(flow->waiting[--flow->waiting_datagram_count].data);
}

static void flow_close(struct udp_flow *flow)
{
	struct udp_relay *relay = flow->relay;
	struct udp_flow **slot = &relay->flows;

	while (*slot != flow)
		slot = &(*slot)->next_flow;
	*slot = flow->next_flow;
	relay->flow_count--;
	dial_cancel(flow->running_dial);
	loop_close_watch(relay->egress->loop, &flow->upstream_watch);
	budget_drop_connection(&flow->use);
	flow_drop_waiting_datagrams(flow);
	flow->idle_timer.fire = flow_on_free_due;
	loop_set_timer(relay->egress->loop, &flow->idle_timer, 0);
}

static void udp_on_relay_free_due(struct timer *timer)
{
	free(container_of(timer, struct udp_relay, free_timer));
}

/* Closes an endpoint with its flows, and records its end. */
static void udp_close_relay(struct udp_relay *relay, const char *cause, const char *reason)
{
	struct udp_relay **slot = &relay->egress->udp;
	struct control_record record;

	if (relay->is_closed)
		return;
	relay->is_closed = true;
	while (*slot != relay)
		slot = &(*slot)->next;
	*slot = relay->next;
	while (relay->flows)
		flow_close(relay->flows);
	line_forget_ack_callbacks(relay->egress->line, relay);
	loop_close_watch(relay->egress->loop, &relay->program_watch);
	udp_init_record(relay, CONTROL_EVENT_CLOSE, &record);
	record.allow = reason == NULL;
	record.bytes_up = relay->bytes_up;
	record.bytes_down = relay->bytes_down;
	record.duration_us = (loop_get_now_ns(relay->egress->loop) - relay->start_ns) / 1000;
	LINE_COPY_TEXT(record.close_cause, cause);
	LINE_COPY_TEXT(record.reason, reason);
	(void)line_send_record(relay->egress->line, &record, NULL, NULL, NULL);
	relay->free_timer.fire = udp_on_relay_free_due;
	loop_set_timer(relay->egress->loop, &relay->free_timer, 0);
}

/* ---- forwarding datagrams ---- */

/*
 * Charges a datagram to its rule's budget (egress/budget.h). *ret_pass: whether it is forwarded; otherwise it is
 * dropped. Returns false after closing the relay, because the rule's bytes for this direction are used up.
 */
static bool flow_charge_datagram_to_budget(struct udp_flow *flow, bool up, size_t len, bool *ret_pass)
{
	uint64_t wait_ms = 0;
	size_t room =
		budget_get_allowed_bytes(&flow->use, up, len, loop_get_now_ns(flow->relay->egress->loop), &wait_ms);
	uint64_t cap = up ? flow->relay->rule->budget.bytes_up : flow->relay->rule->budget.bytes_down;

	*ret_pass = room == len;
	if (*ret_pass)
		budget_spend_bytes(&flow->use, up, len);
	if (*ret_pass || !cap || (!room && wait_ms != UINT64_MAX))
		return true;
	udp_close_relay(flow->relay, up ? "cap_bytes_up" : "cap_bytes_down", "cap_bytes");
	return false;
}

static void flow_on_idle_due(struct timer *timer)
{
	struct udp_flow *flow = container_of(timer, struct udp_flow, idle_timer);
	uint64_t idle_ms = (loop_get_now_ns(flow->relay->egress->loop) - flow->last_active_ns) / NS_PER_MS;

	if (idle_ms >= UDP_FLOW_IDLE_TIMEOUT_MS)
		flow_close(flow);
	else
		loop_set_timer(flow->relay->egress->loop, timer, UDP_FLOW_IDLE_TIMEOUT_MS - idle_ms);
}

static void flow_on_upstream_ready(struct watch *watch)
{
	struct udp_flow *flow = container_of(watch, struct udp_flow, upstream_watch);
	struct udp_relay *relay = flow->relay;

	flow->last_active_ns = loop_get_now_ns(relay->egress->loop);
	for (int n = 0; n < DATAGRAMS_PER_LOOP_ROUND_MAX; n++) {
		ssize_t got = recv(watch->fd, datagram, sizeof(datagram), MSG_DONTWAIT);
		bool pass;

		if (got < 0 && errno == ECONNREFUSED) /* ICMP error of an earlier datagram: read on */
			continue;
		if (got < 0 || !flow_charge_datagram_to_budget(flow, false, (size_t)got, &pass))
			return;
		if (!pass)
			continue;
		relay->bytes_down += (size_t)got;
		/* The datagram is lost if the program's receive buffer is full, as without callgate. */
		(void)sendto(relay->program_watch.fd, datagram, (size_t)got, MSG_DONTWAIT | MSG_NOSIGNAL,
			     (const struct sockaddr *)&flow->client, flow->client_len);
	}
}

/* Sends a datagram upstream. False: the relay is closed. */
static bool flow_send_datagram(struct udp_flow *flow, const uint8_t *data, size_t len)
{
	bool pass;

	if (!flow_charge_datagram_to_budget(flow, true, len, &pass))
		return false;
	if (pass && send(flow->upstream_watch.fd, data, len, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0)
		flow->relay->bytes_up += len;
	return true;
}

/* Whether datagrams can be sent to the server: the flow has its socket, and its relay is open. */
static bool flow_is_open(const struct udp_flow *flow)
{
	return flow->upstream_watch.fd >= 0 && flow->relay->state == UDP_OPEN;
}

static void flow_send_waiting_datagrams(struct udp_flow *flow)
{
	if (!flow_is_open(flow))
		return;
	for (size_t i = 0; i < flow->waiting_datagram_count; i++)
		if (!flow_send_datagram(flow, flow->waiting[i].data, flow->waiting[i].len))
			return;
	flow_drop_waiting_datagrams(flow);
}

/* Sends a datagram to the server or, until its socket is connected, keeps it. One that finds no room is lost. */
static void flow_send_or_queue_datagram(struct udp_flow *flow, const uint8_t *data, size_t len)
{
	uint8_t *copy;

	flow->last_active_ns = loop_get_now_ns(flow->relay->egress->loop);
	if (flow_is_open(flow)) {
		(void)flow_send_datagram(flow, data, len); /* the caller checks relay->is_closed */
		return;
	}
	copy = flow->waiting_datagram_count < UDP_FLOW_WAITING_DATAGRAMS_MAX ? malloc(len + 1) : NULL;
	if (!copy)
		return;
	memcpy(copy, data, len);
	flow->waiting[flow->waiting_datagram_count].data = copy;
	flow->waiting[flow->waiting_datagram_count++].len = len;
}

/* ---- dialling for flows ---- */

static void udp_on_record_acknowledged(void *ctx, int error)
{
	struct udp_relay *relay = ctx;

	if (error < 0) {
		udp_close_relay(relay, "refused", "not_recorded");
		return;
	}
	relay->state = UDP_OPEN;
	for (struct udp_flow *flow = relay->flows, *next; flow && !relay->is_closed; flow = next) {
		next = flow->next_flow;
		flow_send_waiting_datagrams(flow);
	}
}

/* Records the result of the first dial only, because later flows may fail again and again. */
static void udp_record_dial_result(struct udp_relay *relay, const struct dial_result *result)
{
	struct control_record record;

	if (result->error < 0) {
		if (relay->state == UDP_NEW)
			udp_write_refusal_record(relay, result->reason ? result->reason : "connect_failed",
						 result->addresses_not_dialled);
		return;
	}
	if (relay->state == UDP_ASKED || relay->state == UDP_OPEN)
		return;
	udp_init_record(relay, CONTROL_EVENT_OPEN, &record);
	dial_fill_record(result, relay->port, &record);
	record.allow = 1;
	LINE_COPY_TEXT(record.reason, "granted");
	relay->state = UDP_ASKED;
	(void)line_send_record(relay->egress->line, &record, udp_on_record_acknowledged, relay, NULL);
}

static void flow_on_dialled(void *ctx, const struct dial_result *result)
{
	struct udp_flow *flow = ctx;
	struct udp_relay *relay = flow->relay;

	flow->running_dial = NULL;
	if (result->error == 0) {
		flow->upstream_watch = (struct watch){.fd = result->fd, .ready = flow_on_upstream_ready};
		if (loop_add_watch(relay->egress->loop, &flow->upstream_watch, EPOLLIN) < 0) {
			flow_close(flow);
			return;
		}
	}
	udp_record_dial_result(relay, result);
	if (result->error < 0)
		flow_close(flow);
	else
		flow_send_waiting_datagrams(flow);
}

/* Closes the flow that has been idle longest. */
static void flow_evict_oldest(struct udp_relay *relay)
{
	struct udp_flow *oldest = relay->flows;

	for (struct udp_flow *flow = relay->flows; flow; flow = flow->next_flow)
		if (flow->last_active_ns < oldest->last_active_ns)
			oldest = flow;
	if (oldest)
		flow_close(oldest);
}

/* The flow of a client address, created at first use. NULL: no budget or no memory. */
static struct udp_flow *flow_find_or_create(struct udp_relay *relay, const struct sockaddr *client, socklen_t len)
{
	struct udp_flow *flow = relay->flows;
	struct budget_use use;

	while (flow && (flow->client_len != len || memcmp(&flow->client, client, len) != 0))
		flow = flow->next_flow;
	if (flow || len > sizeof(flow->client))
		return flow;
	if (relay->flow_count >= UDP_FLOWS_MAX)
		flow_evict_oldest(relay);
	if (budget_add_connection(relay->egress->budgets, relay->rule, &use) < 0)
		return NULL;
	flow = malloc(sizeof(*flow));
	if (!flow) {
		budget_drop_connection(&use);
		return NULL;
	}
	*flow = (struct udp_flow){.next_flow = relay->flows,
				  .relay = relay,
				  .client_len = len,
				  .upstream_watch = {.fd = -1},
				  .use = use,
				  .idle_timer = {.fire = flow_on_idle_due},
				  .last_active_ns = loop_get_now_ns(relay->egress->loop)};
	memcpy(&flow->client, client, len);
	relay->flows = flow;
	relay->flow_count++;
	flow->running_dial = dial_start(relay->egress, relay->host, relay->port, relay->rule, flow_on_dialled, flow);
	loop_set_timer(relay->egress->loop, &flow->idle_timer, UDP_FLOW_IDLE_TIMEOUT_MS);
	if (flow->running_dial)
		return flow;
	flow_close(flow);
	return NULL;
}

/* ---- the program's end ---- */

/*
 * Whether `client` is a socket of the program: without a network namespace other users of this machine can send to the
 * relay, too.
 */
static bool udp_is_from_program(const struct udp_relay *relay, const struct sockaddr_storage *client)
{
	const struct sockaddr_in *in = (const struct sockaddr_in *)client;
	const struct in_addr own = relay->egress->own;

	return own.s_addr == htonl(INADDR_LOOPBACK) ||
	       (client->ss_family == AF_INET && in->sin_addr.s_addr == own.s_addr);
}

static void udp_on_program_ready(struct watch *watch)
{
	struct udp_relay *relay = container_of(watch, struct udp_relay, program_watch);

	for (int n = 0; n < DATAGRAMS_PER_LOOP_ROUND_MAX && !relay->is_closed; n++) {
		struct sockaddr_storage client = {0};
		socklen_t len = sizeof(client);
		ssize_t got = recvfrom(watch->fd, datagram, sizeof(datagram), MSG_DONTWAIT,
				       (struct sockaddr *)&client, &len);
		struct udp_flow *flow;

		if (got < 0)
			return;
		if (!udp_is_from_program(relay, &client))
			continue;
		flow = flow_find_or_create(relay, (const struct sockaddr *)&client, len);
		if (flow)
			flow_send_or_queue_datagram(flow, datagram, (size_t)got);
		else if (relay->state == UDP_NEW)
			udp_write_refusal_record(relay, "cap_connections", "");
	}
}

void udp_open_endpoint(struct egress *egress, const struct control_connect *endpoint, int fd)
{
	const struct net_verdict verdict =
		endpoint->was_answered
			? policy_net_judge_answered_connect(egress->policy, endpoint->host, endpoint->port, true)
			: policy_net_judge_connect(egress->policy, endpoint->host, endpoint->port, true);
	const char *reason = verdict.is_allowed ? NULL : verdict.reason;
	struct udp_relay *relay = malloc(sizeof(*relay));
	size_t count = 0;

	if (!relay) {
		(void)close(fd);
		line_report_supervisor_gone(egress->line);
		return;
	}
	for (const struct udp_relay *other = egress->udp; other; other = other->next)
		count++;
	if (!reason && (count >= UDP_RELAYS_MAX || egress->is_ending))
		reason = egress->is_ending ? "ending" : "too_many_connections";
	*relay = (struct udp_relay){.next = egress->udp,
				    .egress = egress,
				    .conn_id = endpoint->conn_id,
				    .pid = endpoint->pid,
				    .port = endpoint->port,
				    .rule = reason ? NULL : verdict.rule,
				    .program_watch = {.fd = fd, .ready = udp_on_program_ready},
				    .start_ns = loop_get_now_ns(egress->loop)};
	LINE_COPY_TEXT(relay->host, endpoint->host);
	egress->udp = relay;
	if (reason) {
		udp_write_refusal_record(relay, reason, "");
		udp_close_relay(relay, "refused", reason);
	} else if (loop_add_watch(egress->loop, &relay->program_watch, EPOLLIN) < 0) {
		udp_close_relay(relay, "failed", "failed");
	}
}

void udp_close_all_endpoints(struct egress *egress)
{
	while (egress->udp)
		udp_close_relay(egress->udp, "end", NULL);
}
