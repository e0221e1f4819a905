/*
 * Fetches a target thread's descriptor if a container's filter refuses pidfd_getfd(2). The thread gets a socket and
 * sends the descriptor through it by injected calls. Then its call is restarted, and judged with the descriptor.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "supervisor/trace/private.h"

/*
 * Returns the descriptor that was sent, or -errno. Another thread of the process may have sent it, but whatever arrives
 * is a descriptor of the target process.
 */
static int fetch_receive_descriptor(int near)
{
	struct fd_message message;
	int fd;

	fd_message_init(&message, (uint64_t)(uintptr_t)&message, -1);
	/* without padding, which has room for a second descriptor */
	message.header.msg_controllen = CMSG_LEN(sizeof(fd));
	if (recvmsg(near, &message.header, MSG_DONTWAIT | MSG_CMSG_CLOEXEC) < 0)
		return -errno;
	if (message.header.msg_controllen < CMSG_LEN(sizeof(int)) || message.control.align.cmsg_type != SCM_RIGHTS)
		return -EBADF;
	memcpy(&fd, CMSG_DATA(&message.control.align), sizeof(fd));
	return fd;
}

/* Makes the target thread send the descriptor to the supervisor. 0 or -errno. */
static int fetch_inject_send_of_fd(struct injection *injection)
{
	const struct pending *pending = injection->pending;
	uint64_t addr = inject_find_stack_room(injection, sizeof(struct fd_message));
	struct fd_message message;
	int64_t r;

	fd_message_init(&message, addr, pending->fd_to_fetch);
	r = inject_write_memory(injection->tracer, pending->tid, addr, &message, sizeof(message));
	if (r == 0)
		r = inject_syscall(injection, __NR_sendmsg, (uint64_t)pending->carrier_fd, addr,
				   MSG_DONTWAIT | MSG_NOSIGNAL);
	(void)inject_syscall(injection, __NR_close, (uint64_t)pending->carrier_fd, 0,
			     0); /* fails only for a dead thread */
	return r < 0 ? (int)r : 0;
}

int fetch_make_thread_send_fd(struct tracer *tracer, struct pending *pending)
{
	struct injection injection;
	int r = inject_prepare_after_own_call(tracer, pending, &injection);

	if (r < 0)
		return r;
	/* After a failure the call is restarted too: the error becomes its result, and is recorded. */
	r = fetch_inject_send_of_fd(&injection);
	pending->fetched_fd = r < 0 ? r : fetch_receive_descriptor(pending->supervisor_carrier_end_fd);
	(void)close(steal_fd(&pending->supervisor_carrier_end_fd));
	arch_rewind_call(&injection.registers_after_call, pending->row->nr, pending->arg);
	return inject_restore_thread(&injection);
}

int fetch_start_for_call(struct tracer *tracer, const struct call *call)
{
	_cleanup_close_ int near = -1;
	_cleanup_close_ int far = -1;
	struct pending *pending;
	int pair[2], r;

	if (tracer->fetched_descriptor_count >= tracer->fetched_descriptors_max)
		return -EAGAIN;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return -errno;
	near = pair[0];
	far = pair[1];
	r = pending_seize_with_carrier(tracer, call, steal_fd(&far), &pending);
	if (r < 0)
		return r;
	/* NOLINT(clang-analyzer-core*): the analyzer takes a failure for 0 */
	pending->kind = PENDING_SEND_FD_TO_SUPERVISOR;
	tracer->fetched_descriptor_count++;
	pending->fd_to_fetch = (int)call->outcome.value;
	pending->supervisor_carrier_end_fd = steal_fd(&near);
	pending->fetched_fd = -1;
	return 0;
}

/* A duplicate of the entry's descriptor, or -errno. */
static int fetch_copy_fd(const struct pending *pending)
{
	const int copy = pending->fetched_fd < 0 ? -1 : fcntl(pending->fetched_fd, F_DUPFD_CLOEXEC, 0);

	if (pending->fetched_fd < 0)
		return pending->fetched_fd;
	return copy < 0 ? -errno : copy;
}

bool trace_copy_fetched_fd(const struct tracer *tracer, pid_t tid, int nr, const __u64 *args, int *ret_fd)
{
	const struct pending *pending = pending_find_newest(tracer, tid);

	/* on Linux before 5.19 the entry may outlast the call: the thread was not interrupted */
	if (!pending || pending->kind != PENDING_SEND_FD_TO_SUPERVISOR || pending->state != PENDING_RUNNING ||
	    pending->interrupt_would_end_response_wait || pending->row->nr != nr ||
	    memcmp(args, pending->restart_arg, sizeof(pending->restart_arg)) != 0)
		return false;
	*ret_fd = fetch_copy_fd(pending);
	return true;
}

bool trace_take_fetched_fd(struct tracer *tracer, pid_t tid, int nr, const __u64 *args, int *ret_fd)
{
	struct pending *pending = tracer->pending ? pending_find_entry_of_restart(tracer, tid, nr, args) : NULL;

	if (!pending || pending->kind != PENDING_SEND_FD_TO_SUPERVISOR)
		return false;
	/* A duplicate, because an older kernel may restart the call once more (interrupt_would_end_response_wait). */
	*ret_fd = fetch_copy_fd(pending);
	if (!pending->interrupt_would_end_response_wait)
		(void)ptrace(PTRACE_INTERRUPT, tid, 0, 0); /* fails for a dead thread, which needs no stop */
	pending->state = PENDING_RUNNING;
	return true;
}
