/*
 * Runs the program under supervision: launches it, handles events (loop.c) until it has ended, kills what is left of
 * its process tree and reports. Called once by process.c in the supervisor process.
 */
#ifndef CALLGATE_SUPERVISOR_SUPERVISE_H
#define CALLGATE_SUPERVISOR_SUPERVISE_H

#include <stdint.h>
#include <sys/resource.h>

#include "supervisor/ask/ask.h"
#include "supervisor/dispatch.h"
#include "supervisor/gateway/client.h"
#include "supervisor/launch.h"
#include "supervisor/limits/limits.h"
#include "supervisor/process.h"

/* What supervise() is given. */
struct supervise_options {
	struct launch_options launch;
	const struct process_options *process;
	unsigned traits; /* enum run_trait, with which launch.filter was built */
	struct view *view;
	const struct session_options *session; /* NULL: a run of one program */
	const struct asker_options *ask; /* NULL: no denial is asked about */
	struct audit *audit;
	const struct egress_program_sockets *program_sockets; /* with a network: the sockets that egress listens on */
};

/* What supervise() returns of the run, for the result. */
struct supervise_report {
	int start_error; /* errno of the start; 0: the program ran */
	enum launch_step start_step;
	int wait_status; /* of the program: waitpid(2) */
	/* the byte from the keeper that ended the run; SIGKILL: the keeper died; 0: neither */
	unsigned end_reason;
	unsigned asked_to_end_reason; /* why the program was asked to end: RUN_END_TIMEOUT or a signal; 0: it was not */
	struct call_counts calls; /* its redirects borrow from the view */
	/* calls that were restarted after a signal, and calls that could not be restarted */
	uint64_t restarted, interrupted;
	unsigned process_count; /* processes of the run that were seen */
	struct rusage rusage;   /* getrusage(2) of RUSAGE_CHILDREN: all processes of the run */
	struct limit_meter limit[LIMIT_MAX];
	enum limit_kind ended_by; /* the limit that ended the run, or LIMIT_MAX */
	struct changes *changes; /* owned by the report */
	struct denials *denials; /* owned by the report */
	struct decoys *decoys;   /* owned by the report */
	struct after_entries *after_entries;     /* owned by the report; NULL: the policy has no after_read */
	bool decoy_ended_run;    /* the reading of a decoy ended the run */
	bool answer_ended_run;   /* the answer "stop" to a question ended the run */
	struct network_report network; /* owned by the report */
	struct sink sink;              /* the sink, with the numbers of denials that it was sent */
};

/* Returns 0 with a report, even if the program could not be started; -errno if supervision failed. */
int supervise(const struct supervise_options *options, struct supervise_report *ret_report);
/* Reads the next byte of a control_fd that poll(2) reports; SIGKILL after a hang-up. */
unsigned supervise_read_keeper_order(int control_fd);
void supervise_report_release(struct supervise_report *report);

#endif
