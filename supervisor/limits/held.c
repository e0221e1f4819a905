#include "supervisor/limits/held.h"

#include <linux/kcmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/proc/stat.h"

#define PROC_FILE_READ_CHUNK_BYTES 65536 /* of /proc/PID/smaps or maps, read at once */

DIR *held_open_proc_pid_dir(pid_t pid, const char *leaf)
{
	char path[48];

	(void)snprintf(path, sizeof(path), "/proc/%d/%s", pid, leaf); /* always fits: an int and a short name */
	return opendir(path);
}

pid_t held_read_next_tid(DIR *dir)
{
	struct dirent *entry;
	pid_t tid = 0;

	while (tid == 0 && dir && (entry = readdir(dir)))
		tid = (pid_t)strtol(entry->d_name, NULL, 10); /* 0 for "." and ".." */
	return tid;
}

/* The number of a process's descriptors. 0: it is gone. */
static uint64_t held_count_descriptors_in_table(pid_t pid)
{
	_cleanup_closedir_ DIR *dir = NULL;
	struct stat status;
	uint64_t count = 0;
	char path[48];

	(void)snprintf(path, sizeof(path), "/proc/%d/fd", pid); /* bounded by an int */
	if (stat(path, &status) < 0)
		return 0;
	/* Since Linux 6.2 the size of /proc/PID/fd is the number of descriptors, even where it cannot be opened. */
	if (status.st_size > 0)
		return (uint64_t)status.st_size;
	dir = opendir(path);
	while (dir && readdir(dir))
		count++;
	return count > 2 ? count - 2 : 0; /* "." and ".." */
}

enum held_fd_table_sharing held_compare_fd_tables(pid_t pid, pid_t tid)
{
	long r = syscall(SYS_kcmp, (long)pid, (long)tid, (long)KCMP_FILES, 0L, 0L);

	return r == 0 ? HELD_TABLE_SHARED : r > 0 ? HELD_TABLE_OWN : HELD_TABLE_UNKNOWN;
}

uint64_t held_count_descriptors(pid_t pid, uint64_t *ret_most)
{
	_cleanup_closedir_ DIR *dir = held_open_proc_pid_dir(pid, "task");
	uint64_t sum = held_count_descriptors_in_table(pid), unknown = 0;
	pid_t tid;

	while ((tid = held_read_next_tid(dir))) {
		enum held_fd_table_sharing table = tid != pid ? held_compare_fd_tables(pid, tid) : HELD_TABLE_SHARED;

		if (table == HELD_TABLE_OWN)
			sum += held_count_descriptors_in_table(tid);
		else if (table == HELD_TABLE_UNKNOWN)
			unknown += held_count_descriptors_in_table(tid);
	}
	*ret_most = sum + unknown;
	return sum;
}

uint64_t held_count_lines_of_proc_file(pid_t pid, const char *leaf)
{
	_cleanup_close_ int fd = procstat_open_file(pid, leaf);
	char text[PROC_FILE_READ_CHUNK_BYTES];
	uint64_t lines = 0;
	ssize_t len;

	while (fd >= 0 && (len = read(fd, text, sizeof(text))) > 0)
		for (const char *at = text; (at = memchr(at, '\n', (size_t)(text + len - at))); at++)
			lines++;
	return lines;
}

pid_t held_find_thread_showing_memory(pid_t pid, char state, uint64_t threads)
{
	_cleanup_closedir_ DIR *dir = state == 'Z' && threads > 1 ? held_open_proc_pid_dir(pid, "task") : NULL;
	struct procstat stat;
	pid_t tid;

	while ((tid = held_read_next_tid(dir)))
		if (procstat_read(tid, &stat) == 0 && stat.state != 'Z' && stat.state != 'X')
			return tid;
	return pid;
}
