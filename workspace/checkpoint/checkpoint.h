/*
 * Checkpoints of a workspace: what its upper layer was at a moment. A checkpoint is a directory "checkpoints/NAME" of
 * the workspace with layers of its own, which have the form of the workspace's ("0/upper"), so that it can be compared
 * and applied like that. Regular files that are the same in several checkpoints are hard links of one copy. The upper
 * layer itself has no link to a copy: programs change its files in place. Of a workspace by copying, which has no such
 * layer yet, a checkpoint has what the layer would have.
 *
 * Called in `callgate session checkpoint` and `restore`, while the programs of the session are stopped.
 */
#ifndef CALLGATE_WORKSPACE_CHECKPOINT_CHECKPOINT_H
#define CALLGATE_WORKSPACE_CHECKPOINT_CHECKPOINT_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "workspace/checkpoint/known.h"
#include "workspace/layer.h"

#define CHECKPOINT_NAME_SIZE KNOWN_CHECKPOINT_SIZE /* of a name, with its NUL */
#define CHECKPOINTS_MAX 10000u                     /* of a workspace */

/* What making or restoring one took. */
struct checkpoint_work {
	uint64_t copied_files, copied_bytes, kept_files; /* regular files; kept: those that had not changed */
	uint64_t held_bytes;   /* what a new one takes, as limits.disk counts it: files that it shares with none */
	uint64_t filled_bytes; /* what files of a copy take that were filled for it; also when there is no new one */
	bool is_too_large;     /* -EDQUOT, because it takes more than it may */
	size_t failed_at;      /* of the directory that an error is about */
	char failed_path[PATH_MAX]; /* of the entry that an error is about; "": none */
	/*
	 * Files that were not restored, and directories without their attributes, and the first of them. They have an
	 * ACL of users or groups without a number in the user namespace of the overlay's mount, which refuses it. All
	 * else was restored.
	 */
	uint64_t acl_failures;
	size_t acl_at;
	char acl_path[PATH_MAX];
};

/* True for text that can be the name of a checkpoint: up to 63 letters, digits, and "-", "_", "." not at the start. */
bool checkpoint_is_name(const char *text);

/*
 * Opens the directory of a workspace's checkpoints, and locks it; makes it when it is missing. A descriptor that holds
 * the lock, owned by the caller; -EBUSY: another process has it; or -errno.
 */
int checkpoint_open_all(int workspace_fd);

/* True when a process has the lock of checkpoint_open_all(). */
bool checkpoint_is_being_used(int workspace_fd);

/*
 * Opens a checkpoint; workspace_layer_open() takes it like the descriptor of a workspace. A descriptor owned by the
 * caller; -ENOENT: there is none; or -errno.
 */
int checkpoint_open(int workspace_fd, const char *name);

/* One directory of a workspace, while a checkpoint is made or restored. */
struct checkpoint_dir {
	struct workspace_layer layer;
	char *path;  /* canonical host path; owned by the caller */
	int dir_fd;  /* the directory of the workspace that has the layer */
	int view_fd; /* the directory as the programs see it */
};
#define CHECKPOINT_DIR_INIT                                                \
	(struct checkpoint_dir)                                            \
	{                                                                  \
		.layer = WORKSPACE_LAYER_INIT, .dir_fd = -1, .view_fd = -1 \
	}

/*
 * Makes a checkpoint of `count` directories, those of the workspace, with layers of workspace_layer_open_live().
 * programs_live: programs are stopped, and go on afterwards. name: "": the next number, which is stored there.
 * max_bytes: most that it and what is filled for it may take. 0; -EEXIST: there is one of this name; -E2BIG: there are
 * too many; -EDQUOT with ret_work->is_too_large; or -errno: then there is no new one.
 */
int checkpoint_make(const struct checkpoint_dir *dirs, size_t count, int all_fd, char name[CHECKPOINT_NAME_SIZE],
		    bool programs_live, uint64_t max_bytes, struct checkpoint_work *ret_work);

/*
 * Makes the directories what they were at a checkpoint, one after the other, by changing them as a program would: the
 * kernel does not say what happens if the layer of a mounted overlay is changed itself. 0;
 * -ENOENT: there is no such checkpoint; -EINVAL with ret_work->acl_failures; or -errno: then some of it may be
 * restored, and the rest not; another restore goes on.
 */
int checkpoint_restore(const struct checkpoint_dir *dirs, size_t count, int all_fd, const char *name,
		       bool programs_live, struct checkpoint_work *ret_work);

/*
 * Removes a checkpoint. *ret_freed_bytes: as checkpoint_work.held_bytes, what was freed, also when not all could be
 * removed; the rest is removed with the next one. 0; -ENOENT: there is none; or -errno.
 */
int checkpoint_remove(int all_fd, const char *name, uint64_t *ret_freed_bytes);

/* A checkpoint, as checkpoint_visit() tells it. */
struct checkpoint {
	char name[CHECKPOINT_NAME_SIZE];
	struct timespec time; /* when it was made, CLOCK_REALTIME */
	bool is_latest;       /* the one that was made or restored last */
};

/* Calls visit for each checkpoint, sorted by time, until it returns not 0. 0, that value, or -errno. */
int checkpoint_visit(int workspace_fd, int (*visit)(void *ctx, const struct checkpoint *checkpoint), void *ctx);

/* ---- size.c ---- */

/* What an entry takes, as limits.disk counts it. */
uint64_t checkpoint_get_entry_bytes(const struct stat *st);

/* What the removal of a checkpoint frees: what has no links elsewhere. What cannot be read is left out. */
uint64_t checkpoint_measure_removal(int checkpoint_fd);

/* ---- for restore.c ---- */

/*
 * Waits until the clock of files goes on (10 ms at most): what is changed afterwards has another change time than what
 * was changed before. Called while the programs are stopped.
 */
void checkpoint_await_clock_tick(void);

/* Whether files of the layer may change without a change of their times: struct known_files. */
bool checkpoint_must_compare(int upper_fd, bool programs_live);

/* Opens upper layer `at` of a checkpoint. -1: there is none. */
int checkpoint_open_upper(int all_fd, const char *name, size_t at);

/* The directory that has the list of struct known_files of directory `at`. Borrowed. */
int checkpoint_get_known_fd(const struct checkpoint_dir *dir, size_t at, int all_fd);

#endif
