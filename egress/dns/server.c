#include "egress/dns/server.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "egress/conn/address.h"
#include "egress/conn/dial.h"
#include "egress/conn/line.h"
#include "egress/conn/sockaddr.h"
#include "egress/dns/judge.h"
#include "egress/dns/message.h"
#include "egress/dns/refusals.h"
#include "egress/dns/resolver.h"
#include "egress/dns/stream.h"
#include "egress/state.h"

#include "base/banned.h"

#define DATAGRAMS_PER_ROUND 64
#define PAUSE_MS 5 /* while the control line is full or no file descriptor is free */
#define TASKS_MAX 128
#define HOLD_STEP_MS 2
#define HOLD_MAX_MS 4000 /* stub resolvers repeat a query after five seconds */

/* A query and its sender. In the list when it waits for the resolver or for the supervisor to know its addresses. */
struct dns_task {
	struct dns_task *next;
	struct dns_server *server;
	struct dns_stream *stream; /* NULL: a datagram from `from` */
	struct sockaddr_storage from;
	socklen_t from_len;
	struct dns_query query;
	struct dns_verdict verdict;
	uint64_t asked;     /* id at the resolver; 0: none pending */
	struct timer timer; /* polls until the control line is idle */
	unsigned waited_ms;
};

enum dns_announced { DNS_UNANNOUNCED, DNS_QUEUED, DNS_ANNOUNCED };

struct dns_server {
	struct egress *egress;
	struct watch udp, tcp; /* fd -1: none */
	struct timer udp_pause, tcp_pause;
	struct dns_refusals refusals;
	struct dns_task *tasks;
	size_t tasks_count;
	struct dns_streams streams;
	uint8_t announced[POOL_NAMES_MAX]; /* enum dns_announced by index - POOL_FIRST, of names that egress added */
};

/* ---- answers ---- */

static void task_reply(const struct dns_task *task, const struct dns_answer *answer)
{
	static const struct dns_answer failed = {.code = DNS_SERVFAIL};
	uint8_t data[DNS_REPLY_MAX];
	size_t len = dns_build(&task->query, answer, data, sizeof(data));

	if (len == 0)
		len = dns_build(&task->query, &failed, data, sizeof(data));
	if (task->stream)
		dns_stream_reply(task->stream, data, len);
	else /* lost when the receive buffer is full: the program repeats the query */
		(void)sendto(task->server->udp.fd, data, len, MSG_DONTWAIT | MSG_NOSIGNAL,
			     (const struct sockaddr *)(const void *)&task->from, task->from_len);
}

static int announce_name(struct dns_server *server, uint32_t index, const struct sockaddr_storage *address,
			 const char *host)
{
	struct control_message message = {.version = CONTROL_VERSION, .type = CONTROL_NAME};

	message.name.index = index;
	if (address)
		memcpy(message.name.address, sockaddr_bytes(address), sockaddr_len(address->ss_family));
	message.name.address_family = address ? (uint8_t)address->ss_family : AF_UNSPEC;
	memcpy(message.name.host, host, strlen(host) + 1);
	return line_send(server->egress->line, &message);
}

/*
 * Tells the supervisor which name the addresses in an answer stand for. 0: it can read that; 1: it cannot yet; -EPIPE:
 * the line failed.
 */
static int server_announce(struct dns_server *server, const struct dns_verdict *verdict)
{
	uint8_t *announced;
	int state = 0;

	if (!verdict->named) {
		for (size_t i = 0; verdict->rule && state >= 0 && i < verdict->answer.count; i++) {
			int sent = announce_name(server, UINT32_MAX, &verdict->answer.address[i], verdict->host);

			state = sent ? sent : state;
		}
		return state;
	}
	if (pool_name(server->egress->pool, verdict->index))
		return 0;
	announced = &server->announced[verdict->index - POOL_FIRST];
	if (*announced == DNS_UNANNOUNCED) {
		state = announce_name(server, verdict->index, NULL, verdict->host);
		if (state < 0)
			return state;
		*announced = state ? DNS_QUEUED : DNS_ANNOUNCED;
	} else if (*announced == DNS_QUEUED && line_idle(server->egress->line)) {
		*announced = DNS_ANNOUNCED;
	}
	return *announced == DNS_ANNOUNCED ? 0 : 1;
}

/* ---- queries that wait ---- */

static void task_unlink(struct dns_task *task)
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

static void task_drop(struct dns_task *task)
{
	task_unlink(task);
	free(task);
}

/* Drops the tasks of a stream; NULL: all. */
static void tasks_drop(struct dns_server *server, const struct dns_stream *stream)
{
	for (struct dns_task *task = server->tasks, *next; task; task = next) {
		next = task->next;
		if (!stream || task->stream == stream)
			task_drop(task);
	}
}

/* A copy that is in the list. NULL: no memory or too many. */
static struct dns_task *task_keep(const struct dns_task *task)
{
	struct dns_server *server = task->server;
	struct dns_task *kept = server->tasks_count < TASKS_MAX ? malloc(sizeof(*kept)) : NULL;

	if (!kept)
		return NULL;
	*kept = *task;
	kept->asked = 0;
	kept->timer = (struct timer){0};
	kept->next = server->tasks;
	server->tasks = kept;
	server->tasks_count++;
	return kept;
}

static void task_hold_due(struct timer *timer)
{
	struct dns_task *task = owner_of(timer, struct dns_task, timer);
	bool idle = line_idle(task->server->egress->line);

	task->waited_ms += HOLD_STEP_MS;
	if (!idle && task->waited_ms < HOLD_MAX_MS) {
		loop_timer_set(task->server->egress->loop, &task->timer, HOLD_STEP_MS);
		return;
	}
	task_unlink(task);
	if (idle)
		task_reply(task, &task->verdict.answer);
	else if (task->stream)
		dns_stream_fail(task->stream);
	free(task);
}

/* Answers once the supervisor can read the announcements of the answer's addresses. False: the query gets no answer. */
static bool task_hold(const struct dns_task *task)
{
	struct dns_task *kept = task_keep(task);

	if (!kept)
		return false;
	kept->timer.fire = task_hold_due;
	loop_timer_set(task->server->egress->loop, &kept->timer, HOLD_STEP_MS);
	return true;
}

/* ---- verdicts ---- */

/* Records a refusal, announces the answer's addresses, answers. False: the query gets no answer. */
static bool task_conclude(const struct dns_task *task)
{
	const struct dns_verdict *verdict = &task->verdict;
	int state = server_announce(task->server, verdict);

	if (verdict->reason)
		dns_refusals_add(&task->server->refusals, &task->query, verdict->reason, verdict->label);
	if (state > 0)
		return task_hold(task);
	if (state == 0)
		task_reply(task, &verdict->answer);
	return state == 0;
}

static void task_refuse(struct dns_task *task, enum dns_code code, const char *reason)
{
	task->verdict.answer.code = code;
	task->verdict.reason = reason;
	task->verdict.label = task->verdict.rule->label;
}

/* named: the addresses are written in the policy. */
static void task_judge(struct dns_task *task, struct sockaddr_storage *list, size_t count, bool named)
{
	const struct egress *egress = task->server->egress;
	char dropped[2] = ""; /* unused: the "open" record of a connect has the text */

	count = address_filter(egress->policy, list, count, 0, address_lift(task->verdict.rule, named), dropped,
			       sizeof(dropped));
	task->verdict.real = false;
	if (count)
		dns_judge_real(egress->pool, &task->query, list, count, &task->verdict);
	else
		task_refuse(task, DNS_NOERROR, "denied_addr");
}

static void task_resolved(void *ctx, const struct resolver_answer *answer)
{
	struct dns_task *task = ctx;
	struct sockaddr_storage list[RESOLVER_ADDRESSES_MAX];

	task->asked = 0;
	task_unlink(task);
	memcpy(list, answer->address, answer->count * sizeof(*list));
	if (answer->error == 0)
		task_judge(task, list, answer->count, false);
	else
		task_refuse(task, answer->error == -ENOENT ? DNS_NXDOMAIN : DNS_SERVFAIL, "dns_fail");
	if (!task_conclude(task) && task->stream)
		dns_stream_fail(task->stream);
	free(task);
}

static bool task_lookup(struct dns_task *task)
{
	const struct egress *egress = task->server->egress;
	struct sockaddr_storage list[NET_ADDRESSES_MAX];
	size_t count = policy_net_resolve(egress->policy, task->verdict.host, list, NET_ADDRESSES_MAX);
	struct dns_task *kept;

	if (count) {
		task_judge(task, list, count, true);
		return task_conclude(task);
	}
	kept = task_keep(task);
	if (!kept)
		return false;
	kept->asked = resolver_ask(egress->resolver, kept->verdict.host, DIAL_DNS_MS, task_resolved, kept);
	if (kept->asked)
		return true;
	task_drop(kept);
	return false;
}

/* A query has arrived from task's sender. False: it gets no answer. */
static bool task_serve(struct dns_task *task, const uint8_t *data, size_t len)
{
	const struct dns_server *server = task->server;
	struct dns_answer answer = {.code = DNS_FORMERR};
	int error = dns_parse(data, len, &task->query);

	if (error == -EINVAL)
		return false;
	if (error < 0) {
		answer.code = error == -EOPNOTSUPP ? DNS_NOTIMP : DNS_FORMERR;
		task_reply(task, &answer);
		return true;
	}
	dns_judge(server->egress->policy, server->egress->pool, &task->query, &task->verdict);
	return task->verdict.real ? task_lookup(task) : task_conclude(task);
}

/* ---- sockets ---- */

/*
 * Only processes of this machine send from a loopback address. In a network namespace that is the run. Without one
 * other users of the machine can ask too: they learn which names the policy approves, nothing else.
 */
static bool is_local(const struct sockaddr_storage *from)
{
	const struct sockaddr_in *in = (const struct sockaddr_in *)(const void *)from;
	const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)(const void *)from;

	if (from->ss_family == AF_INET)
		return ntohl(in->sin_addr.s_addr) >> 24 == 127;
	return from->ss_family == AF_INET6 &&
	       (IN6_IS_ADDR_LOOPBACK(&in6->sin6_addr) ||
		(IN6_IS_ADDR_V4MAPPED(&in6->sin6_addr) && in6->sin6_addr.s6_addr[12] == 127));
}

static bool server_is_program(const struct dns_server *server, const struct sockaddr_storage *from)
{
	return is_local(from) || pool_is_own(server->egress->pool, (const struct sockaddr *)(const void *)from);
}

static bool server_stream_serve(struct dns_streams *streams, struct dns_stream *stream, const uint8_t *data, size_t len)
{
	struct dns_task task = {.server = owner_of(streams, struct dns_server, streams), .stream = stream};

	return task_serve(&task, data, len);
}

static void server_stream_closed(struct dns_streams *streams, struct dns_stream *stream)
{
	tasks_drop(owner_of(streams, struct dns_server, streams), stream);
}

static void udp_resume(struct timer *timer)
{
	struct dns_server *server = owner_of(timer, struct dns_server, udp_pause);

	loop_set(server->egress->loop, &server->udp, EPOLLIN);
}

static void tcp_resume(struct timer *timer)
{
	struct dns_server *server = owner_of(timer, struct dns_server, tcp_pause);

	loop_set(server->egress->loop, &server->tcp, EPOLLIN);
}

static void udp_ready(struct watch *watch)
{
	struct dns_server *server = owner_of(watch, struct dns_server, udp);

	for (size_t i = 0; i < DATAGRAMS_PER_ROUND; i++) {
		struct dns_task task = {.server = server, .from_len = sizeof(task.from)};
		uint8_t data[DNS_QUERY_MAX + 1]; /* one more, to detect longer ones */
		ssize_t got;

		if (line_full(server->egress->line)) {
			loop_timer_set(server->egress->loop, &server->udp_pause, PAUSE_MS);
			loop_set(server->egress->loop, &server->udp, 0);
			return;
		}
		got = recvfrom(watch->fd, data, sizeof(data), MSG_DONTWAIT, (struct sockaddr *)(void *)&task.from,
			       &task.from_len);
		if (got < 0 && errno == EAGAIN)
			return;
		if (got >= 0 && server_is_program(server, &task.from))
			/* a datagram that gets no answer is dropped */
			(void)task_serve(&task, data, (size_t)got);
	}
}

static void tcp_ready(struct watch *watch)
{
	struct dns_server *server = owner_of(watch, struct dns_server, tcp);
	struct sockaddr_storage from = {0};
	socklen_t len = sizeof(from);
	int fd = accept4(watch->fd, (struct sockaddr *)(void *)&from, &len, SOCK_NONBLOCK | SOCK_CLOEXEC);

	if (fd >= 0 && server_is_program(server, &from)) {
		dns_stream_accept(&server->streams, fd);
	} else if (fd >= 0) {
		(void)close(fd);
	} else if (errno != EAGAIN && errno != ECONNABORTED && errno != EINTR) {
		loop_timer_set(server->egress->loop, &server->tcp_pause, PAUSE_MS);
		loop_set(server->egress->loop, &server->tcp, 0);
	}
}

/* A blocking accept would stop the process when a client aborts before it is accepted. */
static int watch_socket(struct dns_server *server, struct watch *watch)
{
	int flags;

	if (watch->fd < 0)
		return 0;
	flags = fcntl(watch->fd, F_GETFL);
	if (flags < 0 || fcntl(watch->fd, F_SETFL, flags | O_NONBLOCK) < 0)
		return -errno;
	return loop_add(server->egress->loop, watch, EPOLLIN);
}

int dns_server_create(struct egress *egress, int udp_fd, int tcp_fd, struct dns_server **ret_server)
{
	struct dns_server *server = calloc(1, sizeof(*server));
	int error;

	if (!server) {
		if (udp_fd >= 0)
			(void)close(udp_fd);
		if (tcp_fd >= 0)
			(void)close(tcp_fd);
		return -ENOMEM;
	}
	server->egress = egress;
	server->udp = (struct watch){.fd = udp_fd, .ready = udp_ready};
	server->tcp = (struct watch){.fd = tcp_fd, .ready = tcp_ready};
	server->streams = (struct dns_streams){
		.egress = egress, .serve = server_stream_serve, .closed = server_stream_closed};
	server->udp_pause.fire = udp_resume;
	server->tcp_pause.fire = tcp_resume;
	dns_refusals_init(&server->refusals, egress);
	error = watch_socket(server, &server->udp);
	if (error == 0)
		error = watch_socket(server, &server->tcp);
	if (error < 0) {
		dns_server_free(server);
		return error;
	}
	*ret_server = server;
	return 0;
}

void dns_server_free(struct dns_server *server)
{
	if (!server)
		return;
	loop_close(server->egress->loop, &server->udp);
	loop_close(server->egress->loop, &server->tcp);
	loop_timer_clear(server->egress->loop, &server->udp_pause);
	loop_timer_clear(server->egress->loop, &server->tcp_pause);
	tasks_drop(server, NULL);
	dns_streams_close(&server->streams);
	dns_refusals_done(&server->refusals);
	free(server);
}
