#include "supervisor/limits/held.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/kcmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/procstat.h"
#include "base/proctree.h"

#include "base/banned.h"

#define CHUNK_BYTES 65536

static uint64_t held_count_entries(const char *path)
{
	DIR *dir = opendir(path);
	uint64_t count = 0;

	while (dir && readdir(dir))
		count++;
	if (dir)
		(void)closedir(dir);
	return count > 2 ? count - 2 : 0; /* "." and ".." */
}

static uint64_t held_count_descriptors(pid_t pid)
{
	char path[48];
	struct stat status;

	(void)snprintf(path, sizeof(path), "/proc/%d/fd", pid); /* bounded by an int */
	if (stat(path, &status) < 0)
		return 0;
	/* Since Linux 6.2 the directory's size is their number. */
	return status.st_size > 0 ? (uint64_t)status.st_size : held_count_entries(path);
}

enum held_table held_table(pid_t pid, pid_t tid)
{
	long r = syscall(SYS_kcmp, (long)pid, (long)tid, (long)KCMP_FILES, 0L, 0L);

	return r == 0 ? HELD_TABLE_SHARED : r > 0 ? HELD_TABLE_OWN : HELD_TABLE_UNKNOWN;
}

uint64_t held_descriptors(pid_t pid, uint64_t *ret_most)
{
	uint64_t sum = held_count_descriptors(pid), unknown = 0;
	struct dirent *entry;
	char path[48];
	DIR *dir;

	(void)snprintf(path, sizeof(path), "/proc/%d/task", pid);
	dir = opendir(path);
	while (dir && (entry = readdir(dir))) {
		pid_t tid = (pid_t)strtol(entry->d_name, NULL, 10);
		enum held_table table = tid > 0 && tid != pid ? held_table(pid, tid) : HELD_TABLE_SHARED;

		if (table == HELD_TABLE_OWN)
			sum += held_count_descriptors(tid);
		else if (table == HELD_TABLE_UNKNOWN)
			unknown += held_count_descriptors(tid);
	}
	if (dir)
		(void)closedir(dir);
	*ret_most = sum + unknown;
	return sum;
}

uint64_t held_lines(const char *path)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	char text[CHUNK_BYTES];
	uint64_t lines = 0;
	ssize_t len;

	while (fd >= 0 && (len = read(fd, text, sizeof(text))) > 0)
		for (const char *at = text; (at = memchr(at, '\n', (size_t)(text + len - at))); at++)
			lines++;
	return lines;
}

uint64_t held_areas(pid_t pid)
{
	char path[48];

	(void)snprintf(path, sizeof(path), "/proc/%d/maps", pid); /* bounded by an int */
	return held_lines(path);
}

/* A thread of the process that has not ended; pid when there is none. */
static pid_t held_living_thread(pid_t pid)
{
	char path[48];
	pid_t found = pid;
	struct dirent *entry;
	DIR *dir;

	(void)snprintf(path, sizeof(path), "/proc/%d/task", pid);
	dir = opendir(path);
	while (dir && found == pid && (entry = readdir(dir))) {
		pid_t tid = (pid_t)strtol(entry->d_name, NULL, 10);
		struct procstat stat;

		if (tid > 0 && procstat_read(tid, &stat) == 0 && stat.state != 'Z' && stat.state != 'X')
			found = tid;
	}
	if (dir)
		(void)closedir(dir);
	return found;
}

pid_t held_by(pid_t pid, char state, uint64_t threads)
{
	return state == 'Z' && threads > 1 ? held_living_thread(pid) : pid;
}

int held_files(pid_t root, uint64_t *ret_files)
{
	struct proctree tree = {.count = 0};
	uint64_t sum = 0;
	int error = proctree_read(&tree);

	proctree_mark(&tree, root);
	for (size_t i = 0; error == 0 && i < tree.count; i++) {
		pid_t pid = tree.entry[i].pid;
		struct procstat stat;
		uint64_t most;

		if (tree.entry[i].place != PROCTREE_BELOW || procstat_read(pid, &stat) < 0)
			continue;
		pid = held_by(pid, stat.state, stat.threads);
		sum += held_descriptors(pid, &most) + held_areas(pid);
	}
	proctree_done(&tree);
	if (error < 0)
		return error;
	*ret_files = sum;
	return 0;
}
