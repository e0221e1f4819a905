/*
 * The store of workspaces: the directory "workspaces" in the directory of all runs of a user. A workspace is a
 * directory named by the id of its run. It has info.json, which says of which directory it is, and "0", in which the
 * overlay of the run has its layer: "0/upper". The run holds an flock(2) lock on it.
 */
#ifndef CALLGATE_WORKSPACE_STORE_H
#define CALLGATE_WORKSPACE_STORE_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#define WORKSPACE_ID_LEN 16 /* hexadecimal digits, those of the run's id */
#define WORKSPACE_DIR_NAME "workspaces"

/* A workspace of the store, as workspace_visit() tells it. */
struct workspace {
	char id[WORKSPACE_ID_LEN + 1];
	char dir[PATH_MAX]; /* canonical host path of the directory that the run was started in */
	uint64_t inode;     /* of that directory; 0: not known */
	int64_t time;       /* when it was made, in seconds of CLOCK_REALTIME */
	bool is_in_use;     /* its run has not ended */
};

/* True for text that can be the id of a workspace. */
bool workspace_is_id(const char *text);

/*
 * Makes the workspace of a run. base_fd: the directory of all runs. dir: of which directory it is, canonical. Returns a
 * descriptor that holds the lock, owned by the caller, or -errno; then there is no such workspace.
 */
int workspace_create(int base_fd, const char *id, const char *dir);

/* True when the layer of a workspace, an open directory, would have no entry: the run has changed nothing in `dir`. */
bool workspace_is_empty(int workspace_fd, const char *dir);

/*
 * Removes a workspace for good, whoever holds its lock; for workspace_discard() and the run itself. Ids are checked by
 * the caller. 0 or -errno; what could not be removed is tried again by the next call for any workspace.
 */
int workspace_remove(int base_fd, const char *id);

/*
 * Removes a workspace. 0; -ENOENT: there is none; -EBUSY: its run has not ended; -EEXIST: an apply of it was
 * interrupted; or -errno.
 */
int workspace_discard(int base_fd, const char *id);

/*
 * Opens a workspace whose run has ended. Until the descriptor is closed, workspace_discard() fails with -EBUSY. Returns
 * the descriptor of its directory, owned by the caller; -ENOENT: there is none; -EBUSY: its run has not ended; or
 * -errno.
 */
int workspace_open(int base_fd, const char *id, struct workspace *ret_workspace);

/*
 * Opens the workspace of a run that goes on, without a lock. Returns the descriptor of its directory, owned by the
 * caller, or -errno.
 */
int workspace_open_of_run(int base_fd, const char *id, struct workspace *ret_workspace);

/* Calls visit for each workspace, sorted by time, until it returns not 0. 0, that value, or -errno. */
int workspace_visit(int base_fd, int (*visit)(void *ctx, const struct workspace *workspace), void *ctx);

#endif
