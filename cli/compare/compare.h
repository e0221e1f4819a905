/* What the files of `callgate compare` share. */
#ifndef CALLGATE_CLI_COMPARE_COMPARE_H
#define CALLGATE_CLI_COMPARE_COMPARE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#include "cli/compare/trail.h"

/* One policy's run. */
struct compared {
	const char *policy; /* as on the command line */
	char *dir;          /* owned; of the run */
	json_t *result;     /* owned; of callgate run --json */
	struct trail trail;
};

/*
 * How the other run differs from the first: first_verdict, first_outcome, calls, processes, output, changes, status.
 * Owned by the caller; NULL: no memory. callgate(1) describes it.
 */
json_t *compare_find_differences(const struct compared *first, const struct compared *other);

/* True when compare_find_differences found none. */
bool compare_found_nothing(const json_t *differences);

/* Prints the comparison of two runs for people. 0 or -errno. */
int compare_print_differences(FILE *out, const struct compared *first, const struct compared *other,
			      const json_t *differences);

#endif
