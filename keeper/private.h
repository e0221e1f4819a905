/* The state of a run in the keeper. Included by the keeper's files only. */
#ifndef CALLGATE_KEEPER_PRIVATE_H
#define CALLGATE_KEEPER_PRIVATE_H

#include "keeper/fork.h"
#include "keeper/run.h"
#include "keeper/statusline.h"
#include "supervisor/gateway/start.h"

#define KEEPER_KILL_TIMEOUT_MS 10000

struct keeper {
	const struct keeper_options *options;
	struct keeper_outcome *outcome;
	struct keeper_child child;
	struct keeper_streams streams;
	struct egress_side egress;
	bool egress_failed; /* it ended without being told to; egress_status says how */
	int egress_status;
	struct statusline line;
	int signal_fd;
	uint64_t start_ns;
	uint64_t kill_tree_ns;       /* when the keeper kills the supervisor's descendants; 0: not told to end yet */
	uint64_t kill_supervisor_ns; /* when it kills the supervisor; 0: the same */
	unsigned asked;        /* why the program was asked to end: RUN_END_TIMEOUT or a signal number; 0: it was not */
	uint64_t asked_ns;     /* when */
	uint64_t ask_until_ns; /* when the run is ended all the same; 0: not asked, or that is done */
	unsigned end;  /* why the run was told to end: RUN_END_* or a signal number */
	bool reported; /* the supervisor has written its report, or never will */
	json_t *early; /* that report, read before the supervisor exits; used only if its exit status is 0 */
	bool exited;   /* the supervisor has exited, and its process tree is dead */
	int supervisor_status;
	char last_shown; /* the last byte forwarded to stderr */
};

/* Returns when the supervisor has exited and all output is forwarded. */
void keeper_loop(struct keeper *keeper);

/* Reads the supervisor's report. Owned by the caller; NULL: none. */
json_t *keeper_read_report(const struct keeper *keeper);

/* Fills the outcome from the supervisor's report, or from how it died. */
void keeper_judge(struct keeper *keeper);

/* Sets the message of a run that did not begin: `step` failed with -errno. */
void keeper_explain(struct keeper_outcome *outcome, const char *step, int error);

#endif
