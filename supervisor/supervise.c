#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/ending.h"
#include "confine/cgroup.h"
#include "confine/landlock.h"
#include "confine/selffilter.h"
#include "supervisor/workers/blocking.h"
#include "supervisor/cpu/cpu.h"
#include "supervisor/gateway/questions.h"
#include "supervisor/limits/killtree.h"
#include "supervisor/limits/limits.h"
#include "supervisor/notify.h"
#include "supervisor/session/session.h"
#include "supervisor/status.h"
#include "supervisor/loop.h"
#include "supervisor/watchdog.h"
#include "syscalls/account/result/after.h"
#include "syscalls/account/result/changes.h"
#include "syscalls/account/result/decoys.h"
#include "syscalls/account/result/denials.h"
#include "syscalls/account/limits/disk.h"
#include "syscalls/account/limits/forks.h"
#include "syscalls/account/limits/memfds.h"
#include "syscalls/account/workspace/dirs.h"
#include "syscalls/account/workspace/moves.h"
#include "syscalls/account/workspace/reads.h"
#include "syscalls/net/inet.h"
#include "syscalls/net/netlink-standins.h"
#include "syscalls/net/unix-peers.h"
#include "syscalls/net/unix-sockets.h"

#define KILL_DESCENDANTS_TIMEOUT_MS 10000 /* how long the run's processes are killed until all are dead */

/*
 * Kills as many processes as one system call can, so that none can fork meanwhile: on a busy machine the next call may
 * come a second later. If the supervisor is process 1, that is its pid namespace; else the program's process group,
 * whose number is not reused before the program is reaped.
 */
static void supervise_kill_namespace_or_group(const struct supervisor *supervisor)
{
	if (getpid() == 1)
		(void)kill(-1, SIGKILL);
	else if (!supervisor->program_was_reaped)
		(void)kill(-supervisor->launch.pid, SIGKILL);
	cgroup_kill_all(supervisor->options->process->cgroup);
}

/* Kills every process of the run. Daemons are descendants too, because the supervisor is their subreaper. */
static void supervise_kill_all(struct supervisor *supervisor)
{
	int status = SIGKILL;
	pid_t pid;

	cgroup_forbid_forks(supervisor->options->process->cgroup);
	supervise_kill_namespace_or_group(supervisor);
	if (!supervisor->program_was_reaped) {
		(void)kill(supervisor->launch.pid, SIGKILL);
		/* Reaps any child: a process is reported after all its traced threads were reaped (ptrace(2)). */
		do
			pid = waitpid(-1, &status, __WALL);
		while ((pid > 0 && (pid != supervisor->launch.pid || WIFSTOPPED(status))) ||
		       (pid < 0 && errno == EINTR));
		supervisor->report->wait_status = status;
		supervisor->program_was_reaped = true;
	}
	(void)killtree(KILL_DESCENDANTS_TIMEOUT_MS, __WALL);
}

/* Creates the meters, but only those that the run's limits need. */
static int supervise_prepare_limits(struct supervisor *supervisor)
{
	const struct process_options *options = supervisor->options->process;
	const struct policy_limits *policy = &policy_get_settings(options->policy)->limits;
	const unsigned traits = supervisor->options->traits;
	struct sandbox *sandbox = &supervisor->sandbox;
	int r = 0;

	sandbox->machine_proc_fd = options->namespaces->host_proc_fd;
	if (policy->disk_bytes || traits & RUN_SAMPLES_MEMORY)
		r = disk_create(policy->disk_bytes, &options->shared_page->spilled_bytes, sandbox->machine_proc_fd,
				&sandbox->disk);
	if (r == 0 && sandbox->disk)
		disk_add_copy(sandbox->disk, view_get_copy_size(sandbox->view));
	if (r == 0 && traits & RUN_LIMITS_TASKS)
		r = forks_create(policy->pids, getpid(), &sandbox->forks);
	if (r == 0 && traits & RUN_SAMPLES_MEMORY)
		r = memfds_create(&sandbox->memfds);
	locks_init(&sandbox->record_locks, sandbox->machine_proc_fd);
	if (r == 0)
		r = limits_create(sandbox, options->cgroup, &supervisor->limits);
	sandbox->memory.limit_bytes = policy->memory_bytes;
	sandbox->memory.used_bytes = limits_read_memory_bytes;
	sandbox->is_over = limits_have_ended_run;
	sandbox->memory.meter = supervisor->limits;
	if (r == 0 && limits_get_oom_fd(supervisor->limits) >= 0)
		r = loop_watch_fd(supervisor, limits_get_oom_fd(supervisor->limits), EPOLLIN, &supervisor->limits_mark);
	return r;
}

/* Whether the kernel keeps the run's signals within the run. */
static bool supervise_kernel_confines_signals(const struct layers *layers)
{
	return layers->layer[LAYER_PIDNS].active ||
	       (layers->layer[LAYER_LANDLOCK].active && landlock_get_abi() >= LANDLOCK_ABI_WITH_SIGNAL_SCOPE);
}

/* Prepares stand-in sockets, and watches them. */
static int supervise_prepare_netlink(struct supervisor *supervisor)
{
	int r = netlink_create(&supervisor->sandbox.netlink);

	return r < 0 ? r : loop_watch_fd(supervisor, netlink_get_epoll_fd(supervisor->sandbox.netlink), EPOLLIN,
				      &supervisor->netlink_mark);
}

/* Makes what the result will list: changes, denials, decoys that were read. 0 or -ENOMEM. */
static int supervise_create_result_lists(struct supervise_report *report, const struct process_options *process)
{
	report->changes = changes_create();
	report->denials = denials_create();
	report->decoys = decoys_create();
	report->sink = (struct sink){.kind = process->sink_kind, .fd = process->sink_fd,
				     .run_id = process->scratch.run_id};
	if (!report->changes || !report->denials || !report->decoys)
		return -ENOMEM;
	if (process->sink_kind != SINK_NONE)
		denials_set_sink(report->denials, &report->sink);
	if (policy_count_after_entries(process->policy) > 0 && !(report->after_entries = after_create()))
		return -ENOMEM;
	return 0;
}

/* Sets what handlers of calls use. 0 or -errno. */
static int supervise_build_sandbox(struct supervisor *supervisor)
{
	const struct supervise_options *options = supervisor->options;
	const struct process_options *process = options->process;
	const struct supervise_report *report = supervisor->report;
	struct sandbox *sandbox = &supervisor->sandbox;
	int r;

	supervisor->stop_notices = (struct stop_notices){process->shared_page, process->control_fd};
	*sandbox = (struct sandbox){.policy = process->policy,
				    .view = options->view,
				    .audit = options->audit,
				    .changes = report->changes,
				    .denials = report->denials,
				    .decoys = report->decoys,
				    .after_entries = report->after_entries,
				    .stop_notices = &supervisor->stop_notices,
				    .target_memory = &memory_of_process,
				    .listener_fd = -1,
				    .has_unix_datagrams = options->traits & RUN_HAS_UNIX_DATAGRAMS,
				    .has_own_ipc_namespace = options->traits & RUN_OWN_IPC,
				    .kernel_confines_signals = supervise_kernel_confines_signals(process->layers),
				    .kernel_confines_ptrace = process->layers->layer[LAYER_PIDNS].active ||
							      process->layers->layer[LAYER_LANDLOCK].active,
				    .uid = geteuid(),
				    .gid = getegid()};
	r = task_table_create(getpid(), options->view, supervisor->epoll_fd, &sandbox->tree);
	if (r < 0)
		return r;
	task_table_set_host_pidns(sandbox->tree, process->namespaces->host_proc_fd, process->namespaces->host_pidns_fd);
	r = sockets_create(process->scratch.fd, process->layers->layer[LAYER_NETNS].active, &sandbox->unix_sockets);
	if (r == 0)
		r = peers_create(&sandbox->unix_peers);
	return r < 0 || options->traits & RUN_NATIVE_NETLINK ? r : supervise_prepare_netlink(supervisor);
}

/* Creates the parts by which calls are performed that do not end at once. 0 or -errno. */
static int supervise_build_parts(struct supervisor *supervisor)
{
	const struct supervise_options *options = supervisor->options;
	const struct process_options *process = options->process;
	struct sandbox *sandbox = &supervisor->sandbox;
	struct dispatch *dispatch = &supervisor->dispatch;
	int r = 0;

	if (options->ask) {
		task_table_keep_commands(sandbox->tree);
		r = asker_create(options->ask, &dispatch->asker);
	}
	if (r == 0)
		r = tracer_create(sandbox, &dispatch->tracer);
	if (r == 0)
		r = blocking_create(&dispatch->blocking);
	if (r == 0)
		r = copies_create(&dispatch->copies);
	if (r == 0 && process->egress->has_network)
		r = egress_client_start(sandbox, process->egress, options->program_sockets, &dispatch->egress);
	if (r == 0 && dispatch->egress && dispatch->asker)
		egress_client_set_asker(dispatch->egress, &(const struct egress_asker){dispatch, ask_about_request,
										       ask_withdraw_request});
	if (r == 0 && sandbox->after_entries && !policy_is_observing(process->policy))
		r = closing_create(&(const struct closing_options){sandbox, dispatch->tracer, dispatch->blocking,
								   dispatch->copies, dispatch->egress, dispatch->asker},
				   &dispatch->closing);
	return r;
}

/* Lets the loop watch the sockets of the approver, of egress and of the keeper. 0 or -errno. */
static int supervise_watch_sockets(struct supervisor *supervisor)
{
	const struct supervise_options *options = supervisor->options;
	struct egress_client *egress = supervisor->dispatch.egress;
	int r = 0;

	/* EPOLLET: what the approver sends while nothing is asked is left unread, and is reported once */
	if (options->ask && options->ask->approver_fd >= 0)
		r = loop_watch_fd(supervisor, options->ask->approver_fd, EPOLLIN | EPOLLET, &supervisor->approver_mark);
	if (r == 0 && egress)
		r = egress_client_watch_socket(egress, supervisor->epoll_fd, &supervisor->network_mark);
	return r < 0 ? r : loop_watch_fd(supervisor, options->process->control_fd, EPOLLIN, &supervisor->control_mark);
}

/* Builds everything that the supervisor needs. Meanwhile the program's child process prepares itself. 0 or -errno. */
static int supervise_build_state(struct supervisor *supervisor)
{
	const struct supervise_options *options = supervisor->options;
	struct sandbox *sandbox = &supervisor->sandbox;
	struct dispatch *dispatch = &supervisor->dispatch;
	int r = supervise_create_result_lists(supervisor->report, options->process);

	if (r == 0)
		r = supervise_build_sandbox(supervisor);
	if (r == 0)
		r = dispatch_init(dispatch, sandbox);
	if (r == 0)
		r = supervise_build_parts(supervisor);
	if (r < 0)
		return r;
	view_set_supervisor_pid(options->view, getpid());
	if (options->ask)
		view_set_supervisor_pid(options->ask->view, getpid());
	dispatch->interrupted_calls.traits = options->traits;
	if (options->traits & RUN_SETS_AFFINITY)
		r = cpu_create(sandbox->tree, cpu_open_loadavg(options->process->namespaces->host_proc_fd),
			       &dispatch->cpu);
	if (r == 0)
		r = supervise_prepare_limits(supervisor);
	if (r == 0)
		r = watchdog_create(&sandbox->copying_until_ns, &supervisor->watchdog);
	return r < 0 ? r : supervise_watch_sockets(supervisor);
}

/* Whether no process of the run is left, as at the end of most runs. Orphans are children of the supervisor. */
static bool supervise_has_no_process_left(const struct supervisor *supervisor)
{
	return supervisor->program_was_reaped && waitpid(-1, NULL, WNOHANG | __WALL) < 0 && errno == ECHILD;
}

/* Starts the program and runs the loop until the run has ended. */
static void supervise_run_program(struct supervisor *supervisor)
{
	bool alone;

	supervisor->sandbox.listener_fd = supervisor->launch.listener_fd;
	if (!notify_request_same_cpu(supervisor->launch.listener_fd))
		layers_add_to_reason(supervisor->options->process->layers, LAYER_SECCOMP,
				     "; slower without SYNC_WAKE_UP (Linux 6.6)");
	cpu_pin_program(supervisor->dispatch.cpu, supervisor->launch.pid);
	supervisor->listener_fd = supervisor->launch.listener_fd;
	loop_run(supervisor);
	if (supervisor->report->end_reason != RUN_END_NOT_ORDERED || supervisor->report->decoy_ended_run ||
	    supervisor->report->answer_ended_run)
		supervise_kill_namespace_or_group(supervisor);
	/*
	 * the watchdog's thread ends while the rest is done; otherwise the supervisor's exit would have to wait for it
	 */
	watchdog_stop(supervisor->watchdog);
	alone = supervise_has_no_process_left(supervisor);
	if (!alone)
		cpu_unpin_run(supervisor->dispatch.cpu);
	/* Measured before the tree is killed, because an OOM kill of one of its processes counts too. */
	supervisor->report->ended_by = limits_measure_before_final_kill(
		supervisor->limits, supervisor->program_was_reaped ? supervisor->report->wait_status : 0, alone);
	if (!alone)
		supervise_kill_all(supervisor);
	if (supervisor->session)
		session_end_programs(supervisor->session);
	ask_withdraw_all_questions(&supervisor->dispatch);
	dispatch_end_copies(&supervisor->dispatch);
	if (supervisor->dispatch.egress)
		egress_client_end_run(supervisor->dispatch.egress);
	sink_send_count_of_dropped(&supervisor->report->sink);
	limits_measure_final(supervisor->limits);
}

/* Releases everything. Not called at a normal exit, because the kernel releases faster. */
static void supervise_free(struct supervisor *supervisor)
{
	session_free(supervisor->session);
	watchdog_free(supervisor->watchdog);
	limits_free(supervisor->limits);
	disk_free(supervisor->sandbox.disk);
	forks_free(supervisor->sandbox.forks);
	memfds_free(supervisor->sandbox.memfds);
	cpu_free(supervisor->dispatch.cpu);
	pause_free(supervisor->pause);
	closing_free(supervisor->dispatch.closing);
	tracer_free(supervisor->dispatch.tracer);
	interrupted_release(&supervisor->dispatch.interrupted_calls);
	asker_free(supervisor->dispatch.asker);
	dispatch_release(&supervisor->dispatch);
	task_table_free(supervisor->sandbox.tree);
	sockets_free(supervisor->sandbox.unix_sockets);
	peers_free(supervisor->sandbox.unix_peers);
	netlink_free(supervisor->sandbox.netlink);
	cleanup_close(&supervisor->epoll_fd);
	cleanup_close(&supervisor->signal_fd);
	cleanup_close(&supervisor->timer_fd);
}

static void supervise_fill_report(struct supervisor *supervisor)
{
	struct supervise_report *report = supervisor->report;

	report->calls = supervisor->dispatch.counts;
	supervisor->dispatch.counts.call_count_by_row = NULL; /* owned by the report now */
	report->restarted = supervisor->dispatch.interrupted_calls.restarted_count;
	report->interrupted = supervisor->dispatch.interrupted_calls.not_restarted_count;
	report->process_count =
		supervisor->sandbox.tree ? task_table_count_processes_seen(supervisor->sandbox.tree) : 0;
	(void)getrusage(RUSAGE_CHILDREN, &report->rusage);
	if (supervisor->limits)
		memcpy(report->limit, limits_get_meters(supervisor->limits), sizeof(report->limit));
	reads_flush(supervisor->sandbox.reads);
	reads_free(supervisor->sandbox.reads);
	moves_free(supervisor->sandbox.moves);
	dirs_free(supervisor->sandbox.dirs);
	blocking_free(supervisor->dispatch.blocking); /* waits for threads that may write to the log */
	copies_free(supervisor->dispatch.copies);
	if (supervisor->dispatch.egress)
		egress_client_make_report(supervisor->dispatch.egress, &report->network);
	inet_free(supervisor->sandbox.inet);
	egress_client_free(supervisor->dispatch.egress);
	view_set_supervisor_pid(supervisor->options->view, 0);
	if (exit_runs_handlers)
		supervise_free(supervisor);
}

/* Begins to serve clients, in a run that is a session. */
static int supervise_begin_session(struct supervisor *supervisor)
{
	const struct dispatch *dispatch = &supervisor->dispatch;
	int r = pause_create(&(const struct closing_options){&supervisor->sandbox, dispatch->tracer, dispatch->blocking,
							     dispatch->copies, dispatch->egress, dispatch->asker},
			     dispatch->closing, &supervisor->pause);

	if (r == 0)
		r = session_begin(supervisor->session, &supervisor->sandbox, supervisor->pause, dispatch->copies,
				  supervisor->launch.pid);
	supervisor->dispatch.session = supervisor->session;
	if (r == 0)
		r = loop_watch_fd(supervisor, session_get_epoll_fd(supervisor->session), EPOLLIN,
				  &supervisor->session_mark);
	if (r < 0)
		launch_kill_child(&supervisor->launch);
	return r;
}

/* Returns 0, or -errno if supervision failed. If only the program's start failed: 0, with the error in the report. */
static int supervise_launch_and_run(struct supervisor *supervisor)
{
	struct launch_options with_spawner = supervisor->options->launch, *options = &with_spawner;
	struct launch *launch = &supervisor->launch;
	int error, r = loop_open_descriptors(supervisor);

	if (r == 0 && supervisor->options->session)
		r = session_create(supervisor->options->session, options, &supervisor->session);
	if (r < 0)
		return r;
	error = launch_fork_child(options, launch);
	if (error == 0) {
		cpu_request_short_time_slice();
		r = supervise_build_state(supervisor);
		/* The program was forked before and does not inherit this filter; worker threads do. */
		if (r == 0 && supervisor->options->process->layers->layer[LAYER_SELF_FILTER].active)
			r = selffilter_install(SELF_SUPERVISOR |
					       (supervisor->dispatch.egress ? SELF_SUPERVISOR_WITH_NETWORK : 0u) |
					       (supervisor->session ? SELF_SUPERVISOR_OF_SESSION : 0u));
		if (r < 0)
			launch_kill_child(launch);
		else
			error = launch_await_filter(options, launch);
	}
	if (r == 0 && error == 0 && supervisor->session)
		r = supervise_begin_session(supervisor);
	if (r == 0 && error == 0) {
		/* Done now, while the program waits for the verdict on its execve. */
		namespaces_report_ready(supervisor->options->process->namespaces);
		supervise_run_program(supervisor);
	}
	supervisor->report->start_error = error < 0 ? -error : *launch->ret_error;
	supervisor->report->start_step = (enum launch_step)*launch->ret_step;
	launch_release(launch);
	return r;
}

int supervise(const struct supervise_options *options, struct supervise_report *ret_report)
{
	struct supervisor supervisor = {.options = options, .report = ret_report, .epoll_fd = -1, .listener_fd = -1,
					.signal_fd = -1, .timer_fd = -1, .timer_expiry_ns = UINT64_MAX};
	int r;

	*ret_report = (struct supervise_report){.ended_by = LIMIT_MAX};
	r = supervise_launch_and_run(&supervisor);
	supervise_fill_report(&supervisor);
	return r;
}

void supervise_report_release(struct supervise_report *report)
{
	changes_free(report->changes);
	denials_free(report->denials);
	decoys_free(report->decoys);
	after_free(report->after_entries);
	network_report_release(&report->network);
	free(report->calls.call_count_by_row);
}
