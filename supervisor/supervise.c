#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "supervisor/blocking.h"
#include "supervisor/cgroup.h"
#include "supervisor/dispatch.h"
#include "supervisor/handoff.h"
#include "supervisor/killtree.h"
#include "supervisor/limits.h"
#include "supervisor/notify.h"
#include "supervisor/selffilter.h"
#include "supervisor/supervise.h"
#include "supervisor/supervise-network.h"
#include "supervisor/watchdog.h"
#include "syscalls/changes.h"
#include "syscalls/denials.h"
#include "syscalls/disk.h"
#include "syscalls/forks.h"
#include "syscalls/memfds.h"
#include "syscalls/sockets.h"

#include "base/banned.h"

#define EVENTS_MAX 32
#define KILL_TIMEOUT_MS 10000

struct supervisor {
	const struct supervise_options *options;
	struct supervise_report *report;
	struct sandbox sandbox;
	struct dispatch dispatch;
	struct supervise_network network;
	struct watchdog *watchdog;
	struct limits *limits;
	struct launch launch;
	int epoll_fd;    /* everything but the listener */
	int listener_fd; /* borrowed; -1: nobody is there to be listened to */
	int signal_fd;
	uint64_t now_ns; /* when the clock was last looked at */
	bool ended; /* the program is, or the keeper wants it to be */
	bool reaped; /* wait_status is known */
	/* Addresses that tell epoll's sources apart from tasks. */
	char signal_mark, control_mark, limits_mark, network_mark;
};

static int watch(const struct supervisor *supervisor, int fd, void *mark)
{
	struct epoll_event event = {.events = EPOLLIN, .data.ptr = mark};

	return epoll_ctl(supervisor->epoll_fd, EPOLL_CTL_ADD, fd, &event) < 0 ? -errno : 0;
}

unsigned supervise_read_control(int control_fd)
{
	unsigned char byte;
	ssize_t got = read(control_fd, &byte, 1);

	return got == 1 ? byte : SIGKILL; /* nothing to be read: the keeper is dead */
}

/* SIGCHLD also announces ptrace stops; both come from waitpid. */
static void reap(struct supervisor *supervisor)
{
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG | __WALL)) > 0) {
		if (trace_event(supervisor->dispatch.tracer, pid, status))
			continue;
		if (!WIFEXITED(status) && !WIFSIGNALED(status))
			continue;
		trace_forget(supervisor->dispatch.tracer, pid);
		if (pid == supervisor->launch.pid && !supervisor->reaped) {
			supervisor->report->wait_status = status;
			supervisor->reaped = true;
			supervisor->ended = true;
		}
	}
}

static void on_signal(struct supervisor *supervisor)
{
	struct signalfd_siginfo info;

	while (read(supervisor->signal_fd, &info, sizeof(info)) == (ssize_t)sizeof(info))
		if (info.ssi_signo == SIGTERM)
			supervisor->ended = true;
	reap(supervisor);
}

static void on_listener(struct supervisor *supervisor, short events)
{
	struct seccomp_notif notification;

	if (!(events & POLLIN)) {
		supervisor->listener_fd = -1; /* hung up: every task under the filter is gone; SIGCHLD tells the rest */
		return;
	}
	if (notify_receive(supervisor->listener_fd, &notification) < 0)
		return;
	watchdog_busy(supervisor->watchdog);
	dispatch_notification(&supervisor->dispatch, &notification);
	watchdog_idle(supervisor->watchdog);
}

static void on_control(struct supervisor *supervisor)
{
	unsigned end = supervise_read_control(supervisor->options->control_fd);

	if (end == SIGTSTP || end == SIGCONT) {
		/* It leads its session and so its group, and is not reaped: the number is its own. */
		if (!supervisor->reaped)
			(void)kill(-supervisor->launch.pid, end == SIGCONT ? SIGCONT : SIGSTOP);
		return;
	}
	supervisor->report->end = end;
	supervisor->ended = true;
}

static void on_event(struct supervisor *supervisor, const struct epoll_event *event)
{
	if (event->data.ptr == &supervisor->signal_mark)
		on_signal(supervisor);
	else if (event->data.ptr == &supervisor->control_mark)
		on_control(supervisor);
	else if (event->data.ptr == &supervisor->limits_mark)
		limits_event(supervisor->limits);
	else if (event->data.ptr == &supervisor->network_mark)
		egress_client_event(supervisor->network.client, event->events);
}

static bool is_task(const struct supervisor *supervisor, const struct epoll_event *event)
{
	return event->data.ptr != &supervisor->signal_mark && event->data.ptr != &supervisor->control_mark &&
	       event->data.ptr != &supervisor->limits_mark && event->data.ptr != &supervisor->network_mark;
}

/* The sooner of two waits; -1: none. */
static int sooner(int one, int other)
{
	if (one < 0 || other < 0)
		return one < 0 ? other : one;
	return one < other ? one : other;
}

/* Until the next thing to do by the clock; -1: nothing. */
static int wait_ms(const struct supervisor *supervisor, int ticking)
{
	return sooner(limits_wait_ms(supervisor->limits, supervisor->now_ns), ticking);
}

/* What waits for the clock; milliseconds until it does again, -1: nothing does. */
static int tick(struct supervisor *supervisor)
{
	int network = supervisor->network.client ? egress_client_tick(supervisor->network.client) : -1;

	/* A descriptor that cannot be watched for room any more is looked at by the clock. */
	if (supervise_network_watch(&supervisor->network, supervisor->epoll_fd, &supervisor->network_mark) < 0)
		network = sooner(network, BLOCKING_TICK_MS);
	network = sooner(network, handoff_tick(supervisor->dispatch.handoff, supervisor->now_ns));
	return sooner(network, blocking_tick(supervisor->dispatch.blocking) ? BLOCKING_TICK_MS : -1);
}

static void forget(struct supervisor *supervisor, struct task *task)
{
	handoff_forget(supervisor->dispatch.handoff, task);
	tree_forget(supervisor->sandbox.tree, task);
}

static void on_events(struct supervisor *supervisor)
{
	struct epoll_event event[EVENTS_MAX];
	int count = epoll_wait(supervisor->epoll_fd, event, EVENTS_MAX, 0);

	/* The dead first: a number that is used again must not inherit its entry. */
	for (int i = 0; i < count; i++)
		if (is_task(supervisor, &event[i]))
			forget(supervisor, event[i].data.ptr);
	for (int i = 0; i < count; i++)
		if (!is_task(supervisor, &event[i]))
			on_event(supervisor, &event[i]);
}

/*
 * The listener is not one of epoll's: epoll's own wake-up drops the flag that keeps us on the caller's CPU
 * (notify_prepare), poll's passes it on.
 *
 * It is asked first and the rest is looked at first. So a death that came before the notification that made the listener
 * ready is seen before that one is received: a number that is used again was somebody's who had died by then.
 */
static void turn(struct supervisor *supervisor, int timeout_ms)
{
	enum { LISTENER, REST };
	struct pollfd ready[] = {[LISTENER] = {.fd = supervisor->listener_fd, .events = POLLIN},
				 [REST] = {.fd = supervisor->epoll_fd, .events = POLLIN}};

	if (poll(ready, sizeof(ready) / sizeof(ready[0]), timeout_ms) < 0)
		ready[LISTENER].revents = ready[REST].revents = 0;
	if (ready[REST].revents)
		on_events(supervisor);
	if (ready[LISTENER].revents)
		on_listener(supervisor, ready[LISTENER].revents);
	supervisor->now_ns = io_now_ns();
}

static void show_counters(const struct supervisor *supervisor)
{
	struct run_counters *counters = supervisor->options->counters;

	if (!counters)
		return;
	counters->judged = supervisor->dispatch.judged;
	counters->denied = supervisor->dispatch.denied;
	if (supervisor->sandbox.disk)
		counters->disk_bytes = disk_own(supervisor->sandbox.disk);
}

static void loop(struct supervisor *supervisor)
{
	int ticking = -1;

	supervisor->now_ns = io_now_ns();
	while (!supervisor->ended) {
		turn(supervisor, wait_ms(supervisor, ticking));
		ticking = tick(supervisor);
		if (limits_tick(supervisor->limits, supervisor->now_ns) != LIMIT_MAX)
			supervisor->ended = true;
		show_counters(supervisor);
	}
}

/* Nothing outlives the run: daemons and double forks are our descendants, because we are their subreaper. */
static void kill_all(struct supervisor *supervisor)
{
	int status = SIGKILL;
	pid_t pid;

	cgroup_kill(supervisor->options->cgroup);
	if (!supervisor->reaped) {
		(void)kill(supervisor->launch.pid, SIGKILL);
		/*
		 * Whoever comes: the end of a thread that is traced has to be taken before its process has one (ptrace(2)),
		 * and stops come before that.
		 */
		do
			pid = waitpid(-1, &status, __WALL);
		while ((pid > 0 && (pid != supervisor->launch.pid || WIFSTOPPED(status))) || (pid < 0 && errno == EINTR));
		supervisor->report->wait_status = status;
		supervisor->reaped = true;
	}
	(void)killtree(KILL_TIMEOUT_MS, __WALL);
}

/* What counts and bounds; only what the run's limits ask for. */
static int prepare_limits(struct supervisor *supervisor)
{
	const struct supervise_options *options = supervisor->options;
	const struct policy_limits *policy = policy_limits(options->policy);
	struct sandbox *sandbox = &supervisor->sandbox;
	struct limits_options wanted = {
		.policy = policy, .cgroup = options->cgroup, .audit = options->audit, .notes = &sandbox->notes};
	int r = 0;

	if (policy->disk_bytes)
		r = disk_create(policy->disk_bytes, options->counters ? &options->counters->spilled_bytes : NULL,
				&sandbox->disk);
	if (r == 0 && options->judge_forks)
		r = forks_create(policy->pids, getpid(), &sandbox->forks);
	if (r == 0 && options->judge_memfds)
		r = memfds_create(&sandbox->memfds);
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
		r = watch(supervisor, limits_event_fd(supervisor->limits), &supervisor->limits_mark);
	return r;
}

static int open_events(struct supervisor *supervisor)
{
	sigset_t signals;

	(void)sigemptyset(&signals);
	(void)sigaddset(&signals, SIGCHLD);
	(void)sigaddset(&signals, SIGTERM);
	if (sigprocmask(SIG_BLOCK, &signals, NULL) < 0)
		return -errno;
	supervisor->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	supervisor->signal_fd = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
	return supervisor->epoll_fd < 0 || supervisor->signal_fd < 0 ? -errno : 0;
}

/* What the program will need of us; it gets ready beside that. */
static int prepare(struct supervisor *supervisor)
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
				    .guest = &guest_process, .listener_fd = -1,
				    .private_ipc = options->private_ipc,
				    .signals_bounded = options->signals_bounded, .uid = geteuid(), .gid = getegid()};
	r = tree_create(getpid(), options->view, supervisor->epoll_fd, &sandbox->tree);
	if (r == 0)
		tree_set_host(sandbox->tree, options->host_proc_fd, options->host_pidns_fd);
	if (r == 0)
		r = sockets_create(options->scratch_fd, &sandbox->sockets);
	if (r == 0)
		r = tracer_create(sandbox, &tracer);
	if (r == 0)
		r = blocking_create(sandbox, &blocking);
	if (r == 0 && options->egress && options->egress->active)
		r = supervise_network_create(&supervisor->network, sandbox, options->egress, options->guest);
	view_set_tree(options->view, sandbox->tree);
	supervisor->dispatch.tracer = tracer;
	supervisor->dispatch.blocking = blocking;
	if (r == 0)
		r = dispatch_init(&supervisor->dispatch, sandbox, tracer, blocking);
	supervisor->dispatch.egress = supervisor->network.client;
	if (r == 0)
		r = prepare_limits(supervisor);
	if (r == 0)
		r = watchdog_create(&supervisor->watchdog);
	supervisor->dispatch.watchdog = supervisor->watchdog;
	if (r == 0)
		r = watch(supervisor, supervisor->signal_fd, &supervisor->signal_mark);
	if (r == 0)
		r = supervise_network_watch(&supervisor->network, supervisor->epoll_fd, &supervisor->network_mark);
	return r < 0 ? r : watch(supervisor, options->control_fd, &supervisor->control_mark);
}

static int run(struct supervisor *supervisor)
{
	/* The program was forked before, and would have inherited it; workers are threads made later, and do. */
	unsigned role = SELF_SUPERVISOR | (supervisor->network.client ? SELF_NETWORK : 0u);
	int error = supervisor->options->self_filter ? selffilter_install(role) : 0, loadavg;

	supervisor->sandbox.listener_fd = supervisor->launch.listener_fd;
	supervisor->sandbox.program = supervisor->launch.pid;
	notify_prepare(supervisor->launch.listener_fd);
	/* It only makes calls faster: where the kernel refuses, they are slower. */
	loadavg = supervisor->options->hand_off ? handoff_loadavg(supervisor->options->host_proc_fd) : -1;
	if (loadavg < 0 || handoff_create(supervisor->sandbox.tree, loadavg, &supervisor->dispatch.handoff) < 0)
		supervisor->dispatch.handoff = NULL;
	supervisor->listener_fd = supervisor->launch.listener_fd;
	if (error == 0)
		loop(supervisor);
	watchdog_stop(supervisor->watchdog);
	handoff_release(supervisor->dispatch.handoff);
	/* Before the rest of its tree is killed: an OOM of that is one as well. */
	supervisor->report->ended_by = limits_end(supervisor->limits, supervisor->reaped ? supervisor->report->wait_status : 0);
	kill_all(supervisor);
	if (supervisor->network.client)
		egress_client_finish(supervisor->network.client);
	limits_settle(supervisor->limits);
	supervisor->report->start_error = *supervisor->launch.ret_error;
	supervisor->report->start_step = (enum launch_step)*supervisor->launch.ret_step;
	launch_done(&supervisor->launch);
	return error;
}

static void finish(struct supervisor *supervisor)
{
	struct supervise_report *report = supervisor->report;

	report->judged = supervisor->dispatch.judged;
	report->allowed = supervisor->dispatch.allowed;
	report->denied = supervisor->dispatch.denied;
	report->expected = supervisor->dispatch.expected;
	report->redirects = supervisor->dispatch.redirects;
	report->by_row = steal_pointer(&supervisor->dispatch.by_row);
	report->processes = supervisor->sandbox.tree ? tree_seen(supervisor->sandbox.tree) : 0;
	(void)getrusage(RUSAGE_CHILDREN, &report->usage);
	if (supervisor->limits)
		memcpy(report->limit, limits_meters(supervisor->limits), sizeof(report->limit));
	limits_free(supervisor->limits);
	disk_free(supervisor->sandbox.disk);
	forks_free(supervisor->sandbox.forks);
	memfds_free(supervisor->sandbox.memfds);
	watchdog_free(supervisor->watchdog);
	handoff_free(supervisor->dispatch.handoff);
	blocking_free(supervisor->dispatch.blocking);
	supervise_network_report(&supervisor->network, &report->network);
	supervise_network_done(&supervisor->network, &supervisor->sandbox);
	tracer_free(supervisor->dispatch.tracer);
	dispatch_done(&supervisor->dispatch);
	view_set_tree(supervisor->options->view, NULL);
	tree_free(supervisor->sandbox.tree);
	sockets_free(supervisor->sandbox.sockets);
	cleanup_close(&supervisor->epoll_fd);
	cleanup_close(&supervisor->signal_fd);
}

/* 0, or -errno when it is our fault that the program does not run; whatever the program's start came to is in the report. */
static int start(struct supervisor *supervisor)
{
	const struct supervise_options *options = supervisor->options;
	struct supervise_report *report = supervisor->report;
	int error, r = open_events(supervisor);

	if (r < 0)
		return r;
	error = launch_begin(&options->launch, &supervisor->launch);
	if (error == 0) {
		r = prepare(supervisor);
		if (r < 0) {
			launch_abandon(&supervisor->launch);
			launch_done(&supervisor->launch);
			return r;
		}
		error = launch_await(&options->launch, &supervisor->launch);
	}
	if (error == 0) {
		namespaces_settle(options->namespaces); /* the program's processor is free: it waits for its verdict */
		return run(supervisor);
	}
	report->start_error = -error;
	report->start_step = (enum launch_step)*supervisor->launch.ret_step;
	launch_done(&supervisor->launch);
	return 0;
}

int supervise(const struct supervise_options *options, struct supervise_report *ret_report)
{
	struct supervisor supervisor = {.options = options, .report = ret_report, .epoll_fd = -1, .listener_fd = -1,
					.signal_fd = -1};
	int r;

	*ret_report = (struct supervise_report){.ended_by = LIMIT_MAX};
	r = start(&supervisor);
	finish(&supervisor);
	return r;
}

void supervise_report_done(struct supervise_report *report)
{
	changes_free(report->changes);
	denials_free(report->denials);
	network_report_done(&report->network);
	free(report->by_row);
}
