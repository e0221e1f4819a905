#include "syscalls/net/inet-transfer.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "syscalls/net/inet-private.h"

#include "base/banned.h"

#define CHUNK (64u * 1024) /* each worker has one */

/* Everything a worker needs: the call itself is another one's by then. */
struct sending {
	struct inet_work work;
	struct message message;
	struct sockaddr_storage to;
	socklen_t to_len; /* 0: to the peer */
	int flags;
	bool stream;
	const struct guest_ops *guest;
	pid_t tid, tgid;
	uint64_t told_addr;
	uint64_t sent;
	uint8_t *buffer; /* owned */
	size_t filled;   /* of the buffer: not sent yet */
};

static void sending_done(struct sending *sending)
{
	message_done(&sending->message);
	free(sending->buffer);
}

/* The bytes from `sent` on, at most len of them: as many as can be read. -EFAULT: none. */
static ssize_t gather(const struct sending *sending, uint8_t *out, size_t len)
{
	uint64_t skip = sending->sent;
	size_t got = 0;

	for (size_t i = 0; i < sending->message.parts && got < len; i++) {
		const struct message_part *part = &sending->message.part[i];
		uint64_t rest = part->len > skip ? part->len - skip : 0;
		size_t want = rest < len - got ? (size_t)rest : len - got;
		ssize_t r;

		if (want) {
			r = sending->guest->read(sending->tid, part->addr + skip, out + got, want);
			if (r < 0 || (size_t)r < want)
				return got + (r > 0 ? (size_t)r : 0) > 0 ? (ssize_t)(got + (r > 0 ? (size_t)r : 0))
									 : -EFAULT;
			got += want;
		}
		skip = skip > part->len ? skip - part->len : 0;
	}
	return (ssize_t)got;
}

/* One sendmsg(2) of what is in the buffer. */
static ssize_t send_buffer(struct sending *sending, int fd, int more_flags)
{
	struct iovec part = {.iov_base = sending->buffer, .iov_len = sending->filled};
	struct msghdr header = {.msg_iov = &part, .msg_iovlen = 1};
	bool last = sending->sent + sending->filled >= sending->message.total;
	int flags = sending->flags | MSG_NOSIGNAL | more_flags;
	ssize_t r;

	if (sending->to_len) {
		header.msg_name = &sending->to;
		header.msg_namelen = sending->to_len;
	}
	if (sending->sent == 0 && sending->message.control_len) { /* with the first byte, as natively */
		header.msg_control = sending->message.control;
		header.msg_controllen = sending->message.control_len;
	}
	if (!last)
		flags &= ~(MSG_OOB | MSG_EOR); /* they are about the last byte */
	r = sendmsg(fd, &header, flags);
	if (r < 0)
		return -errno;
	sending->sent += (uint64_t)r;
	sending->filled -= (size_t)r;
	memmove(sending->buffer, sending->buffer + r, sending->filled);
	return r;
}

/* A datagram as a whole, of a stream a piece. 0 or -errno. */
static int fill(struct sending *sending)
{
	uint64_t rest = sending->message.total - sending->sent;
	size_t most = sending->stream ? CHUNK : TRANSFER_DATAGRAM_MAX;
	size_t want = rest < most ? (size_t)rest : most;
	ssize_t r;

	if (!sending->buffer)
		sending->buffer = malloc(want ? want : 1);
	if (!sending->buffer)
		return -ENOMEM;
	r = gather(sending, sending->buffer, want);
	if (r < 0 || (!sending->stream && (size_t)r < want))
		return r < 0 ? (int)r : -EFAULT;
	sending->filled = (size_t)r;
	return 0;
}

/*
 * Until all is sent, or most of it; an error; or there is no room and the flags say not to wait. Done: bytes or -errno.
 * valid: whether what was read is the caller's still.
 */
static int64_t pump(struct sending *sending, int fd, int more_flags, uint64_t most, bool (*valid)(void *ctx), void *ctx)
{
	int64_t r = 0;

	do {
		if (!sending->filled)
			r = fill(sending);
		if (r == 0 && !valid(ctx))
			r = -EINTR;
		if (r == 0)
			r = send_buffer(sending, fd, more_flags);
		if (r > 0 || (r == 0 && !sending->stream))
			r = 0;
	} while (r == 0 && sending->stream && sending->sent < sending->message.total && sending->sent < most);
	return r;
}

/* What natively the kernel does: the signal is there before the call returns. */
static void raise_sigpipe(const struct sending *sending)
{
	if (sending->stream && !(sending->flags & MSG_NOSIGNAL))
		(void)syscall(SYS_tgkill, sending->tgid, sending->tid, SIGPIPE); /* fails for a dead thread */
}

/* How it ends: what was sent counts more than why there was no more. */
static int64_t conclude(const struct sending *sending, int64_t r)
{
	if (sending->sent && sending->stream)
		return (int64_t)sending->sent;
	if (r == -EPIPE)
		raise_sigpipe(sending);
	return r < 0 ? r : (int64_t)sending->sent;
}

/* ---- in a worker ---- */

/* sendmmsg(2): the length is told in memory, the answer is that it was one message. */
static int64_t tell(const struct sending *sending, int64_t r)
{
	uint32_t told = (uint32_t)r;

	if (r < 0 || !sending->told_addr)
		return r;
	(void)guest_write(sending->guest, sending->tid, sending->told_addr, &told,
			  sizeof(told)); /* as the kernel: sent it is */
	return 1;
}

static int64_t run_send(struct inet_work *work, int fd, bool (*go_on)(void *ctx), void *ctx)
{
	struct sending *sending = (struct sending *)work;
	int64_t r;

	do
		r = pump(sending, fd, 0, UINT64_MAX, go_on, ctx);
	while (r == -EINTR && !sending->sent && go_on(ctx));
	return tell(sending, conclude(sending, r));
}

static void free_send(struct inet_work *work)
{
	struct sending *sending = (struct sending *)work;

	sending_done(sending);
	free(sending);
}

static int64_t hand_over(struct call *call, int *fd, struct sending *sending)
{
	struct sending *worker = malloc(sizeof(*worker));

	if (!worker)
		return sending->sent ? (int64_t)sending->sent : -ENOMEM;
	*worker = *sending;
	worker->work = (struct inet_work){.run = run_send, .free = free_send};
	*sending = (struct sending){0};
	call->outcome.kind = OUTCOME_INET;
	call->outcome.fd = steal_fd(fd);
	call->outcome.work = &worker->work;
	return -EINPROGRESS;
}

/* ---- at once ---- */

static bool is_valid(void *ctx)
{
	return call_valid(ctx);
}

static bool may_wait(int fd, int flags)
{
	int status = fcntl(fd, F_GETFL);

	return !(flags & MSG_DONTWAIT) && status >= 0 && !(status & O_NONBLOCK);
}

int64_t transfer_send(struct call *call, int *fd, const struct transfer *transfer, bool wait)
{
	struct sending sending = {
		.message = *transfer->message,
		.flags = transfer->flags,
		.stream = transfer->stream,
		.tid = call->tid,
		.to_len = transfer->to ? transfer->to_len : 0,
		.guest = call->sandbox->guest,
		.tgid = call->task->tgid,
		.told_addr = transfer->told_addr,
	};
	int64_t r;

	*transfer->message = (struct message){0}; /* ours now */
	if (sending.to_len)
		sending.to = *transfer->to;
	r = !sending.stream && sending.message.total > TRANSFER_DATAGRAM_MAX
		    ? -EMSGSIZE
		    : pump(&sending, *fd, MSG_DONTWAIT, TRANSFER_NOW_MAX, is_valid, call);
	if ((r == -EAGAIN || (r == 0 && sending.stream && sending.sent < sending.message.total)) && wait &&
	    may_wait(*fd, sending.flags))
		r = hand_over(call, fd, &sending);
	else
		r = conclude(&sending, r);
	sending_done(&sending);
	return r;
}
