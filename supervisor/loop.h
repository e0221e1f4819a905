/*
 * The supervisor's event loop: notifications, signals, the keeper's control bytes, egress, limits and timers. Used by
 * supervise.c only, in the supervisor thread.
 */
#ifndef CALLGATE_SUPERVISOR_LOOP_H
#define CALLGATE_SUPERVISOR_LOOP_H

#include "supervisor/closing/pause.h"
#include "supervisor/dispatch.h"
#include "supervisor/on-deny.h"
#include "supervisor/supervise.h"

/* The state of the supervisor's main loop. */
struct supervisor {
	const struct supervise_options *options;
	struct supervise_report *report;
	struct sandbox sandbox;
	struct dispatch dispatch;
	struct watchdog *watchdog;
	struct limits *limits;
	struct stop_notices stop_notices; /* how the keeper is told that a denial stopped a process */
	struct session *session; /* NULL: a run of one program */
	struct pause *pause;     /* NULL: a run of one program */
	struct launch launch;
	int epoll_fd;        /* watches every event source but the listener */
	int listener_fd;     /* borrowed; -1: no task is left under the filter */
	int signal_fd;       /* signalfd of SIGCHLD */
	int timer_fd;        /* timerfd of the next deadline */
	uint64_t timer_expiry_ns;   /* when the timer expires; UINT64_MAX: the timer is not armed */
	uint64_t clock_last_read_ns;     /* what io_read_clock_ns() returned last */
	/* how many attempts in a row to find an event without waiting have failed */
	unsigned consecutive_empty_polls;
	/* turns of the loop that do not poll without waiting, until this is tried again */
	unsigned turns_until_polling_retry;
	bool run_has_ended;                   /* the program has ended, or the run is to end */
	bool program_was_reaped;         /* the program was reaped, and report->wait_status is set */
	/* The data of an epoll event: the address of a mark, or a struct task whose pidfd is watched. */
	char signal_mark, control_mark, limits_mark, network_mark, netlink_mark, timer_mark, session_mark,
		approver_mark;
};

/*
 * Blocks SIGCHLD, opens epoll_fd, signal_fd and timer_fd, and watches signals and timer. 0 or -errno; in both cases the
 * caller closes the descriptors.
 */
int loop_open_descriptors(struct supervisor *supervisor);
/* Watches fd for events of epoll_ctl(2). mark: the address of one of the *_mark members. 0 or -errno. */
int loop_watch_fd(const struct supervisor *supervisor, int fd, unsigned events, void *mark);
/* Handles events until the run has ended. */
void loop_run(struct supervisor *supervisor);

#endif
