/* Declarations shared by scratch.c, scratch-base.c and scratch-inside.c. */
#ifndef CALLGATE_KEEPER_SCRATCH_PRIVATE_H
#define CALLGATE_KEEPER_SCRATCH_PRIVATE_H

#include "keeper/scratch.h"
#include "policy/parse/errors.h"

/* Creates a directory with exactly this mode, which the umask does not change. 0 or -errno. */
int scratch_make_dir(int dirfd, const char *name, mode_t mode);

/*
 * Finds or creates the directory of all runs. 0 with base_path, base_fd and perhaps base_name_notice set; -ENOENT: the
 * caller tries again; or -errno with a message. scratch_remove_run releases what is set.
 */
int scratch_open_base(struct scratch *scratch, struct policy_error *ret_error);

/* The name of the run's directory in the base. */
const char *scratch_get_run_name(const struct scratch *scratch);

/* Renames an earlier run's unchanged directory to this run's and sets scratch->fd. False: there is none to reuse. */
bool scratch_reuse_spare_dir(struct scratch *scratch);

/*
 * Removes the entries of scratch_remember_view_entry(), directories only if they are empty, and sets the times of the
 * directories in which they were.
 */
void scratch_remove_view_entries(const struct scratch *scratch);

/*
 * True when the run's directory and everything in it are as callgate created them, so that the next run may reuse the
 * directory.
 */
bool scratch_is_unchanged(const struct scratch *scratch);

/* Renames the run's directory for the next run. False: another run's directory is kept for the next run already. */
bool scratch_leave_as_spare(const struct scratch *scratch);

#endif
