/* Between scratch.c and scratch-inside.c. */
#ifndef CALLGATE_SUPERVISOR_SCRATCH_PRIVATE_H
#define CALLGATE_SUPERVISOR_SCRATCH_PRIVATE_H

#include "supervisor/scratch.h"

/* 0 or -errno. The caller's umask has no say in it. */
int scratch_make_dir(int dirfd, const char *name, mode_t mode);

/* A descriptor owned by the caller, or -errno. */
int scratch_open_dir(int dirfd, const char *name);

/* In the base. */
const char *scratch_run_name(const struct scratch *scratch);

/* Whether an earlier run's directory is this one's now; scratch->fd is open then. */
bool scratch_take_spare(struct scratch *scratch);

/* Whether the directory may be another run's: all in it is as it was made. */
bool scratch_untouched(const struct scratch *scratch);

/* Leaves it, untouched, to the next run. False: there is such a directory already. */
bool scratch_give_back(const struct scratch *scratch);

#endif
