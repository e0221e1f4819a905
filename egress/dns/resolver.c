#include "egress/dns/resolver.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "egress/conn/sockaddr.h"

#define ASKS_MAX 8192 /* of all connections and the name server; few enough for a list */

/* One pending resolver_ask_name. All asks for a name share a query: a thousand connects to a host are one lookup. */
struct ask {
	struct resolver *resolver;
	struct ask *next; /* in its query's list */
	uint64_t number;
	struct timer timer;
	void (*answer)(void *ctx, const struct resolver_answer *answer);
	void *ctx;
};

struct query {
	struct query *next;
	struct resolver_query wire;
	bool sent, answered; /* answered: an ask during the callbacks gets a query of its own */
	struct ask *asks; /* NULL: all were cancelled; the reply is still expected */
};

struct resolver {
	struct loop *loop;
	struct watch watch; /* fd -1: the process is gone */
	struct query *queries;
	size_t queries_count, asks_count;
	uint64_t last_number;
};

static void resolver_drop_ask(struct ask **slot)
{
	struct ask *ask = *slot;

	*slot = ask->next;
	loop_clear_timer(ask->resolver->loop, &ask->timer);
	ask->resolver->asks_count--;
	free(ask);
}

static void resolver_drop_query(struct resolver *resolver, struct query **slot)
{
	struct query *query = *slot;

	*slot = query->next;
	while (query->asks)
		resolver_drop_ask(&query->asks);
	resolver->queries_count--;
	free(query);
}

/* A callback may cancel other asks, so the list head is read anew each time. */
static void resolver_answer_asks(struct ask **list, const struct resolver_answer *answer)
{
	while (*list) {
		const struct ask ask = **list;

		resolver_drop_ask(list);
		ask.answer(ask.ctx, answer);
	}
}

/* The process died or broke the protocol: fails all asks, and later ones at once. */
static void resolver_fail_asks(struct resolver *resolver)
{
	struct query **slot = &resolver->queries;

	loop_close_watch(resolver->loop, &resolver->watch);
	while (*slot) {
		for (struct ask *ask = (*slot)->asks; ask; ask = ask->next)
			loop_set_timer(resolver->loop, &ask->timer, 0);
		if ((*slot)->asks)
			slot = &(*slot)->next;
		else
			resolver_drop_query(resolver, slot);
	}
}

static void send_queries(struct resolver *resolver)
{
	bool waits = false;

	for (struct query *query = resolver->queries; query && !waits; query = query->next) {
		if (query->sent)
			continue;
		if (send(resolver->watch.fd, &query->wire, sizeof(query->wire), MSG_DONTWAIT | MSG_NOSIGNAL) >= 0)
			query->sent = true;
		else /* if the process is gone, reading reports it */
			waits = true;
	}
	loop_set_interest(resolver->loop, &resolver->watch, waits ? EPOLLIN | EPOLLOUT : EPOLLIN);
}

static bool resolver_reply_is_valid(const struct resolver_reply *reply, size_t len)
{
	if (len != sizeof(*reply) || reply->count > RESOLVER_ADDRESSES_MAX || reply->error > 0 ||
	    (reply->error == 0) != (reply->count > 0))
		return false;
	for (size_t i = 0; i < reply->count; i++)
		if (reply->address[i].family != AF_INET && reply->address[i].family != AF_INET6)
			return false;
	return true;
}

static void resolver_on_reply(struct resolver *resolver, const struct resolver_reply *reply)
{
	struct query **slot = &resolver->queries, *query;
	struct resolver_answer answer = {.error = reply->error, .count = reply->count};

	while (*slot && (*slot)->wire.number != reply->number)
		slot = &(*slot)->next;
	if (!*slot)
		return;
	for (size_t i = 0; i < reply->count; i++)
		sockaddr_set_address(&answer.address[i], reply->address[i].family, reply->address[i].byte);
	query = *slot;
	query->answered = true;
	resolver_answer_asks(&query->asks, &answer);
	/* callbacks may have inserted queries before it */
	for (slot = &resolver->queries; *slot != query; slot = &(*slot)->next)
		;
	resolver_drop_query(resolver, slot);
}

static void resolver_on_ready(struct watch *watch)
{
	struct resolver *resolver = owner_of(watch, struct resolver, watch);

	while (resolver->watch.fd >= 0) {
		struct resolver_reply reply;
		ssize_t got = recv(resolver->watch.fd, &reply, sizeof(reply), MSG_DONTWAIT | MSG_TRUNC);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0 && errno == EAGAIN)
			break;
		if (got <= 0 || !resolver_reply_is_valid(&reply, (size_t)got))
			resolver_fail_asks(resolver);
		else
			resolver_on_reply(resolver, &reply);
	}
	if (resolver->watch.fd >= 0)
		send_queries(resolver);
}

/* Finds an ask among those of a query. NULL: it is not there. */
static struct ask **resolver_find_ask(struct query *query, uint64_t number)
{
	struct ask **slot = &query->asks;

	while (*slot && (*slot)->number != number)
		slot = &(*slot)->next;
	return *slot ? slot : NULL;
}

void resolver_cancel_ask(struct resolver *resolver, uint64_t number)
{
	struct query **slot = &resolver->queries;
	struct ask **ask = NULL;

	while (*slot && !(ask = resolver_find_ask(*slot, number)))
		slot = &(*slot)->next;
	if (!ask)
		return;
	resolver_drop_ask(ask);
	if (resolver->watch.fd < 0 && !(*slot)->asks) /* no reply will free it */
		resolver_drop_query(resolver, slot);
}

/* Ends an ask, because its time is over or the process is gone. */
static void resolver_on_ask_expired(struct timer *timer)
{
	const struct ask ask = *owner_of(timer, struct ask, timer);
	const struct resolver_answer answer = {.error = ask.resolver->watch.fd < 0 ? -EPIPE : -ETIMEDOUT};

	resolver_cancel_ask(ask.resolver, ask.number);
	ask.answer(ask.ctx, &answer);
}

/* The query for a name, new or outstanding; NULL: no memory or too many. */
static struct query *find_or_add_query(struct resolver *resolver, const char *host)
{
	struct query *query = resolver->queries;

	while (query && (query->answered || strcmp(query->wire.host, host) != 0))
		query = query->next;
	if (query || resolver->queries_count >= RESOLVER_QUERIES_MAX)
		return query;
	query = calloc(1, sizeof(*query));
	if (!query)
		return NULL;
	query->wire.number = ++resolver->last_number;
	(void)snprintf(query->wire.host, sizeof(query->wire.host), "%s", host);
	query->next = resolver->queries;
	resolver->queries = query;
	resolver->queries_count++;
	return query;
}

uint64_t resolver_ask_name(struct resolver *resolver, const char *host, uint64_t timeout_ms,
			   void (*answer)(void *ctx, const struct resolver_answer *answer), void *ctx)
{
	bool room = resolver->asks_count < ASKS_MAX && strlen(host) < NET_HOST_MAX;
	struct query *query = room ? find_or_add_query(resolver, host) : NULL;
	struct ask *ask = query ? calloc(1, sizeof(*ask)) : NULL;

	if (!ask)
		return 0; /* a query without asks is freed when its reply arrives */
	*ask = (struct ask){.resolver = resolver,
			    .next = query->asks,
			    .number = ++resolver->last_number,
			    .timer.fire = resolver_on_ask_expired,
			    .answer = answer,
			    .ctx = ctx};
	query->asks = ask;
	resolver->asks_count++;
	loop_set_timer(resolver->loop, &ask->timer, resolver->watch.fd < 0 ? 0 : timeout_ms);
	if (!query->sent && resolver->watch.fd >= 0)
		send_queries(resolver);
	return ask->number;
}

int resolver_create(struct loop *loop, int fd, struct resolver **ret_resolver)
{
	struct resolver *resolver = calloc(1, sizeof(*resolver));
	int error;

	if (!resolver) {
		(void)close(fd);
		return -ENOMEM;
	}
	resolver->loop = loop;
	resolver->watch = (struct watch){.fd = fd, .ready = resolver_on_ready};
	error = loop_add_watch(loop, &resolver->watch, EPOLLIN);
	if (error < 0)
		resolver_free(resolver);
	else
		*ret_resolver = resolver;
	return error;
}

void resolver_free(struct resolver *resolver)
{
	if (!resolver)
		return;
	loop_close_watch(resolver->loop, &resolver->watch);
	while (resolver->queries)
		resolver_drop_query(resolver, &resolver->queries);
	free(resolver);
}
