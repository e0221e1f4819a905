/*
 * Limits the record locks (fcntl(2): F_SETLK, F_OFD_SETLK) of a run whose memory is sampled. A lock takes kernel memory
 * that is shown for no process, and a file can have any number of locks. Calls that set or remove locks are notified,
 * and continued while there is room. A call adds at most two: it may split a lock. Used by the supervisor thread alone.
 */
#ifndef CALLGATE_SYSCALLS_ACCOUNT_LIMITS_LOCKS_H
#define CALLGATE_SYSCALLS_ACCOUNT_LIMITS_LOCKS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define LOCKS_OF_RUN_MAX 16384u /* locks of a run at a time; they take 4 MB */
/* most lines of /proc/locks that are read; the time to read them grows with their square */
#define PROC_LOCKS_LINES_MAX 65536u

/* The number of file locks that the run holds. */
struct locks {
	int proc_fd; /* borrowed descriptor of a procfs that has "locks"; -1: /proc */
	pid_t root;  /* the supervisor's pid in the procfs of proc_fd; the locks of its descendants are counted */
	uint64_t locks_at_last_count;        /* locks at the last count */
	uint64_t added_since_last_count_max; /* upper bound of the locks added since the last count */
	uint64_t file_locks_max;             /* upper bound of the locks added by F_OFD_SETLK since the run began */
	uint64_t last_count_ns;              /* time of the last count */
};

/*
 * Starts without locks. proc_fd: the procfs of another pid namespace, borrowed; -1: /proc. The run's own procfs has no
 * "locks" if it is mounted with subset=pid.
 */
void locks_init(struct locks *locks, int proc_fd);

/* Whether a command (argument 1 of fcntl) may add a record lock, so that locks_admit_fcntl() has to be asked. */
bool locks_command_needs_admission(uint64_t command);

/* True: the fcntl(2) with this command may add a record lock, which is counted. False: the run has too many locks. */
bool locks_admit_fcntl(struct locks *locks, uint64_t command, uint64_t now_ns);

/*
 * Counts the locks that an open /proc/locks (fd) lists, whose pids are those of the procfs proc_fd. *ret_process_locks:
 * of root's descendants and of processes that are gone. *ret_description_locks: of all file descriptions. Takes fd,
 * which may be negative. False: too many lines, or unreadable.
 */
bool locks_count_in_proc_locks(int fd, int proc_fd, pid_t root, uint64_t *ret_process_locks,
			       uint64_t *ret_description_locks);

#endif
