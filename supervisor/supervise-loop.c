#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/io.h"
#include "supervisor/blocking.h"
#include "supervisor/cpu/cpu.h"
#include "supervisor/limits/limits.h"
#include "supervisor/notify.h"
#include "supervisor/supervise-private.h"
#include "supervisor/watchdog.h"
#include "syscalls/account/disk.h"
#include "syscalls/net/inet.h"

#include "base/banned.h"

#define EVENTS_MAX 32
#define MISSES_MOST 6u
#define NS_PER_MS UINT64_C(1000000)
#define NS_PER_S UINT64_C(1000000000)
#define NEVER UINT64_MAX

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
	supervisor->alarm_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK); /* the clock of io_now_ns */
	return supervisor->epoll_fd < 0 || supervisor->signal_fd < 0 || supervisor->alarm_fd < 0 ? -errno : 0;
}

static int watch(const struct supervisor *supervisor, int fd, unsigned events, void *mark)
{
	struct epoll_event event = {.events = events, .data.ptr = mark};

	return epoll_ctl(supervisor->epoll_fd, EPOLL_CTL_ADD, fd, &event) < 0 ? -errno : 0;
}

int supervise_watch(const struct supervisor *supervisor, int fd, void *mark)
{
	return watch(supervisor, fd, EPOLLIN, mark);
}

/* That the alarm has rung is said once, without a read: setting it anew takes that back. */
int supervise_watch_events(struct supervisor *supervisor)
{
	int r = supervise_watch(supervisor, supervisor->signal_fd, &supervisor->signal_mark);

	return r < 0 ? r : watch(supervisor, supervisor->alarm_fd, EPOLLIN | EPOLLET, &supervisor->alarm_mark);
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
		egress_client_exchange(supervisor->network.client);
	else if (event->data.ptr == &supervisor->alarm_mark)
		supervisor->alarm_ns = NEVER;
}

static bool is_task(const struct supervisor *supervisor, const struct epoll_event *event)
{
	return event->data.ptr != &supervisor->signal_mark && event->data.ptr != &supervisor->control_mark &&
	       event->data.ptr != &supervisor->limits_mark && event->data.ptr != &supervisor->network_mark &&
	       event->data.ptr != &supervisor->alarm_mark;
}

static void on_events(struct supervisor *supervisor)
{
	struct epoll_event event[EVENTS_MAX];
	int count = epoll_wait(supervisor->epoll_fd, event, EVENTS_MAX, 0);

	/* The dead first: a number that is used again must not inherit its entry. */
	for (int i = 0; i < count; i++)
		if (is_task(supervisor, &event[i]))
			tree_forget(supervisor->sandbox.tree, event[i].data.ptr);
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
 * It is asked first and the rest is looked at first. So a death that came before the notification that made the
 * listener ready is seen before that one is received: a number that is used again was somebody's who had died by then.
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
 * Returns the time that poll has to wait for itself, -1: the alarm does. A timeout of poll's is a timer that is set and
 * cleared at each call, and mostly the next of its CPU, so that the clock's own device is set twice as well: on a
 * virtual machine a word with the host each time. The alarm rings too soon when there were calls meanwhile, and is set
 * anew then.
 */
static int set_alarm(struct supervisor *supervisor, int timeout_ms)
{
	uint64_t due_ns = timeout_ms < 0 ? NEVER : supervisor->now_ns + (uint64_t)timeout_ms * NS_PER_MS;
	struct itimerspec when = {
		.it_value = {.tv_sec = (time_t)(due_ns / NS_PER_S), .tv_nsec = (long)(due_ns % NS_PER_S)}};

	if (timeout_ms == 0 || due_ns >= supervisor->alarm_ns)
		return timeout_ms == 0 ? 0 : -1;
	if (timerfd_settime(supervisor->alarm_fd, TFD_TIMER_ABSTIME, &when, NULL) < 0)
		return timeout_ms;
	supervisor->alarm_ns = due_ns;
	return -1;
}

/*
 * Whoever calls in a loop has mostly called again by the time we get here: then to ask, and not to wait, costs two
 * thirds of getting ready to wait. Where nobody mostly has, it is seldom tried.
 */
static void turn(struct supervisor *supervisor, int timeout_ms)
{
	uint64_t before_ns = supervisor->now_ns;

	if (supervisor->skip > 0) {
		supervisor->skip--;
		(void)wait_for_some(supervisor, set_alarm(supervisor, timeout_ms));
	} else if (wait_for_some(supervisor, 0)) {
		supervisor->misses = 0;
	} else {
		supervisor->skip = 1u << supervisor->misses;
		supervisor->misses += supervisor->misses < MISSES_MOST;
		(void)wait_for_some(supervisor, set_alarm(supervisor, timeout_ms));
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
	if (inet_tick(supervisor->sandbox.inet, supervisor->now_ns))
		network = sooner(network, INET_TICK_MS);
	network = sooner(network, cpu_waited(supervisor->dispatch.cpu, supervisor->now_ns));
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
		counters->disk_bytes = disk_used_inside(supervisor->sandbox.disk);
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
