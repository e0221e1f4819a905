/* The JSON result of a run: see "Result" in callgate(1). */
#ifndef CALLGATE_KEEPER_RESULT_H
#define CALLGATE_KEEPER_RESULT_H

#include <jansson.h>

#include "keeper/run.h"

#define RESULT_SCHEMA "callgate-result/1" /* version of the result's form, in its member "schema" */

/*
 * The result of a run; owned; NULL: no memory. Output past its limit or not UTF-8 is in a file
 * (scratch_move_file_to_results).
 */
json_t *result_make_json(const struct keeper_options *options, struct keeper_outcome *outcome);

/* The result of a run that never began. run_id may be NULL. Owned by the caller; NULL: no memory. */
json_t *result_make_error(const char *run_id, int exit_code, const char *code, const char *message);

/* Sets an error that came after the run, such as a failure of --output: exit_code 125 and status "error". */
void result_set_error(json_t *result, const char *code, const char *message);

/* How far a run is: a line of --status-fd while the run lasts. */
struct result_progress {
	const char *run_id;
	uint64_t duration_ms, memory_bytes, processes;
	uint64_t judged, denied; /* calls */
	uint64_t connection_count;    /* connections through egress that are open now */
	uint64_t network_denied_count; /* refusals by egress */
};

/* Write the first, a further and the last line to the descriptor of --status-fd. 0 or -errno. */
int result_write_progress_line(int fd, const struct result_progress *progress);
int result_write_start_line(int fd, const char *run_id, pid_t keeper);
int result_write_end_line(int fd, const json_t *result);

#endif
