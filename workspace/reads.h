/* What the program has read of a workspace's directory, and what of that was changed outside since. */
#ifndef CALLGATE_WORKSPACE_READS_H
#define CALLGATE_WORKSPACE_READS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>
#include <time.h>

#include "workspace/layer.h"

/*
 * reads_dir_fd: the directory of the workspace's own layer, also when `layer` is a checkpoint of it.
 * Calls visit for each file that the program has read (syscalls/account/workspace/reads.h), has not changed itself, and
 * that was changed outside since; is_removed: it is not there any more. *ret_more: the program has read more files than
 * were noted. 0, -errno, or the result of visit when that is not 0.
 */
int workspace_reads_visit_stale(const struct workspace_layer *layer, int reads_dir_fd,
				int (*visit)(void *ctx, const char *path, bool is_removed), void *ctx, bool *ret_more);

/*
 * ---- an apply ----
 *
 * What callgate ws apply does to one name of a file sets the change time of the file, which may have other names. Of
 * those that the program has read, the notes get the new time: else the apply would look like a change outside.
 */

/* A file as it was before the apply. */
struct workspace_read_file {
	size_t at; /* its note in the text */
	ino_t inode;
	nlink_t nlink;
	mode_t mode;
	uid_t uid;
	gid_t gid;
	off_t size;
	struct timespec mtime, ctime;
};

/* Zero-initialise; workspace_reads_release() frees. */
struct workspace_reads {
	char *text; /* the notes; owned */
	size_t len;
	struct workspace_read_file *file; /* those that are as the program has read them; owned */
	size_t count;
};

/* Before the apply: keeps how the files are that the program has read. 0 or -errno. */
int workspace_reads_keep(const struct workspace_layer *layer, struct workspace_reads *ret_reads);

/* After it: notes the new change times. 0 or -errno. */
int workspace_reads_refresh(const struct workspace_layer *layer, struct workspace_reads *reads);
void workspace_reads_release(struct workspace_reads *reads);
#define _cleanup_workspace_reads_ __attribute__((cleanup(workspace_reads_release)))

#endif
