/* Threat 44: ptrace(2) among the run's processes as a way around the filter, the exec check or the end of the run. */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/cases/threat.h"

#define SUSPEND_SECCOMP (1L << 21)
#define ROUNDS 200

static pid_t start_idle(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			pause();
	}
	return pid;
}

static void end(pid_t pid)
{
	(void)kill(pid, SIGKILL);
	while (waitpid(pid, NULL, __WALL) < 0 && errno == EINTR)
		continue;
}

/* ---- what works, and what no request gives ---- */

static void requests(void)
{
	pid_t pid = start_idle();
	static long word = 42;
	long copy = 0;
	struct iovec here = {&copy, sizeof(copy)}, there = {&word, sizeof(word)};
	int status;

	threat_works("process_vm_readv", process_vm_readv(pid, &here, 1, &there, 1, 0));
	if (copy != 42)
		threat_missed("process_vm_readv read %ld", copy);
	threat_refused("SUSPEND_SECCOMP at once", ptrace(PTRACE_SEIZE, pid, 0, SUSPEND_SECCOMP), EPERM);
	threat_works("attach", ptrace(PTRACE_ATTACH, pid, 0, 0));
	waitpid(pid, &status, __WALL);
	threat_works("poke", ptrace(PTRACE_POKEDATA, pid, &word, 43));
	if (ptrace(PTRACE_PEEKDATA, pid, &word, 0) != 43)
		threat_missed("the word is not what was poked");
	threat_refused("SUSPEND_SECCOMP", ptrace(PTRACE_SETOPTIONS, pid, 0, SUSPEND_SECCOMP), EPERM);
	threat_refused("SECCOMP_GET_FILTER", ptrace(0x420c, pid, 0, 0), EACCES);
	threat_refused("SET_SYSCALL_USER_DISPATCH", ptrace(0x4210, pid, 0, 0), EIO);
	threat_refused("high bits", ptrace((int)PTRACE_SEIZE, pid | (1L << 40), 0, 0), 0);
	threat_works("detach", ptrace(PTRACE_DETACH, pid, 0, 0));
	end(pid);
}

/* ---- registers that a tracer changes are judged ---- */

/* With `trace`, by a filter of the program's own: the change comes after the first judgement of the call. */
static void install_trace_filter(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getppid, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRACE),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {sizeof(code) / sizeof(code[0]), code};

	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) < 0)
		_exit(7);
}

/* Makes another call of that which a stopped thread is about to make. */
static void change_call(pid_t pid, unsigned long long nr, unsigned long long a, unsigned long long b)
{
#if defined(__x86_64__)
	struct user_regs_struct regs;

	ptrace(PTRACE_GETREGS, pid, 0, &regs);
	regs.orig_rax = nr;
	regs.rdi = a;
	regs.rsi = b;
	regs.rdx = 0;
	ptrace(PTRACE_SETREGS, pid, 0, &regs);
#elif defined(__aarch64__)
	struct user_regs_struct regs;
	struct iovec general = {&regs, sizeof(regs)};
	int number = (int)nr;
	struct iovec call = {&number, sizeof(number)};

	ptrace(PTRACE_GETREGSET, pid, NT_PRSTATUS, &general);
	regs.regs[0] = a;
	regs.regs[1] = b;
	regs.regs[2] = 0;
	ptrace(PTRACE_SETREGSET, pid, NT_PRSTATUS, &general);
	ptrace(PTRACE_SETREGSET, pid, NT_ARM_SYSTEM_CALL, &call);
#endif
}

/* Whether a stopped thread is about to make this call. */
static bool begins_call(pid_t pid, unsigned long long nr)
{
	struct __ptrace_syscall_info info;

	if (ptrace(PTRACE_GET_SYSCALL_INFO, pid, sizeof(info), &info) <= 0)
		return false;
	/* entry and seccomp begin with the same members */
	return (info.op == PTRACE_SYSCALL_INFO_ENTRY || info.op == PTRACE_SYSCALL_INFO_SECCOMP) && info.entry.nr == nr;
}

/* getppid becomes `nr` with these arguments. Returns its result. */
static long changed_call(bool trace, unsigned long long nr, unsigned long long a, unsigned long long b)
{
	long *result = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t pid = fork();
	int status;
	long got;

	if (pid == 0) {
		if (ptrace(PTRACE_TRACEME, 0, 0, 0) < 0)
			_exit(8);
		raise(SIGSTOP);
		if (trace)
			install_trace_filter();
		*result = syscall(SYS_getppid);
		*result = *result < 0 ? -errno : *result;
		_exit(0);
	}
	waitpid(pid, &status, __WALL);
	if (!WIFSTOPPED(status)) {
		threat_missed("the child cannot be traced: %x", (unsigned)status);
		return 0;
	}
	ptrace(PTRACE_SETOPTIONS, pid, 0, PTRACE_O_TRACESECCOMP | PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL);
	for (;;) {
		ptrace(trace ? PTRACE_CONT : PTRACE_SYSCALL, pid, 0, 0);
		if (waitpid(pid, &status, __WALL) < 0 || !WIFSTOPPED(status))
			break;
		if (begins_call(pid, SYS_getppid))
			change_call(pid, nr, a, b);
	}
	got = *result;
	munmap(result, 4096);
	return got;
}

static void changed_registers(const char *denied)
{
	unsigned long long path = (unsigned long long)(uintptr_t)denied;

	for (int trace = 0; trace < 2; trace++) {
		long r = changed_call(trace, SYS_openat, (unsigned long long)AT_FDCWD, path);

		if (r != -ENOENT && r != -EACCES)
			threat_got("an open that a tracer made of another call: %ld", r);
		r = changed_call(trace, SYS_openat | 0x40000000ULL, (unsigned long long)AT_FDCWD, path);
		if (r >= 0)
			threat_got("an open of x32 that a tracer made of another call: %ld", r);
		r = changed_call(trace, SYS_mount, 0, path);
		if (r >= 0)
			threat_got("a mount that a tracer made of another call: %ld", r);
		r = changed_call(trace, SYS_getpid, 0, 0);
		if (r <= 0)
			threat_missed("a getpid made of another call: %ld", r);
	}
}

/* ---- the exec check of a traced process ---- */

static void traced_exec(const char *program)
{
	int begin[2], status = 0;
	pid_t pid;
	char byte = 0;

	threat_works("pipe", pipe(begin));
	pid = fork();
	if (pid == 0) {
		for (int round = 0; round < 2; round++) {
			if (read(begin[0], &byte, 1) != 1)
				_exit(9);
			/* The supervisor would have to seize the thread for this, too, where it judges reading. */
			if (round == 0 && !threat_kernel_reads() && (open(".", O_PATH) >= 0 || errno != EPERM))
				_exit(15);
			execl(program, "marker", "refusals", NULL);
			if (errno != EPERM)
				_exit(10);
			kill(getpid(), SIGSTOP); /* the tracer sees that it was refused */
		}
		_exit(11);
	}
	threat_works("seize", ptrace(PTRACE_SEIZE, pid, 0, PTRACE_O_TRACEEXEC));
	threat_works("write", write(begin[1], &byte, 1));
	while (waitpid(pid, &status, __WALL) == pid && WIFSTOPPED(status) && status >> 8 != SIGSTOP) {
		if (status >> 16 == PTRACE_EVENT_EXEC)
			threat_got("an exec under a tracer");
		ptrace(PTRACE_CONT, pid, 0, 0);
	}
	if (!WIFSTOPPED(status))
		threat_missed("the traced child ended: %x", (unsigned)status);
	threat_works("detach", ptrace(PTRACE_DETACH, pid, 0, 0));
	threat_works("write", write(begin[1], &byte, 1));
	waitpid(pid, &status, 0);
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
		threat_missed("the exec after the detach: %x", (unsigned)status);
	close(begin[0]);
	close(begin[1]);
}

/* ---- two tasks that trace each other survive SIGKILL ---- */

/* Children that attach to each other at once. True: both could. */
static bool attach_to_each_other(volatile int *shared)
{
	pid_t pid[2];

	memset((void *)(uintptr_t)shared, 0, 8 * sizeof(*shared));
	for (int i = 0; i < 2; i++) {
		pid[i] = fork();
		if (pid[i] != 0)
			continue;
		while (!shared[0])
			continue;
		shared[1 + i] = ptrace(PTRACE_SEIZE, shared[5 + !i], 0, PTRACE_O_TRACEEXIT) == 0 ? 1 : 2;
		for (;;)
			pause();
	}
	shared[5] = pid[0];
	shared[6] = pid[1];
	shared[0] = 1;
	while (!shared[1] || !shared[2])
		usleep(1000);
	if (shared[1] == 1 && shared[2] == 1)
		return true;
	(void)kill(pid[1], SIGKILL); /* the one may stand in its exit stop until the other one has ended */
	end(pid[0]);
	end(pid[1]);
	return false;
}

static void circles(void)
{
	volatile int *shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t middle, last = start_idle();
	int status = 0, begin[2];
	char byte = 0;

	for (int round = 0; round < ROUNDS; round++)
		if (attach_to_each_other(shared)) {
			threat_got("two tasks that trace each other");
			return;
		}
	/* A tracee of ours wants to be a tracer. */
	threat_works("pipe", pipe(begin));
	middle = fork();
	if (middle == 0) {
		if (read(begin[0], &byte, 1) != 1)
			_exit(3);
		_exit(ptrace(PTRACE_SEIZE, last, 0, 0) == 0 ? 1 : errno == EPERM ? 0 : 2);
	}
	threat_works("seize", ptrace(PTRACE_SEIZE, middle, 0, 0));
	threat_works("write", write(begin[1], &byte, 1));
	while (waitpid(middle, &status, __WALL) == middle && WIFSTOPPED(status))
		ptrace(PTRACE_CONT, middle, 0, 0);
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
		threat_got("a tracee that traces: %x", (unsigned)status);
	end(last);
}

/* ---- PTRACE_TRACEME must not make the supervisor a tracer against expectation ---- */

static void orphans(void)
{
	int end_fd[2];
	char byte;

	threat_works("pipe", pipe(end_fd));
	for (int round = 0; round < ROUNDS; round++) {
		pid_t parent = fork();

		if (parent == 0) {
			if (fork() == 0) {
				(void)ptrace(PTRACE_TRACEME, 0, 0, 0); /* while the parent dies */
				raise(SIGCONT);
				raise(SIGUSR2); /* traced, it stops here until a tracer continues it */
				_exit(0);
			}
			_exit(0);
		}
		waitpid(parent, NULL, 0);
	}
	close(end_fd[1]);
	/* All orphans have ended when the pipe has no writer. */
	alarm(30);
	while (read(end_fd[0], &byte, 1) > 0)
		continue;
	alarm(0);
	close(end_fd[0]);
}

/* ptrace DENIED PROGRAM: DENIED exists and is not granted; PROGRAM may be executed. */
int threat_ptrace(char **arg)
{
	threat_refused("TRACEME with the supervisor as parent", ptrace(PTRACE_TRACEME, 0, 0, 0), EPERM);
	requests();
	changed_registers(arg[0]);
	traced_exec(arg[1]);
	circles();
	orphans();
	return threat_result();
}

static void *execute(void *program)
{
	execl(program, "x", "refusals", NULL);
	_exit(12);
}

/*
 * traced-end PROGRAM [stay]: ends, or is ended, while tracees stand in their exit stops and a thread's exec waits for a
 * tracee that its tracer does not continue.
 */
int threat_traced_end(char **arg)
{
	pid_t tracer, victim[3];
	int traced[2];

	threat_works("pipe", pipe(traced));
	for (int i = 0; i < 3; i++) {
		victim[i] = fork();
		if (victim[i] == 0) {
			pthread_t thread;

			if (i < 2)
				for (;;)
					pause();
			(void)!read(traced[0], &(char){0}, 1);
			if (pthread_create(&thread, NULL, execute, arg[0]) == 0)
				pthread_join(thread, NULL);
			_exit(13);
		}
	}
	tracer = fork();
	if (tracer == 0) {
		for (int i = 0; i < 3; i++)
			if (ptrace(PTRACE_SEIZE, victim[i], 0, PTRACE_O_TRACEEXIT) < 0)
				_exit(14);
		kill(victim[0], SIGKILL);
		(void)!write(traced[1], "go", 2);
		for (;;)
			pause(); /* and waits for no child */
	}
	(void)!read(traced[0], &(char){0}, 1);
	usleep(900000);
	if (waitpid(tracer, NULL, WNOHANG) != 0)
		threat_missed("the tracer has ended");
	if (arg[1])
		for (;;)
			pause();
	return threat_result(); /* all others are left to the supervisor */
}

#define STORM_CHILDREN 4

/* Executes DENIED, then PROGRAM, again and again in new processes, whose pids the tracer finds in *pid. */
static void execute_for_ever(volatile int *pid, volatile int *execs, char **arg)
{
	for (;;) {
		int status = 0;
		pid_t child = fork();

		if (child == 0) {
			*pid = getpid();
			execl(arg[1], "marker", "marker", arg[2], NULL);
			execl(arg[0], "x", NULL); /* ends at once: it is told to do nothing */
			_exit(77);
		}
		if (child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) != 77)
			++*execs;
	}
}

/* ptrace-storm PROGRAM DENIED MARKER: attaches to processes while they execute. */
int threat_ptrace_storm(char **arg)
{
	volatile int *shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t child[STORM_CHILDREN];
	double end_at = threat_now() + 4;
	int attached = 0, execs = 0;

	for (int i = 0; i < STORM_CHILDREN; i++) {
		child[i] = fork();
		if (child[i] == 0) {
			(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
			execute_for_ever(&shared[i], &shared[STORM_CHILDREN + i], arg);
		}
	}
	while (threat_now() < end_at)
		for (int i = 0; i < STORM_CHILDREN; i++) {
			pid_t pid = shared[i];
			int status;

			if (pid == 0 || ptrace(PTRACE_SEIZE, pid, 0, PTRACE_O_TRACEEXEC) < 0)
				continue;
			attached++;
			if (ptrace(PTRACE_INTERRUPT, pid, 0, 0) < 0 || waitpid(pid, &status, __WALL) != pid ||
			    !WIFSTOPPED(status))
				continue;
			if (status >> 16 == PTRACE_EVENT_EXEC)
				threat_got("an exec under a tracer");
			ptrace(PTRACE_DETACH, pid, 0, 0);
		}
	for (int i = 0; i < STORM_CHILDREN; i++) {
		end(child[i]);
		execs += shared[STORM_CHILDREN + i];
	}
	if (attached < 10 || execs < 10)
		threat_missed("only %d were attached to, only %d execs succeeded", attached, execs);
	return threat_result();
}

/* unbounded: no attach where only the supervisor's look at the pid would keep a tracer inside. */
int threat_unbounded(char **arg)
{
	pid_t pid = start_idle();
	char byte;
	struct iovec here = {&byte, 1}, there = {&byte, 1};

	(void)arg; /* takes none */
	threat_refused("attach", ptrace(PTRACE_ATTACH, pid, 0, 0), EPERM);
	threat_refused("seize", ptrace(PTRACE_SEIZE, pid, 0, 0), EPERM);
	threat_refused("process_vm_readv", process_vm_readv(pid, &here, 1, &there, 1, 0), EPERM);
	end(pid);
	return threat_result();
}
