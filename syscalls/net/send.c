/*
 * sendto, sendmsg and sendmmsg. In a run with a network or with unix datagrams they are judged, and performed from a
 * copy of the message on a duplicate of the socket. In other runs they are continued. In a run with a network namespace
 * and a network, but without unix datagrams, they are continued on stream and unix sockets.
 */
#include <errno.h>

#include "base/cleanup.h"
#include "syscalls/call/decode.h"
#include "syscalls/net/address.h"
#include "syscalls/net/inet-private.h"
#include "syscalls/net/netlink.h"
#include "syscalls/net/transfer.h"
#include "syscalls/net/unix-route.h"
#include "syscalls/table/handlers.h"

#define SENDMMSG_MESSAGES_MAX 1024 /* UIO_MAXIOV: sendmmsg(2) ignores messages beyond this number */

/* The socket that a call sends on. */
struct sender {
	int fd; /* a duplicate of the target's descriptor, owned */
	int domain, type;
	bool is_stream;          /* SOCK_STREAM: a part of a message may be sent */
	struct inet_socket inet; /* set for AF_INET and AF_INET6 */
};

/* Duplicates argument 0 and reads its kind. flags: MSG_*. False: the outcome is set. */
static bool send_copy_socket(struct call *call, unsigned flags, struct sender *ret_sender)
{
	_cleanup_close_ int fd = -1;
	int domain;

	if (!net_allow_if_fd_is_socket(call))
		return false;
	if (flags & MSG_FASTOPEN) {
		call_refuse(call, -EOPNOTSUPP, NULL, "fast_open_not_offered");
		return false;
	}
	/* Without a network and datagrams no socket of the run sends to addresses: see syscalls.def. */
	if (!call->sandbox->inet && !call->sandbox->has_unix_datagrams) {
		call_continue(call);
		return false;
	}
	fd = net_copy_socket_of_any_family(call, &domain);
	if (fd < 0)
		return false;
	/*
	 * Netlink sockets exist only with RUN_NATIVE_NETLINK, in the run's own network namespace. With datagrams
	 * nothing is continued: another thread could replace the descriptor by a datagram socket, which finds sockets
	 * by path.
	 */
	if (domain == AF_NETLINK && !call->sandbox->has_unix_datagrams) {
		call_continue(call);
		return false;
	}
	*ret_sender = (struct sender){
		.domain = domain, .type = net_get_option(fd, SOL_SOCKET, SO_TYPE), .inet = {.fd = fd}};
	ret_sender->is_stream = ret_sender->type == SOCK_STREAM;
	if (domain != AF_UNIX && domain != AF_NETLINK && !inet_read_socket_kind(fd, &ret_sender->inet.kind)) {
		call_fail(call, -EOPNOTSUPP);
		return false;
	}
	if (!call->sandbox->has_unix_datagrams && inet_has_own_netns(call->sandbox->inet) &&
	    (ret_sender->is_stream || domain == AF_UNIX)) {
		call_continue(call);
		return false;
	}
	ret_sender->fd = steal_fd(&fd);
	return true;
}

/*
 * Judges the address of a message on a unix socket. *ret_len 0: the message goes to the connected peer. 0, or a
 * negative value with the outcome set.
 */
static int send_judge_unix_destination(struct call *call, const struct sender *sender, struct message *message,
			   struct sockaddr_storage *ret_to, socklen_t *ret_len)
{
	struct sockets_address address;

	if (sender->is_stream) { /* the kernel fails with EISCONN or EOPNOTSUPP for any address */
		*ret_to = (struct sockaddr_storage){.ss_family = AF_UNSPEC};
		*ret_len = sizeof(ret_to->ss_family);
	}
	if (sender->type != SOCK_DGRAM) /* the kernel ignores the address */
		return 0;
	if (unix_find_datagram_destination(call, sender->fd, &message->name, message->name_len, &address,
					   &message->pin_fd) < 0)
		return -1;
	*ret_to = (struct sockaddr_storage){.ss_family = AF_UNIX};
	memcpy(ret_to, &address.name, sizeof(address.name));
	*ret_len = address.len;
	return 0;
}

/* Judges the destination. *ret_len 0: the message goes to the connected peer. 0, or -errno with the outcome set. */
static int send_judge_destination(struct call *call, const struct sender *sender, struct message *message,
		      struct sockaddr_storage *ret_to, socklen_t *ret_len)
{
	*ret_len = 0;
	if (!message->name_len)
		return 0;
	if (sender->domain == AF_UNIX)
		return send_judge_unix_destination(call, sender, message, ret_to, ret_len);
	/*
	 * The address is not judged, because sending to another process than the kernel takes a privilege, which no
	 * sender has.
	 */
	if (sender->domain == AF_NETLINK) {
		*ret_to = message->name;
		*ret_len = (socklen_t)message->name_len;
		return 0;
	}
	if (sender->is_stream) /* TCP ignores addresses */
		return 0;
	return inet_route_datagram(call, &sender->inet, &message->name, message->name_len, ret_to, ret_len);
}

/* Copies a message with its control data. 0, or -errno; -ECHILD: the outcome is set. */
static int send_read_message(struct call *call, const struct sender *sender, uint64_t addr, struct message *ret_message)
{
	struct message_part control = {0};
	int r = message_from_memory(call, addr, ret_message, &control);

	if (r == 0 && !(sender->is_stream && sender->domain != AF_UNIX)) /* TCP ignores control data */
		r = message_copy_control_data(call, sender->domain, &control, ret_message);
	return r;
}

/*
 * Judges, commits and sends one message. Returns what transfer_send_or_move_to_worker() does; -ECHILD: the outcome is
 * set.
 */
static int64_t send_judge_commit_and_send(struct call *call, struct sender *sender, struct message *message, int flags,
			uint64_t told_addr, bool wait)
{
	struct sockaddr_storage to;
	struct transfer transfer = {
		.message = message, .flags = flags, .is_stream = sender->is_stream, .msg_len_addr = told_addr};

	if (send_judge_destination(call, sender, message, &to, &transfer.to_len) < 0 || call_commit_record(call) < 0)
		return -ECHILD;
	transfer.to = transfer.to_len ? &to : NULL;
	return transfer_send_or_move_to_worker(call, &sender->fd, &transfer, wait);
}

/* Ends the call, unless the outcome is set already, and releases the sender. */
static void send_end_call(struct call *call, struct sender *sender, int64_t r)
{
	if (r != -ECHILD && r != -EINPROGRESS)
		call_return_result(call, r);
	cleanup_close(&sender->fd);
}

/* Performs sendto or sendmsg. header: the address of sendmsg's struct msghdr; unused if the message is in_registers. */
static void send_message_of_call(struct call *call, int flags, uint64_t header, bool in_registers)
{
	struct sender sender = {.fd = -1};
	struct message message = {.pin_fd = -1};
	int64_t r;

	if ((in_registers && netlink_send_request(call)) || !send_copy_socket(call, (unsigned)flags, &sender))
		return;
	r = in_registers ? message_from_registers(call, &message) : send_read_message(call, &sender, header, &message);
	if (r == 0)
		r = send_judge_commit_and_send(call, &sender, &message, flags, 0, true);
	send_end_call(call, &sender, r);
	message_release(&message);
}

HANDLER(sys_sendto, send_message_of_call(call, call_get_int(call, 3), 0, true))
HANDLER(sys_sendmsg, send_message_of_call(call, call_get_int(call, 2), call->arg[1], false))

#define MMSGHDR_BYTES 64u /* size of struct user_mmsghdr: a msghdr of 56 bytes, and the length */
#define MMSGHDR_LENGTH_OFFSET 56u /* offsetof(struct mmsghdr, msg_len) */

/*
 * Sends message i. Returns what send_judge_commit_and_send() does. Only the first message's address is on record, so a
 * message to another address ends the call. Programs have to expect that sendmmsg sends fewer messages than asked.
 */
static int64_t send_message_of_sendmmsg(struct call *call, struct sender *sender, unsigned i, struct message *first)
{
	uint64_t addr = call->arg[1] + (uint64_t)i * MMSGHDR_BYTES;
	struct message message;
	int64_t r = send_read_message(call, sender, addr, &message);
	uint32_t told;

	if (i == 0) {
		first->name = message.name;
		first->name_len = message.name_len;
	} else if (r == 0 && (first->name_len != message.name_len ||
			      memcmp(&first->name, &message.name, (size_t)first->name_len) != 0)) {
		r = -EAGAIN;
	}
	if (r == 0)
		r = send_judge_commit_and_send(call, sender, &message, call_get_int(call, 3),
					       addr + MMSGHDR_LENGTH_OFFSET, i == 0);
	message_release(&message);
	if (r < 0)
		return r;
	told = (uint32_t)r;
	return decode_write_output(call, addr + MMSGHDR_LENGTH_OFFSET, &told, sizeof(told));
}

void sys_sendmmsg(struct call *call)
{
	struct sender sender = {.fd = -1};
	struct message first = {.pin_fd = -1};
	unsigned count = call_get_uint(call, 2), sent = 0;
	int64_t r = 0;

	if (!send_copy_socket(call, call_get_uint(call, 3), &sender))
		return;
	if (count > SENDMMSG_MESSAGES_MAX)
		count = SENDMMSG_MESSAGES_MAX;
	while (r >= 0 && sent < count) {
		r = send_message_of_sendmmsg(call, &sender, sent, &first);
		if (r >= 0)
			sent++;
	}
	send_end_call(call, &sender, sent ? (int64_t)sent : r);
}
