#include "supervisor/killtree.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/procstat.h"

#include "base/banned.h"

struct pid_list {
	pid_t *pid;
	pid_t *parent;
	size_t count;
	size_t room;
};

static void pid_list_done(struct pid_list *list)
{
	free(list->pid);
	free(list->parent);
}

static bool pid_list_add(struct pid_list *list, pid_t pid, pid_t parent)
{
	size_t room = list->room ? list->room * 2 : 256;
	pid_t *more;

	if (list->count == list->room) {
		more = reallocarray(list->pid, room, sizeof(pid_t));
		if (!more)
			return false;
		list->pid = more;
		more = reallocarray(list->parent, room, sizeof(pid_t));
		if (!more)
			return false;
		list->parent = more;
		list->room = room;
	}
	list->pid[list->count] = pid;
	list->parent[list->count++] = parent;
	return true;
}

static void list_processes(struct pid_list *list)
{
	_cleanup_closedir_ DIR *proc = opendir("/proc");
	struct dirent *entry;

	while (proc && (entry = readdir(proc))) {
		pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);
		pid_t parent = pid > 0 ? procstat_parent(pid) : -ESRCH;

		if (parent > 0 && !pid_list_add(list, pid, parent))
			return; /* out of memory: those listed are killed, the rest in the next round */
	}
}

/* /proc lists pids in ascending order. */
static const pid_t *find(const struct pid_list *list, pid_t pid)
{
	size_t low = 0, high = list->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (list->pid[middle] == pid)
			return &list->pid[middle];
		if (list->pid[middle] < pid)
			low = middle + 1;
		else
			high = middle;
	}
	return NULL;
}

/* Through a pidfd, with the parent read again behind it: the number may be another process's since it was listed. */
static void kill_checked(pid_t pid, pid_t parent)
{
	_cleanup_close_ int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);

	if (pidfd >= 0 && procstat_parent(pid) == parent)
		(void)syscall(SYS_pidfd_send_signal, pidfd, SIGKILL, NULL, 0); /* ESRCH: gone by itself */
}

/* Marks descendants by passes until nothing changes: a parent's pid may be higher than its child's after a wrap. */
static void kill_descendants(const struct pid_list *list, pid_t root)
{
	_cleanup_free_ bool *ours = calloc(list->count ? list->count : 1, sizeof(bool));
	bool again = ours != NULL;

	while (again) {
		again = false;
		for (size_t i = 0; i < list->count; i++) {
			const pid_t *parent = find(list, list->parent[i]);

			if (ours[i] || !(list->parent[i] == root || (parent && ours[parent - list->pid])))
				continue;
			ours[i] = again = true;
			kill_checked(list->pid[i], list->parent[i]);
		}
	}
}

/* Reaps what has ended. True when no child is left. */
static bool reap_all(void)
{
	pid_t pid;

	do
		pid = waitpid(-1, NULL, WNOHANG | __WALL);
	while (pid > 0 || (pid < 0 && errno == EINTR));
	return pid < 0 && errno == ECHILD;
}

int killtree(unsigned timeout_ms)
{
	uint64_t end = io_now_ns() + (uint64_t)timeout_ms * 1000000;
	const struct timespec pause = {.tv_nsec = 1000000};

	while (!reap_all()) {
		struct pid_list list = {0};

		if (io_now_ns() > end)
			return -ETIMEDOUT;
		list_processes(&list);
		kill_descendants(&list, getpid());
		pid_list_done(&list);
		if (!reap_all())
			(void)nanosleep(&pause, NULL); /* dying takes a moment; an early wake-up is fine */
	}
	return 0;
}
