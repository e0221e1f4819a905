/*
 * Runs the program under supervision: launches it, handles events (loop.c) until it has ended, kills what is left of
 * its process tree and reports. Called once by process.c in the supervisor process.
 */
#ifndef CALLGATE_SUPERVISOR_SUPERVISE_H
#define CALLGATE_SUPERVISOR_SUPERVISE_H

#include <stdint.h>
#include <sys/resource.h>

#include "supervisor/dispatch.h"
#include "supervisor/gateway/client.h"
#include "supervisor/launch.h"
#include "supervisor/limits/limits.h"
#include "supervisor/process.h"

struct supervise_options {
	struct launch_options launch;
	const struct process_options *process;
	unsigned traits; /* enum run_trait, with which launch.filter was built */
	struct view *view;
	struct audit *audit;
	const struct egress_guest *guest; /* with a network: the sockets that egress listens on */
};

struct supervise_report {
	int start_error; /* errno; 0: the program ran */
	enum launch_step start_step;
	int wait_status; /* of the program */
	unsigned end;    /* the byte of control_fd that ended the run; SIGKILL: the keeper died; 0: neither */
	unsigned asked;  /* why the program was asked to end: RUN_END_TIMEOUT or the signal sent; 0: neither */
	struct call_counts calls; /* borrow from the view */
	uint64_t restarted, interrupted; /* struct interrupted: restarted, left */
	unsigned processes;
	struct rusage usage; /* RUSAGE_CHILDREN */
	struct limit_meter limit[LIMIT_MAX];
	enum limit_kind ended_by; /* the limit that ended the run, or LIMIT_MAX */
	struct changes *changes; /* owned by the report */
	struct denials *denials; /* owned by the report */
	struct network_report network; /* owned by the report */
};

/* Returns 0 with a report, also when the program could not be started; -errno when supervision itself failed. */
int supervise(const struct supervise_options *options, struct supervise_report *ret_report);
/* Reads the next byte of a control_fd that poll(2) reports; SIGKILL after a hang-up. */
unsigned supervise_read_control(int control_fd);
void supervise_report_release(struct supervise_report *report);

#endif
