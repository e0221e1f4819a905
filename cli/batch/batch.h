/*
 * Runs of `callgate run` that callgate itself starts, each in a directory of its own and in its own copy of a working
 * directory. For compare and experiment.
 */
#ifndef CALLGATE_CLI_BATCH_BATCH_H
#define CALLGATE_CLI_BATCH_BATCH_H

#include <jansson.h>
#include <sys/types.h>

/* Names of the files in a run's directory. */
#define BATCH_WORKDIR "workdir"       /* the copy of the working directory, as the program left it */
#define BATCH_LOG_FILE "audit.jsonl"       /* the run's audit log */
#define BATCH_RESULT_FILE "result.json"    /* the result, in the form of callgate run --json */
#define BATCH_MESSAGES_FILE "messages.txt" /* callgate's own messages */

/* What a run of a batch, such as a cell of an experiment, is started with. */
struct batch_run {
	const char *dir;            /* the run's directory, which exists and is empty */
	const char *workdir;        /* working directory to copy into `dir`; NULL: the program starts in an empty one */
	const char *const *options; /* options of callgate run; NULL-ended */
	const char *const *program; /* the program and its arguments; NULL-ended */
	const char *stdin_path;          /* file for the program's standard input; NULL: it is empty */
};

/*
 * Starts a run. Its process copies the working directory, with cp(1), and becomes callgate run. Returns its pid, which
 * the caller waits for, or -errno.
 */
pid_t batch_start_run(const struct batch_run *run);

/* Reads BATCH_RESULT_FILE in a run's directory. Owned by the caller; NULL: callgate failed before it wrote a result. */
json_t *batch_read_result(const char *dir);

/* Prints callgate's own messages (BATCH_MESSAGES_FILE) of a run that has no result. */
void batch_print_messages(const char *verb, const char *dir);

/* Creates a directory for runs below $TMPDIR or /tmp. Owned by the caller; NULL with a message printed. */
char *batch_make_temporary_dir(const char *verb);

#endif
