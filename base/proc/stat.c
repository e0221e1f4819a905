#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/proc/stat.h"

int procstat_parse(const char *text, struct procstat *ret_stat)
{
	/* Skips field 2, the name of the executable: it may contain parentheses and newlines. */
	const char *end = strrchr(text, ')');
	struct procstat stat = {.threads = 1};            /* 1 thread, if the text ends before that field */
	unsigned long own[2] = {0, 0}, child[2] = {0, 0}; /* clock ticks in user mode [0] and in the kernel [1] */

	if (!end || sscanf(end, ") %c %d %d %d %u %*d %*u %*u %*u %*u %*u %lu %lu %lu %lu %*d %*d %lu %*d %*u %lu %lu",
			   &stat.state, &stat.parent, &stat.group, &stat.session, &stat.terminal_device, &own[0],
			   &own[1], &child[0], &child[1], &stat.threads, &stat.vsize_bytes, &stat.rss_pages) < 3)
		return -ESRCH;
	stat.own_ticks = own[0] + own[1];
	stat.child_ticks = child[0] + child[1];
	*ret_stat = stat;
	return 0;
}

int procstat_read_at(int proc_fd, pid_t pid, struct procstat *ret_stat)
{
	char path[32], text[768]; /* `text` has room for the first 24 fields of the stat file */
	_cleanup_close_ int fd = -1;
	ssize_t got;

	(void)snprintf(path, sizeof(path), "%s%d/stat", proc_fd < 0 ? "/proc/" : "", pid); /* any int fits in `path` */
	fd = openat(proc_fd, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 && errno == EPERM)
		return -EPERM;
	got = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (got <= 0)
		return -ESRCH;
	text[got] = '\0';
	return procstat_parse(text, ret_stat);
}

int procstat_read(pid_t pid, struct procstat *ret_stat)
{
	return procstat_read_at(-1, pid, ret_stat);
}

pid_t procstat_read_parent(pid_t pid)
{
	struct procstat stat;

	return procstat_read(pid, &stat) < 0 ? -ESRCH : stat.parent;
}

bool procstat_has_more_threads(int task_dir_fd, size_t listed)
{
	struct stat status;

	/* links: ".", the name in the parent, and the threads that were not reaped yet */
	return fstat(task_dir_fd, &status) < 0 || status.st_nlink > 2 + listed;
}

int procstat_open_file(pid_t pid, const char *leaf)
{
	char path[64];

	(void)snprintf(path, sizeof(path), "/proc/%d/%s", pid, leaf); /* a longer path is cut, so that open(2) fails */
	return open(path, O_RDONLY | O_CLOEXEC);
}

ssize_t procstat_read_file(pid_t pid, const char *leaf, char *text, size_t size)
{
	_cleanup_close_ int fd = procstat_open_file(pid, leaf);
	ssize_t len = fd < 0 ? -1 : read(fd, text, size - 1);

	if (len >= 0)
		text[len] = '\0';
	return len;
}
