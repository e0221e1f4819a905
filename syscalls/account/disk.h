/*
 * The disk space that the run adds, in all granted trees and its scratch space, without quotas. Each file that it opens
 * for writing is kept by (dev, inode) with its former blocks, and measured again while any process can make it grow.
 * Names and directories count a fixed sum each. Removals are subtracted, but no more than was added. Called by handlers
 * and by supervisor/limits/, in the supervisor thread. Owns a descriptor of each file that can grow.
 */
#ifndef CALLGATE_SYSCALLS_ACCOUNT_DISK_H
#define CALLGATE_SYSCALLS_ACCOUNT_DISK_H

#include "syscalls/call/call.h"

#define DISK_NAME_BYTES 1024      /* an inode and its name */
#define DISK_DIRECTORY_BYTES 4096 /* a directory's first block, in addition to its name */
#define DISK_FILES_MAX 500000     /* one more ends the run */

struct disk;

/*
 * limit_bytes: 0: no limit; then only files on tmpfs are counted, for the limit of memory (disk_measure_memory_bytes).
 * outside: bytes that another process writes for the run (spilled output), read at each look; may be NULL. 0 or
 * -ENOMEM. The process must ignore SIGIO: see disk_file_is_open_elsewhere() in disk-files.c.
 */
int disk_create(uint64_t limit_bytes, const volatile uint64_t *outside, struct disk **ret_disk);
void disk_free(struct disk *disk);

/* ---- for supervisor/limits/ ---- */

/* Measures files that are due (now_ns UINT64_MAX: all). True: the run must end, see disk_get_end_reason(). */
bool disk_measure_due(struct disk *disk, uint64_t now_ns);
/* Milliseconds until files are due; -1: no file can grow. */
int disk_get_next_measure_ms(const struct disk *disk, uint64_t now_ns);
/* The bytes that the run added, when last measured. */
uint64_t disk_get_used_bytes(const struct disk *disk);
/* The bytes of files on tmpfs among disk_get_used_bytes(), measured now. */
uint64_t disk_measure_memory_bytes(struct disk *disk);
/* Without `outside`. */
uint64_t disk_get_used_inside_bytes(const struct disk *disk);
/* The maximum of disk_get_used_bytes() so far. */
uint64_t disk_get_peak_bytes(const struct disk *disk);
/* Why the run must end: "disk_limit", "disk_files" (more than DISK_FILES_MAX), or NULL. Static. */
const char *disk_get_end_reason(const struct disk *disk);

/* ---- for handlers; without effect if call->sandbox->disk is NULL: there is no limit ---- */

/* To be called before anything that takes `bytes` is made. 0, or -1: refused, EDQUOT "disk_limit". */
int disk_admit_bytes(struct call *call, uint64_t bytes);

/*
 * The target is about to be able to write to the file of fd (O_PATH too). made: this call made it, so all of it counts;
 * otherwise to be called before it is truncated. 0, or -1 with the call failed (ENFILE).
 */
int disk_watch_file(struct call *call, int fd, bool made);

/*
 * The target is about to get an O_PATH descriptor of the file of fd. It keeps the blocks of an unlinked file, and no
 * lease detects it. 0, or -1 with the call failed.
 */
int disk_note_pin(struct call *call, int fd);

/* To be called with the outcome set: on success a name of this type (S_IF*) was made; S_IFLNK: to call->text. */
void disk_count_name(struct call *call, mode_t type);

/* True for a file that is or was watched (disk_watch_file). */
bool disk_file_is_watched(const struct call *call, const struct stat *status);

/*
 * The blocks of a watched file have changed (truncate, fallocate): measures them now, for the next disk_admit_bytes().
 */
void disk_note_change(struct call *call, int fd);

/* Bytes of the run's extended attributes. Blocks may include some of them: those count twice. */
void disk_set_xattr_bytes(struct call *call, uint64_t bytes);

/*
 * To be called around a call that removes `name` in the directory dirfd (unlink, rmdir, rename over it): the object
 * that has the name, so that its space is subtracted when no process has it open any more.
 */
struct disk_removal {
	int fd; /* O_PATH; -1: no limit, or no object of that name */
	bool directory;
	uint64_t link_bytes; /* length of a symbolic link's target */
	nlink_t names; /* st_nlink before */
};
struct disk_removal disk_begin_removal(const struct call *call, int dirfd, const char *name);
void disk_end_removal(struct call *call, struct disk_removal *removal);

#endif
