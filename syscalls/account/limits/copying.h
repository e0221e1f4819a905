/*
 * Large files that overlayfs copies as a whole before they are changed: a call would wait for the copy, and with it the
 * supervisor thread, and all other calls of the run. So a worker thread has the file copied first, and then the call is
 * judged again. The overlay may be one of the run, or what the run is in, as in a container. Called by
 * disk_count_copy().
 */
#ifndef CALLGATE_SYSCALLS_ACCOUNT_LIMITS_COPYING_H
#define CALLGATE_SYSCALLS_ACCOUNT_LIMITS_COPYING_H

#include <stdbool.h>
#include <sys/stat.h>
#include <sys/types.h>

struct call;
struct copying_work;
struct disk;

/* Counts a copied file for limits.disk. */
typedef void copying_count_fn(struct disk *disk, int fd);

/* How a call makes an overlay copy a file. */
enum disk_copying {
	DISK_COPIES,  /* as a whole: a worker copies a large one first (copying_begin()), also without a limit */
	DISK_MOVES,   /* the same, by a call for which the run needs no right to the file itself: rename(2) */
	DISK_OPENS,   /* the same, by a call that fails if the run may not write the file: then nothing is copied */
	DISK_EMPTIES, /* the call empties the file while it opens it, so nothing is copied */
};

#define COPIED_FILES_MAX 64u
#define COPYING_QUICK_BYTES (64 * 1024)    /* the copy of a smaller file is not timed */
#define COPYING_INLINE_BYTES_MAX (8 << 20) /* a larger file is copied by a worker thread */

struct copied_file {
	dev_t dev;
	ino_t ino;
	/* before the copy: one of several names gets a number of its own */
	dev_t first_dev;
	ino_t first_ino;
	bool is_left; /* it was not copied, as this process may not change it; for a move, it can be */
};

/* The files that were copied last, or that workers have tried to have copied. */
struct copied_files {
	struct copied_file file[COPIED_FILES_MAX];
	unsigned count;                 /* all, of which the last ones are in file[] */
	const struct copying_work *now; /* of the file that a worker has copied at this moment; NULL: none */
};

/*
 * To be called before a call changes the file of fd (which may be O_PATH), opens it for writing, or gives it another
 * name, and before the call's record is written. count: called with what a worker has copied; may be NULL. 0; or -1
 * with OUTCOME_COPY_FIRST, or with the call failed: a worker could not copy the file. If the file is copied in the call
 * itself, the watchdog does not interrupt that: the copy would be lost (ovl_copy_up_file() in fs/overlayfs/copy_up.c),
 * and the call would fail with EINTR.
 */
int copying_begin(struct call *call, int fd, enum disk_copying how, copying_count_fn *count);

/* False when opening the file of fd (which may be O_PATH) for writing fails with EACCES. */
bool copying_may_write(int fd);

/*
 * To be called before a call removes the name of a file, empties it or links it. The kernel makes the call wait while
 * the file is copied, and with it the supervisor thread. name: below fd; "": the file of fd. 0; or -1 with
 * OUTCOME_COPY_FIRST: the call is judged again when the worker has ended.
 */
int copying_await(struct call *call, int fd, const char *name);

/*
 * Has the overlay copy the file of fd now, and returns its new status in *status. 0, or -errno: the copy has failed, or
 * this process may not change the file. is_moved: by DISK_MOVES.
 */
int copying_copy_now(struct copied_files *files, int fd, bool is_moved, struct stat *status);

/* True when a copy failed with -errno because there is no room for it, on the disk or in memory. */
bool copying_lacks_room(int r);

/* Notes that a file was copied, or is_left. first: its status before. */
void copying_note(struct copied_files *files, const struct stat *first, const struct stat *status, bool is_left);

/* The numbers that a file had before its copy got others, of which *ret_dev and *ret_ino are. */
void copying_get_first_number(struct copied_files *files, dev_t *dev, ino_t *ino);

#endif
