/*
 * A run's own directory: ${TMPDIR:-/tmp}/callgate-UID/run-ID, mode 0700. The run holds an flock(2) lock on it as long
 * as it lives. A directory whose lock is free belongs to a dead run, and the next run removes it.
 */
#ifndef CALLGATE_KEEPER_SCRATCH_H
#define CALLGATE_KEEPER_SCRATCH_H

#include <stdbool.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "policy/parse/errors.h"
#include "policy/policy.h"

#define SCRATCH_ID_SIZE 17 /* 16 random hexadecimal digits: each log line repeats the first 8 */
#define SCRATCH_SUBDIRS_COUNT 4    /* work, tmp, shm and var-tmp */
#define SCRATCH_VIEW_ENTRIES_MAX 8 /* mount points that the view makes in the run's directory */

/* State of a subdirectory before the program could change it, to find out later whether the program did. */
struct scratch_dir_state {
	struct stat st;
	ssize_t attributes; /* size of the directory's list of extended attributes, from flistxattr(2) */
	bool set;
};

/* The scratch directory of a run. */
struct scratch {
	char id[SCRATCH_ID_SIZE]; /* the run_id in the result and the log */
	char *base_path;               /* canonical host path of the directory of all runs */
	char *path;               /* canonical host path of the run's directory: base/run-ID */
	/* why the base has another name than usual, to be reported once; NULL: it has its usual name */
	char *base_name_notice;
	int base_fd; /* descriptor of base_path */
	int fd; /* holds the lock. Children inherit it, so that the lock is held until the last of them has ended */
	bool is_reusable;             /* the directory may be left to the next run if unchanged */
	bool may_be_reused_after_run; /* the run ended by itself; otherwise its directory is not reused */
	struct scratch_dir_state subdir_state[SCRATCH_SUBDIRS_COUNT];
	/* paths in the run's directory, such as "tmp/x/work", that the view makes to mount something there; owned */
	char *entry_made_by_view[SCRATCH_VIEW_ENTRIES_MAX];
	size_t entries_made_by_view_count; /* used entries of entry_made_by_view */
};

/*
 * Creates the run's directory, or takes over an unchanged one of an earlier run. Only this user can enter the base;
 * base_name_notice says if its name is unusual. 0, or -errno with a message. Release with scratch_remove_run.
 */
int scratch_begin_run(struct scratch *ret_scratch, struct policy_error *ret_error);

/* Finds or creates the directory of all runs of this user. A descriptor owned by the caller, or -errno. */
int scratch_open_directory_of_runs(struct policy_error *ret_error);

/*
 * Finds a directory callgate-UID-XXXXXX of this user with directories in `entry`, of runs that could not use base_fd,
 * which scratch_open_directory_of_runs() has opened. It is only to be told: another process may have made it. Its path,
 * owned; NULL: there is none.
 */
char *scratch_find_other_base(int base_fd, const char *entry);

/* Creates work, tmp and shm in the run's directory, where missing. The keeper calls it while the supervisor starts. */
int scratch_make_dirs(struct scratch *scratch);

/*
 * Creates another directory in the run's directory, with the mode of /tmp. A failure is ignored, because opening the
 * directory then fails as well.
 */
void scratch_make_dir_if_missing(struct scratch *scratch, const char *name);

/*
 * Notes a path that the view makes in a directory of the run's. At the end it is removed, so that the directory may be
 * reused. Without memory, or past SCRATCH_VIEW_ENTRIES_MAX, the path stays and the directory is not reused.
 */
void scratch_remember_view_entry(struct scratch *scratch, const char *dir, const char *rest);

/* Removes directories of dead runs, for about half a second at most, and files in base/results older than a week. */
void scratch_remove_old_files(const struct scratch *scratch);

/*
 * Calls scratch_begin_run(), scratch_remove_old_files() and scratch_make_dirs(), with a directory that will not be
 * reused.
 */
int scratch_create(struct scratch *ret_scratch, struct policy_error *ret_error);

/* Moves a file of the run's directory to base/results, where it stays. Its host path, owned, or NULL with errno. */
char *scratch_move_file_to_results(const struct scratch *scratch, const char *name);

/* Creates the file base/results/ID.suffix. A descriptor owned by the caller, or -1 with errno. */
int scratch_make_result_file(const struct scratch *scratch, const char *suffix);

/* Removes, between the phases of a run, the directories that the setup's view created. 0 or -errno. */
int scratch_remove_view(const struct scratch *scratch);

/*
 * Does a quick part of scratch_remove_run() before the result is complete: removes callgate's own directories and those
 * that the program left empty. Not to be called between the phases of a run. all: also removes the workdir and the
 * run's directory if they are empty, or leaves an unchanged directory to the next run.
 */
void scratch_remove_empty_dirs(const struct scratch *scratch, bool all);

/* Removes the run's directory, or leaves it to the next run if unchanged. Removes an empty base. Frees. 0 or -errno. */
int scratch_remove_run(struct scratch *scratch);

#endif
