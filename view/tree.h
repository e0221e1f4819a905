/*
 * Who is in the run: every task whose ancestors lead to the supervisor, which is their subreaper. Entries are keyed by
 * tid, held valid by a pidfd, and made at a task's first judged call.
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

/* What is known of a task's table of descriptors: file-room.c's. */
struct task_room {
	uint64_t until_ns; /* it is not full before */
	uint64_t limit;
	unsigned changes;  /* tree_limit_changes() when the limit was asked for */
};

struct task {
	pid_t tid;
	pid_t tgid;
	pid_t ppid;
	pid_t host_pid; /* of the process, in the pid namespace around the run's; 0: the same number, or unknown */
	int pidfd; /* of the thread (PIDFD_THREAD) or the leader; -1: not cached, valid for this call only */
	char *exe; /* virtual path of the image; never NULL */
	struct task_room room;
	unsigned *changing_limit; /* where it is counted among those who do; NULL: it does not */
	struct task *next; /* tree.c's */
};

struct view;

/*
 * root: the supervisor's pid. view: names images (may be NULL: then by host path). epoll_fd: where pidfds are added with
 * data.ptr = the task, so that the caller hands a dead one to tree_forget.
 */
int tree_create(pid_t root, const struct view *view, int epoll_fd, struct tree **ret_tree);
void tree_free(struct tree *tree);

/*
 * The pid namespace around ours, which tells the numbers there (Linux 6.11), and a procfs of it, where pidfds tell them.
 * Borrows; -1: there is none.
 */
void tree_set_host(struct tree *tree, int proc_fd, int pidns_fd);

/* The task of a notification. Never NULL for a live tid; NULL when it died. Valid until the next tree_* call. */
struct task *tree_task(struct tree *tree, pid_t tid);
void tree_forget(struct tree *tree, struct task *task);

/* The image changed (exec): tgid's tasks now run `exe`. */
void tree_exec(struct tree *tree, pid_t tgid, const char *exe);

/*
 * The task changes RLIMIT_NOFILE, its own process's or another member's: the kernel does so once the notification is
 * continued, and has done when the task makes its next call. Returns what tree_limit_changes will if nobody else does
 * meanwhile; 0: nobody will be able to tell.
 */
unsigned tree_limit_change(struct tree *tree, struct task *task);
/*
 * How often that was, for the task that calls now: as long as it stays the same nothing has changed. 0: nobody can tell,
 * because something may be changing.
 */
unsigned tree_limit_changes(const struct tree *tree, const struct task *task);
/* The task makes a call, or is gone: what it was changing is changed. */
static inline void tree_limit_changed(struct task *task)
{
	if (task->changing_limit)
		--*task->changing_limit;
	task->changing_limit = NULL;
}

/* True when pid (a tgid) or tid belongs to the run. Asks /proc; costs a few reads. */
bool tree_holds(struct tree *tree, pid_t pid);

/* The tgids of the run at this moment, ascending, at most `cap`; returns how many there are. */
size_t tree_list(struct tree *tree, pid_t *out, size_t cap);

/* A numeric field of /proc/PID/status ("Tgid", "PPid", "Umask" is octal). -ESRCH when the task or the field is gone. */
long tree_status(pid_t tid, const char *field, int base);

/* Every task that is held by a pidfd, in no order. The visitor calls nothing of this file. */
void tree_each(const struct tree *tree, void (*visit)(struct task *task, void *arg), void *arg);

/* How many different tgids were ever seen. */
unsigned tree_seen(const struct tree *tree);

#endif
