/*
 * sendfile(2) where memory is sampled. The kernel's own keeps pages of the file in the socket, of which one byte may
 * keep 2 MiB that no sample sees. A copy is what the socket says that it has. Only to a TCP stream that does not wait,
 * as servers have it: for who would wait the supervisor cannot.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "syscalls/account/memfds.h"
#include "syscalls/call/call.h"
#include "syscalls/call/decode.h"
#include "syscalls/call/descriptor.h"
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

/* Bytes sent, fewer at the end of the file or when there is no room for more; or -errno when there were none. */
static int64_t copy(int to_fd, int from_fd, off_t at, uint64_t count)
{
	char bytes[CHUNK_BYTES];
	uint64_t sum = 0;

	while (sum < count) {
		uint64_t want = count - sum < sizeof(bytes) ? count - sum : sizeof(bytes);
		ssize_t got = pread(from_fd, bytes, want, at + (off_t)sum), sent;
		struct iovec part = {bytes, got > 0 ? (size_t)got : 0};
		struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};

		if (got == 0)
			break;
		sent = got < 0 ? -1 : sendmsg(to_fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
		if (sent < 0)
			return sum ? (int64_t)sum : -errno;
		sum += (uint64_t)sent;
		if (sent < got)
			break;
	}
	return (int64_t)sum;
}

/* From where the pointer or else the file itself says; there is written how far it went. */
static int64_t send_some(struct call *call, int to_fd, int from_fd)
{
	uint64_t count = call->arg[3] < MOST_BYTES ? call->arg[3] : MOST_BYTES;
	off_t at = 0;
	int64_t sent;

	if (call->arg[2] && decode_struct(call, 2, &at, sizeof(at)) < 0)
		return -EFAULT;
	if (!call->arg[2])
		at = lseek(from_fd, 0, SEEK_CUR);
	if (at < 0 || at > INT64_MAX - (off_t)count)
		return -EINVAL;
	sent = copy(to_fd, from_fd, at, count);
	if (sent <= 0)
		return sent;
	at += sent;
	if (call->arg[2])
		return decode_output(call, call->arg[2], &at, sizeof(at)) < 0 ? -EFAULT : sent;
	return lseek(from_fd, at, SEEK_SET) < 0 ? -errno : sent;
}

/* Notified only with judge_memory (filter.h). */
void sys_sendfile(struct call *call)
{
	_cleanup_close_ int to_fd = -1, from_fd = -1;
	int64_t result;

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
	result = send_some(call, to_fd, from_fd);
	if (result == -EPIPE)
		(void)syscall(SYS_tgkill, call->task->tgid, call->tid, SIGPIPE); /* fails for a dead thread */
	if (result < 0)
		call_fail(call, (int)result);
	else
		call_return(call, result);
}
