#include "egress/conn/dial.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#include "base/io.h"
#include "egress/conn/address.h"
#include "egress/conn/line.h"
#include "egress/conn/sockaddr.h"
#include "egress/dns/resolver.h"
#include "egress/state.h"

#define DIAL_ATTEMPTS_MAX 8   /* addresses tried of up to 16 resolved ones; rarely more than three are needed */
#define DIAL_NEXT_ATTEMPT_DELAY_MS 250      /* Connection Attempt Delay (RFC 8305, 5) */

/* An attempt to connect to one address of a name. */
struct dial_attempt {
	struct dial *dial;
	struct watch watch; /* fd is -1 while not connecting */
	struct timer timeout_timer; /* gives the attempt up */
	struct sockaddr_storage address;
};

/* The connecting of one socket to a host: its lookup, and attempts at each address. */
struct dial {
	struct egress *egress;
	char host[NET_HOST_SIZE];
	uint16_t port;
	int socket_type; /* SOCK_STREAM or SOCK_DGRAM */
	/* exceptions from the deny set: for addresses in the policy, and for addresses that a lookup found */
	enum net_lifted_refusals lift_for_policy_addresses, lift_for_resolved_addresses;
	enum net_lifted_refusals lift;         /* the exceptions for the addresses in `attempt` */
	void (*answer)(void *ctx, const struct dial_result *result);
	void *ctx;
	uint64_t resolver_question_number;             /* number of the pending question to the resolver; 0: none */
	uint64_t started_ns;          /* when the lookup began, then when connecting began */
	struct dial_attempt attempt[DIAL_ATTEMPTS_MAX];
	size_t count, next, running;
	struct timer next_step_timer;         /* fires when dialling starts, then for each further attempt */
	struct dial_result result;            /* what is known of the result so far */
};

static void attempt_close_socket(struct dial_attempt *attempt)
{
	struct dial *dial = attempt->dial;

	loop_clear_timer(dial->egress->loop, &attempt->timeout_timer);
	if (attempt->watch.fd < 0)
		return;
	loop_close_watch(dial->egress->loop, &attempt->watch);
	dial->running--;
}

void dial_cancel(struct dial *dial)
{
	if (!dial)
		return;
	for (size_t i = 0; i < dial->count; i++)
		attempt_close_socket(&dial->attempt[i]);
	loop_clear_timer(dial->egress->loop, &dial->next_step_timer);
	if (dial->resolver_question_number)
		resolver_cancel_question(dial->egress->resolver, dial->resolver_question_number);
	free(dial);
}

/* Frees the dial, and gives its result to the caller. */
static void dial_report_result(struct dial *dial, int error, const char *reason)
{
	void (*answer)(void *ctx, const struct dial_result *result) = dial->answer;
	struct dial_result result = dial->result;
	void *ctx = dial->ctx;

	result.error = error;
	result.reason = reason;
	dial_cancel(dial);
	answer(ctx, &result);
}

static uint64_t dial_get_elapsed_us(const struct dial *dial)
{
	return (io_read_clock_ns() - dial->started_ns) / 1000;
}

/* Keeps the error that the program gets if no attempt succeeds. A server's error tells more than a missing route. */
static void dial_keep_most_telling_error(struct dial *dial, int error)
{
	bool here = error == -ENETUNREACH || error == -EADDRNOTAVAIL || error == -EAFNOSUPPORT ||
		    error == -EHOSTUNREACH;

	if (!dial->result.error || !here)
		dial->result.error = error;
}

/* Detects a TCP self-connect: connecting to a port of this machine can pick the same port as source. */
static bool dial_is_self_connect(int fd, const struct sockaddr_storage *peer)
{
	struct sockaddr_storage own = {0};
	socklen_t len = sizeof(own);

	return getsockname(fd, (struct sockaddr *)(void *)&own, &len) == 0 && memcmp(&own, peer, sizeof(own)) == 0;
}

/* The attempt has succeeded: its socket becomes the dial's result. */
static void attempt_hand_over_socket(struct dial_attempt *attempt)
{
	struct dial *dial = attempt->dial;
	int on = 1;

	/* a failure of TCP_NODELAY affects latency only */
	if (dial->socket_type == SOCK_STREAM)
		(void)setsockopt(attempt->watch.fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	loop_remove_watch(dial->egress->loop, &attempt->watch);
	dial->result.fd = attempt->watch.fd;
	dial->result.address = attempt->address;
	dial->result.connect_us = dial_get_elapsed_us(dial);
	attempt->watch.fd = -1;
	dial->running--;
	dial_report_result(dial, 0, NULL);
}

static void dial_start_next_attempt(struct dial *dial);

/* The attempt has failed: keeps the error if it tells most, and tries the next address. */
static void attempt_give_up(struct dial_attempt *attempt, int error)
{
	dial_keep_most_telling_error(attempt->dial, error);
	attempt_close_socket(attempt);
	dial_start_next_attempt(attempt->dial);
}

static void attempt_on_ready(struct watch *watch)
{
	struct dial_attempt *attempt = container_of(watch, struct dial_attempt, watch);
	int error = 0;
	socklen_t len = sizeof(error);

	if (getsockopt(watch->fd, SOL_SOCKET, SO_ERROR, &error, &len) < 0)
		error = errno;
	if (!error && attempt->dial->socket_type == SOCK_STREAM && dial_is_self_connect(watch->fd, &attempt->address))
		error = ECONNREFUSED;
	if (error)
		attempt_give_up(attempt, -error);
	else
		attempt_hand_over_socket(attempt);
}

static void attempt_on_expired(struct timer *timer)
{
	attempt_give_up(container_of(timer, struct dial_attempt, timeout_timer), -ETIMEDOUT);
}

/* Starts to connect. 0: connecting, or connected at once, so that the socket is writable. */
static int attempt_start_connect(struct dial_attempt *attempt)
{
	struct dial *dial = attempt->dial;
	const struct sockaddr *address = (const struct sockaddr *)(const void *)&attempt->address;
	int fd, error;

	/* The address is judged here and connected to without a copy in between. */
	if (address_get_refusal_reason(dial->egress->policy, address, dial->port, dial->lift))
		return -EACCES;
	fd = socket(address->sa_family, dial->socket_type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	attempt->watch.fd = fd;
	error = connect(fd, address, sizeof(attempt->address)) < 0 && errno != EINPROGRESS ? -errno : 0;
	if (error == 0)
		error = loop_add_watch(dial->egress->loop, &attempt->watch, EPOLLOUT);
	if (error < 0) {
		loop_close_watch(dial->egress->loop, &attempt->watch);
		return error;
	}
	loop_set_timer(dial->egress->loop, &attempt->timeout_timer, DIAL_CONNECT_TIMEOUT_MS);
	dial->running++;
	return 0;
}

static void dial_on_next_attempt_due(struct timer *timer)
{
	dial_start_next_attempt(container_of(timer, struct dial, next_step_timer));
}

/* Starts to connect to the next address. Without any, and with none in progress, the dial has failed. */
static void dial_start_next_attempt(struct dial *dial)
{
	loop_clear_timer(dial->egress->loop, &dial->next_step_timer);
	while (dial->next < dial->count) {
		int error = attempt_start_connect(&dial->attempt[dial->next++]);

		if (error < 0) {
			dial_keep_most_telling_error(dial, error);
			continue;
		}
		if (dial->next < dial->count)
			loop_set_timer(dial->egress->loop, &dial->next_step_timer, DIAL_NEXT_ATTEMPT_DELAY_MS);
		return;
	}
	if (dial->running)
		return;
	dial->result.connect_us = dial_get_elapsed_us(dial);
	dial_report_result(dial, dial->result.error ? dial->result.error : -ECONNREFUSED, "connect_failed");
}

/* Adds attempts with the address families interleaved (RFC 8305, 4), in case one family is broken. */
static void dial_add_attempts(struct dial *dial, struct sockaddr_storage *list, size_t count)
{
	sa_family_t last = AF_UNSPEC;

	while (count && dial->count < DIAL_ATTEMPTS_MAX) {
		size_t pick = 0;

		while (pick < count && list[pick].ss_family == last)
			pick++;
		if (pick == count)
			pick = 0;
		last = list[pick].ss_family;
		sockaddr_set_port(&list[pick], dial->port);
		dial->attempt[dial->count++] = (struct dial_attempt){.dial = dial,
								.watch = {.fd = -1, .ready = attempt_on_ready},
								.timeout_timer.fire = attempt_on_expired,
								.address = list[pick]};
		memmove(&list[pick], &list[pick + 1], (--count - pick) * sizeof(*list));
	}
}

/* Starts to dial the addresses that the policy allows. If there are none, the dial fails. */
static void dial_try_addresses(struct dial *dial, struct sockaddr_storage *list, size_t count,
			       enum net_lifted_refusals lift)
{
	dial->result.dns_us = dial_get_elapsed_us(dial);
	dial->lift = lift;
	count = address_filter_list(dial->egress->policy, list, count, dial->port, lift,
				    dial->result.addresses_not_dialled, sizeof(dial->result.addresses_not_dialled));
	if (count == 0) {
		dial_report_result(dial, -ECONNREFUSED, "denied_addr");
		return;
	}
	dial_add_attempts(dial, list, count);
	dial->started_ns = io_read_clock_ns();
	dial_start_next_attempt(dial);
}

/* The name has been looked up: tries its addresses, or fails. */
static void dial_on_resolved(void *ctx, const struct resolver_answer *answer)
{
	struct dial *dial = ctx;
	struct sockaddr_storage list[RESOLVER_ADDRESSES_MAX];

	dial->resolver_question_number = 0;
	if (answer->error < 0) {
		dial->result.dns_us = dial_get_elapsed_us(dial);
		dial_report_result(dial, answer->error == -ETIMEDOUT ? -ETIMEDOUT : -EHOSTUNREACH, "dns_fail");
		return;
	}
	memcpy(list, answer->address, answer->address_count * sizeof(*list));
	dial_try_addresses(dial, list, answer->address_count, dial->lift_for_resolved_addresses);
}

/* Starts to dial, from the loop: an address, a name of "resolve", or a name that is looked up. */
static void dial_on_start_due(struct timer *timer)
{
	struct dial *dial = container_of(timer, struct dial, next_step_timer);
	struct sockaddr_storage list[NET_ADDRESSES_MAX];
	size_t count;

	dial->next_step_timer.fire = dial_on_next_attempt_due;
	dial->started_ns = io_read_clock_ns();
	/* Host names are canonical, so that a text that parses as an address is one. */
	count = sockaddr_parse(dial->host, &list[0]) ?
			1 :
			policy_net_get_fixed_addresses(dial->egress->policy, dial->host, list, NET_ADDRESSES_MAX);
	if (count) {
		dial_try_addresses(dial, list, count, dial->lift_for_policy_addresses);
		return;
	}
	dial->resolver_question_number =
		resolver_ask_name(dial->egress->resolver, dial->host, DIAL_DNS_TIMEOUT_MS, dial_on_resolved, dial);
	if (!dial->resolver_question_number)
		dial_report_result(dial, -EAGAIN, "dns_fail");
}

struct dial *dial_start(struct egress *egress, const char *host, uint16_t port, const struct net_rule *rule,
			void (*answer)(void *ctx, const struct dial_result *result), void *ctx)
{
	struct dial *dial = calloc(1, sizeof(*dial));

	if (!dial)
		return NULL;
	dial->egress = egress;
	(void)snprintf(dial->host, sizeof(dial->host), "%s", host);
	dial->port = port;
	dial->socket_type = rule && rule->proto == NET_UDP ? SOCK_DGRAM : SOCK_STREAM;
	dial->lift_for_policy_addresses = address_get_lifted_refusals(rule, true);
	dial->lift_for_resolved_addresses = address_get_lifted_refusals(rule, false);
	dial->answer = answer;
	dial->ctx = ctx;
	dial->result.fd = -1;
	dial->next_step_timer.fire = dial_on_start_due;
	loop_set_timer(egress->loop, &dial->next_step_timer, 0);
	return dial;
}

void dial_fill_record(const struct dial_result *result, uint16_t port, struct control_record *record)
{
	char text[NET_ADDRESS_TEXT_SIZE];

	record->dns_us = result->dns_us;
	record->connect_us = result->connect_us;
	LINE_COPY_TEXT(record->addresses_not_dialled, result->addresses_not_dialled);
	if (result->error < 0 || result->address.ss_family == AF_UNSPEC)
		return;
	net_address_format((const struct sockaddr *)&result->address, text);
	(void)snprintf(record->real_address, sizeof(record->real_address), strchr(text, ':') ? "[%s]:%u" : "%s:%u",
		       text, (unsigned)port);
}
