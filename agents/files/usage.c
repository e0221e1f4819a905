/* The request usage: processor time and memory of the sandbox' processes, and disk space. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "agents/files/files.h"
#include "base/cleanup.h"
#include "base/io.h"
#include "base/proc/stat.h"

#define USAGE_SAMPLE_INTERVAL_NS 100000000 /* between the two samples of processor time */
#define USAGE_NFTW_OPEN_DIRS_MAX 32

/* CPU time and resident memory of all processes together. */
struct process_usage {
	unsigned long cpu_ticks, rss_pages;
};

/* Sums processor time and resident memory of all processes in the sandbox's /proc. */
static struct process_usage usage_sum_processes(void)
{
	_cleanup_closedir_ DIR *dir = opendir("/proc");
	const struct dirent *entry;
	struct process_usage usage = {0};

	while (dir && (entry = readdir(dir))) {
		const pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10); /* 0: the name is not a number */
		struct procstat stat;

		if (pid <= 0 || procstat_read(pid, &stat) < 0)
			continue;
		usage.cpu_ticks += stat.own_ticks;
		usage.rss_pages += stat.rss_pages;
	}
	return usage;
}

/*
 * The disk space found so far, in blocks of 512 bytes. A global variable, because nftw(3) passes no argument to its
 * callback.
 */
static long long usage_disk_blocks;

static int usage_add_file_blocks(const char *path, const struct stat *st, int type, struct FTW *walk)
{
	(void)path;
	(void)walk;
	if (type == FTW_F || type == FTW_SL)
		usage_disk_blocks += st->st_blocks;
	return 0;
}

static double usage_read_clock_seconds(void)
{
	return (double)io_read_clock_ns() / 1e9;
}

/* The operation "usage": CPU in percent over a short sample, resident memory, and the blocks on disk below "places". */
int files_measure_usage(struct files_job *job)
{
	const struct timespec pause = {.tv_nsec = USAGE_SAMPLE_INTERVAL_NS};
	const json_t *places = json_object_get(job->request, "places"), *place;
	const double since = usage_read_clock_seconds();
	const struct process_usage before = usage_sum_processes();
	struct process_usage after;
	double ticks, seconds, cpu;
	size_t i;

	(void)nanosleep(&pause, NULL);
	after = usage_sum_processes();
	seconds = usage_read_clock_seconds() - since;
	json_array_foreach(places, i, place) {
		if (json_is_string(place))
			(void)nftw(json_string_value(place), usage_add_file_blocks, USAGE_NFTW_OPEN_DIRS_MAX,
				   FTW_PHYS);
	}
	ticks = after.cpu_ticks > before.cpu_ticks ? (double)(after.cpu_ticks - before.cpu_ticks) : 0;
	cpu = 100 * ticks / (double)sysconf(_SC_CLK_TCK) / (seconds > 0 ? seconds : 1);
	return job_set_answer(job, json_pack("{s:f, s:I, s:I}", "cpu", cpu, "memory",
					     (json_int_t)after.rss_pages * (json_int_t)sysconf(_SC_PAGESIZE), "disk",
					     (json_int_t)(usage_disk_blocks * 512)));
}
