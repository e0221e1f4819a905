/* The one JSON result of a run: see "Result" in callgate(1). */
#ifndef CALLGATE_KEEPER_RESULT_H
#define CALLGATE_KEEPER_RESULT_H

#include <jansson.h>

#include "keeper/run.h"

#define RESULT_SCHEMA "callgate-result/1"

/* The result of a run; NULL: no memory. Output past its limit or not UTF-8 stays in a file (scratch_keep_file). */
json_t *result_make_json(const struct keeper_options *options, struct keeper_outcome *outcome);

/* The result of a run that never began. run_id may be NULL. Owned by the caller; NULL: no memory. */
json_t *result_make_error(const char *run_id, int exit_code, const char *code, const char *message);

/* Sets the error of a result after the run, say when --output failed: exit_code 125, status "error". */
void result_set_error(json_t *result, const char *code, const char *message);

/* Lines for --status-fd. 0 or -errno. */
int result_write_start_line(int fd, const char *run_id, pid_t keeper);
int result_write_end_line(int fd, const json_t *result);

#endif
