#include "egress/conn/udp-flow.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/banned.h"

#define AT_ONCE 64
#define NS_PER_MS 1000000u

static uint8_t datagram[UDP_DATAGRAM_MAX];

static void release(struct task_later *task)
{
	free((char *)task - offsetof(struct udp_flow, later));
}

void udp_flow_close(struct udp_flow *flow)
{
	struct udp_relay *relay = flow->relay;
	struct udp_flow **slot = &relay->flows;

	while (*slot != flow)
		slot = &(*slot)->next;
	*slot = flow->next;
	relay->flow_count--;
	if (flow->dial)
		dial_cancel(flow->dial);
	loop_timer_clear(relay->egress->loop, &flow->idle);
	if (flow->upstream.fd >= 0) {
		loop_remove(relay->egress->loop, &flow->upstream);
		(void)close(flow->upstream.fd);
	}
	budget_leave(&flow->use);
	while (flow->first) {
		struct udp_waiting *next = flow->first->next;

		free(flow->first);
		flow->first = next;
	}
	flow->later.run = release;
	loop_later(relay->egress->loop, &flow->later);
}

/* Bytes that may pass now; a datagram that is too much is lost. False: and so is everything after it. */
static bool spend(struct udp_flow *flow, bool up, size_t len, bool *ret_pass)
{
	uint64_t wait_ms = 0;
	size_t room = budget_room(&flow->use, up, len, loop_now_ns(flow->relay->egress->loop), &wait_ms);
	uint64_t cap = up ? flow->relay->rule->budget.bytes_up : flow->relay->rule->budget.bytes_down;

	*ret_pass = room == len;
	if (*ret_pass)
		budget_spend(&flow->use, up, len);
	return *ret_pass || !cap || (!room && wait_ms != UINT64_MAX);
}

static void over_cap(struct udp_flow *flow, bool up)
{
	udp_relay_close(flow->relay, up ? "cap_bytes_up" : "cap_bytes_down", "cap_bytes");
}

static void idle_over(struct timer *timer)
{
	struct udp_flow *flow = (struct udp_flow *)((char *)timer - offsetof(struct udp_flow, idle));
	uint64_t idle_ms = (loop_now_ns(flow->relay->egress->loop) - flow->active_ns) / NS_PER_MS;

	if (idle_ms >= UDP_IDLE_MS)
		udp_flow_close(flow);
	else
		(void)loop_timer_set(flow->relay->egress->loop, timer, UDP_IDLE_MS - idle_ms);
}

static void upstream_ready(struct watch *watch, unsigned events)
{
	struct udp_flow *flow = (struct udp_flow *)((char *)watch - offsetof(struct udp_flow, upstream));
	struct udp_relay *relay = flow->relay;

	(void)events;
	flow->active_ns = loop_now_ns(relay->egress->loop);
	for (int n = 0; n < AT_ONCE; n++) {
		ssize_t got = recv(watch->fd, datagram, sizeof(datagram), MSG_DONTWAIT);
		bool pass;

		if (got < 0 && errno == ECONNREFUSED) /* an ICMP message about an earlier one; the next may be taken */
			continue;
		if (got < 0)
			return;
		if (!spend(flow, false, (size_t)got, &pass)) {
			over_cap(flow, false);
			return;
		}
		if (!pass)
			continue;
		relay->bytes_down += (size_t)got;
		/* What the program's socket has no room for is lost, as it would be without us. */
		(void)sendto(relay->guest.fd, datagram, (size_t)got, MSG_DONTWAIT | MSG_NOSIGNAL,
			     (const struct sockaddr *)&flow->client, flow->client_len);
	}
}

/* False: the relay is closed. */
static bool send_up(struct udp_flow *flow, const uint8_t *data, size_t len)
{
	bool pass;

	if (!spend(flow, true, len, &pass)) {
		over_cap(flow, true);
		return false;
	}
	if (pass && send(flow->upstream.fd, data, len, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0)
		flow->relay->bytes_up += len;
	return true;
}

void udp_flow_flush(struct udp_flow *flow)
{
	if (flow->upstream.fd < 0 || flow->relay->state != UDP_OPEN)
		return;
	while (flow->first) {
		struct udp_waiting *waiting = flow->first;
		bool more;

		flow->first = waiting->next;
		flow->waiting--;
		more = send_up(flow, waiting->data, waiting->len);
		free(waiting);
		if (!more)
			return;
	}
	flow->end = &flow->first;
}

static void dialled(void *ctx, const struct dial_result *result)
{
	struct udp_flow *flow = ctx;
	struct udp_relay *relay = flow->relay;

	flow->dial = NULL;
	if (result->error == 0) {
		flow->upstream = (struct watch){.fd = result->fd, .ready = upstream_ready};
		if (loop_add(relay->egress->loop, &flow->upstream, EPOLLIN) < 0) {
			udp_flow_close(flow);
			return;
		}
	}
	udp_relay_dialled(relay, result);
	if (result->error < 0)
		udp_flow_close(flow);
	else
		udp_flow_flush(flow);
}

static struct udp_flow *find(struct udp_relay *relay, const struct sockaddr *client, socklen_t len)
{
	struct udp_flow *flow = relay->flows;

	while (flow && (flow->client_len != len || memcmp(&flow->client, client, len) != 0))
		flow = flow->next;
	return flow;
}

static void drop_oldest(struct udp_relay *relay)
{
	struct udp_flow *oldest = relay->flows;

	for (struct udp_flow *flow = relay->flows; flow; flow = flow->next)
		if (flow->active_ns < oldest->active_ns)
			oldest = flow;
	if (oldest)
		udp_flow_close(oldest);
}

struct udp_flow *udp_flow_get(struct udp_relay *relay, const struct sockaddr *client, socklen_t len)
{
	struct udp_flow *flow = find(relay, client, len);
	struct budget_use use;

	if (flow || len > sizeof(flow->client))
		return flow;
	if (relay->flow_count >= UDP_FLOWS_MAX)
		drop_oldest(relay);
	if (budget_join(relay->egress->budgets, relay->rule, &use) < 0)
		return NULL;
	flow = calloc(1, sizeof(*flow));
	if (!flow) {
		budget_leave(&use);
		return NULL;
	}
	*flow = (struct udp_flow){.next = relay->flows,
				  .relay = relay,
				  .client_len = len,
				  .upstream = {.fd = -1},
				  .use = use,
				  .idle = {.fire = idle_over},
				  .active_ns = loop_now_ns(relay->egress->loop)};
	memcpy(&flow->client, client, len);
	flow->end = &flow->first;
	relay->flows = flow;
	relay->flow_count++;
	flow->dial = dial_start(relay->egress, relay->host, relay->port, relay->rule, dialled, flow);
	if (flow->dial && loop_timer_set(relay->egress->loop, &flow->idle, UDP_IDLE_MS) == 0)
		return flow;
	udp_flow_close(flow);
	return NULL;
}

void udp_flow_send(struct udp_flow *flow, const uint8_t *data, size_t len)
{
	struct udp_waiting *waiting;

	flow->active_ns = loop_now_ns(flow->relay->egress->loop);
	if (flow->upstream.fd >= 0 && flow->relay->state == UDP_OPEN) {
		(void)send_up(flow, data, len); /* closed or not: the caller looks */
		return;
	}
	if (flow->waiting >= UDP_WAITING_MAX)
		return;
	waiting = malloc(sizeof(*waiting) + len);
	if (!waiting)
		return;
	waiting->next = NULL;
	waiting->len = len;
	memcpy(waiting->data, data, len);
	*flow->end = waiting;
	flow->end = &waiting->next;
	flow->waiting++;
}
