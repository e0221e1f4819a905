/*
 * A run's own directory: ${TMPDIR:-/tmp}/callgate-UID/run-RUNID, 0700, locked as long as the run lives. What dead runs
 * left is recognised by their free locks and removed by the next run.
 */
#ifndef CALLGATE_KEEPER_SCRATCH_H
#define CALLGATE_KEEPER_SCRATCH_H

#include <stdbool.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "policy/policy.h"

#define SCRATCH_ID_SIZE 17 /* 16 random hexadecimal digits: each log line repeats the first 8 */
#define SCRATCH_INSIDE 4

/* A directory inside, as it was before the program could touch it. */
struct scratch_mark {
	struct stat st;
	ssize_t attributes; /* the size of their list */
	bool set;
};

struct scratch {
	char id[SCRATCH_ID_SIZE]; /* also the run_id of the result and the log */
	char *base;               /* canonical host path of the directory of all runs */
	char *path;               /* base/run-id */
	char *notice;             /* NULL, or that and why the base has another name than usual: to be told once */
	int base_fd;
	int fd; /* flock-ed; children inherit it, so the lock lasts as long as any process of callgate's */
	bool may_stay;   /* if nothing was done to it, for the next run */
	bool ended_well; /* the run's end, with all its processes, was reported; else it does not stay */
	struct scratch_mark mark[SCRATCH_INSIDE];
};

/*
 * Makes the directory, or takes the one that an earlier run has left as it was made. The base is a directory of ours
 * that nobody else can enter: where another user has its name, another one (`notice`). 0, or -errno with a message.
 * scratch_remove releases.
 */
int scratch_begin(struct scratch *ret_scratch, struct policy_error *ret_error);

/* Makes work, tmp and shm in it, unless they came with it; only who uses them has to wait for that. 0 or -errno. */
int scratch_furnish(struct scratch *scratch);

/* Makes another one, open to all as /tmp is; failing shows when it is used. */
void scratch_add(struct scratch *scratch, const char *name);

/* Removes dead runs' directories, for at most about half a second. */
void scratch_sweep(const struct scratch *scratch);

/* All three, with a directory that was made anew and does not stay. */
int scratch_create(struct scratch *ret_scratch, struct policy_error *ret_error);

/*
 * Moves a file of the run's directory to where it outlives the run: base/results, whose files later runs remove
 * after a week. Returns its host path, owned by the caller, or NULL with errno.
 */
char *scratch_keep(const struct scratch *scratch, const char *name);

/*
 * Makes room for another view in the same directory: what an earlier one made of its own goes, the rest stays. 0 or
 * -errno.
 */
int scratch_renew(const struct scratch *scratch);

/*
 * A part of scratch_remove() that takes no time to speak of and that no result needs, to be done while something else
 * is waited for: what callgate made of its own, and directories where the program left nothing. Not between the phases
 * of a run. `all`: the workdir as well, and with it the whole, if there is nothing in it; or the whole stays for the
 * next run.
 */
void scratch_remove_early(const struct scratch *scratch, bool all);

/*
 * Removes the directory, or leaves it to the next run if nothing was done to it, and the base when nothing else is in
 * it, and releases everything. 0 or -errno of the removal.
 */
int scratch_remove(struct scratch *scratch);

#endif
