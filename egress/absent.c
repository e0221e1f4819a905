/*
 * Stands in for parts of egress while they are being written: weak, in a library of their own behind the real one, and all
 * they do is refuse.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "egress/conn.h"
#include "egress/dial.h"
#include "egress/dns-server.h"
#include "egress/resolver.h"
#include "egress/secret.h"
#include "egress/state.h"
#include "egress/tls.h"
#include "egress/udp.h"

#include "base/banned.h"

#define WEAK __attribute__((weak))

static void refuse(struct conn *conn)
{
	conn_close(conn, "failed", "not_there", true);
}

WEAK const struct conn_mode mode_hello = {.name = "hello", .pump = refuse};
WEAK const struct conn_mode mode_tls = {.name = "tls", .pump = refuse};
WEAK const struct conn_mode mode_http1 = {.name = "http1", .pump = refuse};
WEAK const struct conn_mode mode_http2 = {.name = "h2", .pump = refuse};
WEAK const struct conn_mode mode_proxy = {.name = "proxy", .pump = refuse};
WEAK const struct conn_mode mode_socks = {.name = "socks", .pump = refuse};

struct dial {
	struct egress *egress;
	struct timer timer;
	struct dial_result result;
	void (*answer)(void *ctx, const struct dial_result *result);
	void *ctx;
};

static void told(struct timer *timer)
{
	struct dial *dial = (struct dial *)((char *)timer - offsetof(struct dial, timer));

	dial->answer(dial->ctx, &dial->result);
	free(dial);
}

/* Fixed addresses only, on this machine: connecting there is done when it returns. */
WEAK struct dial *dial_start(struct egress *egress, const char *host, uint16_t port, const struct net_rule *rule,
			     void (*answer)(void *ctx, const struct dial_result *result), void *ctx)
{
	struct dial *dial = calloc(1, sizeof(*dial));

	*dial = (struct dial){.egress = egress, .answer = answer, .ctx = ctx, .timer = {.fire = told}};
	dial->result.fd = -1;
	if (policy_net_resolve(egress->policy, host, &dial->result.address, 1) == 0) {
		dial->result.error = -ECONNREFUSED;
		dial->result.reason = "dns_fail";
	} else {
		struct sockaddr_in *in = (struct sockaddr_in *)&dial->result.address;

		in->sin_port = htons(port);
		dial->result.fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
		if (connect(dial->result.fd, (struct sockaddr *)in, sizeof(*in)) < 0) {
			dial->result.error = -errno;
			dial->result.reason = "connect_failed";
			(void)close(dial->result.fd);
			dial->result.fd = -1;
		} else {
			(void)fcntl(dial->result.fd, F_SETFL, O_NONBLOCK);
		}
	}
	(void)rule;
	(void)loop_timer_set(egress->loop, &dial->timer, 0);
	return dial;
}

WEAK void dial_cancel(struct dial *dial)
{
	loop_timer_clear(dial->egress->loop, &dial->timer);
	if (dial->result.fd >= 0)
		(void)close(dial->result.fd);
	free(dial);
}

WEAK int resolver_create(struct loop *loop, int fd, struct resolver **ret_resolver)
{
	(void)loop;
	(void)fd;
	*ret_resolver = NULL;
	return 0;
}

WEAK void resolver_free(struct resolver *resolver)
{
	(void)resolver;
}

WEAK int dns_server_create(struct egress *egress, int udp_fd, int tcp_fd, struct dns_server **ret_server)
{
	(void)egress;
	(void)close(udp_fd);
	(void)close(tcp_fd);
	*ret_server = NULL;
	return 0;
}

WEAK void dns_server_free(struct dns_server *server)
{
	(void)server;
}

WEAK int tls_create(struct ca *ca, const char *roots, size_t roots_len, struct tls **ret_tls)
{
	(void)ca;
	(void)roots;
	(void)roots_len;
	*ret_tls = NULL;
	return 0;
}

WEAK void tls_free(struct tls *tls)
{
	(void)tls;
}

WEAK void ca_free(struct ca *ca)
{
	(void)ca;
}

WEAK void secrets_free(struct secrets *secrets)
{
	(void)secrets;
}

WEAK void udp_announce(struct egress *egress, const struct control_connect *endpoint, int fd)
{
	(void)egress;
	(void)endpoint;
	(void)close(fd);
}

WEAK void udp_end(struct egress *egress)
{
	(void)egress;
}
