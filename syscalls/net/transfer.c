#include "syscalls/net/transfer.h"

#include <errno.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "syscalls/call/work.h"
#include "syscalls/net/address.h"

#define STREAM_CHUNK_BYTES (64u * 1024) /* sent at once; each waiting thread has a buffer of this size */

/* A send that a thread performs. It copies what it needs, because struct call is reused for the next notification. */
struct send_work {
	struct call_work work;
	struct message message;
	struct sockaddr_storage to;
	socklen_t to_len; /* 0: the message goes to the connected peer */
	int flags;        /* MSG_* */
	bool is_stream;   /* a part of the message may be sent, as by SOCK_STREAM */
	const struct memory_ops *memory;
	pid_t tid, tgid;
	uint64_t msg_len_addr; /* as in struct transfer */
	uint64_t bytes_sent;   /* of the message, so far */
	uint8_t *buffer; /* owned */
	size_t unsent_buffer_bytes; /* bytes in the buffer that are not sent yet */
};

/* Reads up to len bytes of target memory from offset bytes_sent on, as many as are readable. -EFAULT: none. */
static ssize_t transfer_read_memory(const struct send_work *sending, uint8_t *out, size_t len)
{
	uint64_t skip = sending->bytes_sent;
	size_t got = 0;

	for (size_t i = 0; i < sending->message.part_count && got < len; i++) {
		const struct message_part *part = &sending->message.part[i];
		uint64_t rest = part->len > skip ? part->len - skip : 0;
		size_t want = rest < len - got ? (size_t)rest : len - got;
		ssize_t r;

		if (want) {
			r = sending->memory->read(sending->tid, part->addr + skip, out + got, want);
			got += r > 0 ? (size_t)r : 0;
			if (r < 0 || (size_t)r < want)
				return got > 0 ? (ssize_t)got : -EFAULT;
		}
		skip = skip > part->len ? skip - part->len : 0;
	}
	return (ssize_t)got;
}

/* Sends the buffer with one sendmsg(2). */
static ssize_t transfer_send_buffer(struct send_work *sending, int fd, int more_flags)
{
	struct iovec part = {.iov_base = sending->buffer, .iov_len = sending->unsent_buffer_bytes};
	struct msghdr header = {.msg_iov = &part, .msg_iovlen = 1};
	bool last = sending->bytes_sent + sending->unsent_buffer_bytes >= sending->message.total_bytes;
	int flags = sending->flags | MSG_NOSIGNAL | more_flags;
	ssize_t r;

	if (sending->to_len) {
		header.msg_name = &sending->to;
		header.msg_namelen = sending->to_len;
	}
	if (sending->bytes_sent == 0 && sending->message.control_len) { /* control data is attached to the first byte */
		header.msg_control = sending->message.control;
		header.msg_controllen = sending->message.control_len;
	}
	if (!last)
		flags &= ~(MSG_OOB | MSG_EOR); /* these flags apply to the last byte */
	r = sendmsg(fd, &header, flags);
	if (r < 0)
		return -errno;
	sending->bytes_sent += (uint64_t)r;
	sending->unsent_buffer_bytes -= (size_t)r;
	memmove(sending->buffer, sending->buffer + r, sending->unsent_buffer_bytes);
	return r;
}

/* Fills the buffer with a whole datagram, or a chunk of a stream. 0 or -errno. */
static int transfer_fill_buffer(struct send_work *sending)
{
	uint64_t rest = sending->message.total_bytes - sending->bytes_sent;
	size_t most = sending->is_stream ? STREAM_CHUNK_BYTES : TRANSFER_DATAGRAM_BYTES_MAX;
	size_t want = rest < most ? (size_t)rest : most;
	ssize_t r;

	if (!sending->buffer)
		sending->buffer = malloc(want ? want : 1);
	if (!sending->buffer)
		return -ENOMEM;
	r = transfer_read_memory(sending, sending->buffer, want);
	if (r < 0 || (!sending->is_stream && (size_t)r < want))
		return r < 0 ? (int)r : -EFAULT;
	sending->unsent_buffer_bytes = (size_t)r;
	return 0;
}

/*
 * Sends until all is sent, or `most` bytes of a stream, or an error. 0 or -errno. valid() is asked between reading
 * target memory and sending: the thread id may have been reused.
 */
static int64_t transfer_send_until_done(struct send_work *sending, int fd, int more_flags, uint64_t most,
			    bool (*valid)(void *ctx), void *ctx)
{
	int64_t r = 0;

	do {
		if (!sending->unsent_buffer_bytes)
			r = transfer_fill_buffer(sending);
		if (r == 0 && !valid(ctx))
			r = -EINTR;
		if (r == 0)
			r = transfer_send_buffer(sending, fd, more_flags);
		if (r > 0)
			r = 0;
	} while (r == 0 && sending->is_stream && sending->bytes_sent < sending->message.total_bytes &&
		 sending->bytes_sent < most);
	return r;
}

/* The result: bytes that were sent take precedence over the error that followed. */
static int64_t transfer_get_result(const struct send_work *sending, int64_t r)
{
	if (sending->bytes_sent && sending->is_stream)
		return (int64_t)sending->bytes_sent;
	/* Raises SIGPIPE as the kernel does: the signal is pending before the call returns. */
	if (r == -EPIPE && sending->is_stream && !(sending->flags & MSG_NOSIGNAL))
		(void)syscall(SYS_tgkill, sending->tgid, sending->tid, SIGPIPE); /* fails if the thread is dead */
	return r < 0 ? r : (int64_t)sending->bytes_sent;
}

/* ---- sending in a worker thread ---- */

/* For sendmmsg(2): writes the sent length to target memory, and returns 1 message. For other calls: returns r. */
static int64_t transfer_write_msg_len(const struct send_work *sending, int64_t r)
{
	uint32_t told = (uint32_t)r;

	if (r < 0 || !sending->msg_len_addr)
		return r;
	/* The kernel ignores a fault here too: the message is sent. */
	(void)memory_copy_out(sending->memory, sending->tid, sending->msg_len_addr, &told, sizeof(told));
	return 1;
}

static int64_t transfer_run_work(struct call_work *work, int fd, bool (*go_on)(void *ctx), void *ctx)
{
	struct send_work *sending = (struct send_work *)work;
	int64_t r;

	do
		r = transfer_send_until_done(sending, fd, 0, UINT64_MAX, go_on, ctx);
	while (r == -EINTR && !sending->bytes_sent && go_on(ctx));
	return transfer_write_msg_len(sending, transfer_get_result(sending, r));
}

static void transfer_free_work(struct call_work *work)
{
	struct send_work *sending = (struct send_work *)work;

	message_release(&sending->message);
	free(sending->buffer);
	free(sending);
}

/* Moves *sending and *fd to a thread. */
static int64_t transfer_move_to_thread(struct call *call, int *fd, struct send_work *sending)
{
	struct send_work *moved = malloc(sizeof(*moved));

	if (!moved)
		return sending->bytes_sent ? (int64_t)sending->bytes_sent : -ENOMEM;
	*moved = *sending;
	moved->work = (struct call_work){.run = transfer_run_work, .free = transfer_free_work};
	*sending = (struct send_work){.message = {.pin_fd = -1}};
	call->outcome.kind = OUTCOME_BLOCKING_WORK;
	call->outcome.fd = steal_fd(fd);
	call->outcome.blocking_work = &moved->work;
	return -EINPROGRESS;
}

/* ---- sending without waiting, in the supervisor thread ---- */

static bool transfer_thread_still_waits(void *ctx)
{
	return call_thread_still_waits(ctx);
}

int64_t transfer_send_or_move_to_worker(struct call *call, int *fd, const struct transfer *transfer, bool wait)
{
	struct send_work sending = {
		.message = *transfer->message,
		.flags = transfer->flags,
		.is_stream = transfer->is_stream,
		.tid = call->tid,
		.to_len = transfer->to ? transfer->to_len : 0,
		.memory = call->sandbox->target_memory,
		.tgid = call->task->tgid,
		.msg_len_addr = transfer->msg_len_addr,
	};
	int64_t r;

	*transfer->message = (struct message){.pin_fd = -1};
	if (sending.to_len)
		sending.to = *transfer->to;
	r = !sending.is_stream && sending.message.total_bytes > TRANSFER_DATAGRAM_BYTES_MAX
		    ? -EMSGSIZE
		    : transfer_send_until_done(&sending, *fd, MSG_DONTWAIT, TRANSFER_BYTES_PER_TURN_MAX,
					       transfer_thread_still_waits, call);
	if ((r == -EAGAIN || (r == 0 && sending.is_stream && sending.bytes_sent < sending.message.total_bytes)) &&
	    wait && !(sending.flags & MSG_DONTWAIT) && !net_is_nonblocking(*fd))
		r = transfer_move_to_thread(call, fd, &sending);
	else
		r = transfer_get_result(&sending, r);
	message_release(&sending.message);
	free(sending.buffer);
	return r;
}
