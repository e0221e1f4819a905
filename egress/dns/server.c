#include "egress/dns/server.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "egress/conn/line.h"
#include "egress/dns/server-private.h"
#include "egress/state.h"

#include "base/banned.h"

#define DATAGRAMS_PER_ROUND 64 /* then others have their turn */
#define PAUSE_MS 5             /* while the supervisor has too much to read, or there are no descriptors left */

/* ---- answers ---- */

void dns_reply(struct dns_server *server, const struct dns_peer *peer, const struct dns_query *query,
	       const struct dns_answer *answer)
{
	static const struct dns_answer failed = {.code = DNS_SERVFAIL};
	uint8_t data[DNS_REPLY_MAX];
	size_t len = dns_build(query, answer, data, sizeof(data));

	if (len == 0)
		len = dns_build(query, &failed, data, sizeof(data));
	if (peer->stream)
		dns_stream_reply(peer->stream, data, len);
	else /* lost when the program does not read: it asks again, as with any datagram */
		(void)sendto(server->udp.fd, data, len, MSG_DONTWAIT | MSG_NOSIGNAL,
			     (const struct sockaddr *)(const void *)&peer->from, peer->from_len);
}

static int send_name(struct dns_server *server, uint32_t index, const struct sockaddr_storage *address, const char *host)
{
	struct control_message message = {.version = CONTROL_VERSION, .type = CONTROL_NAME};

	message.name.index = index;
	if (address && address->ss_family == AF_INET)
		memcpy(message.name.address, &((const struct sockaddr_in *)(const void *)address)->sin_addr, 4);
	else if (address)
		memcpy(message.name.address, &((const struct sockaddr_in6 *)(const void *)address)->sin6_addr, 16);
	message.name.address_family = address ? (uint8_t)address->ss_family : AF_UNSPEC;
	memcpy(message.name.host, host, strlen(host) + 1);
	return line_send(server->egress->line, &message);
}

/* 0: the supervisor can read which name an answer's addresses stand for; 1: not yet; -EPIPE: never. */
static int tell(struct dns_server *server, const struct dns_verdict *verdict)
{
	uint8_t *told;
	int state = 0;

	if (!verdict->named) {
		for (size_t i = 0; verdict->rule && state >= 0 && i < verdict->answer.count; i++) {
			int sent = send_name(server, UINT32_MAX, &verdict->answer.address[i], verdict->host);

			state = sent ? sent : state;
		}
		return state;
	}
	if (pool_name(server->egress->pool, verdict->index))
		return 0;
	told = &server->told[verdict->index - POOL_FIRST];
	if (*told == DNS_UNTOLD) {
		state = send_name(server, verdict->index, NULL, verdict->host);
		if (state < 0)
			return state;
		*told = state ? DNS_QUEUED : DNS_TOLD;
	} else if (*told == DNS_QUEUED && line_idle(server->egress->line)) {
		*told = DNS_TOLD;
	}
	return *told == DNS_TOLD ? 0 : 1;
}

bool dns_conclude(struct dns_server *server, const struct dns_peer *peer, const struct dns_query *query,
		  const struct dns_verdict *verdict)
{
	int state = tell(server, verdict);

	if (verdict->reason)
		dns_note(&server->notes, query, verdict->reason, verdict->label);
	if (state > 0)
		return dns_task_hold(server, peer, query, verdict);
	if (state == 0)
		dns_reply(server, peer, query, &verdict->answer);
	return state == 0;
}

bool dns_serve(struct dns_server *server, const struct dns_peer *peer, const uint8_t *data, size_t len)
{
	struct dns_answer answer = {.code = DNS_FORMERR};
	struct dns_verdict verdict;
	struct dns_query query;
	int error = dns_parse(data, len, &query);

	if (error == -EINVAL)
		return false;
	if (error < 0) {
		answer.code = error == -EOPNOTSUPP ? DNS_NOTIMP : DNS_FORMERR;
		dns_reply(server, peer, &query, &answer);
		return true;
	}
	dns_judge(server->egress->policy, server->egress->pool, &query, &verdict);
	if (verdict.real)
		return dns_task_lookup(server, peer, &query, &verdict);
	return dns_conclude(server, peer, &query, &verdict);
}

/* ---- sockets ---- */

/*
 * Only what runs on this machine sends from a loopback address. In a namespace of the run's own that is the run; without
 * one other users of the machine could ask as well: they would learn which names the policy approves, and no more.
 */
static bool is_near(const struct sockaddr_storage *from)
{
	const struct sockaddr_in *in = (const struct sockaddr_in *)(const void *)from;
	const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)(const void *)from;

	if (from->ss_family == AF_INET)
		return ntohl(in->sin_addr.s_addr) >> 24 == 127;
	return from->ss_family == AF_INET6 &&
	       (IN6_IS_ADDR_LOOPBACK(&in6->sin6_addr) ||
		(IN6_IS_ADDR_V4MAPPED(&in6->sin6_addr) && in6->sin6_addr.s6_addr[12] == 127));
}

static bool comes_from_the_run(const struct dns_server *server, const struct sockaddr_storage *from)
{
	return is_near(from) || pool_is_own(server->egress->pool, (const struct sockaddr *)(const void *)from);
}

static struct dns_server *server_of(void *member, size_t offset)
{
	return (struct dns_server *)(void *)((char *)member - offset);
}

static void udp_resume(struct timer *timer)
{
	struct dns_server *server = server_of(timer, offsetof(struct dns_server, udp_pause));

	loop_set(server->egress->loop, &server->udp, EPOLLIN);
}

static void tcp_resume(struct timer *timer)
{
	struct dns_server *server = server_of(timer, offsetof(struct dns_server, tcp_pause));

	loop_set(server->egress->loop, &server->tcp, EPOLLIN);
}

static void udp_ready(struct watch *watch, unsigned events)
{
	struct dns_server *server = server_of(watch, offsetof(struct dns_server, udp));

	(void)events;
	for (size_t i = 0; i < DATAGRAMS_PER_ROUND; i++) {
		struct dns_peer peer = {.from_len = sizeof(peer.from)};
		uint8_t data[DNS_QUERY_MAX + 1]; /* one more: what is longer is seen to be */
		ssize_t got;

		if (line_full(server->egress->line)) {
			if (loop_timer_set(server->egress->loop, &server->udp_pause, PAUSE_MS) == 0)
				loop_set(server->egress->loop, &server->udp, 0);
			return;
		}
		got = recvfrom(watch->fd, data, sizeof(data), MSG_DONTWAIT, (struct sockaddr *)(void *)&peer.from,
			       &peer.from_len);
		if (got < 0 && errno == EAGAIN)
			return;
		if (got >= 0 && comes_from_the_run(server, &peer.from))
			(void)dns_serve(server, &peer, data, (size_t)got); /* no answer is one as well */
	}
}

static void tcp_ready(struct watch *watch, unsigned events)
{
	struct dns_server *server = server_of(watch, offsetof(struct dns_server, tcp));
	struct sockaddr_storage from = {0};
	socklen_t len = sizeof(from);
	int fd = accept4(watch->fd, (struct sockaddr *)(void *)&from, &len, SOCK_NONBLOCK | SOCK_CLOEXEC);

	(void)events;
	if (fd >= 0 && comes_from_the_run(server, &from)) {
		dns_stream_accept(server, fd);
	} else if (fd >= 0) {
		(void)close(fd);
	} else if (errno != EAGAIN && errno != ECONNABORTED && errno != EINTR &&
		   loop_timer_set(server->egress->loop, &server->tcp_pause, PAUSE_MS) == 0) {
		loop_set(server->egress->loop, &server->tcp, 0);
	}
}

/* A listener that waits would stop the process when who connected is gone before it is accepted. */
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
	server->udp_pause.fire = udp_resume;
	server->tcp_pause.fire = tcp_resume;
	dns_notes_init(&server->notes, egress);
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

static void drop_socket(struct dns_server *server, struct watch *watch)
{
	if (watch->fd < 0)
		return;
	loop_remove(server->egress->loop, watch);
	(void)close(watch->fd);
}

void dns_server_free(struct dns_server *server)
{
	if (!server)
		return;
	drop_socket(server, &server->udp);
	drop_socket(server, &server->tcp);
	loop_timer_clear(server->egress->loop, &server->udp_pause);
	loop_timer_clear(server->egress->loop, &server->tcp_pause);
	dns_tasks_drop(server, NULL);
	dns_streams_free(server);
	dns_notes_done(&server->notes);
	free(server);
}
