#include "egress/dns/resolver.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "egress/conn/sockaddr.h"

/* Most pending questions of all connections and of the name server; few enough for a list. */
#define RESOLVER_QUESTIONS_MAX 8192

/*
 * A pending resolver_ask_name(). All questions about a name share one query, so that a thousand connects to the name
 * need one lookup.
 */
struct resolver_question {
	struct resolver *resolver;
	struct resolver_question *next; /* next question in the list of the query */
	uint64_t number;                /* by which resolver_cancel_question() finds it */
	struct timer timer;
	void (*answer)(void *ctx, const struct resolver_answer *answer);
	void *ctx;
};

/* A name that the resolver looks up, and all questions that wait for it. */
struct resolver_pending_query {
	struct resolver_pending_query *next;
	struct resolver_query query_message;
	bool sent, answered; /* answered: the callbacks run, so a new question about the name needs a new query */
	struct resolver_question *questions; /* NULL: all were cancelled, but the reply is still expected */
};

/* Egress's end of the socket to the resolver process, and what waits for answers. */
struct resolver {
	struct loop *loop;
	struct watch watch; /* fd -1: the resolver process is gone */
	struct resolver_pending_query *queries;
	size_t queries_count, questions_count;
	uint64_t last_question_number; /* the last number of a query or question */
};

/* Frees a question and its timer. Its owner is not told. */
static void resolver_drop_question(struct resolver_question **slot)
{
	struct resolver_question *question = *slot;

	*slot = question->next;
	loop_clear_timer(question->resolver->loop, &question->timer);
	question->resolver->questions_count--;
	free(question);
}

/* Removes a query and the questions that wait for it. */
static void resolver_drop_query(struct resolver *resolver, struct resolver_pending_query **slot)
{
	struct resolver_pending_query *query = *slot;

	*slot = query->next;
	while (query->questions)
		resolver_drop_question(&query->questions);
	resolver->queries_count--;
	free(query);
}

/* Answers all questions of a list. A callback may cancel other questions, so the list's head is read anew each time. */
static void resolver_answer_questions(struct resolver_question **list, const struct resolver_answer *answer)
{
	while (*list) {
		const struct resolver_question question = **list;

		resolver_drop_question(list);
		question.answer(question.ctx, answer);
	}
}

/* The resolver process died or broke the protocol: fails all pending questions, and later ones at once. */
static void resolver_fail_questions(struct resolver *resolver)
{
	struct resolver_pending_query **slot = &resolver->queries;

	loop_close_watch(resolver->loop, &resolver->watch);
	while (*slot) {
		for (struct resolver_question *question = (*slot)->questions; question; question = question->next)
			loop_set_timer(resolver->loop, &question->timer, 0);
		if ((*slot)->questions)
			slot = &(*slot)->next;
		else
			resolver_drop_query(resolver, slot);
	}
}

/* Sends the queries to the resolver process, as far as its socket has room. */
static void send_queries(struct resolver *resolver)
{
	bool waits = false;

	for (struct resolver_pending_query *query = resolver->queries; query && !waits; query = query->next) {
		if (query->sent)
			continue;
		if (send(resolver->watch.fd, &query->query_message, sizeof(query->query_message),
			 MSG_DONTWAIT | MSG_NOSIGNAL) >= 0)
			query->sent = true;
		else
			waits = true; /* also if the resolver process is gone: reading from the socket will then fail */
	}
	loop_set_interest(resolver->loop, &resolver->watch, waits ? EPOLLIN | EPOLLOUT : EPOLLIN);
}

static bool resolver_reply_is_valid(const struct resolver_reply *reply, size_t len)
{
	if (len != sizeof(*reply) || reply->address_count > RESOLVER_ADDRESSES_MAX || reply->error > 0 ||
	    (reply->error == 0) != (reply->address_count > 0))
		return false;
	for (size_t i = 0; i < reply->address_count; i++)
		if (reply->address[i].family != AF_INET && reply->address[i].family != AF_INET6)
			return false;
	return true;
}

/* Answers all questions that wait for the query. */
static void resolver_on_reply(struct resolver *resolver, const struct resolver_reply *reply)
{
	struct resolver_pending_query **slot = &resolver->queries, *query;
	struct resolver_answer answer = {.error = reply->error, .address_count = reply->address_count};

	while (*slot && (*slot)->query_message.number != reply->number)
		slot = &(*slot)->next;
	if (!*slot)
		return;
	for (size_t i = 0; i < reply->address_count; i++)
		sockaddr_set_address(&answer.address[i], reply->address[i].family, reply->address[i].byte);
	query = *slot;
	query->answered = true;
	resolver_answer_questions(&query->questions, &answer);
	/* The callbacks may have inserted queries before this one. */
	for (slot = &resolver->queries; *slot != query; slot = &(*slot)->next)
		;
	resolver_drop_query(resolver, slot);
}

static void resolver_on_ready(struct watch *watch)
{
	struct resolver *resolver = container_of(watch, struct resolver, watch);

	while (resolver->watch.fd >= 0) {
		struct resolver_reply reply;
		ssize_t got = recv(resolver->watch.fd, &reply, sizeof(reply), MSG_DONTWAIT | MSG_TRUNC);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0 && errno == EAGAIN)
			break;
		if (got <= 0 || !resolver_reply_is_valid(&reply, (size_t)got))
			resolver_fail_questions(resolver);
		else
			resolver_on_reply(resolver, &reply);
	}
	if (resolver->watch.fd >= 0)
		send_queries(resolver);
}

/* Finds a question in a query's list. NULL: it is not there. */
static struct resolver_question **resolver_find_question(struct resolver_pending_query *query, uint64_t number)
{
	struct resolver_question **slot = &query->questions;

	while (*slot && (*slot)->number != number)
		slot = &(*slot)->next;
	return *slot ? slot : NULL;
}

void resolver_cancel_question(struct resolver *resolver, uint64_t number)
{
	struct resolver_pending_query **slot = &resolver->queries;
	struct resolver_question **question = NULL;

	while (*slot && !(question = resolver_find_question(*slot, number)))
		slot = &(*slot)->next;
	if (!question)
		return;
	resolver_drop_question(question);
	if (resolver->watch.fd < 0 && !(*slot)->questions) /* no reply will come and free the query */
		resolver_drop_query(resolver, slot);
}

/* Ends a question, because its time is over or the resolver process is gone. */
static void resolver_on_question_expired(struct timer *timer)
{
	const struct resolver_question question = *container_of(timer, struct resolver_question, timer);
	const struct resolver_answer answer = {.error = question.resolver->watch.fd < 0 ? -EPIPE : -ETIMEDOUT};

	resolver_cancel_question(question.resolver, question.number);
	question.answer(question.ctx, &answer);
}

/* The query for a name, new or outstanding. NULL: no memory, or too many queries. */
static struct resolver_pending_query *find_or_add_query(struct resolver *resolver, const char *host)
{
	struct resolver_pending_query *query = resolver->queries;

	while (query && (query->answered || strcmp(query->query_message.host, host) != 0))
		query = query->next;
	if (query || resolver->queries_count >= RESOLVER_QUERIES_MAX)
		return query;
	query = calloc(1, sizeof(*query));
	if (!query)
		return NULL;
	query->query_message.number = ++resolver->last_question_number;
	(void)snprintf(query->query_message.host, sizeof(query->query_message.host), "%s", host);
	query->next = resolver->queries;
	resolver->queries = query;
	resolver->queries_count++;
	return query;
}

uint64_t resolver_ask_name(struct resolver *resolver, const char *host, uint64_t timeout_ms,
			   void (*answer)(void *ctx, const struct resolver_answer *answer), void *ctx)
{
	bool room = resolver->questions_count < RESOLVER_QUESTIONS_MAX && strlen(host) < NET_HOST_SIZE;
	struct resolver_pending_query *query = room ? find_or_add_query(resolver, host) : NULL;
	struct resolver_question *question = query ? calloc(1, sizeof(*question)) : NULL;

	if (!question)
		return 0; /* a query without questions is freed when its reply arrives */
	*question = (struct resolver_question){.resolver = resolver,
			    .next = query->questions,
			    .number = ++resolver->last_question_number,
			    .timer.fire = resolver_on_question_expired,
			    .answer = answer,
			    .ctx = ctx};
	query->questions = question;
	resolver->questions_count++;
	loop_set_timer(resolver->loop, &question->timer, resolver->watch.fd < 0 ? 0 : timeout_ms);
	if (!query->sent && resolver->watch.fd >= 0)
		send_queries(resolver);
	return question->number;
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
