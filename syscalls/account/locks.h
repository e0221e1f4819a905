/*
 * Limits the record locks (fcntl(2): F_SETLK, F_OFD_SETLK) of a run whose memory is sampled. A lock takes kernel memory
 * that no process shows, and a file can have any number of them. Calls that set or remove locks are notified, and
 * continued while there is room. A call adds at most two: it may split a lock. Used by the supervisor thread alone.
 */
#ifndef CALLGATE_SYSCALLS_ACCOUNT_LOCKS_H
#define CALLGATE_SYSCALLS_ACCOUNT_LOCKS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define LOCKS_MAX 16384u      /* of a run at a time: 4 MB */
#define LOCKS_READ_MAX 65536u /* lines of /proc/locks; the time to read them grows with their square */

/* Zero-initialise, then set root. */
struct locks {
	pid_t root;          /* the supervisor, whose descendants count */
	uint64_t held;       /* at the last count */
	uint64_t added;      /* since then, upper bound */
	uint64_t of_files;   /* added by F_OFD_SETLK since the run began, upper bound */
	uint64_t counted_ns; /* time of the last count */
};

/* True for commands (argument 1 of fcntl) that must be admitted. */
bool locks_counts(uint64_t command);

/* True: the call may be made; its locks are counted as added. */
bool locks_admit(struct locks *locks, uint64_t command, uint64_t now_ns);

/*
 * Counts the locks in a file like /proc/locks: in *ret_of_processes those of root's descendants and of processes that
 * are gone; in *ret_of_files those of all file descriptions. False: too many lines, or unreadable.
 */
bool locks_count(const char *path, pid_t root, uint64_t *ret_of_processes, uint64_t *ret_of_files);

#endif
