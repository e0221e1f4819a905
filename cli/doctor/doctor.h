/* Declarations shared by the source files of `callgate doctor`. */
#ifndef CALLGATE_CLI_DOCTOR_DOCTOR_H
#define CALLGATE_CLI_DOCTOR_DOCTOR_H

#include <jansson.h>

#include "doctor/examine.h"

/* The outcome of one real run of true(1) under the profile minimal. */
struct doctor_run {
	bool run_was_tried;       /* false: there was no run, and `message` says why */
	bool has_succeeded;       /* the program ended with exit status 0 */
	unsigned active_layers;   /* LAYER_BITs that the run had */
	json_t *result;    /* the run's result (callgate run --json); owned; NULL: none */
	char message[600]; /* why the run failed or was not tried, one line */
};

/* Runs true(1) under callgate. Takes a few seconds at most. */
void doctor_try_run(struct doctor_run *ret_run);

/* The reason that the run's result gives for having or lacking a layer; NULL: it gives none. Borrows. */
const char *doctor_run_get_layer_reason(const struct doctor_run *run, enum layer layer);

/*
 * Advice on how to get what is missing on this machine: a list of {"for": [probe names], "title", "text"}. Owned by the
 * caller; NULL: no memory.
 */
json_t *doctor_make_advice(const struct doctor *doctor);

#endif
