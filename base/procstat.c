#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/procstat.h"

#include "base/banned.h"

int procstat_parse(const char *text, struct procstat *ret_stat)
{
	/* Field 2, the name, may contain parentheses and newlines. */
	const char *end = strrchr(text, ')');
	struct procstat stat = {.threads = 1}; /* if the text ends before that field */

	if (!end || sscanf(end, ") %c %d %d %d %u %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %lu",
			   &stat.state, &stat.parent, &stat.group, &stat.session, &stat.terminal, &stat.threads) < 3)
		return -ESRCH;
	*ret_stat = stat;
	return 0;
}

int procstat_read_at(int proc_fd, pid_t pid, struct procstat *ret_stat)
{
	char path[32], text[768]; /* the first 20 fields fit */
	_cleanup_close_ int fd = -1;
	ssize_t got;

	(void)snprintf(path, sizeof(path), "%s%d/stat", proc_fd < 0 ? "/proc/" : "", pid); /* an int fits */
	fd = openat(proc_fd, path, O_RDONLY | O_CLOEXEC);
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

pid_t procstat_parent(pid_t pid)
{
	struct procstat stat;

	return procstat_read(pid, &stat) < 0 ? -ESRCH : stat.parent;
}
