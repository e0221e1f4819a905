/*
 * Descriptors of the program that pidfd_getfd(2) does not give, because a container's filter refuses that: the task is
 * given a socket, sends the descriptor through it and makes its call again, which then is judged and performed on what
 * came.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "supervisor/trace/private.h"

#include "base/banned.h"

#define SHARE 8u /* of our descriptors: each of these has one, and those of the call that it is for */

unsigned fetch_most(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
		return 0;
	return limit.rlim_cur / SHARE < UINT_MAX ? (unsigned)(limit.rlim_cur / SHARE) : UINT_MAX;
}

/*
 * What the task has sent: a descriptor or -errno. Other threads of it may write there too: whatever it is, it is
 * theirs.
 */
static int take(int near)
{
	struct letter letter = {0};
	int fd;

	letter_address(&letter, (uint64_t)(uintptr_t)&letter);
	letter.message.msg_controllen = CMSG_LEN(sizeof(fd)); /* with the padding two would fit */
	if (recvmsg(near, &letter.message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC) < 0)
		return -errno;
	if (letter.message.msg_controllen < CMSG_LEN(sizeof(int)) || letter.control.align.cmsg_type != SCM_RIGHTS)
		return -EBADF;
	memcpy(&fd, CMSG_DATA(&letter.control.align), sizeof(fd));
	return fd;
}

/* 0 or -errno. */
static int send_letter(struct errand *errand)
{
	const struct pending *pending = errand->pending;
	uint64_t addr = errand_room(errand, sizeof(struct letter));
	struct letter letter = {0};
	int64_t r;

	letter_address(&letter, addr);
	letter_fill(&letter, pending->wanted);
	r = stop_write(errand->tracer, pending->tid, addr, &letter, sizeof(letter));
	if (r == 0)
		r = errand_run(errand, __NR_sendmsg, (uint64_t)pending->carrier, addr, MSG_DONTWAIT | MSG_NOSIGNAL);
	(void)errand_run(errand, __NR_close, (uint64_t)pending->carrier, 0, 0); /* fails only for a dead task */
	return r < 0 ? (int)r : 0;
}

int fetch_send(struct tracer *tracer, struct pending *pending)
{
	struct errand errand;
	int r = errand_begin(tracer, pending, &errand);

	if (r < 0)
		return r;
	/* Also what fails comes round again: its error is the call's, and on record. */
	r = send_letter(&errand);
	pending->fetched_fd = r < 0 ? r : take(pending->near_fd);
	(void)close(steal_fd(&pending->near_fd));
	arch_rewind(&errand.behind, pending->row->nr, pending->arg);
	return errand_end(&errand);
}

int fetch_start(struct tracer *tracer, const struct call *call)
{
	_cleanup_close_ int near = -1;
	_cleanup_close_ int far = -1;
	struct pending *pending;
	int pair[2], r;

	if (tracer->fetches >= tracer->fetches_most)
		return -EAGAIN;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return -errno;
	near = pair[0];
	far = pair[1];
	r = pending_begin_carried(tracer, call, steal_fd(&far), &pending);
	if (r < 0)
		return r;
	pending->fetches = true; /* NOLINT(clang-analyzer-core*): begin takes -errno for 0 */
	tracer->fetches++;
	pending->wanted = (int)call->outcome.value;
	pending->near_fd = steal_fd(&near);
	pending->fetched_fd = -1;
	return 0;
}

bool trace_fetched(struct tracer *tracer, pid_t tid, int nr, const __u64 *args, int *ret_fd)
{
	struct pending *pending = tracer->pending ? pending_rerun(tracer, tid, nr, args) : NULL;

	if (!pending || !pending->fetches)
		return false;
	/* Kept: an older kernel makes the call once more. */
	*ret_fd = pending->fetched_fd < 0 ? pending->fetched_fd : fcntl(pending->fetched_fd, F_DUPFD_CLOEXEC, 0);
	if (*ret_fd < 0 && pending->fetched_fd >= 0)
		*ret_fd = -errno;
	if (!pending->patient)
		(void)ptrace(PTRACE_INTERRUPT, tid, 0, 0); /* fails for a dead task, which needs no stop */
	pending->state = PENDING_RUNNING;
	return true;
}
