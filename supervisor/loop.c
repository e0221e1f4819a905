#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/io.h"
#include "base/times.h"
#include "supervisor/ask/ask.h"
#include "supervisor/workers/blocking.h"
#include "supervisor/cpu/cpu.h"
#include "supervisor/limits/limits.h"
#include "supervisor/notify.h"
#include "supervisor/session/session.h"
#include "supervisor/loop.h"
#include "supervisor/status.h"
#include "supervisor/watchdog.h"
#include "syscalls/account/limits/disk.h"
#include "syscalls/net/inet.h"
#include "syscalls/net/netlink-standins.h"

#define EPOLL_EVENTS_PER_TURN_MAX 32
#define EMPTY_POLLS_BEFORE_BLOCKING 6u /* polls without waiting that found no event; the next one waits */
#define LOOP_REAPED_PER_TURN_MAX 256u  /* exits and stops that are handled before other events */
#define TIMER_NEVER UINT64_MAX /* an expiry time of the timerfd: it is not armed */
#define CLOSING_REMOVAL_RETRY_INTERVAL_MS 2 /* how often threads that could not stop yet are tried again */

int loop_watch_fd(const struct supervisor *supervisor, int fd, unsigned events, void *mark)
{
	struct epoll_event event = {.events = events, .data.ptr = mark};

	return epoll_ctl(supervisor->epoll_fd, EPOLL_CTL_ADD, fd, &event) < 0 ? -errno : 0;
}

int loop_open_descriptors(struct supervisor *supervisor)
{
	sigset_t signals;
	int r;

	(void)sigemptyset(&signals);
	(void)sigaddset(&signals, SIGCHLD);
	if (sigprocmask(SIG_BLOCK, &signals, NULL) < 0)
		return -errno;
	supervisor->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	supervisor->signal_fd = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
	supervisor->timer_fd =
		timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK); /* the clock of io_read_clock_ns */
	if (supervisor->epoll_fd < 0 || supervisor->signal_fd < 0 || supervisor->timer_fd < 0)
		return -errno;
	r = loop_watch_fd(supervisor, supervisor->signal_fd, EPOLLIN, &supervisor->signal_mark);
	/* EPOLLET: an expiry is reported once, without reading the timerfd; re-arming it clears the event. */
	return r < 0 ? r
		     : loop_watch_fd(supervisor, supervisor->timer_fd, EPOLLIN | EPOLLET, &supervisor->timer_mark);
}

unsigned supervise_read_keeper_order(int control_fd)
{
	unsigned char byte;
	ssize_t got = read(control_fd, &byte, 1);

	return got == 1 ? byte : SIGKILL; /* end of file means that the keeper is dead */
}

/* ---- events ---- */

/*
 * SIGCHLD reports exits and ptrace stops, and waitpid returns both. Takes a limited number: processes that fork and end
 * at once can be as fast as this loop, and the limits and other calls would wait. The signal, which is blocked, makes
 * signal_fd readable for the rest.
 */
static void loop_reap_children(struct supervisor *supervisor)
{
	struct closing *closing = supervisor->dispatch.closing;
	unsigned left = LOOP_REAPED_PER_TURN_MAX;
	int status;
	pid_t pid;

	for (; left > 0 && (pid = waitpid(-1, &status, WNOHANG | __WALL)) > 0; left--) {
		if (supervisor->pause && WIFSTOPPED(status) && pause_on_stop(supervisor->pause, pid, status))
			continue;
		if (closing && WIFSTOPPED(status) && closing_on_stop(closing, pid, status))
			continue;
		if (trace_on_wait_status(supervisor->dispatch.tracer, pid, status))
			continue;
		if (closing)
			closing_forget_thread(closing, pid);
		if (supervisor->pause)
			pause_forget_thread(supervisor->pause, pid);
		if (!WIFEXITED(status) && !WIFSIGNALED(status))
			continue;
		trace_forget_thread(supervisor->dispatch.tracer, pid);
		if (supervisor->session && session_on_child_exit(supervisor->session, pid))
			continue;
		if (pid == supervisor->launch.pid && !supervisor->program_was_reaped) {
			supervisor->report->wait_status = status;
			supervisor->program_was_reaped = true;
			supervisor->run_has_ended = true;
		}
	}
	if (left == 0)
		(void)raise(SIGCHLD);
}

static void loop_on_signal(struct supervisor *supervisor)
{
	struct signalfd_siginfo info;

	(void)!read(supervisor->signal_fd, &info, sizeof(info)); /* one SIGCHLD may stand for several exits */
	loop_reap_children(supervisor);
}

/*
 * Sends a signal to the program's process group, as a terminal does, so that the program can end by itself. SIGCONT
 * makes a stopped group receive it, as timeout(1) does. Not sent to a program that has ended meanwhile.
 */
static void loop_ask_program_to_end(struct supervisor *supervisor, unsigned order)
{
	int number = order == RUN_BYTE_ASK_TO_END_TIMEOUT ? SIGTERM : (int)order - RUN_BYTE_ASK_TO_END;

	loop_reap_children(supervisor);
	if (supervisor->program_was_reaped)
		return;
	supervisor->report->asked_to_end_reason =
		order == RUN_BYTE_ASK_TO_END_TIMEOUT ? RUN_END_TIMEOUT : (unsigned)number;
	(void)kill(-supervisor->launch.pid, number);
	(void)kill(-supervisor->launch.pid, SIGCONT);
}

/* Reads and obeys a byte from the keeper: end, stop or continue the program. */
static void loop_on_keeper_order(struct supervisor *supervisor)
{
	unsigned end = supervise_read_keeper_order(supervisor->options->process->control_fd);

	if (end >= RUN_BYTE_ASK_TO_END && end < RUN_END_OUTPUT_LIMIT) {
		loop_ask_program_to_end(supervisor, end);
		return;
	}
	if (end == SIGTSTP || end == SIGCONT) {
		/* The program leads its process group, so the number is not reused before the program is reaped. */
		if (!supervisor->program_was_reaped)
			(void)kill(-supervisor->launch.pid, end == SIGCONT ? SIGCONT : SIGSTOP);
		return;
	}
	supervisor->report->end_reason = end;
	supervisor->run_has_ended = true;
}

static void loop_on_event(struct supervisor *supervisor, const struct epoll_event *event)
{
	if (event->data.ptr == &supervisor->signal_mark)
		loop_on_signal(supervisor);
	else if (event->data.ptr == &supervisor->control_mark)
		loop_on_keeper_order(supervisor);
	else if (event->data.ptr == &supervisor->limits_mark)
		limits_read_oom_event(supervisor->limits);
	else if (event->data.ptr == &supervisor->network_mark)
		egress_client_exchange_messages(supervisor->dispatch.egress);
	else if (event->data.ptr == &supervisor->netlink_mark)
		netlink_serve_standins(supervisor->sandbox.netlink, &supervisor->sandbox);
	else if (event->data.ptr == &supervisor->session_mark)
		session_handle_ready_fds(supervisor->session);
	else if (event->data.ptr == &supervisor->timer_mark)
		supervisor->timer_expiry_ns = TIMER_NEVER;
	/* the approver's answers are read by loop_serve_questions() */
}

/* Whether an epoll event is the end of a task: none of the marks. */
static bool loop_event_is_task(const struct supervisor *supervisor, const struct epoll_event *event)
{
	return event->data.ptr != &supervisor->signal_mark && event->data.ptr != &supervisor->control_mark &&
	       event->data.ptr != &supervisor->limits_mark && event->data.ptr != &supervisor->network_mark &&
	       event->data.ptr != &supervisor->netlink_mark && event->data.ptr != &supervisor->timer_mark &&
	       event->data.ptr != &supervisor->session_mark && event->data.ptr != &supervisor->approver_mark;
}

static void loop_on_events(struct supervisor *supervisor)
{
	struct epoll_event event[EPOLL_EVENTS_PER_TURN_MAX];
	int count = epoll_wait(supervisor->epoll_fd, event, EPOLL_EVENTS_PER_TURN_MAX, 0);

	/* Exits are handled first, so that a reused pid does not get the dead task's entry. */
	for (int i = 0; i < count; i++)
		if (loop_event_is_task(supervisor, &event[i]))
			task_table_forget_task(supervisor->sandbox.tree, event[i].data.ptr);
	for (int i = 0; i < count; i++)
		if (!loop_event_is_task(supervisor, &event[i]))
			loop_on_event(supervisor, &event[i]);
}

/* Reads a notification from the listener and judges its call. */
static void loop_on_listener(struct supervisor *supervisor, short events)
{
	struct dispatch *dispatch = &supervisor->dispatch;
	struct seccomp_notif notification;

	if (!(events & POLLIN)) {
		supervisor->listener_fd = -1; /* hung up: no task is left under the filter */
		return;
	}
	if (notify_receive(supervisor->listener_fd, &notification) < 0)
		return;
	watchdog_begin_notification(supervisor->watchdog);
	dispatch_notification(dispatch, &notification);
	watchdog_end_notification(supervisor->watchdog);
	if (dispatch->last_response_ns)
		supervisor->clock_last_read_ns = dispatch->last_response_ns;
}

/* ---- waiting ---- */

/*
 * Handles one turn's events; false: there were none. The listener is polled directly, because epoll's wake-up would
 * drop the flag that keeps the supervisor on the target thread's CPU (notify_request_same_cpu).
 *
 * poll(2) checks the listener before the other events, and those are handled first. So when a notification carries a
 * reused pid, the exit of its former owner has been handled.
 */
static bool loop_poll_listener_and_events(struct supervisor *supervisor, int timeout_ms)
{
	enum { LISTENER, REST };
	const struct closing *closing = supervisor->dispatch.closing;
	bool receives = !supervisor->sandbox.is_filling && (!closing || !closing_has_waiting_call(closing)) &&
			!(supervisor->session && session_awaits_copies(supervisor->session));
	struct pollfd ready[] = {[LISTENER] = {.fd = receives ? supervisor->listener_fd : -1, .events = POLLIN},
				 [REST] = {.fd = supervisor->epoll_fd, .events = POLLIN}};

	if (poll(ready, sizeof(ready) / sizeof(ready[0]), timeout_ms) <= 0)
		return false;
	if (ready[REST].revents)
		loop_on_events(supervisor);
	if (ready[LISTENER].revents)
		loop_on_listener(supervisor, ready[LISTENER].revents);
	return true;
}

/*
 * Returns the timeout for poll(2); -1: the timer ends the wait. A timeout of poll itself would set and clear a kernel
 * timer at each call, which on a virtual machine costs an exit to the hypervisor each time. If the timer expires too
 * early, because notifications were handled meanwhile, it is armed again.
 */
static int loop_arm_timer(struct supervisor *supervisor, int timeout_ms)
{
	uint64_t due_ns =
		timeout_ms < 0 ? TIMER_NEVER : supervisor->clock_last_read_ns + (uint64_t)timeout_ms * NS_PER_MS;
	struct itimerspec when = {
		.it_value = {.tv_sec = (time_t)(due_ns / NS_PER_S), .tv_nsec = (long)(due_ns % NS_PER_S)}};

	if (timeout_ms == 0 || due_ns >= supervisor->timer_expiry_ns)
		return timeout_ms == 0 ? 0 : -1;
	if (timerfd_settime(supervisor->timer_fd, TFD_TIMER_ABSTIME, &when, NULL) < 0)
		return timeout_ms;
	supervisor->timer_expiry_ns = due_ns;
	return -1;
}

/*
 * Polls without waiting first: a program that makes call after call has mostly made the next call by now, and a poll
 * that prepares to wait takes half as long again. After each failure, twice as many turns skip this attempt, up to 64.
 */
static void loop_wait_and_handle(struct supervisor *supervisor, int timeout_ms)
{
	uint64_t before_ns = supervisor->clock_last_read_ns;

	if (supervisor->turns_until_polling_retry > 0) {
		supervisor->turns_until_polling_retry--;
		(void)loop_poll_listener_and_events(supervisor, loop_arm_timer(supervisor, timeout_ms));
	} else if (loop_poll_listener_and_events(supervisor, 0)) {
		supervisor->consecutive_empty_polls = 0;
	} else {
		supervisor->turns_until_polling_retry = 1u << supervisor->consecutive_empty_polls;
		supervisor->consecutive_empty_polls +=
			supervisor->consecutive_empty_polls < EMPTY_POLLS_BEFORE_BLOCKING;
		(void)loop_poll_listener_and_events(supervisor, loop_arm_timer(supervisor, timeout_ms));
	}
	if (supervisor->clock_last_read_ns == before_ns)
		supervisor->clock_last_read_ns = io_read_clock_ns();
}

/* ---- work that is due by the clock ---- */

/* The shorter of two waits in milliseconds. -1 means that nothing is due, and is the largest as an unsigned number. */
static int loop_get_shorter_wait(int one, int other)
{
	return (unsigned)one < (unsigned)other ? one : other;
}

/*
 * Whether approved calls may be performed: not while the programs are stopped, or are to stop. No descriptors are being
 * closed then: a policy with after_read asks about nothing.
 */
static bool loop_may_perform_approved_calls(const struct supervisor *supervisor)
{
	return !supervisor->sandbox.is_filling && !(supervisor->pause && pause_is_active(supervisor->pause)) &&
	       !(supervisor->session && session_awaits_copies(supervisor->session));
}

/* Handles answers to questions. An approved call that has changed meanwhile is handled like a new one. */
static int loop_serve_questions(struct supervisor *supervisor)
{
	struct dispatch *dispatch = &supervisor->dispatch;
	struct seccomp_notif notification;
	int wait_ms;

	if (!dispatch->asker || supervisor->sandbox.is_filling)
		return -1; /* an approved call is one, too; a tick comes when the file is filled */
	watchdog_begin_notification(supervisor->watchdog);
	wait_ms = ask_poll_open_questions(dispatch, loop_may_perform_approved_calls(supervisor));
	while (loop_may_perform_approved_calls(supervisor) &&
	       ask_pop_changed_question(dispatch->asker, &notification)) {
		dispatch_notification(dispatch, &notification);
		wait_ms = 0;
	}
	watchdog_end_notification(supervisor->watchdog);
	return wait_ms;
}

/*
 * Handles the first call again that has waited for a copy. One a turn: each may copy a file by itself now that is not
 * large, and the limits are looked at between. While programs are paused, their calls must not go on. 0: there may be
 * another one; -1: there is none.
 */
static int loop_handle_call_again(struct supervisor *supervisor)
{
	struct dispatch *dispatch = &supervisor->dispatch;
	struct copies_ended ended;

	if ((dispatch->closing && closing_has_waiting_call(dispatch->closing)) ||
	    (supervisor->pause && pause_is_active(supervisor->pause)) || !copies_pop(dispatch->copies, &ended))
		return -1;
	watchdog_begin_notification(supervisor->watchdog);
	dispatch_after_copy(dispatch, &ended);
	watchdog_end_notification(supervisor->watchdog);
	return 0;
}

/* Handles all work that is due, except limits. Returns the milliseconds until more is due; -1: nothing is. */
static int loop_handle_due_work(struct supervisor *supervisor)
{
	struct egress_client *egress = supervisor->dispatch.egress;
	int wait_ms = egress ? egress_client_check_pending_connects(egress) : -1;

	/* If the epoll does not watch egress' socket, the socket is read at each tick. */
	if (egress && egress_client_watch_socket(egress, supervisor->epoll_fd, &supervisor->network_mark) < 0)
		wait_ms = loop_get_shorter_wait(wait_ms, BLOCKING_JOB_CHECK_INTERVAL_MS);
	if (inet_close_ended_connects(supervisor->sandbox.inet, supervisor->clock_last_read_ns))
		wait_ms = loop_get_shorter_wait(wait_ms, INET_CONNECT_CHECK_INTERVAL_MS);
	copies_collect(supervisor->dispatch.copies);
	if (supervisor->session)
		session_answer_waiting_clients(supervisor->session);
	/* first: an approved call may have become another one */
	wait_ms = loop_get_shorter_wait(wait_ms, loop_handle_call_again(supervisor));
	wait_ms = loop_get_shorter_wait(wait_ms, loop_serve_questions(supervisor));
	wait_ms = loop_get_shorter_wait(wait_ms, cpu_update_placement_after_wait(supervisor->dispatch.cpu,
										 supervisor->clock_last_read_ns));
	if (supervisor->session)
		wait_ms = loop_get_shorter_wait(wait_ms, session_handle_deadlines(supervisor->session,
										  supervisor->clock_last_read_ns));
	if (copies_check(supervisor->dispatch.copies))
		wait_ms = loop_get_shorter_wait(wait_ms, COPIES_CHECK_INTERVAL_MS);
	return loop_get_shorter_wait(
		wait_ms, blocking_check_due_jobs(supervisor->dispatch.blocking) ? BLOCKING_JOB_CHECK_INTERVAL_MS : -1);
}

/* Writes the numbers of calls and connections to the page from which the keeper shows progress. */
static void loop_share_counters(const struct supervisor *supervisor)
{
	struct run_shared_page *counters = supervisor->options->process->shared_page;

	counters->judged = supervisor->dispatch.counts.judged;
	counters->denied = supervisor->dispatch.counts.denied;
	if (supervisor->dispatch.egress)
		egress_client_get_counts(supervisor->dispatch.egress, &counters->open_connections,
					 &counters->network_denied);
	if (supervisor->sandbox.disk)
		counters->disk_bytes = disk_get_bytes_without_spilled_output(supervisor->sandbox.disk);
}

void loop_run(struct supervisor *supervisor)
{
	int wait_ms = -1;

	supervisor->clock_last_read_ns = io_read_clock_ns();
	while (!supervisor->run_has_ended) {
		loop_wait_and_handle(supervisor,
				     loop_get_shorter_wait(limits_get_ms_to_measurement(supervisor->limits,
											supervisor->clock_last_read_ns),
							   wait_ms));
		wait_ms = loop_handle_due_work(supervisor);
		if (supervisor->dispatch.closing && closing_has_waiting_call(supervisor->dispatch.closing)) {
			closing_continue_removal(supervisor->dispatch.closing);
			wait_ms = loop_get_shorter_wait(wait_ms, CLOSING_REMOVAL_RETRY_INTERVAL_MS);
		}
		if (supervisor->dispatch.decoy_read_ends_run)
			supervisor->run_has_ended = supervisor->report->decoy_ended_run = true;
		if (supervisor->dispatch.answer_ends_run)
			supervisor->run_has_ended = supervisor->report->answer_ended_run = true;
		if (limits_measure_due(supervisor->limits, supervisor->clock_last_read_ns) != LIMIT_MAX)
			supervisor->run_has_ended = true;
		loop_share_counters(supervisor);
	}
}
