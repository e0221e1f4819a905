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

struct locks {
	int proc_fd;         /* borrowed: a procfs with "locks"; -1: /proc */
	pid_t root;          /* the supervisor as that procfs numbers it. Its descendants' locks count */
	uint64_t held;       /* at the last count */
	uint64_t added;      /* since then, upper bound */
	uint64_t of_files;   /* added by F_OFD_SETLK since the run began, upper bound */
	uint64_t counted_ns; /* time of the last count */
};

/*
 * Starts with no lock. proc_fd, borrowed: the procfs of another pid namespace, if one exists; -1: /proc. The run's
 * own procfs has no "locks" where it is mounted with subset=pid.
 */
void locks_init(struct locks *locks, int proc_fd);

/* True for commands (argument 1 of fcntl) that must be admitted. */
bool locks_must_admit_command(uint64_t command);

/* True: the call may be made; its locks are counted as added. */
bool locks_admit_command(struct locks *locks, uint64_t command, uint64_t now_ns);

/*
 * Counts the locks in a file like /proc/locks, whose pids are those of the procfs: in *ret_of_processes those of root's
 * descendants and of processes that are gone; in *ret_of_files those of all file descriptions. Takes fd, which may be
 * negative. False: too many lines, or unreadable.
 */
bool locks_count_in_file(int fd, int proc_fd, pid_t root, uint64_t *ret_of_processes, uint64_t *ret_of_files);

#endif
