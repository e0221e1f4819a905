#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/io.h"
#include "supervisor/blocking.h"
#include "supervisor/handoff.h"
#include "supervisor/limits.h"
#include "supervisor/notify.h"
#include "supervisor/supervise-private.h"
#include "supervisor/watchdog.h"
#include "syscalls/disk.h"

#include "base/banned.h"

#define EVENTS_MAX 32
#define MISSES_MOST 6u

int supervise_open_events(struct supervisor *supervisor)
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

int supervise_watch(const struct supervisor *supervisor, int fd, void *mark)
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

/* ---- events ---- */

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
	struct signalfd_siginfo info[2]; /* there are two signals, and each is pending once at most */
	ssize_t got = read(supervisor->signal_fd, info, sizeof(info));

	for (size_t i = 0; got > 0 && i < (size_t)got / sizeof(*info); i++)
		if (info[i].ssi_signo == SIGTERM)
			supervisor->ended = true;
	reap(supervisor);
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

static void on_listener(struct supervisor *supervisor, short events)
{
	struct dispatch *dispatch = &supervisor->dispatch;
	struct seccomp_notif notification;

	if (!(events & POLLIN)) {
		supervisor->listener_fd = -1; /* hung up: every task under the filter is gone; SIGCHLD tells the rest */
		return;
	}
	if (notify_receive(supervisor->listener_fd, &notification) < 0)
		return;
	watchdog_busy(supervisor->watchdog);
	dispatch_notification(dispatch, &notification);
	watchdog_idle(supervisor->watchdog);
	if (dispatch->ended_ns)
		supervisor->now_ns = dispatch->ended_ns;
}

/* ---- waiting ---- */

/*
 * The listener is not one of epoll's: epoll's own wake-up drops the flag that keeps us on the caller's CPU
 * (notify_prepare), poll's passes it on.
 *
 * It is asked first and the rest is looked at first. So a death that came before the notification that made the listener
 * ready is seen before that one is received: a number that is used again was somebody's who had died by then.
 */
static bool wait_for_some(struct supervisor *supervisor, int timeout_ms)
{
	enum { LISTENER, REST };
	struct pollfd ready[] = {[LISTENER] = {.fd = supervisor->listener_fd, .events = POLLIN},
				 [REST] = {.fd = supervisor->epoll_fd, .events = POLLIN}};

	if (poll(ready, sizeof(ready) / sizeof(ready[0]), timeout_ms) <= 0)
		return false;
	if (ready[REST].revents)
		on_events(supervisor);
	if (ready[LISTENER].revents)
		on_listener(supervisor, ready[LISTENER].revents);
	return true;
}

/*
 * Whoever calls in a loop has mostly called again by the time we get here: then to ask, and not to wait, costs two thirds
 * of getting ready to wait. Where nobody mostly has, it is seldom tried.
 */
static void turn(struct supervisor *supervisor, int timeout_ms)
{
	uint64_t before_ns = supervisor->now_ns;

	if (supervisor->skip > 0) {
		supervisor->skip--;
		(void)wait_for_some(supervisor, timeout_ms);
	} else if (wait_for_some(supervisor, 0)) {
		supervisor->misses = 0;
	} else {
		supervisor->skip = 1u << supervisor->misses;
		supervisor->misses += supervisor->misses < MISSES_MOST;
		(void)wait_for_some(supervisor, timeout_ms);
	}
	if (supervisor->now_ns == before_ns)
		supervisor->now_ns = io_now_ns();
}

/* ---- what is due ---- */

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

void supervise_loop(struct supervisor *supervisor)
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
