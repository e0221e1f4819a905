/* The state of a run in the keeper. Included by the keeper's files only. */
#ifndef CALLGATE_KEEPER_PRIVATE_H
#define CALLGATE_KEEPER_PRIVATE_H

#include "keeper/run.h"
#include "keeper/stdin-relay.h"
#include "keeper/terminal.h"
#include "supervisor/gateway/start.h"
#include "supervisor/supervise.h"

#define KEEPER_KILL_TIMEOUT_MS 10000

struct keeper {
	const struct keeper_options *options;
	struct keeper_outcome *outcome;
	struct stdin_relay input;
	struct terminal terminal;
	struct egress_side egress;
	bool egress_failed; /* egress ended without being told to; egress_status says how */
	int egress_status;
	struct cgroup *cgroup; /* owned; NULL: none */
	pid_t supervisor_pid;
	int supervisor_pidfd;
	int supervisor_status; /* of waitpid(2) */
	int control_fd;        /* the keeper's end of a socket pair with the supervisor */
	int report_fd;         /* memfd */
	struct run_counters *counters; /* page shared with the supervisor */
	int signal_fd;
	uint64_t start_ns;
	uint64_t until_ns;           /* the run's time limit; 0: none */
	uint64_t kill_tree_ns;       /* when the keeper kills the supervisor's descendants; 0: not told to end yet */
	uint64_t kill_supervisor_ns; /* when the keeper kills the supervisor; 0: not told to end yet */
	unsigned asked;        /* why the program was asked to end: RUN_END_TIMEOUT or a signal number; 0: it was not */
	uint64_t asked_ns;     /* when */
	uint64_t ask_until_ns; /* when the run is ended all the same; 0: not asked, or that is done */
	unsigned end;  /* why the run was told to end: RUN_END_* or a signal number */
	bool batch;    /* the keeper is SCHED_BATCH until it has dropped its privileges */
	bool reported; /* the supervisor has written its report, or never will */
	json_t *early; /* the report, read before the supervisor exits; used only if the exit status is 0 */
	bool exited;   /* the supervisor has exited, and its process tree is dead */
	char last_shown; /* the last byte forwarded to stderr */
	bool status_shown; /* the status line is on the terminal: options->status_line */
	uint64_t status_next_ns;
};

/*
 * Makes the pipes or the terminal, and forks the supervisor. 0, or -errno with *ret_step, what failed (static). The
 * supervisor may be dead already. keeper_run_program releases what was made in both cases.
 */
int keeper_prepare_and_fork(struct keeper *keeper, const char **ret_step);

/* Returns when the supervisor has exited and all output is forwarded. */
void keeper_run_loop(struct keeper *keeper);

/* Reads the supervisor's report. Owned by the caller; NULL: none. */
json_t *keeper_read_report(const struct keeper *keeper);

/* Fills the outcome from the supervisor's report, or from how it died. */
void keeper_judge_outcome(struct keeper *keeper);

/* Sets the message of a run that did not begin: `step` failed with -errno. */
void keeper_explain_failure(struct keeper_outcome *outcome, const char *step, int error);

#endif
