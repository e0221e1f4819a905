/*
 * sendfile(2) where memory is sampled. The kernel's own keeps pages of the file in the socket, of which one byte may
 * keep 2 MiB that no sample sees. A copy is what the socket says that it has. Only to a TCP stream that does not wait,
 * as servers have it: for who would wait the supervisor cannot. A file that is not in memory is waited for by a thread.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "syscalls/account/memfds.h"
#include "syscalls/call/call.h"
#include "syscalls/call/decode.h"
#include "syscalls/call/descriptor.h"
#include "syscalls/net/inet-work.h"
#include "syscalls/process/target.h"
#include "syscalls/table/handlers.h"
#include "view/tree.h"

#include "base/banned.h"

#define CHUNK_BYTES 65536
#define MOST_BYTES (UINT64_C(1) << 20) /* in one call: others wait meanwhile */

/* TCP's: who reads from a unix socket may ask for the sender's process number, which would be ours. */
static bool is_stream_without_waiting(int fd)
{
	int type = 0, domain = 0, flags = fcntl(fd, F_GETFL);
	socklen_t len = sizeof(int);

	return flags >= 0 && flags & O_NONBLOCK && getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &len) == 0 &&
	       type == SOCK_STREAM && getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &len) == 0 &&
	       (domain == AF_INET || domain == AF_INET6);
}

static bool is_file(int fd)
{
	struct stat status;

	return fstat(fd, &status) == 0 && S_ISREG(status.st_mode);
}

/* One sendfile(2), begun by the supervisor thread and, if the file has to be waited for, ended by a thread of blocking.c. */
struct sending {
	struct inet_work work;
	struct sandbox *sandbox;
	uint64_t id;      /* of the notification */
	pid_t tid, tgid;
	int from_fd;      /* owned */
	off_t at;         /* where the next byte is */
	uint64_t left;
	uint64_t sent;
	uint64_t pointer; /* where `at` is written in the end; 0: to the file itself */
};

static void free_sending(struct inet_work *work)
{
	struct sending *sending = (struct sending *)work;

	(void)close(sending->from_fd);
	free(sending);
}

/*
 * True when there is no more to do: all is sent, the file ends, the socket has no room, or *ret_error. False: the file would have
 * to be waited for (a disk, a server, FUSE), which no signal but a deadly one ends; with `wait` it is.
 */
static bool copy(struct sending *sending, int to_fd, char bytes[CHUNK_BYTES], bool wait, int *ret_error)
{
	*ret_error = 0;
	while (sending->left > 0) {
		struct iovec part = {bytes, sending->left < CHUNK_BYTES ? sending->left : CHUNK_BYTES};
		ssize_t got = preadv2(sending->from_fd, &part, 1, sending->at, wait ? 0 : RWF_NOWAIT), sent;
		struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};

		if (got < 0 && !wait && (errno == EAGAIN || errno == EOPNOTSUPP))
			return false;
		if (got == 0)
			return true;
		part.iov_len = got > 0 ? (size_t)got : 0;
		sent = got < 0 ? -1 : sendmsg(to_fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
		if (sent < 0) {
			*ret_error = -errno;
			return true;
		}
		sending->sent += (uint64_t)sent;
		sending->left -= (uint64_t)sent;
		sending->at += sent;
		if (sent < got)
			return true;
	}
	return true;
}

/* The task's own memory only while it waits for this very answer. */
static int put_place(const struct sending *sending)
{
	const struct sandbox *sandbox = sending->sandbox;

	if (!sending->pointer)
		return lseek(sending->from_fd, sending->at, SEEK_SET) < 0 ? -errno : 0;
	if (ioctl(sandbox->listener_fd, SECCOMP_IOCTL_NOTIF_ID_VALID, &sending->id) < 0)
		return -EINTR;
	return guest_write(sandbox->guest, sending->tid, sending->pointer, &sending->at, sizeof(sending->at)) < 0 ? -EFAULT : 0;
}

/* What the call returns; says how far it went. */
static int64_t finish(const struct sending *sending, int error)
{
	if (sending->sent > 0)
		error = put_place(sending);
	else if (error == -EPIPE)
		(void)syscall(SYS_tgkill, sending->tgid, sending->tid, SIGPIPE); /* fails for a dead thread */
	return error < 0 ? error : (int64_t)sending->sent;
}

/* In a thread of its own. It is not interrupted: natively nothing but death ends the wait. */
static int64_t run_sending(struct inet_work *work, int fd, bool (*go_on)(void *ctx), void *ctx)
{
	struct sending *sending = (struct sending *)work;
	_cleanup_free_ char *bytes = malloc(CHUNK_BYTES); /* its stack is as small */
	int error = -ENOMEM;

	(void)go_on;
	(void)ctx;
	if (bytes)
		(void)copy(sending, fd, bytes, true, &error);
	return finish(sending, error);
}

/* From where the pointer or else the file itself says. 0 or -errno. */
static int begin(const struct call *call, int from_fd, struct sending *sending)
{
	uint64_t count = call->arg[3] < MOST_BYTES ? call->arg[3] : MOST_BYTES;
	off_t at = 0;

	if (call->arg[2] && decode_struct(call, 2, &at, sizeof(at)) < 0)
		return -EFAULT;
	if (!call->arg[2])
		at = lseek(from_fd, 0, SEEK_CUR);
	if (at < 0 || at > INT64_MAX - (off_t)count)
		return -EINVAL;
	*sending = (struct sending){.work = {.run = run_sending, .free = free_sending}, .sandbox = call->sandbox, .id = call->id,
				    .tid = call->tid, .tgid = call->task->tgid, .from_fd = from_fd, .at = at, .left = count,
				    .pointer = call->arg[2]};
	return 0;
}

/* Takes both descriptors. */
static void leave_to_thread(struct call *call, const struct sending *sending, int to_fd)
{
	struct sending *job = malloc(sizeof(*job));

	if (!job) {
		(void)close(to_fd);
		(void)close(sending->from_fd);
		call_fail(call, -ENOMEM);
		return;
	}
	*job = *sending;
	call->outcome.kind = OUTCOME_INET;
	call->outcome.fd = to_fd;
	call->outcome.work = &job->work;
}

/* Notified only where memory is sampled (RUN_MEMORY). */
void sys_sendfile(struct call *call)
{
	_cleanup_close_ int to_fd = -1, from_fd = -1;
	char bytes[CHUNK_BYTES];
	struct sending sending;
	int64_t result;
	int error;

	if (!descriptor_direct()) { /* two of them cannot be fetched */
		memfds_refuse_pages(call);
		return;
	}
	to_fd = descriptor_copy(call, call_int(call, 0));
	if (to_fd < 0)
		return;
	from_fd = descriptor_copy_nth(call, call_int(call, 1), 1);
	if (from_fd < 0)
		return;
	if (!is_stream_without_waiting(to_fd) || !is_file(from_fd)) {
		memfds_refuse_pages(call);
		return;
	}
	target_allow(call);
	if (call_commit(call) < 0)
		return;
	result = begin(call, from_fd, &sending);
	if (result == 0 && !copy(&sending, to_fd, bytes, false, &error)) {
		(void)steal_fd(&from_fd); /* is sending's */
		leave_to_thread(call, &sending, steal_fd(&to_fd));
		return;
	}
	if (result == 0)
		result = finish(&sending, error);
	if (result < 0)
		call_fail(call, (int)result);
	else
		call_return(call, result);
}
