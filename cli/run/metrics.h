/*
 * The text of --metrics: the result of a run in the OpenMetrics format, which node_exporter's textfile collector reads.
 */
#ifndef CALLGATE_CLI_RUN_METRICS_H
#define CALLGATE_CLI_RUN_METRICS_H

#include <jansson.h>

/* The metrics of a result (result.h). end_time: seconds since the epoch. Owned by the caller; NULL: no memory. */
char *metrics_make_text(const json_t *result, double end_time);

#endif
