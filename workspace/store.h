/*
 * The store of workspaces: the directory "workspaces" in the directory of all runs of a user. A workspace is a
 * directory named by the id of its run. It has info.json, which says of which directories it is, and for each of
 * them, counted from 0, a directory in which the overlay has its layer: "0/upper". The run holds an flock(2)
 * lock on it.
 */
#ifndef CALLGATE_WORKSPACE_STORE_H
#define CALLGATE_WORKSPACE_STORE_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "workspace/dir-id.h"

#define WORKSPACE_ID_LEN 16 /* hexadecimal digits, those of the run's id */
#define WORKSPACE_DIR_NAME "workspaces"
#define WORKSPACE_LABEL_BYTES_MAX 200
#define WORKSPACE_DIRS_MAX 16 /* most directories of one workspace */

/* A workspace of the store, as workspace_visit() tells it. */
struct workspace {
	char id[WORKSPACE_ID_LEN + 1];
	char dir[PATH_MAX]; /* canonical host path of its first directory, or that of workspace_read_dir() */
	size_t dir_count;
	struct dir_id dir_id; /* of that directory */
	int64_t time;       /* when it was made, in seconds of CLOCK_REALTIME */
	bool is_in_use;     /* its run has not ended */
	bool is_kept;       /* workspace_discard() does not remove it */
	char label[WORKSPACE_LABEL_BYTES_MAX + 1]; /* why it is kept; "": that is not said */
};

/* Why a workspace cannot be used or removed. No -errno is one of them. */
enum workspace_error {
	WORKSPACE_IN_USE = -10000, /* its run has not ended, or another process works on it */
	WORKSPACE_INTERRUPTED,     /* an apply of it was interrupted */
	WORKSPACE_KEPT,            /* workspace_keep() has marked it */
};

/* True for text that can be the id of a workspace. */
bool workspace_is_id(const char *text);

/*
 * Makes the workspace of a run. base_fd: the directory of all runs. dirs: its directories, canonical. Returns a
 * descriptor that holds the lock, owned by the caller, or -errno; then there is no such workspace.
 */
int workspace_create(int base_fd, const char *id, const char *const *dirs, size_t count);

/*
 * True when no layer of a workspace, an open directory, has or would have an entry: the run has changed nothing. False
 * for one that is kept, and when that cannot be read.
 */
bool workspace_is_empty(int workspace_fd);

/*
 * True when the layer of directory `at`, of this path, has no entry, or would have none once it is made, and the
 * directory itself was not changed. False when that cannot be read. A copy is walked, until something has changed.
 */
bool workspace_dir_is_empty(int workspace_fd, size_t at, const char *dir_path);

/*
 * Removes a workspace for good, also a locked one; for workspace_discard() and the run itself. Ids are checked by the
 * caller. 0 or -errno; what could not be removed is tried again by the next call for any workspace.
 */
int workspace_remove(int base_fd, const char *id);

/* Removes a workspace. 0; an enum workspace_error; -ENOENT: there is none; or -errno: a part of it may be left. */
int workspace_discard(int base_fd, const char *id);

/*
 * Removes what could not be removed of workspaces that were discarded, or whose removal was interrupted. 0 or -errno.
 */
int workspace_remove_leftovers(int base_fd);

/*
 * Locks an open workspace, to change it. It waits a moment for processes that only read it, such as callgate ws list.
 * 0; WORKSPACE_IN_USE; or -errno.
 */
int workspace_lock(int workspace_fd);

/*
 * Marks a workspace, also of a run that goes on, as one that workspace_discard() does not remove, nor the run if it
 * changes nothing. label: at most WORKSPACE_LABEL_BYTES_MAX bytes; NULL: takes the mark back. 0, also if it was so
 * before; -ENOENT: there is no such workspace; or -errno, and nothing has changed.
 */
int workspace_keep(int base_fd, const char *id, const char *label);

/*
 * Opens a workspace whose run has ended. Until the descriptor is closed, workspace_discard() fails. Returns the
 * descriptor of its directory, owned by the caller; WORKSPACE_IN_USE; -ENOENT: there is none; or -errno.
 */
int workspace_open(int base_fd, const char *id, struct workspace *ret_workspace);

/*
 * Opens the workspace of a run that goes on, without a lock. Returns the descriptor of its directory, owned by the
 * caller, or -errno.
 */
int workspace_open_of_run(int base_fd, const char *id, struct workspace *ret_workspace);

/* Reads directory `at` of an open workspace into its dir and dir_id. 0 or -errno. */
int workspace_read_dir(int workspace_fd, size_t at, struct workspace *workspace);

/* Opens the directory of a workspace that has the journal of directory `at`. A descriptor or -errno. */
int workspace_open_journal_dir(int workspace_fd, size_t at);

/* Calls visit for each workspace, sorted by time, until it returns not 0. 0, that value, or -errno. */
int workspace_visit(int base_fd, int (*visit)(void *ctx, const struct workspace *workspace, int workspace_fd),
		    void *ctx);

#endif
