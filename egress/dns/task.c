#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "egress/conn/dial.h"
#include "egress/conn/line.h"
#include "egress/conn/vet.h"
#include "egress/dns/resolver.h"
#include "egress/dns/server-private.h"
#include "egress/state.h"

#include "base/banned.h"

#define TASKS_MAX 128
#define HOLD_STEP_MS 2
#define HOLD_MAX_MS 4000 /* the program asks again after five seconds or so */

static void unlink_task(struct dns_task *task)
{
	struct dns_task **slot = &task->server->tasks;

	while (*slot != task)
		slot = &(*slot)->next;
	*slot = task->next;
	task->server->tasks_count--;
	loop_timer_clear(task->server->egress->loop, &task->timer);
	if (task->asked)
		resolver_cancel(task->server->egress->resolver, task->asked);
}

void dns_tasks_drop(struct dns_server *server, const struct dns_stream *stream)
{
	struct dns_task *next;

	for (struct dns_task *task = server->tasks; task; task = next) {
		next = task->next;
		if (stream && task->peer.stream != stream)
			continue;
		unlink_task(task);
		free(task);
	}
}

static struct dns_task *create(struct dns_server *server, const struct dns_peer *peer, const struct dns_query *query,
			       const struct dns_verdict *verdict)
{
	struct dns_task *task = server->tasks_count < TASKS_MAX ? calloc(1, sizeof(*task)) : NULL;

	if (!task)
		return NULL;
	task->server = server;
	task->peer = *peer;
	task->query = *query;
	task->verdict = *verdict;
	task->next = server->tasks;
	server->tasks = task;
	server->tasks_count++;
	return task;
}

/* ---- until the supervisor can know ---- */

static void held(struct timer *timer)
{
	struct dns_task *task = (struct dns_task *)(void *)((char *)timer - offsetof(struct dns_task, timer));
	struct dns_server *server = task->server;
	bool idle = line_idle(server->egress->line);

	task->waited_ms += HOLD_STEP_MS;
	if (!idle && task->waited_ms < HOLD_MAX_MS &&
	    loop_timer_set(server->egress->loop, &task->timer, HOLD_STEP_MS) == 0)
		return;
	unlink_task(task);
	if (idle)
		dns_reply(server, &task->peer, &task->query, &task->verdict.answer);
	else if (task->peer.stream)
		dns_stream_fail(task->peer.stream);
	free(task);
}

bool dns_task_hold(struct dns_server *server, const struct dns_peer *peer, const struct dns_query *query,
		   const struct dns_verdict *verdict)
{
	struct dns_task *task = create(server, peer, query, verdict);

	if (!task)
		return false;
	task->timer.fire = held;
	if (loop_timer_set(server->egress->loop, &task->timer, HOLD_STEP_MS) == 0)
		return true;
	unlink_task(task);
	free(task);
	return false;
}

/* ---- real addresses ---- */

static void refuse(struct dns_verdict *verdict, enum dns_code code, const char *reason)
{
	verdict->answer.code = code;
	verdict->reason = reason;
	verdict->label = verdict->rule->label;
}

static void found(struct dns_server *server, const struct dns_query *query, struct dns_verdict *verdict,
		  struct sockaddr_storage *list, size_t count, bool named)
{
	char dropped[2] = ""; /* connecting records it */

	count = vet_list(server->egress->policy, list, count, 0, vet_lift(verdict->rule, named), dropped,
			 sizeof(dropped));
	verdict->real = false;
	if (count)
		dns_judge_real(server->egress->pool, query, list, count, verdict);
	else
		refuse(verdict, DNS_NOERROR, "denied_addr");
}

static void answered(void *ctx, const struct resolver_answer *answer)
{
	struct dns_task *task = ctx;
	struct dns_server *server = task->server;
	struct sockaddr_storage list[RESOLVER_ADDRESSES_MAX];

	task->asked = 0;
	unlink_task(task);
	memcpy(list, answer->address, answer->count * sizeof(*list));
	if (answer->error == 0)
		found(server, &task->query, &task->verdict, list, answer->count, false);
	else
		refuse(&task->verdict, answer->error == -ENOENT ? DNS_NXDOMAIN : DNS_SERVFAIL, "dns_fail");
	if (!dns_conclude(server, &task->peer, &task->query, &task->verdict) && task->peer.stream)
		dns_stream_fail(task->peer.stream);
	free(task);
}

bool dns_task_lookup(struct dns_server *server, const struct dns_peer *peer, const struct dns_query *query,
		     const struct dns_verdict *verdict)
{
	struct sockaddr_storage list[NET_ADDRESSES_MAX];
	size_t count = policy_net_resolve(server->egress->policy, verdict->host, list, NET_ADDRESSES_MAX);
	struct dns_verdict here = *verdict;
	struct dns_task *task;

	if (count) {
		found(server, query, &here, list, count, true);
		return dns_conclude(server, peer, query, &here);
	}
	task = create(server, peer, query, verdict);
	if (!task)
		return false;
	task->asked = resolver_ask(server->egress->resolver, verdict->host, DIAL_DNS_MS, answered, task);
	if (task->asked)
		return true;
	unlink_task(task);
	free(task);
	return false;
}
