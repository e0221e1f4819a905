/* What the program has read of a workspace's directory, and what of that was changed outside since. */
#ifndef CALLGATE_WORKSPACE_READS_H
#define CALLGATE_WORKSPACE_READS_H

#include <stdbool.h>

#include "workspace/layer.h"

/*
 * reads_dir_fd: the directory of the workspace's own layer, also when `layer` is a checkpoint of it.
 * Calls visit for each file that the program has read (syscalls/account/reads.h), has not changed itself, and that was
 * changed outside since; is_removed: it is not there any more. *ret_more: the program has read more files than were
 * noted. 0, -errno, or the result of visit when that is not 0.
 */
int workspace_reads_visit_stale(const struct workspace_layer *layer, int reads_dir_fd,
				int (*visit)(void *ctx, const char *path, bool is_removed), void *ctx, bool *ret_more);

#endif
