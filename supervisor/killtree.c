#include "supervisor/killtree.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/procstat.h"
#include "base/proctree.h"

#include "base/banned.h"

/* Through a pidfd, with the parent read again behind it: the number may be another process's since it was listed. */
static void kill_checked(pid_t pid, pid_t parent)
{
	_cleanup_close_ int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);

	if (pidfd >= 0 && procstat_parent(pid) == parent)
		(void)syscall(SYS_pidfd_send_signal, pidfd, SIGKILL, NULL, 0); /* ESRCH: gone by itself */
}

/* What cannot be listed, for want of memory, is left to the next round. */
static void kill_descendants(pid_t root)
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

	while (!reap_all(wait_flags)) {
		if (io_now_ns() > end)
			return -ETIMEDOUT;
		kill_descendants(getpid());
		if (!reap_all(wait_flags))
			(void)nanosleep(&pause, NULL); /* dying takes a moment; an early wake-up is fine */
	}
	return 0;
}
