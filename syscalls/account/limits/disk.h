/*
 * Measures the disk space that the run adds in all granted trees and its scratch space, without quotas. Each file that
 * the run opens for writing is kept by (dev, inode) with its former blocks, and measured while any process can make it
 * grow. Each name and directory counts a fixed sum. Removals are subtracted, up to what was added. What a workspace by
 * copying has counts from the start, and what checkpoints of a session have. Called by handlers, supervisor/limits/ and
 * supervisor/session/, in the supervisor thread. Owns a descriptor of each file that can grow.
 */
#ifndef CALLGATE_SYSCALLS_ACCOUNT_LIMITS_DISK_H
#define CALLGATE_SYSCALLS_ACCOUNT_LIMITS_DISK_H

#include "syscalls/call/call.h"
#include "view/copy/copy.h"

#define DISK_KEPT_PART 8               /* 1/8 of the limit is for what callgate keeps for the run */
#define DISK_MEASURED_FILES_MAX 500000 /* most files that are kept; a further file ends the run */

struct disk;

/*
 * limit_bytes 0: the disk is not limited; only files on tmpfs are counted, for the limit of memory
 * (disk_measure_memory_bytes). spilled_bytes: bytes that another process writes for the run (spilled output), read at
 * each measurement; may be NULL. machine_proc_fd: borrowed, see proctree_read_exactly(). 0 or -ENOMEM. The process
 * must ignore SIGIO: see disk_file_is_open_elsewhere().
 */
int disk_create(uint64_t limit_bytes, const volatile uint64_t *spilled_bytes, int machine_proc_fd,
		struct disk **ret_disk);
void disk_free(struct disk *disk);

/* ---- functions that supervisor/limits/ calls ---- */

/* Measures files that are due; now_ns UINT64_MAX: all files. True: the run must end, see disk_get_end_reason(). */
bool disk_measure_due_files(struct disk *disk, uint64_t now_ns);
/* Milliseconds until files are to be measured; -1: no file can grow. */
int disk_get_next_measure_ms(const struct disk *disk, uint64_t now_ns);
/* The bytes that the run had added when they were last measured. */
uint64_t disk_get_used_bytes(const struct disk *disk);
/* How many of the bytes of disk_get_used_bytes() are in files on tmpfs. Measures them now. */
uint64_t disk_measure_memory_bytes(struct disk *disk);
/*
 * Like disk_get_used_bytes(), but without the bytes that another process writes for the run (`spilled_bytes` of
 * disk_create()).
 */
uint64_t disk_get_bytes_without_spilled_output(const struct disk *disk);
/* The maximum of disk_get_used_bytes() so far. */
uint64_t disk_get_peak_bytes(const struct disk *disk);
/*
 * The bytes that may still be added, UINT64_MAX without a limit. *ret_limit: the limit.
 */
uint64_t disk_get_left_bytes(const struct disk *disk, uint64_t *ret_limit);
/* Counts what a workspace by copying has before the program starts. Without effect if only memory is limited. */
void disk_add_copy(struct disk *disk, const struct copy_size *size);
/* Counts files of such a workspace that no call has filled. Without effect if only memory is limited. */
void disk_add_filled_bytes(struct disk *disk, uint64_t bytes);
/* To be called when a file of a workspace by copying has got its content: it counts from now on. disk may be NULL. */
void disk_count_filled_file(struct disk *disk, int fd);
/* Counts what checkpoints of the session have taken, or freed. Without effect if only memory is limited. */
void disk_add_checkpoint_bytes(struct disk *disk, int64_t bytes);
/* Why the run must end: "disk_limit", "disk_files" (more than DISK_MEASURED_FILES_MAX), or NULL. Static. */
const char *disk_get_end_reason(const struct disk *disk);

/* ---- functions for the handlers of calls; without effect if call->sandbox->disk is NULL ---- */

/* To be called before anything that takes `bytes` is made. 0, or -1: refused with EDQUOT "disk_limit". */
int disk_admit_bytes(struct call *call, uint64_t bytes);

/*
 * Counts bytes that callgate itself keeps for the run, at most DISK_KEPT_PART of the limit, so that most is left to the
 * program. False: there is no room for them, and they do not count. disk_give_back_bytes(): they were not kept.
 */
bool disk_take_bytes(const struct call *call, uint64_t bytes);
void disk_give_back_bytes(const struct call *call, uint64_t bytes);

/*
 * To be called before the target can write to the file of fd (which may be O_PATH), and before it is truncated, after
 * disk_count_copy(). made: this call has made the file, so all its blocks count. 0, or -1 with the call failed
 * (ENFILE).
 */
int disk_watch_file(struct call *call, int fd, bool made);

/*
 * To be called before a call changes the object of fd (which may be O_PATH), whose place is call->resolved_place[i],
 * also if it changes no content, and before the call's record is written. A file of an overlay of the run counts whole:
 * what is in the upper layer, the overlay has copied there, or the program has written. 0; -1 with OUTCOME_COPY_FIRST,
 * or with the call refused or failed.
 */
int disk_count_copy(struct call *call, unsigned i, int fd, enum disk_copying how);

/* Counts the file of fd, which was copied, if it has not been counted before. disk may be NULL. */
void disk_count_copied_file(struct disk *disk, int fd);

/*
 * To be called before the target gets an O_PATH descriptor of the file of fd. Such a descriptor keeps the blocks of an
 * unlinked file, and no lease detects it. 0, or -1 with the call failed.
 */
int disk_pin_file_of_opath_fd(struct call *call, int fd);

/*
 * Counts a new name of this type (S_IF*), if the call's outcome is success. To be called when the outcome is set. For
 * S_IFLNK, also counts the link's target, which is in call->text_arg.
 */
void disk_count_new_name(struct call *call, mode_t type);

/* Whether the file is or was watched by disk_watch_file(). */
bool disk_file_is_watched(const struct call *call, const struct stat *status);

/* Measures a watched file whose blocks have changed (truncate, fallocate), for the next disk_admit_bytes(). */
void disk_measure_changed_file(struct call *call, int fd);

/* Sets the bytes of the run's extended attributes. Blocks may include some of them, which are counted twice then. */
void disk_set_xattr_bytes(struct call *call, uint64_t bytes);

/*
 * What disk_begin_removal() finds out before a call removes a name (unlink, rmdir, rename over it), and
 * disk_end_removal() needs after the call. The space of the removed object is subtracted when no process has the object
 * open any more.
 */
struct disk_removal {
	int fd;              /* O_PATH descriptor of the object; -1: no limit, or no such object */
	bool is_directory;   /* the removed name is a directory's */
	bool is_of_copy;     /* it is in a workspace by copying */
	uint64_t link_bytes; /* length of a symbolic link's target */
	nlink_t names;       /* st_nlink before the call */
};
/* i: the name's directory is, or the name is in, call->resolved_place[i] */
struct disk_removal disk_begin_removal(const struct call *call, unsigned i, int dirfd, const char *name);
void disk_end_removal(struct call *call, struct disk_removal *removal);

#endif
