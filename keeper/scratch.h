/*
 * A run's own directory: ${TMPDIR:-/tmp}/callgate-UID/run-ID, mode 0700, flock(2)-ed as long as the run lives. A run
 * whose lock is free is dead; the next run removes its directory.
 */
#ifndef CALLGATE_KEEPER_SCRATCH_H
#define CALLGATE_KEEPER_SCRATCH_H

#include <stdbool.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "policy/policy.h"

#define SCRATCH_ID_SIZE 17 /* 16 random hexadecimal digits: each log line repeats the first 8 */
#define SCRATCH_INSIDE 4

/* State of a subdirectory before the program could change it. */
struct scratch_mark {
	struct stat st;
	ssize_t attributes; /* size of its list of extended attributes */
	bool set;
};

struct scratch {
	char id[SCRATCH_ID_SIZE]; /* also the run_id of the result and the log */
	char *base;               /* canonical host path of the directory of all runs */
	char *path;               /* base/run-ID */
	char *notice;             /* NULL, or why the base has another name than usual: to be reported once */
	int base_fd;
	int fd;          /* holds the lock. Children inherit it, so it is held until the last of them has ended */
	bool reusable;   /* may be left to the next run when unchanged */
	bool ended_well; /* set by the caller when all processes of the run have ended; otherwise it is not reused */
	struct scratch_mark mark[SCRATCH_INSIDE];
};

/*
 * Makes the run's directory, or takes an unchanged one of an earlier run. Only this user can enter the base; `notice`
 * says if it has an unusual name. 0, or -errno with a message. Release with scratch_remove_run.
 */
int scratch_begin_run(struct scratch *ret_scratch, struct policy_error *ret_error);

/* Makes work, tmp and shm in the run's directory, where missing. Separate, so that the supervisor starts meanwhile. */
int scratch_make_dirs(struct scratch *scratch);

/* Makes another directory in the run's directory, with the mode of /tmp. On failure, opening it will fail. */
void scratch_add_dir(struct scratch *scratch, const char *name);

/* Removes dead runs' directories, for about half a second at most, and results older than a week. */
void scratch_sweep_base(const struct scratch *scratch);

/* scratch_begin_run, scratch_sweep_base and scratch_make_dirs, with a new directory that will not be reused. */
int scratch_create(struct scratch *ret_scratch, struct policy_error *ret_error);

/* Moves a file of the run's directory to base/results, where it stays. Its owned host path, or NULL with errno. */
char *scratch_keep_file(const struct scratch *scratch, const char *name);

/* Between the phases of a run: removes the directories that an earlier view made. 0 or -errno. */
int scratch_remove_view(const struct scratch *scratch);

/*
 * Does a quick part of scratch_remove_run() before the result is complete: removes callgate's own directories and those
 * that the program left empty. Not between the phases of a run. all: also the workdir and the run's directory if they
 * are empty; or leaves an unchanged one to the next run.
 */
void scratch_remove_empty_dirs(const struct scratch *scratch, bool all);

/* Removes the directory, or leaves an unchanged one to the next run; removes an empty base. Frees. 0 or -errno. */
int scratch_remove_run(struct scratch *scratch);

#endif
