/* What the run's life (supervise.c) and its loop (supervise-loop.c) share. */
#ifndef CALLGATE_SUPERVISOR_SUPERVISE_PRIVATE_H
#define CALLGATE_SUPERVISOR_SUPERVISE_PRIVATE_H

#include "supervisor/dispatch.h"
#include "supervisor/supervise.h"

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
	int alarm_fd;
	uint64_t alarm_ns; /* when it rings; UINT64_MAX: it is not set */
	uint64_t now_ns; /* when the clock was last looked at */
	unsigned misses; /* so often in a row nothing was there yet when it was looked for */
	unsigned skip;   /* so many turns it is not */
	bool ended;  /* the program is, or the keeper wants it to be */
	bool reaped; /* wait_status is known */
	/* Addresses that tell epoll's sources apart from tasks. */
	char signal_mark, control_mark, limits_mark, network_mark, alarm_mark;
};

/* SIGCHLD and SIGTERM are blocked and awaited from here on. 0 or -errno; the descriptors are the caller's to close. */
int supervise_open_events(struct supervisor *supervisor);
/* What it opened is watched from here on. 0 or -errno. */
int supervise_watch_events(struct supervisor *supervisor);
/* Has fd watched; mark is one of the addresses above. 0 or -errno. */
int supervise_watch(const struct supervisor *supervisor, int fd, void *mark);
/* Until the run has ended. */
void supervise_loop(struct supervisor *supervisor);

#endif
