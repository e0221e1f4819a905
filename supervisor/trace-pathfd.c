/*
 * O_PATH descriptors. seccomp(2) injects none of them, sockets carry them: the task is given a socket with the descriptor
 * in its queue and, standing behind its open, is made to run recvmsg, dup3 and close by single steps. It then has the
 * lowest number, as from open(2).
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "supervisor/trace-private.h"

#include "base/banned.h"

#define STACK_ALIGN 16u
#define YIELDS 200u               /* a step takes microseconds; more only when the task does not get a CPU */
#define STEP_NS UINT64_C(2000000000) /* none of the three calls can wait for anybody: longer is an attack on us */
#define ERRAND_NS UINT64_C(250000000) /* of stops that are not the steps': a storm of signals, or code that was changed */
#define SIGNALS 65u
#define SIGNAL_BIT(number) (UINT64_C(1) << ((number) - 1))
/* A step ends in SIGTRAP, and what is forced on a task that blocks it kills that one or costs it its handler. */
#define SYNCHRONOUS                                                                                                  \
	(SIGNAL_BIT(SIGTRAP) | SIGNAL_BIT(SIGSEGV) | SIGNAL_BIT(SIGBUS) | SIGNAL_BIT(SIGILL) | SIGNAL_BIT(SIGFPE) |  \
	 SIGNAL_BIT(SIGSYS))

/* What recvmsg needs in the task's memory. */
struct letter {
	struct msghdr message;
	struct iovec vector;
	char byte;
	union {
		char bytes[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control;
};

/* A task in the middle of it. */
struct errand {
	const struct tracer *tracer;
	const struct pending *pending;
	struct arch_regs behind; /* as it stood behind its call */
	bool held[SIGNALS];      /* came meanwhile, sent again afterwards */
	uint64_t end_ns;
};

int pathfd_carrier(int fd)
{
	_cleanup_close_ int near = -1;
	_cleanup_close_ int far = -1;
	struct letter letter = {.vector = {.iov_base = &letter.byte, .iov_len = 1}};
	struct cmsghdr *header = &letter.control.align;
	int pair[2];

	/* Not SOCK_DGRAM: such a one could reach third parties by address. */
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return -errno;
	near = pair[0];
	far = pair[1];
	letter.message.msg_iov = &letter.vector;
	letter.message.msg_iovlen = 1;
	letter.message.msg_control = letter.control.bytes;
	letter.message.msg_controllen = sizeof(letter.control.bytes);
	header->cmsg_level = SOL_SOCKET;
	header->cmsg_type = SCM_RIGHTS;
	header->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(header), &fd, sizeof(fd));
	if (sendmsg(near, &letter.message, MSG_DONTWAIT | MSG_NOSIGNAL) != 1)
		return -errno;
	return steal_fd(&far);
}

/* Waits for a stop. An exit is left to be reaped by whoever does that, and is -ESRCH; so is what takes too long. */
static int await_stop(pid_t tid, int *ret_status)
{
	uint64_t end_ns = io_now_ns() + STEP_NS;

	for (unsigned tries = 0;; tries++) {
		siginfo_t info = {0};

		if (waitid(P_PID, (id_t)tid, &info, WEXITED | WSTOPPED | WNOHANG | WNOWAIT | __WALL) < 0)
			return -ESRCH;
		if (info.si_pid == tid)
			break;
		if (tries < YIELDS)
			(void)sched_yield();
		else if (io_now_ns() < end_ns)
			(void)nanosleep(&(const struct timespec){.tv_nsec = 50000}, NULL);
		else
			return kill(tid, SIGKILL) < 0 ? -errno : -ESRCH;
	}
	/* A stop may turn into an exit between the two, by SIGKILL: then the status is lost for the reaper, who asks again. */
	if (waitpid(tid, ret_status, WSTOPPED | WNOHANG | __WALL) != tid || !WIFSTOPPED(*ret_status))
		return -ESRCH;
	return 0;
}

/* One step over the call instruction, whatever signals come in between: a timer can make them without end. */
static int step(struct errand *errand)
{
	pid_t tid = errand->pending->tid;
	struct arch_regs now;

	for (;;) {
		int status, r;

		if (ptrace(PTRACE_SINGLESTEP, tid, 0, 0) < 0)
			return -errno;
		r = await_stop(tid, &status);
		if (r < 0)
			return r;
		if (io_now_ns() > errand->end_ns)
			return kill(tid, SIGKILL) < 0 ? -errno : -ESRCH;
		if (status >> 16 != 0)
			continue; /* a group stop: reported again when the task is let go */
		r = arch_read_regs(tid, &now);
		if (r < 0)
			return r;
		if (WSTOPSIG(status) == SIGTRAP && arch_pc(&now) == arch_pc(&errand->behind))
			return 0;
		errand->held[(unsigned)WSTOPSIG(status) % SIGNALS] = true;
	}
}

/* Makes the task run one system call. Its result or -ESRCH. */
static int64_t run(struct errand *errand, long nr, uint64_t a, uint64_t b, uint64_t c)
{
	const uint64_t arg[6] = {a, b, c, 0, 0, 0};
	struct arch_regs regs = errand->behind;
	int r;

	arch_rewind(&regs, (int)nr, arg);
	r = arch_write_regs(errand->pending->tid, &regs);
	if (r == 0)
		r = step(errand);
	if (r == 0)
		r = arch_read_regs(errand->pending->tid, &regs);
	return r < 0 ? r : arch_result(&regs);
}

/* The number the task received its descriptor under, or -errno. */
static int64_t read_letter(const struct errand *errand, uint64_t addr)
{
	struct letter letter;
	int number;

	if (guest_read(errand->tracer->sandbox->guest, errand->pending->tid, addr, &letter, sizeof(letter)) < 0)
		return -EFAULT;
	if (letter.message.msg_controllen < CMSG_LEN(sizeof(int)) || letter.control.align.cmsg_type != SCM_RIGHTS)
		return -EMFILE; /* the message was there, a number for its descriptor was not */
	memcpy(&number, CMSG_DATA(&letter.control.align), sizeof(number));
	return number < 0 ? -EMFILE : number;
}

static int write_letter(const struct errand *errand, uint64_t addr)
{
	struct letter letter = {.vector = {.iov_len = 1}};

	letter.vector.iov_base = (void *)(uintptr_t)(addr + offsetof(struct letter, byte));
	letter.message.msg_iov = (struct iovec *)(uintptr_t)(addr + offsetof(struct letter, vector));
	letter.message.msg_iovlen = 1;
	letter.message.msg_control = (void *)(uintptr_t)(addr + offsetof(struct letter, control));
	letter.message.msg_controllen = sizeof(letter.control.bytes);
	return stop_write(errand->tracer, errand->pending->tid, addr, &letter, sizeof(letter));
}

static int64_t receive(struct errand *errand)
{
	uint64_t carrier = (uint64_t)errand->pending->carrier;
	uint64_t addr = arch_stack(&errand->behind) - arch_red_zone_bytes() - sizeof(struct letter);
	int64_t number;

	addr -= addr % STACK_ALIGN;
	number = write_letter(errand, addr);
	if (number == 0)
		number = run(errand, __NR_recvmsg, carrier, addr, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	if (number >= 0)
		number = read_letter(errand, addr);
	if (number >= 0) {
		uint64_t received = (uint64_t)number;

		number = run(errand, __NR_dup3, received, carrier, errand->pending->cloexec ? O_CLOEXEC : 0);
		(void)run(errand, __NR_close, received, 0, 0); /* fails only for a dead task */
	}
	if (number < 0)
		(void)run(errand, __NR_close, carrier, 0, 0);
	return number;
}

/* Keeps signals that can wait from coming between the steps. */
static int block_signals(pid_t tid, uint64_t *ret_before)
{
	uint64_t mask = ~SYNCHRONOUS, before;

	if (ptrace(PTRACE_GETSIGMASK, tid, sizeof(before), &before) < 0)
		return -errno;
	mask |= before & SYNCHRONOUS;
	if (ptrace(PTRACE_SETSIGMASK, tid, sizeof(mask), &mask) < 0)
		return -errno;
	*ret_before = before;
	return 0;
}

int64_t pathfd_receive(const struct tracer *tracer, const struct pending *pending)
{
	struct errand errand = {.tracer = tracer, .pending = pending, .end_ns = io_now_ns() + ERRAND_NS};
	uint64_t before;
	int64_t result;
	int r = arch_read_regs(pending->tid, &errand.behind);

	if (r < 0)
		return r;
	if (!arch_was_call(&errand.behind, pending->row->nr))
		return -EINTR; /* killed: nothing else makes it leave its call */
	r = block_signals(pending->tid, &before);
	if (r < 0)
		return r;
	result = receive(&errand);
	arch_set_result(&errand.behind, result);
	/* Both fail only for a dead task. */
	(void)arch_write_regs(pending->tid, &errand.behind);
	(void)ptrace(PTRACE_SETSIGMASK, pending->tid, sizeof(before), &before);
	for (int number = 1; number < (int)SIGNALS; number++)
		if (errand.held[number])
			(void)syscall(SYS_tgkill, pending->tgid, pending->tid, number);
	return result;
}
