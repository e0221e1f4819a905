/* The state of a run in the keeper. Included by the keeper's files only. */
#ifndef CALLGATE_KEEPER_PRIVATE_H
#define CALLGATE_KEEPER_PRIVATE_H

#include "base/signing.h"
#include "keeper/run.h"
#include "keeper/stdin-relay.h"
#include "keeper/terminal.h"
#include "supervisor/gateway/start.h"
#include "supervisor/supervise.h"

#define KEEPER_KILL_TREE_TIMEOUT_MS 10000 /* how long the keeper kills the run's processes until all are dead */

/* The state of the keeper process during a run. */
struct keeper {
	const struct keeper_options *options;
	struct keeper_outcome *outcome;
	struct stdin_relay stdin_relay; /* moves the keeper's stdin to the program */
	struct terminal terminal;       /* with a terminal for the program: --tty */
	struct egress_process egress;
	bool egress_failed; /* egress ended without having been told to */
	int egress_wait_status; /* of waitpid(2), when egress has ended */
	struct cgroup *cgroup; /* the run's control group; owned; NULL: none */
	pid_t supervisor_pid;
	int supervisor_pidfd;
	int supervisor_wait_status; /* wait status, from waitpid(2) */
	pid_t acls_pid;             /* acls.h; used while acls_pidfd is open */
	int acls_pidfd;             /* -1: there is no such process, or it was reaped */
	int control_fd;        /* the keeper's end of a socket pair with the supervisor */
	int report_fd;         /* a memfd to which the supervisor writes its report */
	struct run_shared_page *shared_page; /* a page shared with the supervisor, for progress and notices */
	int signal_fd;                       /* signalfd of the signals that the keeper handles */
	bool unreadable_answer_was_printed;  /* the notice of an unreadable answer file of --ask */
	uint64_t next_checkpoint_check_ns; /* when a checkpoint may be due; 0: never */
	uint64_t anchored_line_count;   /* number of lines in the last checkpoint */
	struct signing_key *key; /* signs the log; owned; NULL: there is no log. evidence.h */
	uint64_t start_ns;       /* when the run began */
	uint64_t time_limit_end_ns;           /* when the run's time limit ends; 0: no limit */
	uint64_t kill_tree_at_ns; /* when the supervisor's descendants are killed; 0: the run is not to end */
	uint64_t kill_supervisor_at_ns; /* when the supervisor is killed; 0: the run is not to end */
	/* why the program was asked to end: RUN_END_TIMEOUT or a signal number; 0: not asked */
	unsigned asked_to_end_reason;
	uint64_t asked_to_end_ns;     /* when the program was asked to end */
	uint64_t grace_end_ns; /* when the grace time ends; 0: the program was not asked to end, or it has ended */
	unsigned end_reason;   /* why the supervisor was told to end the run: RUN_END_* or a signal number */
	bool has_sched_batch_policy;    /* the keeper has SCHED_BATCH, until it has dropped its privileges */
	bool report_was_written; /* the supervisor has written its report, or died before */
	/* owned: the report, read before the supervisor exits; used only if its exit status is 0 */
	json_t *report_before_exit;
	bool supervisor_has_exited;   /* the supervisor has exited, and its process tree is dead */
	struct progress {
		/* when the next status line and the next line of JSON are due; UINT64_MAX: never */
		uint64_t line_ns, json_ns;
		bool output_ends_with_newline; /* the output on the terminal ends with a newline */
		bool line_is_shown;        /* the status line is on the terminal */
	} progress; /* progress.h */
	uint64_t printed_stopped_process_count; /* how many processes of run_shared_page.stop were reported on stderr */
};

/*
 * Creates the pipes or the terminal, and forks the supervisor. 0, or -errno with the failed step in *ret_step (static).
 * The supervisor may be dead already. keeper_run_program releases everything in both cases.
 */
int keeper_prepare_and_fork(struct keeper *keeper, const char **ret_step);

/* Runs until the supervisor has exited and all output is forwarded. */
void keeper_run_loop(struct keeper *keeper);

/* Reads the supervisor's report. Owned by the caller; NULL: there is none, or it is damaged. */
json_t *keeper_read_report(const struct keeper *keeper);

/* Fills keeper->outcome from the supervisor's report, or from how the supervisor died. */
void keeper_determine_outcome(struct keeper *keeper);

/* Sets the message for a run that did not begin, because `step` failed with -errno. */
void keeper_explain_failure(struct keeper_outcome *outcome, const char *step, int error);

#endif
