/*
 * Record locks (fcntl(2): F_SETLK, F_OFD_SETLK) of a run whose memory is sampled. Each is kernel memory that no process
 * shows, and one file may have any number of them. So the calls that set or remove them are notified, and continued
 * while there is room; their verdict rests on registers and on this count. A call adds at most two: it may cut one lock
 * in the middle. Used by the supervisor thread alone.
 */
#ifndef CALLGATE_SYSCALLS_ACCOUNT_LOCKS_H
#define CALLGATE_SYSCALLS_ACCOUNT_LOCKS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define LOCKS_MAX 16384u      /* held by the run at a time: 4 MB */
#define LOCKS_READ_MAX 65536u /* lines of /proc/locks: reading takes their square */

/* Zero-initialise, then set root. */
struct locks {
	pid_t root;          /* the supervisor, whose descendants count */
	uint64_t held;       /* when they were counted last */
	uint64_t added;      /* since, at most */
	uint64_t of_files;   /* added by F_OFD_SETLK in the whole run, at most */
	uint64_t counted_ns; /* when */
};

/* True for a call of fcntl(2) with this command (its second register) that has to be admitted. */
bool locks_counts(uint64_t command);

/* True when the call may be made; it is then taken to be about to. */
bool locks_admit(struct locks *locks, uint64_t command, uint64_t now_ns);

/*
 * The locks in a text as /proc/locks has it: added to *ret_of_processes when the process is `root`'s descendant, or
 * gone, and to *ret_of_files when it is a file description's, of whatever process. False when there are too many lines,
 * or it cannot be read.
 */
bool locks_count(const char *path, pid_t root, uint64_t *ret_of_processes, uint64_t *ret_of_files);

#endif
