/* The supervisor process: receives, dispatches, reaps, until the program ends; then kills what is left of its tree. */
#ifndef CALLGATE_SUPERVISOR_SUPERVISE_H
#define CALLGATE_SUPERVISOR_SUPERVISE_H

#include <stdint.h>
#include <sys/resource.h>

#include "base/sha256.h"
#include "confine/namespaces.h"
#include "supervisor/gateway/network.h"
#include "supervisor/launch.h"
#include "supervisor/limits/limits.h"
#include "supervisor/redirects.h"
#include "syscalls/call/call.h"

/* A page shared with the keeper: the policy's digest, its status line, what each of the two adds to the disk. */
struct run_counters {
	char policy_sha256[SHA256_HEX_SIZE]; /* for the log; the keeper writes it, then `sealed` */
	bool sealed;
	volatile uint64_t judged, denied;
	volatile uint64_t disk_bytes;    /* the run, when there is a limit; the supervisor writes it */
	volatile uint64_t spilled_bytes; /* output past its limit; the keeper writes it */
};

struct supervise_options {
	struct launch_options launch;
	unsigned traits; /* enum run_trait, as launch.filter was built */
	const struct policy *policy;
	struct view *view;
	struct audit *audit;
	int scratch_fd; /* the run's own directory: where its unix sockets are bound */
	struct run_counters *counters; /* may be NULL */
	struct cgroup *cgroup;         /* what launch.cgroup_fd leads to; NULL: none */
	struct namespaces *namespaces; /* entered; settled when the keeper can no longer disturb the start */
	bool self_filter;               /* the supervisor puts itself under selffilter.h */
	bool judge_forks, judge_memory, private_ipc; /* as the filter was built */
	bool signals_bounded;           /* see struct sandbox */
	struct egress_side *egress;       /* NULL: there is no network. Its control_fd is taken */
	const struct egress_guest *guest; /* … else what egress listens at */
	int host_proc_fd, host_pidns_fd; /* see tree_set_host; -1: none */
	/*
	 * A byte each: SIGTSTP stops the program's group (by SIGSTOP: it is an orphaned one, which SIGTSTP does not
	 * stop), SIGCONT continues it; anything else, and the hang-up when the keeper is dead, ends the run: see
	 * run_ending().
	 */
	int control_fd;
};

struct supervise_report {
	int start_error; /* errno when the program never ran; 0 otherwise */
	enum launch_step start_step;
	int wait_status; /* of the program */
	unsigned end;    /* the byte that ended the run; SIGKILL: the keeper died; 0: the program ended by itself */
	uint64_t judged, allowed, denied, expected; /* expected: see struct dispatch */
	uint64_t restarted, interrupted; /* see struct interrupted: restarted, left */
	uint64_t *by_row; /* owned; indexed as table_rows(): judged calls */
	unsigned processes;
	struct rusage usage; /* RUSAGE_CHILDREN */
	struct limit_meter limit[LIMIT_MAX];
	enum limit_kind ended_by; /* the limit that ended the run, or LIMIT_MAX */
	struct changes *changes; /* owned by the report */
	struct denials *denials; /* owned by the report */
	struct redirects redirects; /* borrow from the view */
	struct network_report network; /* owned by the report */
};

/* 0 with a report (also when the program could not start), or -errno when supervision itself failed. */
int supervise(const struct supervise_options *options, struct supervise_report *ret_report);
/* The next byte of a control_fd that is readable or hung up. */
unsigned supervise_read_control(int control_fd);
void supervise_report_done(struct supervise_report *report);

#endif
