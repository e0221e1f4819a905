/*
 * What the run adds to the disk, over all granted trees and its scratch space, without quotas: each file it opens for
 * writing is remembered by (dev, inode) with the blocks it had, and looked at again while somebody can still make it
 * grow. Names and directories it makes count a fixed sum each. What it removes is given back, but no more than it had
 * added.
 */
#ifndef CALLGATE_SYSCALLS_ACCOUNT_DISK_H
#define CALLGATE_SYSCALLS_ACCOUNT_DISK_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "syscalls/call/call.h"

#define DISK_NAME_BYTES 1024      /* an inode and its name */
#define DISK_DIRECTORY_BYTES 4096 /* a directory's first block, too */
#define DISK_FILES_MAX 500000     /* remembered at most; one more ends the run */

struct disk;

/*
 * limit_bytes: 0: none, only files in memory are counted, for the limit of memory (disk_memory). outside: bytes that
 * another process writes for the run (spilled output), read at each look; may be NULL. 0 with disk_free to be called,
 * or -ENOMEM. The process must ignore SIGIO: see is_open in disk-files.c.
 */
int disk_create(uint64_t limit_bytes, const volatile uint64_t *outside, struct disk **ret_disk);
void disk_free(struct disk *disk);

/* ---- for whoever ends the run ---- */

/*
 * Looks at what is due (UINT64_MAX: at everything). True: the limit is passed, or no more files can be remembered, and
 * the run must end.
 */
bool disk_tick(struct disk *disk, uint64_t now_ns);
/* Milliseconds until the next look; -1: nothing can grow. */
int disk_wait_ms(const struct disk *disk, uint64_t now_ns);
/* As of the last look, and the most so far. */
uint64_t disk_used(const struct disk *disk);
/* Of it, files in memory (tmpfs), as of now. */
uint64_t disk_memory(struct disk *disk);
/* The same without what was written outside. */
uint64_t disk_own(const struct disk *disk);
uint64_t disk_peak(const struct disk *disk);
/* Why the run must end: "disk_limit", "disk_files" (more than DISK_FILES_MAX); NULL: it need not. Static. */
const char *disk_reason(const struct disk *disk);

/* ---- for handlers; all do nothing when call->sandbox->disk is NULL: there is no limit ---- */

/*
 * To be called before anything is made or opened for writing, of which `bytes` will be used at once. 0, or -1 with the
 * call refused: EDQUOT, reason disk_limit.
 */
int disk_admit(struct call *call, uint64_t bytes);

/*
 * The file behind fd (any descriptor of ours, O_PATH too) is about to be writable for the program. made: by this very
 * call, so that all of it counts; otherwise to be called before it is cut. 0, or -1 with the call failed (ENFILE).
 */
int disk_watch(struct call *call, int fd, bool made);

/*
 * The program is about to get an O_PATH descriptor (fd, or another of the same object), which keeps the blocks when the
 * last name is gone and cannot be seen. 0, or -1 with the call failed.
 */
int disk_pin(struct call *call, int fd);

/*
 * The call ended: when its outcome is a success, a name of this type (S_IF*) was made; S_IFLNK: with call->text in it.
 */
void disk_made(struct call *call, mode_t type);

/* True for a file that is watched, or was: not for one in memory, nor one from outside. */
bool disk_counts(const struct call *call, const struct stat *status);

/* The blocks of a watched file have changed at once (truncate, fallocate): the next call must know. */
void disk_changed(struct call *call, int fd);

/* The run's extended attributes take so much now, beyond what shows in blocks: some of it may be counted twice. */
void disk_attributes(struct call *call, uint64_t bytes);

/*
 * Around a call that takes the name of `name` in the directory dirfd away (unlink, rmdir, rename over it): what had it
 * before, so that what was added is given back once nobody has it open.
 */
struct disk_removal {
	int fd; /* O_PATH; -1: there is no limit, or nothing of that name */
	bool directory;
	uint64_t link_bytes; /* of a symbolic link: its text */
	nlink_t names; /* it had before */
};
struct disk_removal disk_removing(const struct call *call, int dirfd, const char *name);
void disk_removed(struct call *call, struct disk_removal *removal);

#endif
