/* Shared by the files of scratch only. */
#ifndef CALLGATE_KEEPER_SCRATCH_PRIVATE_H
#define CALLGATE_KEEPER_SCRATCH_PRIVATE_H

#include "keeper/scratch.h"

/* Makes a directory with this mode, whatever the umask. 0 or -errno. */
int scratch_make_dir(int dirfd, const char *name, mode_t mode);

/* Opens a directory. A descriptor owned by the caller, or -errno. */
int scratch_open_dir(int dirfd, const char *name);

/*
 * scratch-base.c: finds or makes the directory of all runs. 0 with base, base_fd and perhaps notice set; -ENOENT: try
 * again; or -errno with a message. scratch_remove_run releases what is set.
 */
int scratch_open_base(struct scratch *scratch, struct policy_error *ret_error);

/* The name of the run's directory in the base. */
const char *scratch_get_run_name(const struct scratch *scratch);

/* True when an earlier run's directory was renamed to this run's; scratch->fd is open then. */
bool scratch_take_spare(struct scratch *scratch);

/* True when everything in the directory is as it was made, so that the next run may have it. */
bool scratch_is_unchanged(const struct scratch *scratch);

/* Renames the run's directory for the next run. False: an unchanged one is there already. */
bool scratch_leave_as_spare(const struct scratch *scratch);

#endif
