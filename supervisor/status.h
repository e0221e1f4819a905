/* How a run ended: for the result, the exit status and the log's trailer. Used by keeper and supervisor. */
#ifndef CALLGATE_SUPERVISOR_STATUS_H
#define CALLGATE_SUPERVISOR_STATUS_H

#include <stdbool.h>

#include "supervisor/supervise.h"

enum run_status {
	RUN_OK,      /* the program exited with 0 */
	RUN_FAILED,  /* the program exited with another status, or by a signal that was not callgate's */
	RUN_DENIED,  /* the start was refused, or the exit was not 0 and calls were denied */
	RUN_TIMEOUT, /* the wall-clock limit ended the run */
	RUN_LIMIT,   /* another limit ended the run */
	RUN_KILLED,  /* a signal to callgate ended the run */
	RUN_REFUSED, /* not started: callgate inspect found in the program what the policy refuses */
	RUN_ERROR,   /* an error of callgate, or no such program */
	RUN_STATUS_MAX,
};

/* The name in the result and the log. Static. */
const char *run_status_get_name(enum run_status status);

enum run_exit {
	RUN_EXIT_TIMEOUT = 124, /* as timeout(1): the wall-clock limit ended the run */
	RUN_EXIT_LIMIT = 137,   /* as after SIGKILL: another limit ended the run */
	RUN_EXIT_ERROR = 125,   /* an error of callgate itself */
	RUN_EXIT_REFUSED = 126, /* the policy denies to start the program */
	RUN_EXIT_NOT_FOUND = 127
};

/* Why the keeper ended a run: the byte that it writes to the control pipe, one of these or a signal's number. */
#define RUN_END_NOT_ORDERED 0    /* the keeper did not end the run */
#define RUN_END_TIMEOUT 255      /* the wall-clock limit was reached */
#define RUN_END_OUTPUT_LIMIT 254 /* there is no room for more output */

/*
 * Further bytes of the control pipe: RUN_BYTE_ASK_TO_END plus a signal's number, or RUN_BYTE_ASK_TO_END_TIMEOUT, which
 * passes SIGTERM on.
 */
#define RUN_BYTE_ASK_TO_END 128
/* asks the program to end, by SIGTERM, because of its time limit */
#define RUN_BYTE_ASK_TO_END_TIMEOUT RUN_BYTE_ASK_TO_END

/* How the run or a program of a session ended. */
struct run_ending {
	enum run_status status;
	int exit_code; /* callgate's exit status; 128+n for signal n */
	int signal;    /* the signal that ended the program or callgate; 0: no signal */
};

/*
 * Decides how the run ended. end: RUN_END_*, or the signal that callgate got. asked, limit: asked_to_end_reason and
 * ended_by of struct supervise_report. wait_status: the program's.
 */
struct run_ending run_ending_make(unsigned end, unsigned asked, enum limit_kind limit, int wait_status, bool denials);

#endif
