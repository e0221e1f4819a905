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

#define USAGE_SAMPLE_NS 100000000 /* between the two looks at the processor time */
#define USAGE_STAT_BYTES 1024     /* of /proc/PID/stat */
#define USAGE_DIRECTORIES_OPEN_MAX 32

/* Fields of /proc/PID/stat behind the name, counted from 0: proc_pid_stat(5). */
enum usage_field { USAGE_UTIME = 11, USAGE_STIME = 12, USAGE_RSS = 21 };

struct usage {
	unsigned long long ticks, pages;
};

static void usage_add_process(struct usage *usage, const char *text)
{
	const char *at = strrchr(text, ')'); /* the name may have one, too */

	for (int field = 0; at && (at = strchr(at, ' ')); field++) {
		at++;
		if (field == USAGE_UTIME || field == USAGE_STIME)
			usage->ticks += strtoull(at, NULL, 10);
		else if (field == USAGE_RSS)
			usage->pages += strtoull(at, NULL, 10);
	}
}

static struct usage usage_read_processes(void)
{
	_cleanup_closedir_ DIR *dir = opendir("/proc");
	const struct dirent *entry;
	struct usage usage = {0};

	while (dir && (entry = readdir(dir))) {
		char text[USAGE_STAT_BYTES], path[sizeof(entry->d_name) + 8];

		if (entry->d_name[0] < '1' || entry->d_name[0] > '9')
			continue;
		(void)snprintf(path, sizeof(path), "%s/stat", entry->d_name);
		if (io_read_once(dirfd(dir), path, text, sizeof(text)) > 0)
			usage_add_process(&usage, text);
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
