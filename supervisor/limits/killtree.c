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
#include "base/procstat.h"
#include "base/proctree.h"

#include "base/banned.h"

#define CHILDREN_BYTES (8u << 20) /* a million children */

/* Through a pidfd, with the parent read again behind it: the number may be another process's since it was listed. */
static void kill_checked(pid_t pid, pid_t parent)
{
	_cleanup_close_ int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);

	if (pidfd >= 0 && procstat_parent(pid) == parent)
		(void)syscall(SYS_pidfd_send_signal, pidfd, SIGKILL, NULL, 0); /* ESRCH: gone by itself */
}

/*
 * Our own children, which are nobody else's to reap: their numbers are theirs. It takes a call each, and no look at
 * every process there is. Kernels that do not tell them (CONFIG_PROC_CHILDREN) leave them to the round after.
 */
static void kill_children(void)
{
	_cleanup_free_ char *text = NULL;
	char path[64], *at, *end;
	size_t len;

	(void)snprintf(path, sizeof(path), "/proc/self/task/%d/children", getpid()); /* bounded by an int */
	if (io_read_file(AT_FDCWD, path, CHILDREN_BYTES, &text, &len) < 0)
		return;
	for (at = text; *at; at = end) {
		pid_t pid = (pid_t)strtol(at, &end, 10);

		if (pid <= 0)
			return;
		(void)kill(pid, SIGKILL); /* EPERM: the custodian, who is another user */
		end += *end == ' ';
	}
}

/* What cannot be listed, for want of memory, is left to the next round. */
void killtree_below(pid_t root)
{
	struct proctree all;

	(void)proctree_read(&all);
	proctree_mark(&all, root);
	for (size_t i = 0; i < all.count; i++)
		if (all.entry[i].place == PROCTREE_BELOW)
			kill_checked(all.entry[i].pid, all.entry[i].parent);
	proctree_done(&all);
}

/* Reaps what has ended. True when no child is left. */
static bool reap_all(int wait_flags)
{
	pid_t pid;

	do
		pid = waitpid(-1, NULL, WNOHANG | wait_flags);
	while (pid > 0 || (pid < 0 && errno == EINTR));
	return pid < 0 && errno == ECHILD;
}

int killtree(unsigned timeout_ms, int wait_flags)
{
	uint64_t end = io_now_ns() + (uint64_t)timeout_ms * 1000000;
	const struct timespec pause = {.tv_nsec = 1000000};
	bool first = true;

	while (!reap_all(wait_flags)) {
		if (io_now_ns() > end)
			return -ETIMEDOUT;
		kill_children();
		if (!first)
			killtree_below(getpid());
		first = false;
		if (!reap_all(wait_flags))
			(void)nanosleep(&pause, NULL); /* dying takes a moment; an early wake-up is fine */
	}
	return 0;
}
