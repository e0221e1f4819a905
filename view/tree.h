/*
 * The tasks (threads) of the run, by tid. The supervisor thread adds a task at its first judged call, and removes it
 * when its pidfd reports that it died. The run consists of all descendants of the supervisor, which is their subreaper.
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

struct task_table;

/* What syscalls/file/room.c knows about the descriptor table of a task. */
struct fd_table_room {
	uint64_t valid_until_ns; /* until then the table cannot be full */
	uint64_t nofile_limit;    /* RLIMIT_NOFILE of the task */
	unsigned nofile_limit_version;  /* task_table_get_nofile_limit_version() when the limit was read */
};

/* A thread of the run that makes judged calls. */
struct task {
	pid_t tid;
	pid_t tgid;
	pid_t ppid;
	pid_t host_pid; /* pid in the pid namespace around the run; 0: the same pid, or unknown */
	/* of a session: the program that it belongs to, set by session/; 0: none, or unknown */
	unsigned session_program_number;
	int pidfd; /* pidfd of the thread (PIDFD_THREAD) or of the process; -1: the entry is valid for this call only */
	char *exe; /* virtual path of the executable; never NULL */
	/* of a process: its arguments as its last exec got them, each with a NUL behind it; NULL: not known; owned */
	char *command;
	size_t command_len;
	struct fd_table_room fd_table_room; /* whether its table of descriptors may be full */
	/* counter that task_table_begin_rlimit_nofile_change() has raised for the task; NULL: none */
	unsigned *ongoing_nofile_limit_changes;
	struct task *next; /* next task of the same bucket: tree.c */
};

/* A copy that is valid when the task has ended, without what the table owns. exe: that of the copy; borrowed. */
static inline struct task task_make_copy(const struct task *task, char *exe)
{
	struct task copy = *task;

	copy.pidfd = -1;
	copy.exe = exe;
	copy.command = NULL;
	copy.ongoing_nofile_limit_changes = NULL;
	copy.next = NULL;
	return copy;
}

#define EXEC_COMMAND_BYTES_MAX 8192u /* bytes of a command line that are kept; with so many, it may be longer */

struct view;

/*
 * Makes an empty table. root: pid of the supervisor. view: names executables (NULL: by host path); borrowed. epoll_fd:
 * gets the pidfds, with data.ptr = the task, for task_table_forget_task. 0 with an owned table, or -ENOMEM.
 */
int task_table_create(pid_t root, const struct view *view, int epoll_fd, struct task_table **ret_tree);
void task_table_free(struct task_table *tree);

/* Sets the pid namespace around this one: its descriptor (Linux 6.11) and its procfs. Both borrowed; -1: none. */
void task_table_set_host_pidns(struct task_table *tree, int proc_fd, int pidns_fd);

/* Finds or adds the task that made a call. NULL: it died. Valid until the next call of a task_table_* function. */
struct task *task_table_find_task(struct task_table *tree, pid_t tid);
void task_table_forget_task(struct task_table *tree, struct task *task);

/* Sets the executable of process tgid after an exec; `exe` is a virtual path. */
void task_table_set_exe(struct task_table *tree, pid_t tgid, const char *exe);

/* From now on the table keeps command lines: task_table_set_command(). */
void task_table_keep_commands(struct task_table *tree);
bool task_table_keeps_commands(const struct task_table *tree);

/*
 * Sets the arguments of process tgid, which is stopped at its exec, each with a NUL behind it. The program may rewrite
 * what /proc/PID/cmdline shows, but not these. Children that it forked before keep the former ones.
 */
void task_table_set_command(struct task_table *tree, pid_t tgid, const char *text, size_t len);

/*
 * The arguments of process tgid: those of its last exec, or for a process that has executed nothing, those that its
 * parent had at the fork. NULL: not known. Valid until the next call of a task_table_* function.
 */
const char *task_table_find_command(struct task_table *tree, pid_t tgid, size_t *ret_len);

/*
 * Call this before a call is continued by which the task changes an RLIMIT_NOFILE of the run. The change is done when
 * the task makes its next call. Returns the value of task_table_get_nofile_limit_version() until the next change; 0:
 * unknown.
 */
unsigned task_table_begin_rlimit_nofile_change(struct task_table *tree, struct task *task);
/* Returns a number that stays the same while no RLIMIT_NOFILE of the run changes. 0: one may be changing now. */
unsigned task_table_get_nofile_limit_version(const struct task_table *tree, const struct task *task);
/* Call this when the task makes another call or dies: its change of RLIMIT_NOFILE is done. */
static inline void task_table_end_rlimit_nofile_change(struct task *task)
{
	if (task->ongoing_nofile_limit_changes)
		--*task->ongoing_nofile_limit_changes;
	task->ongoing_nofile_limit_changes = NULL;
}

/*
 * True when pid, which may be a thread id, belongs to the run, and the view does not hide it. Reads /proc/PID/stat of
 * each ancestor.
 */
bool task_table_pid_is_in_run(struct task_table *tree, pid_t pid);

/*
 * Writes the pids of the processes of the run that the view does not hide, ascending, at most `cap`. Returns how many
 * processes there are.
 */
size_t task_table_list_processes(struct task_table *tree, pid_t *out, size_t cap);

/* Reads a numeric field of /proc/PID/status ("Tgid", "PPid"; "Umask" is octal). -ESRCH: the task or field is gone. */
long task_table_read_status_number(pid_t tid, const char *field, int base);

/* Visits every task that has a pidfd, in any order. The visitor must not call functions of this file. */
void task_table_visit_tasks(const struct task_table *tree, void (*visit)(struct task *task, void *arg), void *arg);

/* Returns how many processes have ever been added. */
unsigned task_table_count_processes_seen(const struct task_table *tree);

#endif
