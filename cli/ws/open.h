/* Opens what callgate ws works on, with messages. */
#ifndef CALLGATE_CLI_WS_OPEN_H
#define CALLGATE_CLI_WS_OPEN_H

#include "workspace/layer.h"
#include "workspace/store.h"

/* Why an entry cannot be compared, with the way out where there is one (static, or of strerror(3)). error: -errno */
const char *ws_explain_unread(int error);

/* Of what the layer cannot have: WORKSPACE_LOST_NAME. */
#define WS_LOST_TEXT                                                                                                  \
	"the program has not opened the file, which was changed or removed outside since, or a crash of the machine " \
	"has left it in doubt; left out"

/* Opens the directory of all runs, which has the store. -1 after a message. */
int ws_open_runs(const char *verb);

/* Prints why a workspace cannot be used: an enum workspace_error, -ENOENT or another -errno. */
void ws_print_failure(const char *verb, const char *id, int error);

/* The same for JSON, static: "kept"; NULL: 0. */
const char *ws_get_failure_word(int error);

/* Locks an open workspace, to change it. -1 after a message: another process uses it. */
int ws_lock_workspace(const char *verb, const char *id, int workspace_fd);

/* Opens a workspace, as workspace_open(). A descriptor owned by the caller; -1 after a message. */
int ws_open_workspace(const char *verb, const char *id, struct workspace *ret_workspace);

/*
 * Opens the layer of directory `at`, which is in layers_fd, the workspace or a checkpoint of it, and reads that
 * directory into the workspace. 0; 1: there is no layer, as the run
 * was ended before its program began; or -1 after a message.
 */
int ws_open_layer(const char *verb, int workspace_fd, int layers_fd, size_t at, struct workspace *workspace,
		  struct workspace_layer *ret_layer);

/*
 * Opens a checkpoint of a workspace, also of one whose session goes on, to read it. A descriptor owned by the caller,
 * as is *ret_workspace_fd; -1 after a message.
 */
int ws_open_checkpoint(const char *verb, const char *id, const char *name, struct workspace *ret_workspace,
		       int *ret_workspace_fd);

/*
 * Locks the directory of a layer against callgate ws of other workspaces of it, until the layer is released. 0, also on
 * a file system without locks, or -1 after a message: it is locked.
 */
int ws_lock_directory(const char *verb, const struct workspace *workspace, const struct workspace_layer *layer);

#endif
