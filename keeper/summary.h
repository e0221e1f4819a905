/* The summary of a run, which is printed on stderr after the program's output. */
#ifndef CALLGATE_KEEPER_SUMMARY_H
#define CALLGATE_KEEPER_SUMMARY_H

#include <jansson.h>
#include <stdio.h>

enum summary_events {
	SUMMARY_NO_EVENTS,     /* the summary tells only how the run ended */
	SUMMARY_FIRST_DENIALS, /* how many calls were denied, and the first few */
	SUMMARY_ALL_DENIALS,   /* every distinct denial */
	SUMMARY_ALL_EVENTS,    /* redirects, changes and the number of calls as well */
};

/* Prints the summary of a result (result.h). Control characters in paths are escaped. */
void summary_print_result(FILE *out, const json_t *result, enum summary_events events);

#endif
