/* Between scratch.c and scratch-inside.c. */
#ifndef CALLGATE_KEEPER_SCRATCH_PRIVATE_H
#define CALLGATE_KEEPER_SCRATCH_PRIVATE_H

#include "keeper/scratch.h"

/* 0 or -errno. The caller's umask has no say in it. */
int scratch_make_dir(int dirfd, const char *name, mode_t mode);

/* A descriptor owned by the caller, or -errno. */
int scratch_open_dir(int dirfd, const char *name);

/*
 * scratch-base.c: finds or makes the directory of all runs. 0 with base, base_fd and perhaps notice set; -ENOENT:
 * again; or -errno with a message. What is set is scratch_remove's.
 */
int scratch_open_base(struct scratch *scratch, struct policy_error *ret_error);

/* In the base. */
const char *scratch_run_name(const struct scratch *scratch);

/* Whether an earlier run's directory is this one's now; scratch->fd is open then. */
bool scratch_take_spare(struct scratch *scratch);

/* Whether the directory may be another run's: all in it is as it was made. */
bool scratch_untouched(const struct scratch *scratch);

/* Leaves it, untouched, to the next run. False: there is such a directory already. */
bool scratch_give_back(const struct scratch *scratch);

#endif
