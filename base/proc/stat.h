/* Reads /proc/PID/stat (proc_pid_stat(5)), as no other code does, and opens other files of /proc/PID. */
#ifndef CALLGATE_BASE_PROC_STAT_H
#define CALLGATE_BASE_PROC_STAT_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* What /proc/PID/stat tells of a process. */
struct procstat {
	pid_t parent; /* the process's parent; 0: a process outside this pid namespace */
	pid_t group;
	pid_t session;
	unsigned terminal_device;             /* the controlling terminal: device number as in stat(2); 0: none */
	char state;                           /* the state letter of proc_pid_stat(5): R, S, D, T, t, Z, X, I */
	unsigned long threads;                /* number of threads of the process */
	unsigned long own_ticks, child_ticks; /* CPU time of the process, and of reaped children, in clock ticks */
	unsigned long vsize_bytes, rss_pages;
};

/* Parses the text of the file; `threads` is field 20. 0, or -ESRCH when it is incomplete: the task died meanwhile. */
int procstat_parse(const char *text, struct procstat *ret_stat);

/*
 * Reads the file of a process or thread. 0; -ESRCH; or -EPERM: it is of another user, and /proc is mounted with
 * hidepid. When the pid was reused, the result is about its new owner.
 */
int procstat_read(pid_t pid, struct procstat *ret_stat);
/* As procstat_read, but in the procfs at proc_fd (-1: /proc). pid is a pid in the pid namespace of that procfs. */
int procstat_read_at(int proc_fd, pid_t pid, struct procstat *ret_stat);

/* Returns the pid of the parent, or -ESRCH. */
pid_t procstat_read_parent(pid_t pid);

/*
 * Whether a process has more than `listed` threads. task_dir_fd: the directory /proc/PID/task. A list of it may end
 * before threads that run all the while: when the thread to be listed next ends at that moment.
 */
bool procstat_has_more_threads(int task_dir_fd, size_t listed);

/* Opens the file `leaf` of /proc/PID for reading. A descriptor owned by the caller, or -1 with errno. */
int procstat_open_file(pid_t pid, const char *leaf);
/* Reads the beginning of the file `leaf` of /proc/PID as text. Returns its length, or -1. */
ssize_t procstat_read_file(pid_t pid, const char *leaf, char *text, size_t size);

#endif
