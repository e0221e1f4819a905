/* Shared by the keeper's own files only. */
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
	bool egress_failed; /* it ended otherwise than by being told to, with egress_status */
	int egress_status;
	struct statusline line;
	int signal_fd;
	uint64_t start_ns;
	uint64_t help_ns;     /* when what is below the supervisor is killed from here; 0: not told to end yet */
	uint64_t patience_ns; /* when the supervisor is killed */
	unsigned end;         /* RUN_END_* or a signal's number */
	bool reported;        /* the supervisor has, or never will */
	json_t *early;        /* its report, read while it ends; counts only if it ends well */
	bool exited;          /* the supervisor has, and its tree is dead */
	int supervisor_status;
	char last_shown; /* on stderr */
};

/* Until the supervisor has ended and its output is out. */
void keeper_loop(struct keeper *keeper);

/* Reads the report. NULL: there is none. Owned by the caller. */
json_t *keeper_read_report(const struct keeper *keeper);

/* Fills the outcome when the supervisor has ended: from its report, or from how it died. */
void keeper_judge(struct keeper *keeper);

/* The message of a run that did not begin: `step` failed with -errno. */
void keeper_explain(struct keeper_outcome *outcome, const char *step, int error);

#endif
