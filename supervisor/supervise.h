/* The supervisor process: receives, dispatches, reaps, until the program ends; then kills what is left of its tree. */
#ifndef CALLGATE_SUPERVISOR_SUPERVISE_H
#define CALLGATE_SUPERVISOR_SUPERVISE_H

#include <stdint.h>
#include <sys/resource.h>

#include "supervisor/launch.h"
#include "supervisor/redirects.h"
#include "syscalls/call.h"

/* For the keeper's status line: a page shared with it. */
struct run_counters {
	volatile uint64_t judged, denied;
};

struct supervise_options {
	struct launch_options launch;
	const struct policy *policy;
	struct view *view;
	struct audit *audit;
	struct run_counters *counters; /* may be NULL */
	int control_fd; /* readable or hung up: the keeper wants the run ended (timeout, Ctrl-C) or is dead */
};

struct supervise_report {
	int start_error; /* errno when the program never ran; 0 otherwise */
	enum launch_step start_step;
	int wait_status; /* of the program */
	uint64_t judged, allowed, denied;
	uint64_t *by_row; /* owned; indexed as table_rows(): judged calls */
	unsigned processes;
	struct rusage usage; /* RUSAGE_CHILDREN */
	struct changes *changes; /* owned by the report */
	struct denials *denials; /* owned by the report */
	struct redirects redirects; /* borrow from the view */
};

/* 0 with a report (also when the program could not start), or -errno when supervision itself failed. */
int supervise(const struct supervise_options *options, struct supervise_report *ret_report);
void supervise_report_done(struct supervise_report *report);

#endif
