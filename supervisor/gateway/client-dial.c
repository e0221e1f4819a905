/*
 * connect(2) calls that wait for an upstream. The program's socket is connected to egress' listener only when that has one, so
 * errors are the true ones; a socket that must not block is answered in time whatever egress does.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "supervisor/blocking.h"
#include "supervisor/gateway/client-private.h"
#include "supervisor/notify.h"

#include "base/banned.h"

#define NS_PER_MS UINT64_C(1000000)
#define LOOK_MS BLOCKING_TICK_MS
#define LOOKS_MAX 64u      /* callers asked about at a tick */
#define ARRIVING_MS 1      /* between looks at a handshake on loopback that was not over at once */
#define ERESTARTSYS 512    /* linux/errno.h, kernel only: EINTR, or again after a handler with SA_RESTART */

struct dial {
	struct dial *next;
	uint64_t id; /* of the notification */
	uint64_t start_ns, deadline_ns; /* deadline: 0: none */
	uint64_t conn;
	uint64_t cookie; /* of the socket */
	struct audit_slot slot;
	pid_t tid;
	int fd; /* owned duplicate */
	bool nonblocking;
	bool answered;  /* egress has an upstream; the handshake with its listener is not over */
	bool mapped;
	struct sockaddr_in listener;
};

static uint64_t cookie_of(int fd)
{
	uint64_t cookie = 0;
	socklen_t len = sizeof(cookie);

	return getsockopt(fd, SOL_SOCKET, SO_COOKIE, &cookie, &len) == 0 ? cookie : 0;
}

/* SO_SNDTIMEO bounds a connect(2) as well: socket(7). 0: none is set. */
static uint64_t timeout_ns(int fd)
{
	struct timeval time = {0};
	socklen_t len = sizeof(time);

	if (getsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &time, &len) < 0 || time.tv_sec < 0 || time.tv_sec > 1000000)
		return 0;
	return (uint64_t)time.tv_sec * 1000 * NS_PER_MS + (uint64_t)time.tv_usec * 1000;
}

static int call_connect(const struct dial *dial)
{
	struct sockaddr_in6 mapped = {.sin6_family = AF_INET6, .sin6_port = dial->listener.sin_port};
	const struct sockaddr *address = (const struct sockaddr *)&dial->listener;
	socklen_t len = sizeof(dial->listener);

	if (dial->mapped) {
		mapped.sin6_addr.s6_addr[10] = mapped.sin6_addr.s6_addr[11] = 0xff;
		memcpy(&mapped.sin6_addr.s6_addr[12], &dial->listener.sin_addr, sizeof(dial->listener.sin_addr));
		address = (const struct sockaddr *)&mapped;
		len = sizeof(mapped);
	}
	return connect(dial->fd, address, len) < 0 ? -errno : 0;
}

/*
 * A connect that cannot wait, were the listener's queue full: O_NONBLOCK is of the open file, which the program shares, so it
 * is put back right after. `times`: the first call begins it, and finds nothing done, since the socket is locked until it
 * returns; the second finds a handshake on loopback over, and is what the program's own later connect(2) would be.
 */
static int connect_at_once(const struct dial *dial, int times)
{
	int flags = fcntl(dial->fd, F_GETFL), r = 0;

	if (flags < 0)
		return -errno;
	if (!(flags & O_NONBLOCK) && fcntl(dial->fd, F_SETFL, flags | O_NONBLOCK) < 0)
		return -errno;
	for (int i = 0; i < times && (i == 0 || r == -EINPROGRESS); i++)
		r = call_connect(dial);
	if (!(flags & O_NONBLOCK))
		(void)fcntl(dial->fd, F_SETFL, flags);
	return r == -EALREADY ? -EINPROGRESS : r;
}

/* Its socket is closed first: one that its program closes then must be closed. */
static void finish(struct egress_client *client, struct dial **at, int result)
{
	struct dial *dial = *at;
	int listener = client->sandbox->listener_fd;
	struct audit_slot slot = dial->slot;
	uint64_t id = dial->id, start_ns = dial->start_ns;

	*at = dial->next;
	client->dials.count--;
	(void)close(dial->fd);
	free(dial);
	/* Both fail when the caller is gone: there is nobody to tell then. */
	if (result < 0)
		(void)notify_error(listener, id, result);
	else
		(void)notify_value(listener, id, 0);
	audit_end(client->sandbox->audit, slot, result == -ERESTARTSYS ? -EINTR : result, io_now_ns() - start_ns);
}

/* The socket will not come. */
static void cancel_with(struct egress_client *client, struct dial **at, int result)
{
	const struct control_message message = {
		.version = CONTROL_VERSION, .type = CONTROL_CANCEL, .id = {.conn = (*at)->conn}};

	/* First: once the socket is closed its port may be another's, whom egress must not take for the program. */
	(void)client_send(client, &message); /* a line that broke is found at the next tick */
	finish(client, at, result);
}

/* Nobody waits. */
static void cancel(struct egress_client *client, struct dial **at)
{
	cancel_with(client, at, -EINTR);
}

/* Another thread may have led the socket elsewhere: then egress awaits nobody at its port any more. */
static void finish_connect(struct egress_client *client, struct dial **at, int connected, int result)
{
	if (connected < 0 && connected != -EINPROGRESS)
		cancel_with(client, at, connected);
	else
		finish(client, at, result);
}

/* The program is told what a call that could not wait longer is told; the upstream is awaited by its socket from now on. */
static void give_up_waiting(struct egress_client *client, struct dial **at, int result)
{
	int r = connect_at_once(*at, 1);

	finish_connect(client, at, r, result);
}

static void arrive(struct egress_client *client, struct dial **at)
{
	int r = connect_at_once(*at, 2);

	(*at)->answered = true;
	if (r != -EINPROGRESS)
		finish_connect(client, at, r, r);
	else if ((*at)->nonblocking)
		finish(client, at, -EINPROGRESS);
}

static bool still_wanted(const struct egress_client *client, const struct dial *dial)
{
	return ioctl(client->sandbox->listener_fd, SECCOMP_IOCTL_NOTIF_ID_VALID, &dial->id) == 0;
}

int dials_add(struct egress_client *client, const struct call *call, int fd, const struct inet_dial *what,
	      const struct conn_entry *conn)
{
	_cleanup_close_ int owned = fd;
	uint64_t cookie = cookie_of(fd), wait_ns = what->nonblocking ? EGRESS_HOLD_MS * NS_PER_MS : timeout_ns(fd);
	struct dial *dial;

	if (client->dials.count >= EGRESS_PENDING_MAX)
		return -EAGAIN;
	for (const struct dial *other = client->dials.first; other; other = other->next)
		if (cookie && other->cookie == cookie)
			return -EALREADY;
	dial = calloc(1, sizeof(*dial));
	if (!dial)
		return -ENOMEM;
	*dial = (struct dial){.next = client->dials.first, .id = call->id, .start_ns = call->start_ns, .conn = conn->id,
			      .deadline_ns = wait_ns ? call->start_ns + wait_ns : 0, .cookie = cookie, .slot = call->slot,
			      .tid = call->tid, .fd = steal_fd(&owned), .nonblocking = what->nonblocking,
			      .mapped = what->mapped, .listener = what->listener};
	client->dials.first = dial;
	client->dials.count++;
	return 0;
}

void dials_answer(struct egress_client *client, uint64_t conn, int error)
{
	for (struct dial **at = &client->dials.first; *at; at = &(*at)->next) {
		if ((*at)->conn != conn)
			continue;
		if (error < 0)
			finish(client, at, error);
		else
			arrive(client, at);
		return;
	}
}

void dials_fail(struct egress_client *client, int error)
{
	while (client->dials.first)
		finish(client, &client->dials.first, error);
}

/* Egress does not know of it as long as its message waits. */
static bool may_connect(const struct egress_client *client)
{
	return client->queue.count == 0;
}

/* A signal to be handled; one that kills is seen by its end. */
static bool is_interrupted(const struct dial *dial)
{
	uint64_t waiting = dial->nonblocking ? 0 : blocking_signals_waiting(dial->tid);

	return waiting != 0 && !(waiting & UINT64_C(1) << (SIGKILL - 1));
}

/* True when *at has been taken off the list. */
static bool act(struct egress_client *client, struct dial **at, uint64_t now, bool look)
{
	struct dial *dial = *at;
	size_t before = client->dials.count;

	if (look && !still_wanted(client, dial)) {
		cancel(client, at);
	} else if (dial->answered) {
		struct pollfd ready = {.fd = dial->fd, .events = POLLOUT};

		if (poll(&ready, 1, 0) > 0)
			arrive(client, at);
	} else if (dial->deadline_ns && now >= dial->deadline_ns && may_connect(client)) {
		give_up_waiting(client, at, -EINPROGRESS);
	} else if (look && may_connect(client) && is_interrupted(dial)) {
		give_up_waiting(client, at, -ERESTARTSYS);
	}
	return client->dials.count < before;
}

static uint64_t next_ns(const struct dial *dial, uint64_t now)
{
	uint64_t next = LOOK_MS * NS_PER_MS;

	if (dial->answered)
		return ARRIVING_MS * NS_PER_MS;
	if (dial->deadline_ns && dial->deadline_ns < now + next)
		next = dial->deadline_ns > now ? dial->deadline_ns - now : ARRIVING_MS * NS_PER_MS;
	return next;
}

int dials_tick(struct egress_client *client)
{
	struct dials *dials = &client->dials;
	uint64_t now = io_now_ns(), wait = UINT64_MAX;
	bool looking = now >= dials->look_ns;
	size_t first = dials->looked < dials->count ? dials->looked : 0, at_index = 0;
	struct dial **at = &dials->first;

	if (!dials->first)
		return -1;
	if (looking) {
		dials->look_ns = now + LOOK_MS * NS_PER_MS;
		dials->looked = first + LOOKS_MAX;
	}
	for (; *at; at_index++) {
		bool look = looking && at_index >= first && at_index - first < LOOKS_MAX;

		if (act(client, at, now, look))
			continue;
		wait = next_ns(*at, now) < wait ? next_ns(*at, now) : wait;
		at = &(*at)->next;
	}
	return wait == UINT64_MAX ? -1 : (int)((wait + NS_PER_MS - 1) / NS_PER_MS);
}
