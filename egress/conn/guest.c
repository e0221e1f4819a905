#include "egress/conn/guest.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stddef.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "egress/conn/line.h"
#include "egress/conn/table.h"
#include "egress/state.h"

#include "base/banned.h"

#define AT_ONCE 64   /* accepted in a turn */
#define PAUSE_MS 100 /* without descriptors */

static void reset(int fd)
{
	static const struct linger now = {.l_onoff = 1, .l_linger = 0};

	(void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
	(void)close(fd);
}

/* Whose it is: by its source port, which counts only at the run's own address. */
static struct conn *owner_of(struct egress *egress, const struct sockaddr_in *peer)
{
	if (peer->sin_family != AF_INET || peer->sin_addr.s_addr != egress->own.s_addr)
		return NULL;
	/* Announced before it was connected, cancelled before its port was another's: what is not read yet counts. */
	if (!egress->ending)
		line_read(egress->line);
	return conn_table_expected(egress->conns, ntohs(peer->sin_port));
}

/* What is written is whole messages: waiting for more costs the other side's delayed acknowledgement, 40 ms. */
static void do_not_wait(int fd)
{
	static const int on = 1;

	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)); /* else it is slower */
}

static void accept_some(struct egress *egress, int most)
{
	for (int n = 0; n < most && egress->listener.fd >= 0; n++) {
		struct sockaddr_in peer = {0};
		socklen_t len = sizeof(peer);
		int fd = accept4(egress->listener.fd, (struct sockaddr *)&peer, &len, SOCK_CLOEXEC | SOCK_NONBLOCK);
		struct conn *conn;

		if (fd < 0 && (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS)) {
			loop_set(egress->loop, &egress->listener, 0); /* it would be ready again at once */
			(void)loop_timer_set(egress->loop, &egress->listener_pause, PAUSE_MS);
		}
		if (fd < 0 && errno != ECONNABORTED && errno != EINTR)
			return;
		if (fd < 0)
			continue;
		conn = owner_of(egress, &peer);
		if (!conn) {
			reset(fd);
			continue;
		}
		do_not_wait(fd);
		conn_arrive(conn, fd);
	}
}

static void listener_ready(struct watch *watch, unsigned events)
{
	struct egress *egress = (struct egress *)((char *)watch - offsetof(struct egress, listener));

	(void)events;
	egress->accepting = true;
	accept_some(egress, AT_ONCE);
	egress->accepting = false;
	if (egress->end_waits)
		egress_begin_end(egress);
}

static void pause_over(struct timer *timer)
{
	struct egress *egress = (struct egress *)((char *)timer - offsetof(struct egress, listener_pause));

	loop_set(egress->loop, &egress->listener, EPOLLIN);
}

int guest_listen(struct egress *egress, int fd)
{
	struct sockaddr_in own = {0};
	socklen_t len = sizeof(own);
	int error;

	if (egress->listener.fd >= 0)
		return -EALREADY;
	if (getsockname(fd, (struct sockaddr *)&own, &len) < 0 || own.sin_family != AF_INET)
		return -EINVAL;
	egress->own = own.sin_addr;
	egress->listener_pause.fire = pause_over;
	egress->listener = (struct watch){.fd = fd, .ready = listener_ready};
	error = loop_add(egress->loop, &egress->listener, EPOLLIN);
	if (error < 0)
		egress->listener.fd = -1;
	return error;
}

void guest_end(struct egress *egress)
{
	loop_timer_clear(egress->loop, &egress->listener_pause);
	if (egress->listener.fd < 0)
		return;
	accept_some(egress, CONN_MAX); /* what a program sent before its end is taken along */
	loop_remove(egress->loop, &egress->listener);
	(void)close(egress->listener.fd);
	egress->listener.fd = -1;
}
