#include "egress/conn/udp.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "egress/conn/line.h"
#include "egress/conn/udp-flow.h"

#include "base/banned.h"

#define AT_ONCE 64

#define COPY(field, text) (void)snprintf(field, sizeof(field), "%s", text)

static uint8_t datagram[UDP_DATAGRAM_MAX];

/* ---- records ---- */

static void record_init(const struct udp_relay *relay, enum control_event event, struct control_record *ret_record)
{
	memset(ret_record, 0, sizeof(*ret_record));
	ret_record->event = (uint8_t)event;
	ret_record->conn = relay->conn;
	ret_record->pid = relay->pid;
	ret_record->port = relay->port;
	ret_record->count = 1;
	COPY(ret_record->host, relay->host);
	COPY(ret_record->proto, "udp");
	if (relay->rule)
		COPY(ret_record->rule, relay->rule->label);
}

static void record_refusal(struct udp_relay *relay, const char *reason, const char *dropped)
{
	struct control_record record;

	record_init(relay, CONTROL_EVENT_OPEN, &record);
	COPY(record.reason, reason);
	COPY(record.dropped, dropped);
	relay->state = UDP_REFUSED;
	(void)line_record(relay->egress->line, &record, NULL, NULL, NULL, NULL); /* without a supervisor the process ends */
}

static void on_record(struct conn *conn, void *ctx, int error)
{
	struct udp_relay *relay = ctx;

	(void)conn;
	if (error < 0) {
		udp_relay_close(relay, "refused", "not_recorded");
		return;
	}
	relay->state = UDP_OPEN;
	for (struct udp_flow *flow = relay->flows, *next; flow && !relay->closed; flow = next) {
		next = flow->next;
		udp_flow_flush(flow);
	}
}

void udp_relay_dialled(struct udp_relay *relay, const struct dial_result *result)
{
	struct control_record record;
	char text[NET_ADDRESS_TEXT];

	if (result->error < 0) {
		if (relay->state == UDP_NEW) /* what fails again and again is told once */
			record_refusal(relay, result->reason ? result->reason : "connect_failed", result->dropped);
		return;
	}
	if (relay->state == UDP_ASKED || relay->state == UDP_OPEN)
		return;
	record_init(relay, CONTROL_EVENT_OPEN, &record);
	record.allow = 1;
	record.dns_us = result->dns_us;
	record.connect_us = result->connect_us;
	net_address_text((const struct sockaddr *)&result->address, text);
	(void)snprintf(record.real, sizeof(record.real), strchr(text, ':') ? "[%s]:%u" : "%s:%u", text,
		       (unsigned)relay->port);
	COPY(record.dropped, result->dropped);
	COPY(record.reason, "granted");
	relay->state = UDP_ASKED;
	(void)line_record(relay->egress->line, &record, NULL, on_record, relay, NULL);
}

/* ---- its life ---- */

static void release(struct task_later *task)
{
	free((char *)task - offsetof(struct udp_relay, later));
}

static void unlink_relay(struct udp_relay *relay)
{
	struct udp_relay **slot = &relay->egress->udp;

	while (*slot && *slot != relay)
		slot = &(*slot)->next;
	if (*slot)
		*slot = relay->next;
}

void udp_relay_close(struct udp_relay *relay, const char *cause, const char *reason)
{
	struct control_record record;

	if (relay->closed)
		return;
	relay->closed = true;
	unlink_relay(relay);
	while (relay->flows)
		udp_flow_close(relay->flows);
	line_forget(relay->egress->line, NULL, relay);
	loop_remove(relay->egress->loop, &relay->guest);
	(void)close(relay->guest.fd);
	record_init(relay, CONTROL_EVENT_CLOSE, &record);
	record.allow = reason == NULL;
	record.bytes_up = relay->bytes_up;
	record.bytes_down = relay->bytes_down;
	record.duration_us = (loop_now_ns(relay->egress->loop) - relay->start_ns) / 1000;
	COPY(record.cause, cause);
	COPY(record.reason, reason ? reason : "");
	(void)line_record(relay->egress->line, &record, NULL, NULL, NULL, NULL);
	relay->later.run = release;
	loop_later(relay->egress->loop, &relay->later);
}

/* Without a network namespace others on this machine could send there too: only the run's own address is served. */
static bool is_program(const struct udp_relay *relay, const struct sockaddr_storage *client)
{
	const struct sockaddr_in *in = (const struct sockaddr_in *)client;
	const struct in_addr own = relay->egress->own;

	return own.s_addr == htonl(INADDR_LOOPBACK) ||
	       (client->ss_family == AF_INET && in->sin_addr.s_addr == own.s_addr);
}

static void guest_ready(struct watch *watch, unsigned events)
{
	struct udp_relay *relay = (struct udp_relay *)((char *)watch - offsetof(struct udp_relay, guest));

	(void)events;
	for (int n = 0; n < AT_ONCE && !relay->closed; n++) {
		struct sockaddr_storage client = {0};
		socklen_t len = sizeof(client);
		ssize_t got = recvfrom(watch->fd, datagram, sizeof(datagram), MSG_DONTWAIT,
				       (struct sockaddr *)&client, &len);
		struct udp_flow *flow;

		if (got < 0)
			return;
		if (!is_program(relay, &client))
			continue;
		flow = udp_flow_get(relay, (const struct sockaddr *)&client, len);
		if (flow)
			udp_flow_send(flow, datagram, (size_t)got);
		else if (relay->state == UDP_NEW)
			record_refusal(relay, "cap_connections", "");
	}
}

static struct udp_relay *create(struct egress *egress, const struct control_connect *endpoint, int fd)
{
	struct udp_relay *relay = calloc(1, sizeof(*relay));

	if (!relay)
		return NULL;
	*relay = (struct udp_relay){.next = egress->udp,
				    .egress = egress,
				    .conn = endpoint->conn,
				    .pid = endpoint->pid,
				    .port = endpoint->port,
				    .guest = {.fd = fd, .ready = guest_ready},
				    .start_ns = loop_now_ns(egress->loop)};
	COPY(relay->host, endpoint->host);
	egress->udp = relay;
	return relay;
}

void udp_announce(struct egress *egress, const struct control_connect *endpoint, int fd)
{
	struct net_verdict verdict = policy_net_connect(egress->policy, endpoint->host, endpoint->port, true);
	struct udp_relay *relay = create(egress, endpoint, fd);
	const char *reason = verdict.reason;
	size_t count = 0;

	if (!relay) {
		(void)close(fd);
		line_fail(egress->line);
		return;
	}
	for (const struct udp_relay *other = egress->udp; other; other = other->next)
		count++;
	relay->rule = verdict.allow ? verdict.rule : NULL;
	if (relay->rule && (count > UDP_RELAYS_MAX || egress->ending)) {
		relay->rule = NULL;
		reason = egress->ending ? "ending" : "too_many_connections";
	}
	if (!relay->rule) {
		record_refusal(relay, reason, "");
		udp_relay_close(relay, "refused", reason);
	} else if (loop_add(egress->loop, &relay->guest, EPOLLIN) < 0) {
		udp_relay_close(relay, "failed", "failed");
	}
}

void udp_end(struct egress *egress)
{
	while (egress->udp)
		udp_relay_close(egress->udp, "end", NULL);
}
