/* Trials of what the supervisor does to target processes: reads and writes their memory, traces their execs. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "doctor/probe.h"

#define YAMA_SCOPE_FILE "/proc/sys/kernel/yama/ptrace_scope"
#define TRIAL_STEP_TIMEOUT_MS 5000 /* wait for one step of the trial's child; busy machines take seconds */

/* Forks a child that sleeps until it is killed. Makes the child dumpable, as a program is, after privs_drop_all(). */
static pid_t probe_fork_idle_child(void)
{
	pid_t pid = fork();

	if (pid != 0)
		return pid;
	(void)prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
	for (;;)
		(void)pause();
}

static void probe_kill_child(pid_t pid)
{
	(void)kill(pid, SIGKILL);
	(void)waitpid(pid, NULL, __WALL);
}

/* Reports an error of ptrace access. If Yama restricts ptrace(2) here, the text names Yama as the reason. */
static void probe_report_ptrace_error(struct doctor *doctor, enum probe probe, int error, const char *what)
{
	long scope = probe_read_number(YAMA_SCOPE_FILE);

	if (scope > 1) {
		doctor->traits |= TRAIT_YAMA_RESTRICTS_PTRACE;
		finding_set_state(doctor, probe, FINDING_FAILS, error,
				  "%s: kernel.yama.ptrace_scope is %ld, which leaves this to %s", what, scope,
				  scope == 2 ? "CAP_SYS_PTRACE" : "no process");
	} else {
		probe_set_failing(doctor, probe, error, what);
	}
}

/* Tries whether a child's memory can be read and written. */
void probe_target_memory(struct doctor *doctor)
{
	static volatile char word = 'a'; /* after fork(2) the child has its copy at the same address */
	char here = 0;
	const struct iovec local = {&here, 1}, remote = {(void *)(uintptr_t)&word, 1};
	pid_t pid = probe_fork_idle_child();
	int error = 0;
	uint64_t tries = 0;

	if (pid < 0)
		return;
	/* Tries again until the child is dumpable: before that its memory cannot be read. */
	while (process_vm_readv(pid, &local, 1, &remote, 1, 0) != 1 && ++tries < 100)
		(void)usleep(500);
	here++;
	if (tries >= 100 || process_vm_writev(pid, &local, 1, &remote, 1, 0) != 1)
		error = errno;
	here = 0;
	if (error == 0 && process_vm_readv(pid, &local, 1, &remote, 1, 0) != 1)
		error = errno;
	if (error)
		probe_report_ptrace_error(doctor, PROBE_MEMORY, error, "a child's memory cannot be read and written");
	else if (here != 'a' + 1 || word != 'a')
		finding_set_state(doctor, PROBE_MEMORY, FINDING_FAILS, EIO,
			    "a child's memory reads other than it was written");
	else
		finding_set_state(doctor, PROBE_MEMORY, FINDING_WORKS, 0, "a child's memory was read and written");
	probe_kill_child(pid);
}

/* Waits until `go` is set, then executes callgate itself, an executable that exists for sure. */
static _Noreturn void probe_exec_child(const volatile int *go)
{
	static char name[] = "callgate", version[] = "--version";
	char *const argv[] = {name, version, NULL}, *const envp[] = {NULL};
	int null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);

	(void)prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
	for (int fd = 0; fd < 3; fd++)
		(void)(null_fd >= 0 ? dup2(null_fd, fd) : close(fd));
	if (probe_await_change_of_word(go, 0, TRIAL_STEP_TIMEOUT_MS))
		(void)execve("/proc/self/exe", argv, envp);
	_exit(127);
}

/* Tries whether a child can be traced and stopped at its exec. */
void probe_ptrace(struct doctor *doctor)
{
	volatile int *go = probe_map_shared(sizeof(*go));
	long scope = probe_read_number(YAMA_SCOPE_FILE);
	int status = 0;
	pid_t pid;

	if (!go)
		return;
	pid = fork();
	if (pid == 0)
		probe_exec_child(go);
	if (pid < 0)
		return;
	if (ptrace(PTRACE_SEIZE, pid, NULL, PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL) < 0)
		probe_report_ptrace_error(doctor, PROBE_TRACE, errno, "a child cannot be traced");
	*go = 1;
	if (doctor->findings[PROBE_TRACE].state == FINDING_NOT_REPORTED) {
		if (probe_wait_for_child(pid, TRIAL_STEP_TIMEOUT_MS, &status) == 0 &&
		    status >> 8 == (SIGTRAP | PTRACE_EVENT_EXEC << 8))
			finding_set_state(doctor, PROBE_TRACE, FINDING_WORKS, 0,
				    "an exec was stopped before its first instruction%s",
				    scope == 1 ? "; Yama allows it for descendants (ptrace_scope 1)" : "");
		else
			finding_set_state(doctor, PROBE_TRACE, FINDING_FAILS, ECHILD,
					  "the stop of an exec was not seen");
	}
	probe_kill_child(pid);
}
