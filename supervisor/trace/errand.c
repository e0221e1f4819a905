/* Errands: a seized task that stands behind its call runs others for us, one single step each. */
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/io.h"
#include "base/procstat.h"
#include "supervisor/trace/private.h"

#include "base/banned.h"

#define STACK_ALIGN 16u
#define YIELDS 200u               /* a step takes microseconds; more only when the task does not get a CPU */
#define STEP_NS UINT64_C(2000000000) /* none of the calls can wait for anybody: longer is an attack on us */
#define STARVED_NS UINT64_C(10000000000) /* but for a CPU: of low priority on a busy machine */
/* Stops that are not the steps': so many for so long are a storm of signals, or code that was changed. */
#define ERRAND_NS UINT64_C(250000000)
#define STRAYS_MAX 32u
#define SIGNAL_BIT(number) (UINT64_C(1) << ((number) - 1))
/* What is forced on a task that blocks it kills it or costs it its handler. A step ends in SIGTRAP, always forced. */
#define FAULTS                                                                                                       \
	(SIGNAL_BIT(SIGSEGV) | SIGNAL_BIT(SIGBUS) | SIGNAL_BIT(SIGILL) | SIGNAL_BIT(SIGFPE) | SIGNAL_BIT(SIGSYS))

/* Whether a step that takes this long may take longer. Nobody is to use up more than the limits because we wait. */
static bool may_wait(const struct errand *errand, uint64_t begin_ns)
{
	const struct sandbox *sandbox = errand->tracer->sandbox;
	uint64_t waited_ns = io_now_ns() - begin_ns;
	pid_t tid = errand->pending->tid;
	struct procstat stat;

	if (sandbox->is_over && sandbox->is_over(sandbox->memory.meter))
		return false;
	return waited_ns < STEP_NS || (waited_ns < STARVED_NS && procstat_read(tid, &stat) == 0 && stat.state == 'R');
}

/*
 * Waits for a stop. An exit is left to be reaped by whoever does that, and is -ESRCH; so is what takes too long. It is
 * the task's own stop: no other thread of its process is in an exec (trace-later.c).
 */
static int await_stop(const struct errand *errand, int *ret_status)
{
	pid_t tid = errand->pending->tid;
	uint64_t begin_ns = io_now_ns();
	siginfo_t info = {0};

	for (unsigned tries = 0;; tries++) {
		if (waitid(P_PID, (id_t)tid, &info, WEXITED | WSTOPPED | WNOHANG | WNOWAIT | __WALL) < 0)
			return -ESRCH;
		if (info.si_pid == tid)
			break;
		if (tries < YIELDS)
			(void)sched_yield();
		else if (may_wait(errand, begin_ns))
			(void)nanosleep(&(const struct timespec){.tv_nsec = 50000}, NULL);
		else
			return kill(tid, SIGKILL) < 0 ? -errno : -ESRCH;
	}
	/* Not waitpid(2): a stop may turn into an exit between the two, by SIGKILL, and the exit is the reaper's. */
	info.si_pid = 0;
	if (waitid(P_PID, (id_t)tid, &info, WSTOPPED | WNOHANG | __WALL) < 0 || info.si_pid != tid)
		return -ESRCH;
	*ret_status = W_STOPCODE(info.si_status);
	return 0;
}

/* One step over the call instruction, whatever signals come in between: a timer can make them without end. */
static int step(struct errand *errand)
{
	pid_t tid = errand->pending->tid;
	struct arch_regs now;
	long pass = 0;

	for (;;) {
		int status = 0, r;

		if (ptrace(PTRACE_SINGLESTEP, tid, 0, pass) < 0)
			return -errno;
		pass = 0;
		r = await_stop(errand, &status);
		if (r < 0)
			return r;
		r = arch_read_regs(tid, &now);
		if (r < 0)
			return r;
		if (status >> 16 == 0 && WSTOPSIG(status) == SIGTRAP && arch_pc(&now) == arch_pc(&errand->behind))
			return 0;
		if (++errand->strays > STRAYS_MAX && io_now_ns() > errand->end_ns)
			return kill(tid, SIGKILL) < 0 ? -errno : -ESRCH;
		if (status >> 16 != 0)
			continue; /* a group stop: reported again when the task is let go */
		/* Sent again afterwards, a stop might come after the SIGCONT that was to end it. */
		if (WSTOPSIG(status) == SIGSTOP)
			pass = SIGSTOP;
		else
			errand->held[(unsigned)WSTOPSIG(status) % ERRAND_SIGNALS] = true;
	}
}

int64_t errand_run(struct errand *errand, long nr, uint64_t a, uint64_t b, uint64_t c)
{
	return errand_run_six(errand, nr, (const uint64_t[6]){a, b, c, 0, 0, 0});
}

int64_t errand_run_six(struct errand *errand, long nr, const uint64_t arg[6])
{
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

/* Keeps signals that can wait from coming between the steps. */
static int block_signals(pid_t tid, uint64_t *ret_before)
{
	uint64_t mask = ~(FAULTS | SIGNAL_BIT(SIGTRAP)), before;

	if (ptrace(PTRACE_GETSIGMASK, tid, sizeof(before), &before) < 0)
		return -errno;
	mask |= before & FAULTS;
	if (ptrace(PTRACE_SETSIGMASK, tid, sizeof(mask), &mask) < 0)
		return -errno;
	*ret_before = before;
	return 0;
}

int errand_begin(const struct tracer *tracer, const struct pending *pending, struct errand *ret_errand)
{
	int r;

	*ret_errand = (struct errand){.tracer = tracer, .pending = pending, .end_ns = io_now_ns() + ERRAND_NS};
	r = arch_read_regs(pending->tid, &ret_errand->behind);
	if (r < 0)
		return r;
	if (!arch_was_call(&ret_errand->behind, pending->row->nr))
		return -EINTR; /* killed: nothing else makes it leave its call. What it was given goes with its table */
	return block_signals(pending->tid, &ret_errand->mask);
}

int errand_end(struct errand *errand)
{
	const struct pending *pending = errand->pending;
	int r = arch_write_regs(pending->tid, &errand->behind);

	if (ptrace(PTRACE_SETSIGMASK, pending->tid, sizeof(errand->mask), &errand->mask) < 0)
		r = -errno;
	for (int number = 1; number < (int)ERRAND_SIGNALS; number++)
		if (errand->held[number])
			(void)syscall(SYS_tgkill, pending->tgid, pending->tid, number); /* fails for a dead task */
	return r;
}

uint64_t errand_room(const struct errand *errand, size_t size)
{
	uint64_t addr = arch_stack(&errand->behind) - arch_red_zone_bytes() - size;

	return addr - addr % STACK_ALIGN;
}

void letter_address(struct letter *letter, uint64_t addr)
{
	letter->vector.iov_base = (void *)(uintptr_t)(addr + offsetof(struct letter, byte));
	letter->vector.iov_len = 1;
	letter->message.msg_iov = (struct iovec *)(uintptr_t)(addr + offsetof(struct letter, vector));
	letter->message.msg_iovlen = 1;
	letter->message.msg_control = (void *)(uintptr_t)(addr + offsetof(struct letter, control));
	letter->message.msg_controllen = sizeof(letter->control.bytes);
}

void letter_fill(struct letter *letter, int fd)
{
	struct cmsghdr *header = &letter->control.align;

	header->cmsg_level = SOL_SOCKET;
	header->cmsg_type = SCM_RIGHTS;
	header->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(header), &fd, sizeof(fd));
}
