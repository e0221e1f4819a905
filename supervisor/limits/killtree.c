#include "supervisor/limits/killtree.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/proc/stat.h"
#include "base/proc/tree.h"

#define CHILDREN_FILE_BYTES_MAX (8u << 20) /* bytes of the list of children: room for a million */

/* Kills a process through a pidfd. Reads its parent again first, because the pid may have been reused. */
static void killtree_kill_process(pid_t pid, pid_t parent)
{
	_cleanup_close_ int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);

	if (pidfd >= 0 && procstat_read_parent(pid) == parent)
		/* ESRCH: the process has ended by itself */
		(void)syscall(SYS_pidfd_send_signal, pidfd, SIGKILL, NULL, 0);
}

/*
 * Kills the children of this process. Only this process reaps them, so their pids are not reused. Cheaper than
 * searching all processes. Kernels without CONFIG_PROC_CHILDREN have no such list, so the next round kills them.
 */
static void killtree_kill_children(void)
{
	_cleanup_free_ char *text = NULL;
	char path[64], *at, *end;
	size_t len;

	(void)snprintf(path, sizeof(path), "/proc/self/task/%d/children", getpid()); /* bounded by an int */
	if (io_read_file(AT_FDCWD, path, CHILDREN_FILE_BYTES_MAX, &text, &len) < 0)
		return;
	for (at = text; *at; at = end) {
		pid_t pid = (pid_t)strtol(at, &end, 10);

		if (pid <= 0)
			return;
		(void)kill(pid, SIGKILL); /* EPERM: the custodian, which has another uid */
		end += *end == ' ';
	}
}

/* If there is no memory to list all processes, it kills those that were listed; killtree() calls it again. */
bool killtree_kill_descendants_once(pid_t root)
{
	struct proctree all;
	bool none = proctree_read(&all) == 0;

	proctree_mark_descendants(&all, root);
	for (size_t i = 0; i < all.entry_count; i++)
		if (all.entry[i].place == PROCTREE_DESCENDANT) {
			none = false;
			killtree_kill_process(all.entry[i].pid, all.entry[i].parent);
		}
	proctree_release(&all);
	return none;
}

/* Reaps children that have ended. True: no child is left. */
static bool killtree_reap_ended(int wait_flags)
{
	pid_t pid;

	do
		pid = waitpid(-1, NULL, WNOHANG | wait_flags);
	while (pid > 0 || (pid < 0 && errno == EINTR));
	return pid < 0 && errno == ECHILD;
}

int killtree(unsigned timeout_ms, int wait_flags)
{
	uint64_t end = io_read_clock_ns() + (uint64_t)timeout_ms * 1000000;
	const struct timespec pause = {.tv_nsec = 1000000};
	bool first = true;

	while (!killtree_reap_ended(wait_flags)) {
		if (io_read_clock_ns() > end)
			return -ETIMEDOUT;
		killtree_kill_children();
		if (!first)
			(void)killtree_kill_descendants_once(getpid());
		first = false;
		if (!killtree_reap_ended(wait_flags))
			(void)nanosleep(&pause, NULL); /* a killed process ends a little later */
	}
	return 0;
}
