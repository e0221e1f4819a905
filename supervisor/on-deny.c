#include "supervisor/on-deny.h"

#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Both signals act on the whole process, also when the pidfd is a thread's. ESRCH: the process is dead. */
static void on_deny_signal_pidfd(int pidfd, int number)
{
	(void)syscall(SYS_pidfd_send_signal, pidfd, number, NULL, 0);
}

void on_deny_signal_process(const struct task *task, int number)
{
	if (task->pidfd >= 0)
		on_deny_signal_pidfd(task->pidfd, number);
	else
		/* a thread of the process waits for the supervisor's response, so the pid cannot be reused */
		(void)kill(task->tgid, number);
}

void on_deny_send_byte_to_keeper(const struct stop_notices *stops, char byte)
{
	struct pollfd control = {.fd = stops->control_fd, .events = POLLOUT};

	if (poll(&control, 1, 0) > 0 && control.revents & POLLOUT)
		(void)!write(stops->control_fd, &byte, 1); /* EPIPE: the keeper is dead */
}

/* Tells the keeper of a process that "on_deny": "stop" has stopped. */
static void on_deny_report_stop_to_keeper(const struct stop_notices *stops, pid_t host_pid, uint64_t seq)
{
	struct run_shared_page *counters = stops->shared_page;
	struct run_stop *stop = &counters->stop[counters->stopped_process_count % RUN_LAST_STOPPED_PROCESSES_KEPT];

	stop->host_pid = host_pid;
	stop->seq = seq;
	counters->stopped_process_count++;
	on_deny_send_byte_to_keeper(stops, RUN_BYTE_PROCESS_STOPPED);
}

void on_deny_apply_to_pidfd(const struct stop_notices *stops, enum policy_on_deny mode, int pidfd, pid_t host_pid,
			    uint64_t seq)
{
	on_deny_signal_pidfd(pidfd, mode == ON_DENY_STOP ? SIGSTOP : SIGKILL);
	if (mode == ON_DENY_STOP && stops)
		on_deny_report_stop_to_keeper(stops, host_pid, seq);
}

void on_deny_kill_or_stop_process(const struct stop_notices *stops, enum policy_on_deny mode, const struct task *task,
				  uint64_t seq)
{
	on_deny_signal_process(task, mode == ON_DENY_STOP ? SIGSTOP : SIGKILL);
	if (mode == ON_DENY_STOP && stops)
		on_deny_report_stop_to_keeper(stops, task->host_pid > 0 ? task->host_pid : task->tgid, seq);
}
