/*
 * sendfile(2) in a run whose memory is sampled. The kernel's sendfile keeps pages of the file in the socket: a queued
 * byte may hold 2 MiB that no sample counts. So the supervisor copies the bytes, but only to nonblocking TCP sockets,
 * because it cannot wait. If the file is not in memory, a worker thread waits for it.
 */
#include <errno.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "syscalls/account/limits/memfds.h"
#include "syscalls/call/call.h"
#include "syscalls/call/decode.h"
#include "syscalls/call/descriptor.h"
#include "syscalls/call/work.h"
#include "syscalls/net/address.h"
#include "syscalls/process/target.h"
#include "syscalls/table/handlers.h"

#define SENDFILE_CHUNK_BYTES 65536                  /* copied by one read and write */
#define SENDFILE_CALL_BYTES_MAX (UINT64_C(1) << 20) /* most bytes in one call, because other calls wait meanwhile */

/* Whether fd is a nonblocking TCP socket. Unix sockets are refused: their reader may ask for the sender's pid. */
static bool sendfile_target_is_supported(int fd)
{
	int domain = net_get_option(fd, SOL_SOCKET, SO_DOMAIN);

	return net_is_nonblocking(fd) && net_get_option(fd, SOL_SOCKET, SO_TYPE) == SOCK_STREAM &&
	       (domain == AF_INET || domain == AF_INET6);
}

/* A sendfile(2) that the supervisor thread starts. If reading would block, a thread of blocking.c performs the rest. */
struct sendfile_work {
	struct call_work work;
	struct sandbox *sandbox;
	uint64_t id;      /* the notification's id */
	pid_t tid, tgid;
	int from_fd;      /* owned */
	off_t at;         /* offset of the next byte */
	uint64_t bytes_left;     /* of the count that the program asked for */
	uint64_t bytes_sent;     /* result of the call so far */
	uint64_t offset_address; /* address in target memory where `at` is written; 0: the file's own offset is set */
};

static void sendfile_free_work(struct call_work *work)
{
	struct sendfile_work *sending = (struct sendfile_work *)work;

	(void)close(sending->from_fd);
	free(sending);
}

/*
 * Copies bytes of the file to the socket. True: all is sent, the file has ended, the socket is full, or *ret_error is
 * set. False: reading would block (a disk, a server, FUSE), and only a fatal signal ends that. wait: reading may block.
 */
static bool sendfile_copy_chunk(struct sendfile_work *sending, int to_fd, char bytes[SENDFILE_CHUNK_BYTES], bool wait,
				int *ret_error)
{
	*ret_error = 0;
	while (sending->bytes_left > 0) {
		struct iovec part = {bytes, sending->bytes_left < SENDFILE_CHUNK_BYTES ? sending->bytes_left
										       : SENDFILE_CHUNK_BYTES};
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
		sending->bytes_sent += (uint64_t)sent;
		sending->bytes_left -= (uint64_t)sent;
		sending->at += sent;
		if (sent < got)
			return true;
	}
	return true;
}

/*
 * Stores the offset behind the last byte that was sent: in target memory, if the target still waits for this response,
 * or in the file description. 0 or -errno.
 */
static int sendfile_write_offset_to_target(const struct sendfile_work *sending)
{
	const struct sandbox *sandbox = sending->sandbox;

	if (!sending->offset_address)
		return lseek(sending->from_fd, sending->at, SEEK_SET) < 0 ? -errno : 0;
	if (ioctl(sandbox->listener_fd, SECCOMP_IOCTL_NOTIF_ID_VALID, &sending->id) < 0)
		return -EINTR;
	return memory_copy_out(sandbox->target_memory, sending->tid, sending->offset_address, &sending->at,
			       sizeof(sending->at)) < 0
		       ? -EFAULT
		       : 0;
}

/* Stores the offset behind the last byte that was sent. Returns the result of sendfile(2). */
static int64_t sendfile_end_call(const struct sendfile_work *sending, int error)
{
	if (sending->bytes_sent > 0)
		error = sendfile_write_offset_to_target(sending);
	else if (error == -EPIPE)
		(void)syscall(SYS_tgkill, sending->tgid, sending->tid, SIGPIPE); /* fails for a dead thread */
	return error < 0 ? error : (int64_t)sending->bytes_sent;
}

/* Runs in a worker thread. It is not interrupted: natively too, only a fatal signal ends the wait. */
static int64_t sendfile_run_work(struct call_work *work, int fd, bool (*go_on)(void *ctx), void *ctx)
{
	struct sendfile_work *sending = (struct sendfile_work *)work;
	_cleanup_free_ char *bytes = malloc(SENDFILE_CHUNK_BYTES); /* the thread's stack is small */
	int error = -ENOMEM;

	(void)go_on;
	(void)ctx;
	if (bytes)
		(void)sendfile_copy_chunk(sending, fd, bytes, true, &error);
	return sendfile_end_call(sending, error);
}

/* Reads the start offset from target memory or, if there is none, from the file. 0 or -errno. */
static int sendfile_begin_call(const struct call *call, int from_fd, struct sendfile_work *sending)
{
	uint64_t count = call->arg[3] < SENDFILE_CALL_BYTES_MAX ? call->arg[3] : SENDFILE_CALL_BYTES_MAX;
	off_t at = 0;

	if (call->arg[2] && decode_struct(call, 2, &at, sizeof(at)) < 0)
		return -EFAULT;
	if (!call->arg[2])
		at = lseek(from_fd, 0, SEEK_CUR);
	if (at < 0 || at > INT64_MAX - (off_t)count)
		return -EINVAL;
	*sending = (struct sendfile_work){.work = {.run = sendfile_run_work, .free = sendfile_free_work},
					  .sandbox = call->sandbox,
					  .id = call->id,
					  .tid = call->tid,
					  .tgid = call->task->tgid,
					  .from_fd = from_fd,
					  .at = at,
					  .bytes_left = count,
					  .offset_address = call->arg[2]};
	return 0;
}

/* Takes both descriptors. */
static void sendfile_move_to_thread(struct call *call, const struct sendfile_work *sending, int to_fd)
{
	_cleanup_close_ int to = to_fd, from = sending->from_fd;
	struct sendfile_work *job = malloc(sizeof(*job));

	if (!job) {
		call_fail(call, -ENOMEM);
		return;
	}
	*job = *sending;
	job->from_fd = steal_fd(&from);
	call->outcome.kind = OUTCOME_BLOCKING_WORK;
	call->outcome.fd = steal_fd(&to);
	call->outcome.blocking_work = &job->work;
}

/* sendfile(2) is notified only if memory is sampled (RUN_SAMPLES_MEMORY). */
void sys_sendfile(struct call *call)
{
	_cleanup_close_ int to_fd = -1, from_fd = -1;
	char bytes[SENDFILE_CHUNK_BYTES];
	struct sendfile_work sending;
	struct stat status;
	int64_t result;
	int error;

	if (!descriptor_pidfd_getfd_works()) { /* only one descriptor can be fetched from the target */
		memfds_refuse_splice(call);
		return;
	}
	to_fd = descriptor_copy(call, call_get_int(call, 0));
	from_fd = to_fd < 0 ? -1 : descriptor_copy_second_of_call(call, call_get_int(call, 1));
	if (from_fd < 0)
		return;
	if (!sendfile_target_is_supported(to_fd) || fstat(from_fd, &status) < 0 || !S_ISREG(status.st_mode)) {
		memfds_refuse_splice(call);
		return;
	}
	target_allow_without_rule(call);
	if (call_commit_record(call) < 0)
		return;
	result = sendfile_begin_call(call, from_fd, &sending);
	if (result == 0 && !sendfile_copy_chunk(&sending, to_fd, bytes, false, &error)) {
		(void)steal_fd(&from_fd); /* taken by sending */
		sendfile_move_to_thread(call, &sending, steal_fd(&to_fd));
		return;
	}
	if (result == 0)
		result = sendfile_end_call(&sending, error);
	call_return_result(call, result);
}
