#include "syscalls/net/inet-send.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "syscalls/call/decode.h"
#include "syscalls/net/address.h"
#include "syscalls/net/inet-private.h"
#include "syscalls/net/inet-transfer.h"
#include "syscalls/process/target.h"

#include "base/banned.h"

#define MESSAGES_MAX 1024 /* UIO_MAXIOV: of sendmmsg(2), more are not looked at */

/* The socket of a send. */
struct sender {
	int fd; /* owned */
	int domain;
	bool stream;
	struct inet_socket inet; /* of AF_INET, AF_INET6 */
};

static int socket_type(int fd)
{
	int type = -1;
	socklen_t len = sizeof(type);

	return getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &len) < 0 ? -1 : type;
}

/* False: the outcome is set. */
static bool take_sender(struct call *call, struct sender *ret_sender)
{
	_cleanup_close_ int fd = -1;
	int domain;

	target_allow(call);
	if (!call->sandbox->inet) { /* no socket there can be sends to an address: see syscalls.def */
		call_continue(call);
		return false;
	}
	fd = net_copy_any(call, &domain);
	if (fd < 0)
		return false;
	*ret_sender = (struct sender){.domain = domain, .stream = socket_type(fd) == SOCK_STREAM, .inet = {.fd = fd}};
	if (domain != AF_UNIX && !inet_read_kind(fd, &ret_sender->inet.kind)) {
		call_fail(call, -EOPNOTSUPP);
		return false;
	}
	if (inet_bounded(call->sandbox->inet) && (ret_sender->stream || domain == AF_UNIX)) {
		call_continue(call);
		return false;
	}
	ret_sender->fd = steal_fd(&fd);
	return true;
}

/* Where a message goes: to.len 0: to the peer. 0, or -errno with the outcome set. */
static int route(struct call *call, const struct sender *sender, const struct message *message,
		 struct sockaddr_storage *ret_to, socklen_t *ret_len)
{
	*ret_len = 0;
	if (!message->name_len)
		return 0;
	if (sender->domain == AF_UNIX) {
		if (sender->stream) { /* EISCONN or EOPNOTSUPP, whatever the name is */
			*ret_to = (struct sockaddr_storage){.ss_family = AF_UNSPEC};
			*ret_len = sizeof(ret_to->ss_family);
		}
		return 0;
	}
	if (sender->stream) /* TCP takes no notice of it */
		return 0;
	return inet_route_datagram(call, &sender->inet, &message->name, message->name_len, ret_to, ret_len);
}

/* A message with its control data copied. 0, or -errno; -ECHILD: the outcome is set. */
static int read_message(struct call *call, const struct sender *sender, uint64_t addr, struct message *ret_message)
{
	struct message_part control = {0};
	int r = message_from_memory(call, addr, ret_message, &control);

	if (r == 0 && !(sender->stream && sender->domain != AF_UNIX)) /* TCP has none that matters */
		r = message_take_control(call, sender->domain, &control, ret_message);
	return r;
}

/* One message: judged, on record, sent. As transfer_send; -ECHILD: the outcome is set. */
static int64_t send_one(struct call *call, struct sender *sender, struct message *message, int flags,
			uint64_t told_addr, bool wait)
{
	struct sockaddr_storage to;
	struct transfer transfer = {
		.message = message, .flags = flags, .stream = sender->stream, .told_addr = told_addr};

	if (route(call, sender, message, &to, &transfer.to_len) < 0 || call_commit(call) < 0)
		return -ECHILD;
	transfer.to = transfer.to_len ? &to : NULL;
	return transfer_send(call, &sender->fd, &transfer, wait);
}

static void finish(struct call *call, int64_t r)
{
	if (r == -ECHILD || r == -EINPROGRESS)
		return;
	if (r < 0)
		call_fail(call, (int)r);
	else
		call_return(call, r);
}

void inet_sendto(struct call *call)
{
	struct sender sender = {.fd = -1};
	struct message message = {0};
	int64_t r;

	if (!take_sender(call, &sender))
		return;
	r = message_from_registers(call, &message);
	if (r == 0)
		r = send_one(call, &sender, &message, call_int(call, 3), 0, true);
	finish(call, r);
	message_done(&message);
	if (sender.fd >= 0)
		(void)close(sender.fd);
}

void inet_sendmsg(struct call *call)
{
	struct sender sender = {.fd = -1};
	struct message message = {0};
	int64_t r;

	if (!take_sender(call, &sender))
		return;
	r = read_message(call, &sender, call->arg[1], &message);
	if (r == 0)
		r = send_one(call, &sender, &message, call_int(call, 2), 0, true);
	finish(call, r);
	message_done(&message);
	if (sender.fd >= 0)
		(void)close(sender.fd);
}

/* ---- sendmmsg ---- */

#define HEADER_BYTES 64u /* struct user_mmsghdr: a msghdr of 56 bytes, and the length */
#define LENGTH_AT 56u

/*
 * True: it goes where the first went, which is on record. Another one ends the call, and is the first of the program's next:
 * programs that send many have to expect that some are left.
 */
static bool goes_along(const struct message *first, const struct message *other)
{
	return first->name_len == other->name_len && memcmp(&first->name, &other->name, (size_t)first->name_len) == 0;
}

/* The i-th of them. As send_one. */
static int64_t send_nth(struct call *call, struct sender *sender, unsigned i, struct message *first)
{
	uint64_t addr = call->arg[1] + (uint64_t)i * HEADER_BYTES;
	struct message message;
	int64_t r = read_message(call, sender, addr, &message);
	uint32_t told;

	if (i == 0) {
		first->name = message.name;
		first->name_len = message.name_len;
	} else if (r == 0 && !goes_along(first, &message)) {
		r = -EAGAIN;
	}
	if (r == 0)
		r = send_one(call, sender, &message, call_int(call, 3), addr + LENGTH_AT, i == 0);
	message_done(&message);
	if (r < 0)
		return r;
	told = (uint32_t)r;
	return decode_output(call, addr + LENGTH_AT, &told, sizeof(told));
}

void inet_sendmmsg(struct call *call)
{
	struct sender sender = {.fd = -1};
	struct message first = {0};
	unsigned count = call_uint(call, 2), sent = 0;
	int64_t r = 0;

	if (!take_sender(call, &sender))
		return;
	if (count > MESSAGES_MAX)
		count = MESSAGES_MAX;
	while (r >= 0 && sent < count) {
		r = send_nth(call, &sender, sent, &first);
		if (r >= 0)
			sent++;
	}
	finish(call, sent ? (int64_t)sent : r);
	if (sender.fd >= 0)
		(void)close(sender.fd);
}
