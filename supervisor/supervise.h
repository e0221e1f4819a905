/*
 * Runs the program under supervision: launches it, handles events (loop.c) until it has ended, kills what is left of
 * its process tree and reports. Called once by process.c in the supervisor process.
 */
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

/* A page shared by keeper and supervisor: the policy's digest, counters for the status line, bytes on disk. */
struct run_counters {
	char policy_sha256[SHA256_HEX_SIZE]; /* for the log; written by the keeper before it sets `sealed` */
	bool sealed;
	volatile uint64_t judged, denied;
	volatile uint64_t disk_bytes;    /* of the run, when there is a limit. Written by the supervisor */
	volatile uint64_t spilled_bytes; /* of output beyond its limit. Written by the keeper */
};

struct supervise_options {
	struct launch_options launch;
	unsigned traits; /* enum run_trait, with which launch.filter was built */
	const struct policy *policy;
	struct view *view;
	struct audit *audit;
	int scratch_fd;                /* the run's scratch directory, for its unix sockets */
	struct run_counters *counters; /* may be NULL */
	struct cgroup *cgroup;         /* that launch.cgroup_fd belongs to; NULL: none */
	struct namespaces *namespaces; /* entered; namespaces_report_ready is called when the program is launched */
	bool self_filter;              /* install confine/selffilter.h */
	bool signals_bounded;          /* see struct sandbox */
	struct egress_side *egress;    /* NULL: no network. Its control_fd is taken */
	const struct egress_guest *guest; /* with egress: the sockets that it listens on */
	int host_proc_fd, host_pidns_fd;  /* see tree_set_host; -1: none */
	/*
	 * The keeper's orders, one byte each. SIGTSTP stops the program's process group, by SIGSTOP because SIGTSTP
	 * does not stop an orphaned group. SIGCONT continues it. RUN_ASK plus a signal's number sends that signal to
	 * the group, so that the program can end by itself. Any other byte ends the run (run_ending), and so does the
	 * hang-up when the keeper dies.
	 */
	int control_fd;
};

struct supervise_report {
	int start_error; /* errno; 0: the program ran */
	enum launch_step start_step;
	int wait_status; /* of the program */
	unsigned end;    /* the byte of control_fd that ended the run; SIGKILL: the keeper died; 0: neither */
	unsigned asked;  /* why the program was asked to end: RUN_END_TIMEOUT or the signal sent; 0: neither */
	uint64_t judged, allowed, denied, expected; /* as in struct dispatch */
	uint64_t restarted, interrupted; /* struct interrupted: restarted, left */
	uint64_t *by_row;                /* as in struct dispatch; owned */
	unsigned processes;
	struct rusage usage; /* RUSAGE_CHILDREN */
	struct limit_meter limit[LIMIT_MAX];
	enum limit_kind ended_by; /* the limit that ended the run, or LIMIT_MAX */
	struct changes *changes; /* owned by the report */
	struct denials *denials; /* owned by the report */
	struct redirects redirects; /* borrow from the view */
	struct network_report network; /* owned by the report */
};

/* 0 with a report, also when the program could not be started; -errno when supervision itself failed. */
int supervise(const struct supervise_options *options, struct supervise_report *ret_report);
/* The next byte of a control_fd that poll(2) reports; SIGKILL after a hang-up. */
unsigned supervise_read_control(int control_fd);
void supervise_report_done(struct supervise_report *report);

#endif
