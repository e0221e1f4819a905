/* The summary of a run on stderr, after its forwarded output. */
#ifndef CALLGATE_KEEPER_SUMMARY_H
#define CALLGATE_KEEPER_SUMMARY_H

#include <jansson.h>
#include <stdio.h>

enum summary_events {
	SUMMARY_NONE,
	SUMMARY_SUMMARY, /* how many calls were denied, and the first few */
	SUMMARY_BLOCKED, /* every distinct denial */
	SUMMARY_ALL,     /* redirects, changes and counts as well */
};

/* Prints from a result (result.h). Control characters in paths are escaped. */
void summary_print_result(FILE *out, const json_t *result, enum summary_events events);

#endif
