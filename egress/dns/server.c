#include "egress/dns/server.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/cleanup.h"
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

#define DATAGRAMS_PER_LOOP_ROUND_MAX 64
/* How long a DNS socket is not read when the control line is full or no file descriptor is free. */
#define DNS_SOCKET_READING_PAUSE_MS 5
#define DNS_QUERIES_BEING_ANSWERED_MAX 128
#define DNS_ANNOUNCEMENT_POLL_MS 2        /* between two looks whether the supervisor knows a name's address */
#define DNS_ANNOUNCEMENT_WAIT_MAX_MS 4000 /* stub resolvers repeat a query after five seconds */

/* A query and its sender. It may wait for the resolver, or until the supervisor knows the addresses of the answer. */
struct dns_task {
	struct dns_task *next;
	struct dns_server *server;
	struct dns_stream *stream; /* NULL: the query was a datagram from `from` */
	struct sockaddr_storage sender;
	socklen_t from_len;
	struct dns_query query;
	struct dns_verdict verdict;
	uint64_t resolver_question_number;     /* number of the pending question to the resolver; 0: none */
	struct timer poll_timer; /* fires at intervals until the control line is idle; then the answer is sent */
	unsigned waited_for_announcement_ms; /* so long the supervisor has been waited for */
};

/* Whether the supervisor was told to which name the DNS server gave a pool address. */
enum dns_announcement_state { DNS_UNANNOUNCED, DNS_QUEUED, DNS_ANNOUNCED };

/* A socket of the DNS server, for datagrams or for connections. */
struct dns_socket {
	struct dns_server *server;
	struct watch watch; /* fd -1: there is no such socket */
	struct timer pause_timer; /* ends a pause of reading */
};

/* Egress's DNS server for the program. */
struct dns_server {
	struct egress *egress;
	struct dns_socket udp, tcp;
	struct dns_refusals refusals;
	struct dns_task *tasks;
	size_t tasks_count;
	struct dns_streams streams;
	/* enum dns_announcement_state of names that match a wildcard of a rule, by index - POOL_FIRST_NAME_INDEX */
	uint8_t announcement_state[POOL_NAMES_MAX];
};

/* ---- sending answers ---- */

/* Tells the supervisor which name an address stands for. address: the real one, or NULL for one of the pool. */
static int server_announce_name(struct dns_server *server, uint32_t index, const struct sockaddr_storage *address,
			 const char *host)
{
	struct control_message message = {.version = CONTROL_VERSION, .type = CONTROL_NAME_APPROVED};

	message.name.pool_index = index;
	if (address)
		memcpy(message.name.address, sockaddr_get_bytes(address), sockaddr_get_address_len(address->ss_family));
	message.name.address_family = address ? (uint8_t)address->ss_family : AF_UNSPEC;
	memcpy(message.name.host, host, strlen(host) + 1);
	return line_send_message(server->egress->line, &message);
}

/*
 * Tells the supervisor which name the addresses in an answer stand for. 0: the message was sent; 1: it is queued;
 * -EPIPE: the line failed.
 */
static int server_announce_answer(struct dns_server *server, const struct dns_verdict *verdict)
{
	uint8_t *announced;
	int state = 0;

	if (!verdict->has_pool_addresses) {
		for (size_t i = 0; verdict->rule && state >= 0 && i < verdict->answer.address_count; i++) {
			int sent = server_announce_name(server, UINT32_MAX, &verdict->answer.address[i], verdict->host);

			state = sent ? sent : state;
		}
		return state;
	}
	if (pool_get_policy_name(server->egress->pool, verdict->pool_index))
		return 0;
	announced = &server->announcement_state[verdict->pool_index - POOL_FIRST_NAME_INDEX];
	if (*announced == DNS_UNANNOUNCED) {
		state = server_announce_name(server, verdict->pool_index, NULL, verdict->host);
		if (state < 0)
			return state;
		*announced = state ? DNS_QUEUED : DNS_ANNOUNCED;
	} else if (*announced == DNS_QUEUED && line_queue_is_empty(server->egress->line)) {
		*announced = DNS_ANNOUNCED;
	}
	return *announced == DNS_ANNOUNCED ? 0 : 1;
}

static struct dns_task *dns_task_create(struct dns_server *server, struct dns_stream *stream)
{
	struct dns_task *task = calloc(1, sizeof(*task));

	if (!task)
		return NULL;
	task->server = server;
	task->stream = stream;
	task->next = server->tasks;
	server->tasks = task;
	server->tasks_count++;
	return task;
}

static void dns_task_free(struct dns_task *task)
{
	struct dns_task **slot = &task->server->tasks;

	while (*slot != task)
		slot = &(*slot)->next;
	*slot = task->next;
	task->server->tasks_count--;
	loop_clear_timer(task->server->egress->loop, &task->poll_timer);
	if (task->resolver_question_number)
		resolver_cancel_question(task->server->egress->resolver, task->resolver_question_number);
	free(task);
}

/* Ends a task without an answer. */
static void dns_task_fail(struct dns_task *task)
{
	struct dns_stream *stream = task->stream;

	dns_task_free(task);
	if (stream)
		dns_stream_fail(stream);
}

/* Answers a query. First frees its task, because the stream may then serve the next query or be closed. */
static void dns_task_send_answer(struct dns_task *task, const struct dns_answer *answer)
{
	static const struct dns_answer failed = {.code = DNS_SERVFAIL};
	struct dns_stream *stream = task->stream;
	uint8_t data[DNS_REPLY_BYTES_MAX];
	size_t len = dns_build_answer(&task->query, answer, data, sizeof(data));

	if (len == 0)
		len = dns_build_answer(&task->query, &failed, data, sizeof(data));
	if (!stream) /* lost if the receive buffer is full: the program repeats the query */
		(void)sendto(task->server->udp.watch.fd, data, len, MSG_DONTWAIT | MSG_NOSIGNAL,
			     (const struct sockaddr *)(const void *)&task->sender, task->from_len);
	dns_task_free(task);
	if (stream)
		dns_stream_send_answer(stream, data, len);
}

/* Answers when the control line is idle: then the supervisor can read the announcements of the answer's addresses. */
static void dns_task_on_announcement_poll_due(struct timer *timer)
{
	struct dns_task *task = container_of(timer, struct dns_task, poll_timer);

	task->waited_for_announcement_ms += DNS_ANNOUNCEMENT_POLL_MS;
	if (line_queue_is_empty(task->server->egress->line))
		dns_task_send_answer(task, &task->verdict.answer);
	else if (task->waited_for_announcement_ms < DNS_ANNOUNCEMENT_WAIT_MAX_MS)
		loop_set_timer(task->server->egress->loop, &task->poll_timer, DNS_ANNOUNCEMENT_POLL_MS);
	else
		dns_task_fail(task);
}

/* ---- judging queries ---- */

/* Records a refusal, announces the answer's addresses to the supervisor, and answers. */
static void dns_task_answer_by_verdict(struct dns_task *task)
{
	struct dns_server *server = task->server;
	const struct dns_verdict *verdict = &task->verdict;
	int state = server_announce_answer(server, verdict);

	if (verdict->refusal_reason)
		dns_refusals_add(&server->refusals, &task->query, verdict->refusal_reason, verdict->rule_label);
	if (state == 0) {
		dns_task_send_answer(task, &verdict->answer);
	} else if (state < 0 || server->tasks_count > DNS_QUERIES_BEING_ANSWERED_MAX) {
		dns_task_fail(task);
	} else {
		task->poll_timer.fire = dns_task_on_announcement_poll_due;
		loop_set_timer(server->egress->loop, &task->poll_timer, DNS_ANNOUNCEMENT_POLL_MS);
	}
}

/* Makes the answer a refusal, by the rule that allowed the name. */
static void dns_task_set_refusal(struct dns_task *task, enum dns_code code, const char *reason)
{
	task->verdict.answer.code = code;
	task->verdict.refusal_reason = reason;
	task->verdict.rule_label = task->verdict.rule->label;
}

/* Judges the addresses of a name. named: the addresses are written in the policy. */
static void dns_task_judge_addresses(struct dns_task *task, struct sockaddr_storage *list, size_t count, bool named)
{
	const struct egress *egress = task->server->egress;
	char dropped[2] = ""; /* not used: the connection's "open" record lists the dropped addresses */

	count = address_filter_list(egress->policy, list, count, 0,
				    address_get_lifted_refusals(task->verdict.rule, named), dropped, sizeof(dropped));
	task->verdict.uses_real_addresses = false;
	if (count)
		dns_judge_addresses(egress->pool, &task->query, list, count, &task->verdict);
	else
		dns_task_set_refusal(task, DNS_NOERROR, "denied_addr");
}

/* The name has been looked up: answers the query. */
static void dns_task_on_resolved(void *ctx, const struct resolver_answer *answer)
{
	struct dns_task *task = ctx;
	struct sockaddr_storage list[RESOLVER_ADDRESSES_MAX];

	task->resolver_question_number = 0;
	memcpy(list, answer->address, answer->address_count * sizeof(*list));
	if (answer->error == 0)
		dns_task_judge_addresses(task, list, answer->address_count, false);
	else
		dns_task_set_refusal(task, answer->error == -ENOENT ? DNS_NXDOMAIN : DNS_SERVFAIL, "dns_fail");
	dns_task_answer_by_verdict(task);
}

/* Finds the addresses of a name with "dns": "real": from the policy, or by a look-up. */
static void dns_task_look_up_name(struct dns_task *task)
{
	const struct egress *egress = task->server->egress;
	struct sockaddr_storage list[NET_ADDRESSES_MAX];
	size_t count = policy_net_get_fixed_addresses(egress->policy, task->verdict.host, list, NET_ADDRESSES_MAX);

	if (count) {
		dns_task_judge_addresses(task, list, count, true);
		dns_task_answer_by_verdict(task);
		return;
	}
	if (task->server->tasks_count <= DNS_QUERIES_BEING_ANSWERED_MAX)
		task->resolver_question_number = resolver_ask_name(egress->resolver, task->verdict.host,
								   DIAL_DNS_TIMEOUT_MS, dns_task_on_resolved, task);
	if (!task->resolver_question_number)
		dns_task_fail(task);
}

/* Handles a query that has arrived. */
static void dns_task_handle_query(struct dns_task *task, const uint8_t *data, size_t len)
{
	const struct egress *egress = task->server->egress;
	struct dns_answer answer = {.code = DNS_FORMERR};
	int error = dns_parse_query(data, len, &task->query);

	if (error == -EINVAL) {
		dns_task_fail(task);
		return;
	}
	if (error < 0) {
		answer.code = error == -EOPNOTSUPP ? DNS_NOTIMP : DNS_FORMERR;
		dns_task_send_answer(task, &answer);
		return;
	}
	dns_judge_query(egress->policy, egress->pool, &task->query, &task->verdict);
	if (task->verdict.uses_real_addresses)
		dns_task_look_up_name(task);
	else
		dns_task_answer_by_verdict(task);
}

/* ---- reading from the sockets ---- */

/*
 * Whether a query comes from this machine, as a loopback address shows. In a network namespace that is the run. Without
 * one, other users of the machine can ask, too: they learn which names the policy approves, nothing else.
 */
static bool server_is_from_program(const struct dns_server *server, const struct sockaddr_storage *from)
{
	const uint8_t *bytes = sockaddr_get_bytes(from);

	if (pool_is_run_address(server->egress->pool, (const struct sockaddr *)(const void *)from))
		return true;
	if (from->ss_family == AF_INET)
		return bytes[0] == 127;
	return from->ss_family == AF_INET6 &&
	       (IN6_IS_ADDR_LOOPBACK((const struct in6_addr *)(const void *)bytes) ||
		(IN6_IS_ADDR_V4MAPPED((const struct in6_addr *)(const void *)bytes) && bytes[12] == 127));
}

static void server_on_stream_query(struct dns_streams *streams, struct dns_stream *stream, const uint8_t *data,
				   size_t len)
{
	struct dns_task *task = dns_task_create(container_of(streams, struct dns_server, streams), stream);

	if (task)
		dns_task_handle_query(task, data, len);
	else
		dns_stream_fail(stream);
}

/* Drops the queries of a connection that is closed. */
static void server_on_stream_closed(struct dns_streams *streams, struct dns_stream *stream)
{
	for (struct dns_task *task = container_of(streams, struct dns_server, streams)->tasks,
	     *next; task; task = next) {
		next = task->next;
		if (task->stream == stream)
			dns_task_free(task);
	}
}

/* Stops reading the socket for a moment, because a record or a descriptor finds no room. */
static void server_pause_socket(struct dns_socket *socket)
{
	loop_set_timer(socket->server->egress->loop, &socket->pause_timer, DNS_SOCKET_READING_PAUSE_MS);
	loop_set_interest(socket->server->egress->loop, &socket->watch, 0);
}

/* Reads the DNS socket again after a pause. */
static void server_on_pause_over(struct timer *timer)
{
	struct dns_socket *socket = container_of(timer, struct dns_socket, pause_timer);

	loop_set_interest(socket->server->egress->loop, &socket->watch, EPOLLIN);
}

static void server_on_udp_ready(struct watch *watch)
{
	struct dns_socket *udp = container_of(watch, struct dns_socket, watch);

	for (size_t i = 0; i < DATAGRAMS_PER_LOOP_ROUND_MAX; i++) {
		uint8_t data[DNS_QUERY_BYTES_MAX + 1]; /* one byte more, to detect longer queries */
		struct sockaddr_storage from = {0};
		socklen_t from_len = sizeof(from);
		struct dns_task *task;
		ssize_t got;

		if (line_queue_is_full(udp->server->egress->line)) {
			server_pause_socket(udp);
			return;
		}
		got = recvfrom(watch->fd, data, sizeof(data), MSG_DONTWAIT, (struct sockaddr *)&from, &from_len);
		if (got < 0 && errno == EAGAIN)
			return;
		task = got >= 0 && server_is_from_program(udp->server, &from) ? dns_task_create(udp->server, NULL)
									      : NULL;
		if (!task)
			continue;
		task->sender = from;
		task->from_len = from_len;
		dns_task_handle_query(task, data, (size_t)got);
	}
}

static void server_on_tcp_ready(struct watch *watch)
{
	struct dns_socket *tcp = container_of(watch, struct dns_socket, watch);
	struct sockaddr_storage from = {0};
	socklen_t len = sizeof(from);
	int fd = accept4(watch->fd, (struct sockaddr *)(void *)&from, &len, SOCK_NONBLOCK | SOCK_CLOEXEC);

	if (fd >= 0 && server_is_from_program(tcp->server, &from))
		dns_stream_accept(&tcp->server->streams, fd);
	else if (fd >= 0)
		(void)close(fd);
	else if (errno != EAGAIN && errno != ECONNABORTED && errno != EINTR)
		server_pause_socket(tcp);
}

/* Watches a socket, and makes it non-blocking: accept(2) would block the process if the client has closed before. */
static int server_watch_socket(struct dns_server *server, struct dns_socket *socket, int fd,
			      void (*ready)(struct watch *))
{
	int flags = fd < 0 ? 0 : fcntl(fd, F_GETFL);

	*socket = (struct dns_socket){
		.server = server, .watch = {.fd = fd, .ready = ready}, .pause_timer.fire = server_on_pause_over};
	if (fd < 0)
		return 0;
	if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0)
		return -errno;
	return loop_add_watch(server->egress->loop, &socket->watch, EPOLLIN);
}

int dns_server_create(struct egress *egress, int udp_fd, int tcp_fd, struct dns_server **ret_server)
{
	struct dns_server *server = calloc(1, sizeof(*server));
	int error, tcp_error;

	if (!server) {
		cleanup_close(&udp_fd);
		cleanup_close(&tcp_fd);
		return -ENOMEM;
	}
	server->egress = egress;
	server->streams = (struct dns_streams){
		.egress = egress, .serve = server_on_stream_query, .closed = server_on_stream_closed};
	dns_refusals_init(&server->refusals, egress);
	error = server_watch_socket(server, &server->udp, udp_fd, server_on_udp_ready);
	tcp_error = server_watch_socket(server, &server->tcp, tcp_fd, server_on_tcp_ready);
	if (error == 0)
		error = tcp_error;
	if (error < 0)
		dns_server_free(server);
	else
		*ret_server = server;
	return error;
}

void dns_server_free(struct dns_server *server)
{
	if (!server)
		return;
	loop_close_watch(server->egress->loop, &server->udp.watch);
	loop_close_watch(server->egress->loop, &server->tcp.watch);
	loop_clear_timer(server->egress->loop, &server->udp.pause_timer);
	loop_clear_timer(server->egress->loop, &server->tcp.pause_timer);
	while (server->tasks)
		dns_task_free(server->tasks);
	dns_streams_close(&server->streams);
	dns_refusals_release(&server->refusals);
	free(server);
}
