/* Declarations shared by the source files of `callgate compare`. */
#ifndef CALLGATE_CLI_COMPARE_COMPARE_H
#define CALLGATE_CLI_COMPARE_COMPARE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#include "cli/compare/trail.h"

/* One run: the program under one policy. */
struct compared_run {
	const char *policy; /* the policy as the command line names it */
	char *dir;          /* directory of the run; owned */
	json_t *result;     /* result of callgate run --json; owned */
	struct trail trail;
};

/*
 * Describes how the run `other` differs from the run `first`: first_verdict, first_outcome, calls, processes, output,
 * changes, status. Owned by the caller; NULL: no memory. callgate(1) describes it.
 */
json_t *compare_find_differences(const struct compared_run *first, const struct compared_run *other);

/* True if compare_find_differences found no difference. */
bool compare_found_no_difference(const json_t *differences);

/* Prints the comparison of two runs as text. 0 or -errno. */
int compare_print_differences(FILE *out, const struct compared_run *first, const struct compared_run *other,
			      const json_t *differences);

#endif
