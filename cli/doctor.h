/* The parts of `callgate doctor`. */
#ifndef CALLGATE_CLI_DOCTOR_H
#define CALLGATE_CLI_DOCTOR_H

#include <jansson.h>

#include "doctor/examine.h"

/* What one real run, of true under the profile minimal, ended with. doctor_run_done releases. */
struct doctor_run {
	bool tried;        /* false: `message` says why not */
	bool works;        /* the program ran and ended with 0 */
	unsigned active;   /* LAYER_BITs it had */
	json_t *result;    /* owned, may be NULL */
	char message[600]; /* what went wrong, one line */
};

/* Makes the run, within a few seconds whatever happens. */
void doctor_run(struct doctor_run *ret_run);
void doctor_run_done(struct doctor_run *run);

/* Why the run has a layer or not, in its own words; NULL: it does not say. Borrows. */
const char *doctor_run_why(const struct doctor_run *run, enum layer layer);

/*
 * What can be done about what is missing, only what applies: a list of {"for": [probe names], "title", "text"}. Owned
 * by the caller; NULL: no memory.
 */
json_t *doctor_advice(const struct doctor *doctor);

#endif
