/* Injected system calls. A seized thread, stopped behind its own call, runs other calls by single steps. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/proc/stat.h"
#include "supervisor/trace/private.h"

#define STACK_ALIGN 16u /* bytes: the alignment of the stack pointer */
#define VDSO_BYTES_MAX 65536u          /* of the vDSO that are searched for a system call instruction */
#define PROC_MAPS_BYTES_MAX (8u << 20) /* a longer /proc/PID/maps is not searched for a system call instruction */
#define INJECT_YIELDS_BEFORE_SLEEPING 200u           /* a step takes microseconds if the thread gets a CPU */
/* most time for a single step: none of the injected calls can block, so a longer step is an attack */
#define INJECT_STEP_MAX_NS UINT64_C(2000000000)
#define INJECT_STARVED_STEP_MAX_NS UINT64_C(10000000000) /* most time for a thread of low priority on a busy machine */
/*
 * How long more than INJECT_STRAY_STOPS_MAX stray stops are tolerated in an injection. After that they count as an
 * attack: a flood of signals, or the program has changed its code.
 */
#define INJECT_STRAY_STOPS_TOLERATED_NS UINT64_C(250000000)
#define INJECT_STRAY_STOPS_MAX 32u /* ptrace stops in an injection that are not the awaited one */
#define SIGNAL_BIT(number) (UINT64_C(1) << ((number) - 1))
/* Signals that the kernel forces on a thread: if blocked, they kill it or reset its handler. SIGTRAP ends a step. */
#define INJECT_FORCED_SIGNALS                                                                                    \
	(SIGNAL_BIT(SIGSEGV) | SIGNAL_BIT(SIGBUS) | SIGNAL_BIT(SIGILL) | SIGNAL_BIT(SIGFPE) | SIGNAL_BIT(SIGSYS))

/* Whether a step may take longer. False also if a limit has ended the run. */
static bool inject_may_await_step_longer(const struct injection *injection, uint64_t begin_ns)
{
	const struct sandbox *sandbox = injection->tracer->sandbox;
	uint64_t waited_ns = io_read_clock_ns() - begin_ns;
	pid_t tid = injection->pending->tid;
	struct procstat stat;

	if (sandbox->is_over && sandbox->is_over(sandbox->memory.meter))
		return false;
	return waited_ns < INJECT_STEP_MAX_NS ||
	       (waited_ns < INJECT_STARVED_STEP_MAX_NS && procstat_read(tid, &stat) == 0 && stat.state == 'R');
}

/*
 * Waits for a stop. -ESRCH: the thread exited, which the loop reaps, or it was killed because the step took too long.
 * The stop is the thread's own, because no other thread of its process is in an exec (later.c).
 */
static int inject_await_stop(const struct injection *injection, int *ret_status)
{
	pid_t tid = injection->pending->tid;
	uint64_t begin_ns = io_read_clock_ns();
	siginfo_t info = {0};

	for (unsigned tries = 0;; tries++) {
		if (waitid(P_PID, (id_t)tid, &info, WEXITED | WSTOPPED | WNOHANG | WNOWAIT | __WALL) < 0)
			return -ESRCH;
		if (info.si_pid == tid)
			break;
		if (tries < INJECT_YIELDS_BEFORE_SLEEPING)
			(void)sched_yield();
		else if (inject_may_await_step_longer(injection, begin_ns))
			(void)nanosleep(&(const struct timespec){.tv_nsec = 50000}, NULL);
		else
			return kill(tid, SIGKILL) < 0 ? -errno : -ESRCH;
	}
	/* Does not reap: SIGKILL may turn the stop into an exit meanwhile, which is left to the loop. */
	info.si_pid = 0;
	if (waitid(P_PID, (id_t)tid, &info, WSTOPPED | WNOHANG | __WALL) < 0 || info.si_pid != tid)
		return -ESRCH;
	*ret_status = W_STOPCODE(info.si_status);
	return 0;
}

/* One single step over the system call instruction. Signals are kept for later: a timer can send endless ones. */
static int inject_single_step(struct injection *injection)
{
	pid_t tid = injection->pending->tid;
	struct arch_regs now;
	long pass = 0;

	for (;;) {
		int status = 0, r;

		if (ptrace(PTRACE_SINGLESTEP, tid, 0, pass) < 0)
			return -errno;
		pass = 0;
		r = inject_await_stop(injection, &status);
		if (r < 0)
			return r;
		r = arch_read_regs(tid, &now);
		if (r < 0)
			return r;
		if (status >> 16 == 0 && WSTOPSIG(status) == SIGTRAP &&
		    arch_get_pc(&now) == arch_get_pc(&injection->registers_after_call))
			return 0;
		if (++injection->stray_stop_count > INJECT_STRAY_STOPS_MAX &&
		    io_read_clock_ns() > injection->stray_stops_deadline_ns)
			return kill(tid, SIGKILL) < 0 ? -errno : -ESRCH;
		if (status >> 16 != 0)
			continue; /* a group stop, which is reported again after the detach */
		/* SIGSTOP is not kept, because it might come after the SIGCONT that ends the stop. */
		if (WSTOPSIG(status) == SIGSTOP)
			pass = SIGSTOP;
		else
			injection->arrived_signals[(unsigned)WSTOPSIG(status) % INJECT_SIGNAL_NUMBERS_END] = true;
	}
}

int64_t inject_syscall(struct injection *injection, long nr, uint64_t a, uint64_t b, uint64_t c)
{
	return inject_syscall_with_args(injection, nr, (const uint64_t[6]){a, b, c, 0, 0, 0});
}

int64_t inject_syscall_with_args(struct injection *injection, long nr, const uint64_t arg[6])
{
	struct arch_regs regs = injection->registers_after_call;
	int r;

	arch_rewind_call(&regs, (int)nr, arg);
	r = arch_write_regs(injection->pending->tid, &regs);
	if (r == 0)
		r = inject_single_step(injection);
	if (r == 0)
		r = arch_read_regs(injection->pending->tid, &regs);
	return r < 0 ? r : arch_get_result(&regs);
}

/* Blocks all signals but those that the kernel forces on a thread. */
static int inject_block_signals(struct injection *injection)
{
	uint64_t mask = ~(INJECT_FORCED_SIGNALS | SIGNAL_BIT(SIGTRAP));
	pid_t tid = injection->pending->tid;

	if (ptrace(PTRACE_GETSIGMASK, tid, sizeof(mask), &injection->thread_signal_mask) < 0)
		return -errno;
	mask |= injection->thread_signal_mask & INJECT_FORCED_SIGNALS;
	return ptrace(PTRACE_SETSIGMASK, tid, sizeof(mask), &mask) < 0 ? -errno : 0;
}

int inject_prepare_after_own_call(const struct tracer *tracer, const struct pending *pending,
				  struct injection *ret_injection)
{
	int r;

	*ret_injection =
		(struct injection){.tracer = tracer,
				   .pending = pending,
				   .stray_stops_deadline_ns = io_read_clock_ns() + INJECT_STRAY_STOPS_TOLERATED_NS};
	r = arch_read_regs_after_call(pending->tid, pending->row->nr, pending->pc_after_call,
				      &ret_injection->registers_after_call);
	/* -EINTR: the thread was killed, because nothing else makes it leave its call. */
	return r < 0 ? r : inject_block_signals(ret_injection);
}

/* Finds a system call instruction in the vDSO, which every program has. The address behind it; 0: there is none. */
static uint64_t inject_find_vdso_syscall_instruction(const struct injection *injection)
{
	_cleanup_free_ uint8_t *code = malloc(VDSO_BYTES_MAX);
	_cleanup_free_ char *text = NULL;
	uint64_t start = 0, end = 0;
	char path[48];
	ssize_t len;
	size_t at, size;

	(void)snprintf(path, sizeof(path), "/proc/%d/maps", injection->pending->tid);
	if (!code || io_read_file(AT_FDCWD, path, PROC_MAPS_BYTES_MAX, &text, &size) < 0)
		return 0;
	for (const char *line = text; line && *line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL) {
		const char *name = strstr(line, "[vdso]"), *next = strchr(line, '\n');

		if (name && (!next || name < next))
			(void)sscanf(line, "%" SCNx64 "-%" SCNx64, &start, &end);
	}
	if (end <= start)
		return 0;
	len = injection->tracer->sandbox->target_memory->read(injection->pending->tid, start, code,
						      end - start < VDSO_BYTES_MAX ? end - start : VDSO_BYTES_MAX);
	at = len > 0 ? arch_find_syscall_instruction(code, (size_t)len, false) : 0;
	return at ? start + at : 0;
}

/* Finds where to inject a call: mostly the thread is behind a system call instruction, because it waits in a call. */
static uint64_t inject_find_syscall_instruction(const struct injection *injection)
{
	uint64_t pc = arch_get_pc(&injection->registers_to_restore);
	uint8_t code[4];

	if (memory_copy_in(injection->tracer->sandbox->target_memory, injection->pending->tid, pc - sizeof(code), code,
			   sizeof(code)) == 0 &&
	    arch_find_syscall_instruction(code, sizeof(code), true))
		return pc;
	return inject_find_vdso_syscall_instruction(injection);
}

int inject_prepare_at_any_instruction(const struct tracer *tracer, const struct pending *pending,
				      struct injection *ret_injection)
{
	uint64_t at;
	int r;

	*ret_injection =
		(struct injection){.tracer = tracer,
				   .pending = pending,
				   .has_registers_to_restore = true,
				   .stray_stops_deadline_ns = io_read_clock_ns() + INJECT_STRAY_STOPS_TOLERATED_NS};
	r = arch_read_regs(pending->tid, &ret_injection->registers_to_restore);
	if (r < 0)
		return r;
	at = inject_find_syscall_instruction(ret_injection);
	if (!at)
		return -ENOEXEC;
	ret_injection->registers_after_call = ret_injection->registers_to_restore;
	arch_set_pc(&ret_injection->registers_after_call, at);
	return inject_block_signals(ret_injection);
}

int inject_restore_thread(struct injection *injection)
{
	const struct pending *pending = injection->pending;
	int r = arch_write_regs(pending->tid, injection->has_registers_to_restore ? &injection->registers_to_restore
									 : &injection->registers_after_call);

	if (ptrace(PTRACE_SETSIGMASK, pending->tid, sizeof(injection->thread_signal_mask),
		   &injection->thread_signal_mask) < 0)
		r = -errno;
	for (int number = 1; number < (int)INJECT_SIGNAL_NUMBERS_END; number++)
		if (injection->arrived_signals[number])
			(void)syscall(SYS_tgkill, pending->tgid, pending->tid, number); /* fails for a dead thread */
	return r;
}

int64_t inject_calls_and_set_result(const struct tracer *tracer, const struct pending *pending,
				  int64_t (*run)(struct injection *))
{
	struct injection injection;
	int64_t result = inject_prepare_after_own_call(tracer, pending, &injection);

	if (result < 0)
		return result;
	result = run(&injection);
	arch_set_result(&injection.registers_after_call, result);
	(void)inject_restore_thread(&injection); /* fails only for a dead thread */
	return result;
}

/* Writes target memory. Since Linux 6.5 process_vm_writev(2) does not grow a stack, but PTRACE_POKEDATA does. */
int inject_write_memory(const struct tracer *tracer, pid_t tid, uint64_t addr, const void *bytes, size_t len)
{
	const struct memory_ops *memory = tracer->sandbox->target_memory;

	if (memory_copy_out(memory, tid, addr, bytes, len) == 0)
		return 0;
	if (ptrace(PTRACE_POKEDATA, tid, addr, 0) < 0 || memory_copy_out(memory, tid, addr, bytes, len) < 0)
		return -ENOMEM;
	return 0;
}

uint64_t inject_find_stack_room(const struct injection *injection, size_t size)
{
	uint64_t addr = arch_get_stack_pointer(&injection->registers_after_call) - arch_get_red_zone_bytes() - size;

	return addr - addr % STACK_ALIGN;
}

void fd_message_init(struct fd_message *message, uint64_t addr, int fd)
{
	struct cmsghdr *header = &message->control.align;

	memset(message, 0, sizeof(*message));
	message->vector.iov_base = (void *)(uintptr_t)(addr + offsetof(struct fd_message, byte));
	message->vector.iov_len = 1;
	message->header.msg_iov = (struct iovec *)(uintptr_t)(addr + offsetof(struct fd_message, vector));
	message->header.msg_iovlen = 1;
	message->header.msg_control = (void *)(uintptr_t)(addr + offsetof(struct fd_message, control));
	message->header.msg_controllen = sizeof(message->control.bytes);
	header->cmsg_level = SOL_SOCKET;
	header->cmsg_type = SCM_RIGHTS;
	header->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(header), &fd, sizeof(fd));
}
