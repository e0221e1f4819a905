#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/ending.h"
#include "confine/cgroup.h"
#include "confine/selffilter.h"
#include "supervisor/blocking.h"
#include "supervisor/cpu/cpu.h"
#include "supervisor/limits/killtree.h"
#include "supervisor/limits/limits.h"
#include "supervisor/notify.h"
#include "supervisor/status.h"
#include "supervisor/loop.h"
#include "supervisor/watchdog.h"
#include "syscalls/account/changes.h"
#include "syscalls/account/denials.h"
#include "syscalls/account/disk.h"
#include "syscalls/account/forks.h"
#include "syscalls/account/memfds.h"
#include "syscalls/net/unix-sockets.h"

#include "base/banned.h"

#define KILL_TIMEOUT_MS 10000

/*
 * Kills as many processes as one system call can reach, so that none can fork past it: on a busy machine the next call
 * may come a second later. That is the pid namespace when the supervisor is its process 1, else the program's process
 * group, whose number is not reused before the program is reaped.
 */
static void supervise_kill_most(const struct supervisor *supervisor)
{
	if (getpid() == 1)
		(void)kill(-1, SIGKILL);
	else if (!supervisor->reaped)
		(void)kill(-supervisor->launch.pid, SIGKILL);
	cgroup_kill(supervisor->options->cgroup);
}

/* Kills every process of the run. Daemons are descendants too, because the supervisor is their subreaper. */
static void supervise_kill_all(struct supervisor *supervisor)
{
	int status = SIGKILL;
	pid_t pid;

	cgroup_close(supervisor->options->cgroup);
	supervise_kill_most(supervisor);
	if (!supervisor->reaped) {
		(void)kill(supervisor->launch.pid, SIGKILL);
		/* Reap any child: a process is not reported before all its traced threads were reaped (ptrace(2)). */
		do
			pid = waitpid(-1, &status, __WALL);
		while ((pid > 0 && (pid != supervisor->launch.pid || WIFSTOPPED(status))) ||
		       (pid < 0 && errno == EINTR));
		supervisor->report->wait_status = status;
		supervisor->reaped = true;
	}
	(void)killtree(KILL_TIMEOUT_MS, __WALL);
}

/* Creates the meters, but only those that the run's limits need. */
static int supervise_prepare_limits(struct supervisor *supervisor)
{
	const struct supervise_options *options = supervisor->options;
	const struct policy_limits *policy = policy_limits(options->policy);
	const bool judge_memory = options->traits & RUN_MEMORY;
	struct sandbox *sandbox = &supervisor->sandbox;
	struct limits_options wanted = {
		.policy = policy, .cgroup = options->cgroup, .audit = options->audit, .notes = &sandbox->notes,
		.inet = options->egress && options->egress->active};
	int r = 0;

	if (policy->disk_bytes || judge_memory)
		r = disk_create(policy->disk_bytes, options->counters ? &options->counters->spilled_bytes : NULL,
				&sandbox->disk);
	if (r == 0 && options->traits & RUN_FORKS)
		r = forks_create(policy->pids, getpid(), &sandbox->forks);
	if (r == 0 && judge_memory)
		r = memfds_create(&sandbox->memfds);
	locks_init(&sandbox->locks, options->host_proc_fd);
	wanted.disk = sandbox->disk;
	wanted.forks = sandbox->forks;
	wanted.memfds = sandbox->memfds;
	if (r == 0)
		r = limits_create(&wanted, getpid(), &supervisor->limits);
	sandbox->memory.limit_bytes = policy->memory_bytes;
	sandbox->memory.used_bytes = limits_memory_bytes;
	sandbox->is_over = limits_over;
	sandbox->memory.meter = supervisor->limits;
	if (r == 0 && limits_event_fd(supervisor->limits) >= 0)
		r = loop_watch(supervisor, limits_event_fd(supervisor->limits), &supervisor->limits_mark);
	return r;
}

/* Builds everything that the supervisor needs, while the program's child process prepares itself. */
static int supervise_prepare(struct supervisor *supervisor)
{
	const struct supervise_options *options = supervisor->options;
	struct sandbox *sandbox = &supervisor->sandbox;
	struct blocking *blocking = NULL;
	struct tracer *tracer = NULL;
	int r;

	supervisor->report->changes = changes_create();
	supervisor->report->denials = denials_create();
	if (!supervisor->report->changes || !supervisor->report->denials)
		return -ENOMEM;
	*sandbox = (struct sandbox){.policy = options->policy, .view = options->view, .audit = options->audit,
				    .changes = supervisor->report->changes, .denials = supervisor->report->denials,
				    .guest = &memory_of_process, .listener_fd = -1,
				    .private_ipc = options->traits & RUN_OWN_IPC,
				    .signals_bounded = options->signals_bounded, .uid = geteuid(), .gid = getegid()};
	r = tree_create(getpid(), options->view, supervisor->epoll_fd, &sandbox->tree);
	if (r == 0)
		tree_set_host(sandbox->tree, options->host_proc_fd, options->host_pidns_fd);
	if (r == 0)
		r = sockets_create(options->scratch_fd, &sandbox->sockets);
	if (r == 0)
		r = tracer_create(sandbox, &tracer);
	if (r == 0)
		r = blocking_create(&blocking);
	if (r == 0 && options->egress && options->egress->active)
		r = network_create(&supervisor->network, sandbox, options->egress, options->guest);
	view_set_run(options->view, getpid());
	supervisor->dispatch.tracer = tracer;
	supervisor->dispatch.blocking = blocking;
	if (r == 0)
		r = dispatch_init(&supervisor->dispatch, sandbox, tracer, blocking);
	supervisor->dispatch.egress = supervisor->network.client;
	if (r == 0 && options->traits & RUN_PINNED)
		r = cpu_create(sandbox->tree, cpu_open_loadavg(options->host_proc_fd), &supervisor->dispatch.cpu);
	supervisor->dispatch.interrupted.traits = options->traits;
	if (r == 0)
		r = supervise_prepare_limits(supervisor);
	if (r == 0)
		r = watchdog_create(&supervisor->watchdog);
	if (r == 0)
		r = loop_watch_own(supervisor);
	if (r == 0)
		r = network_watch(&supervisor->network, supervisor->epoll_fd, &supervisor->network_mark);
	return r < 0 ? r : loop_watch(supervisor, options->control_fd, &supervisor->control_mark);
}

/* Installs the supervisor's own filter. The program was forked before and does not inherit it; worker threads do. */
static int supervise_confine(const struct supervisor *supervisor)
{
	unsigned role = SELF_SUPERVISOR | (supervisor->network.client ? SELF_NETWORK : 0u);

	return supervisor->options->self_filter ? selffilter_install(role) : 0;
}

/* No process of the run is left: orphans become children of the supervisor. Most runs end like this. */
static bool supervise_is_alone(const struct supervisor *supervisor)
{
	return supervisor->reaped && waitpid(-1, NULL, WNOHANG | __WALL) < 0 && errno == ECHILD;
}

static void supervise_run(struct supervisor *supervisor)
{
	bool alone;

	supervisor->sandbox.listener_fd = supervisor->launch.listener_fd;
	notify_prepare(supervisor->launch.listener_fd);
	cpu_begin(supervisor->dispatch.cpu, supervisor->launch.pid);
	supervisor->listener_fd = supervisor->launch.listener_fd;
	loop_run(supervisor);
	if (supervisor->report->end != RUN_END_NONE)
		supervise_kill_most(supervisor);
	watchdog_stop(supervisor->watchdog); /* its thread ends meanwhile: our exit would wait for it */
	alone = supervise_is_alone(supervisor);
	if (!alone)
		cpu_unpin(supervisor->dispatch.cpu);
	/* Before the tree is killed, because an OOM in it counts as well. */
	supervisor->report->ended_by =
		limits_end(supervisor->limits, supervisor->reaped ? supervisor->report->wait_status : 0, alone);
	if (!alone)
		supervise_kill_all(supervisor);
	if (supervisor->network.client)
		egress_client_finish(supervisor->network.client);
	limits_settle(supervisor->limits);
	supervisor->report->start_error = *supervisor->launch.ret_error;
	supervisor->report->start_step = (enum launch_step)*supervisor->launch.ret_step;
	launch_done(&supervisor->launch);
}

/* Not called at a normal exit: the kernel releases all this faster. */
static void supervise_free(struct supervisor *supervisor)
{
	watchdog_free(supervisor->watchdog);
	limits_free(supervisor->limits);
	disk_free(supervisor->sandbox.disk);
	forks_free(supervisor->sandbox.forks);
	memfds_free(supervisor->sandbox.memfds);
	cpu_free(supervisor->dispatch.cpu);
	tracer_free(supervisor->dispatch.tracer);
	interrupted_done(&supervisor->dispatch.interrupted);
	dispatch_done(&supervisor->dispatch);
	tree_free(supervisor->sandbox.tree);
	sockets_free(supervisor->sandbox.sockets);
	cleanup_close(&supervisor->epoll_fd);
	cleanup_close(&supervisor->signal_fd);
	cleanup_close(&supervisor->timer_fd);
}

static void supervise_finish(struct supervisor *supervisor)
{
	struct supervise_report *report = supervisor->report;

	report->judged = supervisor->dispatch.judged;
	report->allowed = supervisor->dispatch.allowed;
	report->denied = supervisor->dispatch.denied;
	report->expected = supervisor->dispatch.expected;
	report->restarted = supervisor->dispatch.interrupted.restarted;
	report->interrupted = supervisor->dispatch.interrupted.left;
	report->redirects = supervisor->dispatch.redirects;
	report->by_row = steal_pointer(&supervisor->dispatch.by_row);
	report->processes = supervisor->sandbox.tree ? tree_processes_seen(supervisor->sandbox.tree) : 0;
	(void)getrusage(RUSAGE_CHILDREN, &report->usage);
	if (supervisor->limits)
		memcpy(report->limit, limits_meters(supervisor->limits), sizeof(report->limit));
	blocking_free(supervisor->dispatch.blocking); /* waits for threads that may write to the log */
	network_report(&supervisor->network, &report->network);
	network_done(&supervisor->network, &supervisor->sandbox);
	view_set_run(supervisor->options->view, 0);
	if (ending_is_tidy)
		supervise_free(supervisor);
}

/* 0, or -errno when supervision failed. A program that could not be started is 0, with the error in the report. */
static int supervise_start(struct supervisor *supervisor)
{
	const struct supervise_options *options = supervisor->options;
	struct supervise_report *report = supervisor->report;
	int error, r = loop_open(supervisor);

	if (r < 0)
		return r;
	error = launch_begin(&options->launch, &supervisor->launch);
	if (error == 0) {
		cpu_request_short_slice();
		r = supervise_prepare(supervisor);
		if (r == 0)
			r = supervise_confine(supervisor);
		if (r < 0) {
			launch_abandon(&supervisor->launch);
			launch_done(&supervisor->launch);
			return r;
		}
		error = launch_await(&options->launch, &supervisor->launch);
	}
	if (error == 0) {
		/* Now, while the program waits for the verdict on its execve. */
		namespaces_report_ready(options->namespaces);
		supervise_run(supervisor);
		return 0;
	}
	report->start_error = -error;
	report->start_step = (enum launch_step)*supervisor->launch.ret_step;
	launch_done(&supervisor->launch);
	return 0;
}

int supervise(const struct supervise_options *options, struct supervise_report *ret_report)
{
	struct supervisor supervisor = {.options = options, .report = ret_report, .epoll_fd = -1, .listener_fd = -1,
					.signal_fd = -1, .timer_fd = -1, .timer_ns = UINT64_MAX};
	int r;

	*ret_report = (struct supervise_report){.ended_by = LIMIT_MAX};
	r = supervise_start(&supervisor);
	supervise_finish(&supervisor);
	return r;
}

void supervise_report_done(struct supervise_report *report)
{
	changes_free(report->changes);
	denials_free(report->denials);
	network_report_done(&report->network);
	free(report->by_row);
}
