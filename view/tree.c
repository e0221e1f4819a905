#include <errno.h>
#include <linux/kcmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/proc/fdinfo.h"
#include "base/io.h"
#include "base/proc/pidinfo.h"
#include "base/proc/tree.h"
#include "view/tree.h"
#include "view/view.h"

#define TASK_TABLE_BUCKETS 256u     /* of the hash table of tasks by thread id */
#define TASK_FORKS_FOLLOWED_MAX 16u /* forks without an exec, through which a process gets a command line */
#define TASK_TABLE_FDS_LEFT_FREE 96 /* descriptors kept free for judging calls and for workers */

/* The tasks of the run that have made calls, by thread id. */
struct task_table {
	pid_t root;
	const struct view *view;
	int epoll_fd;     /* watches the pidfds of the tasks for their end */
	int host_proc_fd; /* /proc of the pid namespace around the run; -1: the same */
	/* the pid namespace around this one; -1: there is none, or the kernel is too old to be asked about it */
	int host_pidns_fd;
	/* a pidfd of this number or above is not kept: many processes must not use up all descriptors */
	int first_pidfd_not_kept;
	unsigned processes_seen_count; /* processes of the run that were seen so far */
	bool keeps_commands;           /* tasks have their command lines */
	struct {
		/* counts the changes of RLIMIT_NOFILE in the run, for task_table_get_nofile_limit_version(); never 0 */
		unsigned changes;
		unsigned changing; /* how many tasks are in a continued call that changes an RLIMIT_NOFILE of the run */
		/*
		 * a task without a pidfd has changed a limit; when its call ends is unknown, so limits are no longer
		 * cached
		 */
		bool lost;
	} limit; /* changes of RLIMIT_NOFILE */
	struct task transient_task; /* the entry of a task without a pidfd, which is filled anew for each call */
	struct task *bucket[TASK_TABLE_BUCKETS];
};

int task_table_create(pid_t root, const struct view *view, int epoll_fd, struct task_table **ret_tree)
{
	struct task_table *tree = calloc(1, sizeof(*tree));
	struct rlimit limit;

	if (!tree)
		return -ENOMEM;
	tree->first_pidfd_not_kept = INT_MAX;
	if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur <= INT_MAX)
		tree->first_pidfd_not_kept = limit.rlim_cur > 2 * TASK_TABLE_FDS_LEFT_FREE
						     ? (int)limit.rlim_cur - TASK_TABLE_FDS_LEFT_FREE
						     : (int)limit.rlim_cur / 2;
	tree->root = root;
	tree->view = view;
	tree->epoll_fd = epoll_fd;
	tree->host_proc_fd = tree->host_pidns_fd = -1;
	tree->transient_task.pidfd = -1;
	tree->limit.changes = 1;
	*ret_tree = tree;
	return 0;
}

void task_table_set_host_pidns(struct task_table *tree, int proc_fd, int pidns_fd)
{
	tree->host_proc_fd = proc_fd;
	tree->host_pidns_fd = -1;
	if (proc_fd >= 0 && pidns_fd >= 0 && ioctl(pidns_fd, PIDNS_GET_PID_IOCTL, (unsigned long)getpid()) > 0)
		tree->host_pidns_fd = pidns_fd;
}

static void task_free(struct task *task)
{
	cleanup_close(&task->pidfd);
	free(task->exe);
	free(task->command);
	free(task);
}

void task_table_free(struct task_table *tree)
{
	if (!tree)
		return;
	for (unsigned i = 0; i < TASK_TABLE_BUCKETS; i++) {
		for (struct task *task = tree->bucket[i], *next; task; task = next) {
			next = task->next;
			task_free(task);
		}
	}
	free(tree->transient_task.exe);
	free(tree);
}

static ssize_t task_read_status(pid_t pid, char *out, size_t cap)
{
	char path[32];

	(void)snprintf(path, sizeof(path), "/proc/%d/status", pid);
	return io_read_once(AT_FDCWD, path, out, cap);
}

/* Parses a number field. A hostile comm cannot fake a field: the kernel escapes newlines in "Name:". */
static long status_get_number(const char *text, const char *field, int base)
{
	char key[32];
	const char *at;

	(void)snprintf(key, sizeof(key), "\n%s:\t", field);
	at = strstr(text, key);
	return at ? strtol(at + strlen(key), NULL, base) : -ESRCH;
}

long task_table_read_status_number(pid_t tid, const char *field, int base)
{
	char text[4096];

	return task_read_status(tid, text, sizeof(text)) <= 0 ? -ESRCH : status_get_number(text, field, base);
}

/* Gets the virtual path of the executable, else its host path; "": unreadable. Owned by the caller; NULL: no memory. */
static char *task_read_exe_path(const struct task_table *tree, pid_t tid)
{
	char link[64], host[PATH_MAX], virt[PATH_MAX];
	ssize_t len;

	(void)snprintf(link, sizeof(link), "/proc/%d/exe", tid);
	len = readlink(link, host, sizeof(host) - 1);
	if (len < 0)
		return strdup("");
	host[len] = '\0';
	if (tree->view && view_find_virtual_path(tree->view, host, (size_t)len, virt, sizeof(virt)) >= 0)
		return strdup(virt);
	return strdup(host);
}

static unsigned task_table_get_bucket(pid_t tid)
{
	return (unsigned)tid % TASK_TABLE_BUCKETS;
}

/* Gets the process and parent of a task: by PIDFD_GET_INFO (Linux 6.13), or from /proc. */
static int task_read_process_and_parent(struct task *task)
{
	struct pidinfo info = {.field_mask = PIDINFO_MASK_PID};
	char text[4096];

	if (task->pidfd >= 0 && ioctl(task->pidfd, PIDFD_INFO_IOCTL, &info) >= 0) {
		task->tgid = (pid_t)info.tgid;
		task->ppid = (pid_t)info.ppid;
		return 0;
	}
	if (task_read_status(task->tid, text, sizeof(text)) <= 0)
		return -ESRCH;
	task->tgid = (pid_t)status_get_number(text, "Tgid", 10);
	task->ppid = (pid_t)status_get_number(text, "PPid", 10);
	return task->tgid < 0 || task->ppid < 0 ? -ESRCH : 0;
}

/* The task's entry, or NULL. */
static struct task *task_table_get_task(const struct task_table *tree, pid_t tid)
{
	struct task *task = tree->bucket[task_table_get_bucket(tid)];

	while (task && task->tid != tid)
		task = task->next;
	return task;
}

/*
 * Finds a task in the table that has the same address space, and so the same executable: the main thread of the
 * process; for a child of vfork(2), its parent. NULL: none is known. The first look into /proc/PID makes the kernel
 * build entries of procfs for that process, and remove them at its exit: 13 us, which a child that only executes a
 * program is spared.
 */
static const struct task *task_find_sharer_of_memory(const struct task_table *tree, const struct task *task)
{
	const struct task *other = task_table_get_task(tree, task->tid != task->tgid ? task->tgid : task->ppid);

	if (!other || !other->exe[0])
		return NULL;
	if (task->tid != task->tgid)
		return other;
	return syscall(SYS_kcmp, task->tid, other->tid, KCMP_VM, 0, 0) == 0 ? other : NULL;
}

/* Fills in all fields of a task, except its pidfd. 0, -ESRCH or -ENOMEM. */
static int task_read_all_fields(const struct task_table *tree, struct task *task)
{
	const struct task *other;

	if (task_read_process_and_parent(task) < 0)
		return -ESRCH;
	other = task_find_sharer_of_memory(tree, task);
	free(task->exe);
	task->exe = other ? strdup(other->exe) : task_read_exe_path(tree, task->tid);
	return task->exe ? 0 : -ENOMEM;
}

/* Lets a process that has executed nothing have the arguments of the process that it was forked from. */
static void task_inherit_command(const struct task_table *tree, struct task *task)
{
	const struct task *above = NULL;
	pid_t pid = task->ppid;

	/* A process without an entry has executed nothing either: an exec makes entries of it and of its children. */
	for (unsigned i = 0; i < TASK_FORKS_FOLLOWED_MAX && pid > 1; i++) {
		above = task_table_get_task(tree, pid);
		if (above || pid == tree->root)
			break;
		pid = (pid_t)task_table_read_status_number(pid, "PPid", 10);
	}
	if (!above || !above->command || !(task->command = malloc(above->command_len)))
		return;
	memcpy(task->command, above->command, above->command_len);
	task->command_len = above->command_len;
}

/* Opens a pidfd of the process, or of the thread if that is not the leader (EINVAL, since Linux 6.16 ENOENT). */
static int task_open_pidfd(pid_t tid)
{
	int fd = (int)syscall(SYS_pidfd_open, tid, 0);

	if (fd < 0 && (errno == EINVAL || errno == ENOENT))
		fd = (int)syscall(SYS_pidfd_open, tid, PIDFD_THREAD);
	return fd < 0 ? -errno : fd;
}

/* Watches the pidfd, which becomes readable when the task dies: a reused pid must not inherit the entry. */
static int task_watch_pidfd(const struct task_table *tree, struct task *task)
{
	struct epoll_event event = {.events = EPOLLIN, .data.ptr = task};
	_cleanup_close_ int fd = task_open_pidfd(task->tid);

	if (fd < 0)
		return fd;
	if (fd >= tree->first_pidfd_not_kept)
		return -EMFILE;
	if (epoll_ctl(tree->epoll_fd, EPOLL_CTL_ADD, fd, &event) < 0)
		return -errno;
	task->pidfd = steal_fd(&fd);
	return 0;
}

/*
 * Gets the pid of a process in the pid namespace around this one, or 0. Before Linux 6.11 the pidfd's fdinfo has it, in
 * a procfs of that namespace (proc_pid_fdinfo(5)). If the process dies meanwhile, no process waits for the response.
 */
static pid_t task_table_get_host_pid(const struct task_table *tree, const struct task *task)
{
	char path[32];
	struct fdinfo info;

	if (tree->host_proc_fd < 0)
		return 0;
	if (tree->host_pidns_fd >= 0) {
		int number = ioctl(tree->host_pidns_fd, PIDNS_GET_PID_IOCTL, (unsigned long)task->tid);

		if (number > 0)
			return number;
	}
	(void)snprintf(path, sizeof(path), "thread-self/fdinfo/%d", task->pidfd);
	return fdinfo_read_at(tree->host_proc_fd, path, &info) < 0 || info.pid < 0 ? 0 : info.pid;
}

/* Makes a task that is not in the table yet. NULL with *ret_error. */
static struct task *task_create(const struct task_table *tree, pid_t tid, int *ret_error)
{
	struct task *task = calloc(1, sizeof(*task));

	*ret_error = -ENOMEM;
	if (!task)
		return NULL;
	task->tid = tid;
	task->pidfd = -1;
	*ret_error = task_watch_pidfd(tree, task);
	if (*ret_error == 0)
		*ret_error = task_read_all_fields(tree, task);
	if (*ret_error == 0)
		return task;
	task_free(task);
	return NULL;
}

struct task *task_table_find_task(struct task_table *tree, pid_t tid)
{
	struct task **bucket = &tree->bucket[task_table_get_bucket(tid)];
	struct task *task = task_table_get_task(tree, tid);
	int error;

	if (task)
		return task;
	task = task_create(tree, tid, &error);
	if (!task) {
		/*
		 * The task has no pidfd, because no descriptor is left, or because it is a thread, before Linux 6.9. So
		 * its entry, which a reused tid could inherit, is used for this call only.
		 */
		tree->transient_task.tid = tid;
		return error == -ESRCH || task_read_all_fields(tree, &tree->transient_task) < 0 ? NULL
												: &tree->transient_task;
	}
	if (task->tid == task->tgid) {
		tree->processes_seen_count++;
		task->host_pid = task_table_get_host_pid(tree, task);
		if (tree->keeps_commands)
			task_inherit_command(tree, task);
	} else {
		/* Adds the leader, too, and so counts the process. */
		const struct task *leader = task_table_find_task(tree, task->tgid);

		task->host_pid = leader ? leader->host_pid : 0;
	}
	task->next = *bucket;
	*bucket = task;
	return task;
}

void task_table_forget_task(struct task_table *tree, struct task *task)
{
	for (struct task **at = &tree->bucket[task_table_get_bucket(task->tid)]; *at; at = &(*at)->next) {
		if (*at != task)
			continue;
		*at = task->next;
		task_table_end_rlimit_nofile_change(task);
		task_free(task);
		return;
	}
}

void task_table_set_exe(struct task_table *tree, pid_t tgid, const char *exe)
{
	struct task *task = task_table_find_task(tree, tgid);
	char *copy;

	if (!task)
		return;
	/* After an exec by another thread, the leader has the descriptor table of that thread. */
	task->fd_table_room = (struct fd_table_room){0};
	copy = strdup(exe);
	if (!copy)
		return; /* out of memory: records keep the old path */
	free(task->exe);
	task->exe = copy;
}

void task_table_keep_commands(struct task_table *tree)
{
	tree->keeps_commands = true;
}

bool task_table_keeps_commands(const struct task_table *tree)
{
	return tree->keeps_commands;
}

/* Makes entries of the children that a process has forked, which get its command line. The process is stopped. */
static void task_table_add_children(struct task_table *tree, pid_t tgid)
{
	struct proctree processes = {0};
	char path[64], first[2];

	(void)snprintf(path, sizeof(path), "/proc/%d/task/%d/children", tgid, tgid);
	if (io_read_once(AT_FDCWD, path, first, sizeof(first)) == 0)
		return; /* as nearly always; an error: a kernel without CONFIG_PROC_CHILDREN */
	if (proctree_read(&processes) == 0)
		for (size_t i = 0; i < processes.entry_count; i++)
			if (processes.entry[i].parent == tgid)
				(void)task_table_find_task(tree, processes.entry[i].pid);
	proctree_release(&processes);
}

void task_table_set_command(struct task_table *tree, pid_t tgid, const char *text, size_t len)
{
	struct task *task;
	char *copy;

	if (!tree->keeps_commands)
		return;
	task_table_add_children(tree, tgid);
	task = task_table_find_task(tree, tgid);
	if (!task)
		return;
	copy = len ? malloc(len) : NULL;
	if (copy)
		memcpy(copy, text, len);
	free(task->command);
	task->command = copy;
	task->command_len = copy ? len : 0;
}

const char *task_table_find_command(struct task_table *tree, pid_t tgid, size_t *ret_len)
{
	const struct task *task = task_table_find_task(tree, tgid);

	if (!task || !task->command || task->pidfd < 0)
		return NULL;
	*ret_len = task->command_len;
	return task->command;
}

unsigned task_table_begin_rlimit_nofile_change(struct task_table *tree, struct task *task)
{
	if (++tree->limit.changes == 0)
		tree->limit.changes = 1;
	if (task->pidfd < 0) {
		tree->limit.lost = true;
		return 0;
	}
	if (!task->ongoing_nofile_limit_changes)
		tree->limit.changing++;
	task->ongoing_nofile_limit_changes = &tree->limit.changing;
	return tree->limit.changes;
}

unsigned task_table_get_nofile_limit_version(const struct task_table *tree, const struct task *task)
{
	return tree->limit.changing || tree->limit.lost || task->pidfd < 0 ? 0 : tree->limit.changes;
}

bool task_table_pid_is_in_run(struct task_table *tree, pid_t pid)
{
	return !(tree->view && view_hides_process(tree->view, pid)) && proctree_is_descendant(pid, tree->root);
}

size_t task_table_list_processes(struct task_table *tree, pid_t *out, size_t cap)
{
	size_t count = proctree_list_descendants(tree->root, out, cap), listed = count < cap ? count : cap;

	return tree->view ? count - listed + view_drop_hidden_processes(tree->view, out, listed) : count;
}

void task_table_visit_tasks(const struct task_table *tree, void (*visit)(struct task *task, void *arg), void *arg)
{
	for (unsigned i = 0; i < TASK_TABLE_BUCKETS; i++)
		for (struct task *task = tree->bucket[i]; task; task = task->next)
			visit(task, arg);
}

unsigned task_table_count_processes_seen(const struct task_table *tree)
{
	return tree->processes_seen_count;
}
