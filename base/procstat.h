/* /proc/PID/stat: proc_pid_stat(5). The file's only reader. Also what other readers of /proc/PID have in common. */
#ifndef CALLGATE_BASE_PROCSTAT_H
#define CALLGATE_BASE_PROCSTAT_H

#include <stddef.h>
#include <sys/types.h>

struct procstat {
	pid_t parent; /* of the process; 0: not in this pid namespace */
	pid_t group;
	pid_t session;
	unsigned terminal; /* device number of the controlling terminal, as stat(2) encodes it; 0: none */
	char state; /* R, S, D, T, t, Z, X, I */
	unsigned long threads; /* of the process, as all fields below */
	unsigned long child_ticks; /* cpu time of reaped children */
	unsigned long vsize_bytes, rss_pages;
};

/* Parses the text; `threads` is field 20. 0, or -ESRCH when it is incomplete: the task died meanwhile. */
int procstat_parse(const char *text, struct procstat *ret_stat);

/* Reads the file of a process or thread. 0, or -ESRCH. Pids are reused: the result may already be about another one. */
int procstat_read(pid_t pid, struct procstat *ret_stat);
/* As procstat_read, in another procfs, whose pids are those of its pid namespace. proc_fd -1: /proc. */
int procstat_read_at(int proc_fd, pid_t pid, struct procstat *ret_stat);

/* The parent's pid, or -ESRCH. */
pid_t procstat_read_parent(pid_t pid);

/* Opens another file of /proc/PID for reading. Owned, or -1 with errno. */
int procstat_open_file(pid_t pid, const char *leaf);
/* Reads the beginning of a file of /proc/PID as text. Its length, or -1. */
ssize_t procstat_read_file(pid_t pid, const char *leaf, char *text, size_t size);

#endif
