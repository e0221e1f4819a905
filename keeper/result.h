/* The JSON result of a run: see "Result" in callgate(1). */
#ifndef CALLGATE_KEEPER_RESULT_H
#define CALLGATE_KEEPER_RESULT_H

#include <jansson.h>

#include "keeper/run.h"

#define RESULT_SCHEMA "callgate-result/1"

/* The result of a run; owned; NULL: no memory. Output past its limit or not UTF-8 is in a file (scratch_keep_file). */
json_t *result_make_json(const struct keeper_options *options, struct keeper_outcome *outcome);

/* The result of a run that never began. run_id may be NULL. Owned by the caller; NULL: no memory. */
json_t *result_make_error(const char *run_id, int exit_code, const char *code, const char *message);

/* Sets an error that came after the run, such as a failure of --output: exit_code 125 and status "error". */
void result_set_error(json_t *result, const char *code, const char *message);

/* Write the first and the last line to the descriptor of --status-fd. 0 or -errno. */
int result_write_start_line(int fd, const char *run_id, pid_t keeper);
int result_write_end_line(int fd, const json_t *result);

#endif
