/*
 * The tasks of the run, by tid. The supervisor thread makes an entry at a task's first judged call, and drops it when
 * its pidfd says that it died. The run is every task whose ancestors lead to the supervisor, which is their subreaper.
 */
#ifndef CALLGATE_VIEW_TREE_H
#define CALLGATE_VIEW_TREE_H

#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#ifndef PIDFD_THREAD
#define PIDFD_THREAD O_EXCL /* Linux 6.9, pidfd_open(2): the descriptor is of the thread, not of its process */
#endif

struct tree;

/* The state of a task's descriptor table, as syscalls/file/room.c knows it. */
struct fd_table_state {
	uint64_t until_ns; /* the table is not full before then */
	uint64_t limit;    /* RLIMIT_NOFILE */
	unsigned changes;  /* tree_get_limit_generation() when the limit was read */
};

struct task {
	pid_t tid;
	pid_t tgid;
	pid_t ppid;
	pid_t host_pid; /* of the process, in the pid namespace around the run's; 0: the same, or unknown */
	int pidfd; /* of the thread (PIDFD_THREAD) or the leader; -1: valid for this call only */
	char *exe; /* virtual path of the image; never NULL */
	struct fd_table_state room;
	unsigned *changing_limit; /* the counter in which tree_note_limit_change has counted the task; NULL: none */
	struct task *next; /* tree.c */
};

struct view;

/*
 * root: the supervisor's pid. view: names images (NULL: by host path); borrowed. epoll_fd: pidfds are added to it with
 * data.ptr = the task, for tree_forget_task. 0 with an owned table, or -ENOMEM.
 */
int tree_create(pid_t root, const struct view *view, int epoll_fd, struct tree **ret_tree);
void tree_free(struct tree *tree);

/* The pid namespace around this one: its descriptor (Linux 6.11) and a procfs of it. Both borrowed; -1: none. */
void tree_set_host_pidns(struct tree *tree, int proc_fd, int pidns_fd);

/* The task of a notification. NULL: it died. Valid until the next tree_* call. */
struct task *tree_find_task(struct tree *tree, pid_t tid);
void tree_forget_task(struct tree *tree, struct task *task);

/* Notes after an exec that the image of process tgid is `exe`, a virtual path. */
void tree_note_exec(struct tree *tree, pid_t tgid, const char *exe);

/*
 * To be called before a call is continued by which the task changes an RLIMIT_NOFILE of the run. The kernel has changed
 * it when the task makes its next call. Returns what tree_get_limit_generation does until the next change; 0: unknown.
 */
unsigned tree_note_limit_change(struct tree *tree, struct task *task);
/* A number that stays the same as long as no RLIMIT_NOFILE of the run changes. 0: one may be changing now. */
unsigned tree_get_limit_generation(const struct tree *tree, const struct task *task);
/* To be called when the task makes another call, or died: its change is done. */
static inline void tree_end_limit_change(struct task *task)
{
	if (task->changing_limit)
		--*task->changing_limit;
	task->changing_limit = NULL;
}

/* True when pid (or a tid) belongs to the run. Reads /proc/PID/stat of each ancestor. */
bool tree_pid_is_in_run(struct tree *tree, pid_t pid);

/* The processes of the run at this moment, ascending, at most `cap`. Returns how many there are. */
size_t tree_list_processes(struct tree *tree, pid_t *out, size_t cap);

/* A numeric field of /proc/PID/status ("Tgid", "PPid"; "Umask" is octal). -ESRCH when the task or the field is gone. */
long tree_read_status(pid_t tid, const char *field, int base);

/* Visits every task that has a pidfd, in no order. The visitor may call no function of this file. */
void tree_visit_tasks(const struct tree *tree, void (*visit)(struct task *task, void *arg), void *arg);

/* The number of processes that were ever seen. */
unsigned tree_count_processes_seen(const struct tree *tree);

#endif
