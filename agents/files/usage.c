/* What the processes of the sandbox use. */
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
#include "base/procstat.h"

#define USAGE_SAMPLE_NS 100000000 /* between the two looks at the processor time */
#define USAGE_DIRECTORIES_OPEN_MAX 32

struct usage {
	unsigned long ticks, pages;
};

static struct usage usage_read_processes(void)
{
	_cleanup_closedir_ DIR *dir = opendir("/proc");
	const struct dirent *entry;
	struct usage usage = {0};

	while (dir && (entry = readdir(dir))) {
		const pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10); /* 0: the name of no process */
		struct procstat stat;

		if (pid <= 0 || procstat_read(pid, &stat) < 0)
			continue;
		usage.ticks += stat.own_ticks;
		usage.pages += stat.rss_pages;
	}
	return usage;
}

/* Blocks of 512 bytes: nftw(3) passes nothing on to its function. */
static long long usage_blocks;

static int usage_add_file(const char *path, const struct stat *st, int type, struct FTW *walk)
{
	(void)path;
	(void)walk;
	if (type == FTW_F || type == FTW_SL)
		usage_blocks += st->st_blocks;
	return 0;
}

static double usage_get_seconds(void)
{
	return (double)io_read_clock_ns() / 1e9;
}

int files_usage(struct job *job)
{
	const struct timespec pause = {.tv_nsec = USAGE_SAMPLE_NS};
	const json_t *places = json_object_get(job->request, "places"), *place;
	const double since = usage_get_seconds();
	const struct usage before = usage_read_processes();
	struct usage after;
	double ticks, seconds, cpu;
	size_t i;

	(void)nanosleep(&pause, NULL);
	after = usage_read_processes();
	seconds = usage_get_seconds() - since;
	json_array_foreach(places, i, place) {
		if (json_is_string(place))
			(void)nftw(json_string_value(place), usage_add_file, USAGE_DIRECTORIES_OPEN_MAX, FTW_PHYS);
	}
	ticks = after.ticks > before.ticks ? (double)(after.ticks - before.ticks) : 0;
	cpu = 100 * ticks / (double)sysconf(_SC_CLK_TCK) / (seconds > 0 ? seconds : 1);
	return job_answer(job, json_pack("{s:f, s:I, s:I}", "cpu", cpu, "memory",
					 (json_int_t)after.pages * (json_int_t)sysconf(_SC_PAGESIZE), "disk",
					 (json_int_t)(usage_blocks * 512)));
}
