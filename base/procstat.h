/* /proc/PID/stat: proc_pid_stat(5). The one reader of it. */
#ifndef CALLGATE_BASE_PROCSTAT_H
#define CALLGATE_BASE_PROCSTAT_H

#include <sys/types.h>

struct procstat {
	pid_t parent; /* a process, also for a thread; 0: none in this pid namespace */
	pid_t group;
	char state; /* R, S, D, T, t, Z, X, I */
	unsigned long threads; /* of the process */
};

/*
 * Takes the text apart (a whole line: the threads are field 20). 0, or -ESRCH when it is not one: the task died while
 * it was read.
 */
int procstat_parse(const char *text, struct procstat *ret_stat);

/* Reads that of a process or thread. 0, or -ESRCH. An answer of the moment: pids are used again. */
int procstat_read(pid_t pid, struct procstat *ret_stat);

/* The parent alone, or -ESRCH. */
pid_t procstat_parent(pid_t pid);

#endif
