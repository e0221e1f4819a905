#include "supervisor/limits/sample.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/proctree.h"
#include "supervisor/limits/held.h"

#include "base/banned.h"

#define NS_PER_S UINT64_C(1000000000)

/* From /proc/PID/stat. */
struct stat_line {
	char state;
	pid_t shown_by; /* the thread whose files in /proc show the memory: held_by */
	pid_t parent;
	uint64_t child_ticks; /* cpu time of reaped children */
	uint64_t threads, vsize_bytes, rss_pages;
};

/* The memory of one process. */
struct memory {
	uint64_t private_bytes; /* anonymous pages and swap */
	uint64_t shared_bytes;  /* shmem pages */
};

static ssize_t sample_read(pid_t pid, const char *leaf, char *text, size_t size)
{
	char path[48];
	_cleanup_close_ int fd = -1;
	ssize_t len;

	(void)snprintf(path, sizeof(path), "/proc/%d/%s", pid, leaf); /* bounded by an int */
	fd = open(path, O_RDONLY | O_CLOEXEC);
	len = fd < 0 ? -1 : read(fd, text, size - 1);
	if (len >= 0)
		text[len] = '\0';
	return len;
}

static bool sample_read_stat_of(pid_t pid, struct stat_line *ret_line)
{
	char text[1024];
	const char *fields;
	unsigned long long ticks[2], threads, vsize, rss;
	char state;
	int parent;

	if (sample_read(pid, "stat", text, sizeof(text)) <= 0)
		return false;
	fields = strrchr(text, ')'); /* the name before it may contain anything */
	if (!fields || sscanf(fields,
			      ") %c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %llu %llu %*d %*d %llu %*d %*u %llu "
			      "%llu",
			      &state, &parent, &ticks[0], &ticks[1], &threads, &vsize, &rss) != 7)
		return false;
	*ret_line = (struct stat_line){.state = state, .shown_by = pid, .parent = parent,
				       .child_ticks = ticks[0] + ticks[1], .threads = threads,
				       .vsize_bytes = vsize, .rss_pages = rss};
	return true;
}

static bool sample_read_stat(pid_t pid, struct stat_line *ret_line)
{
	pid_t shown_by;

	if (!sample_read_stat_of(pid, ret_line))
		return false;
	shown_by = held_by(pid, ret_line->state, ret_line->threads);
	return shown_by == pid || sample_read_stat_of(shown_by, ret_line);
}

/* "Key:   123 kB" in bytes. */
static uint64_t sample_kilobytes(const char *text, const char *key)
{
	char line[32];
	const char *at;

	(void)snprintf(line, sizeof(line), "\n%s:", key); /* short keys */
	at = strstr(text, line);
	return at ? strtoull(at + strlen(line), NULL, 10) * 1024 : 0;
}

/* Pages that processes share, as after fork, count once in total. Those of an undumpable process count in full. */
static struct memory sample_memory(pid_t pid)
{
	char text[4096];

	if (sample_read(pid, "smaps_rollup", text, sizeof(text)) > 0)
		return (struct memory){sample_kilobytes(text, "Pss_Anon") + sample_kilobytes(text, "SwapPss"),
				       sample_kilobytes(text, "Pss_Shmem")};
	if (sample_read(pid, "status", text, sizeof(text)) > 0)
		return (struct memory){sample_kilobytes(text, "RssAnon") + sample_kilobytes(text, "VmSwap"),
				       sample_kilobytes(text, "RssShmem")};
	return (struct memory){0};
}

/*
 * True for a vfork child, which runs in its parent's memory while the parent waits. The pages count as the parent's. A
 * parent waits for one such child at a time (*lender), so that another child of the same size has its own memory.
 */
static bool sample_borrows(const struct stat_line *line, pid_t *lender)
{
	struct stat_line parent;

	if (line->parent == *lender || !sample_read_stat(line->parent, &parent) || parent.state != 'D' ||
	    parent.vsize_bytes != line->vsize_bytes || parent.rss_pages != line->rss_pages)
		return false;
	*lender = line->parent;
	return true;
}

/* The processes whose memory is measured exactly: one for each address space. */
struct closely {
	pid_t *pid; /* as stat_line's shown_by. Owned */
	size_t count;
};

static int sample_by_parent(const void *a, const void *b)
{
	const struct stat_line *one = a, *other = b;

	return one->parent < other->parent ? -1 : one->parent > other->parent;
}

static int sample_choose(const struct proctree *tree, struct closely *ret_chosen)
{
	struct stat_line *line = calloc(tree->count + 1, sizeof(*line));
	struct closely chosen = {.pid = calloc(tree->count + 1, sizeof(pid_t))};
	pid_t lender = 0;
	size_t lines = 0;

	if (!line || !chosen.pid) {
		free(line);
		free(chosen.pid);
		return -ENOMEM;
	}
	for (size_t i = 0; i < tree->count; i++)
		if (tree->entry[i].place == PROCTREE_BELOW && sample_read_stat(tree->entry[i].pid, &line[lines]))
			lines++;
	qsort(line, lines, sizeof(*line), sample_by_parent);
	for (size_t i = 0; i < lines; i++)
		if (!sample_borrows(&line[i], &lender))
			chosen.pid[chosen.count++] = line[i].shown_by;
	free(line);
	*ret_chosen = chosen;
	return 0;
}

/*
 * A process may fill memory with page tables alone: reading one byte in each 2 MiB of zero pages makes one. Measuring
 * exactly walks them, so it takes longer the more there are.
 */
static uint64_t sample_page_tables(const struct closely *chosen)
{
	uint64_t sum = 0;
	char text[4096];

	for (size_t i = 0; i < chosen->count; i++)
		if (sample_read(chosen->pid[i], "status", text, sizeof(text)) > 0)
			sum += sample_kilobytes(text, "VmPTE");
	return sum;
}

static uint64_t sample_exactly(const struct closely *chosen, const struct sample_wanted *wanted)
{
	uint64_t tables = sample_page_tables(chosen), areas = 0;
	struct memory sum = {0};

	if (tables > wanted->enough_bytes)
		return tables;
	for (size_t i = 0; i < chosen->count; i++) {
		struct memory one = sample_memory(chosen->pid[i]);

		sum.private_bytes += one.private_bytes;
		sum.shared_bytes += one.shared_bytes;
		areas += held_areas(chosen->pid[i]);
	}
	/* Mapped shared pages may be part of wanted->shared_bytes: the larger of the two counts, not their sum. */
	return tables + areas * HELD_AREA_BYTES + sum.private_bytes +
	       (sum.shared_bytes > wanted->shared_bytes ? sum.shared_bytes : wanted->shared_bytes);
}

/* The bytes in pipes and sockets. */
static uint64_t sample_buffers(const struct proctree *tree)
{
	struct held_buffers buffers = {0};
	uint64_t bytes;

	for (size_t i = 0; i < tree->count; i++) {
		struct stat_line line;

		if (tree->entry[i].place == PROCTREE_BELOW && sample_read_stat(tree->entry[i].pid, &line))
			held_buffers_add(&buffers, line.shown_by);
	}
	bytes = buffers.bytes;
	held_buffers_done(&buffers);
	return bytes;
}

static uint64_t sample_reaped_ns(void)
{
	struct rusage usage;

	if (getrusage(RUSAGE_CHILDREN, &usage) < 0)
		return 0;
	return ((uint64_t)usage.ru_utime.tv_sec + (uint64_t)usage.ru_stime.tv_sec) * NS_PER_S +
	       ((uint64_t)usage.ru_utime.tv_usec + (uint64_t)usage.ru_stime.tv_usec) * 1000;
}

struct sampler_seen {
	pid_t pid;
	uint64_t ns;
};

void sampler_done(struct sampler *sampler)
{
	free(sampler->seen);
	*sampler = (struct sampler){0};
}

/* The cpu time of a process's threads. The clock id is that of clock_getcpuclockid(3), without its system call. */
static uint64_t sample_own_ns(pid_t pid)
{
	clockid_t clock = (clockid_t)(~(unsigned)pid << 3 | 2);
	struct timespec time;

	return clock_gettime(clock, &time) < 0 ? 0 : (uint64_t)time.tv_sec * NS_PER_S + (uint64_t)time.tv_nsec;
}

/* Adds what each process has used since the last sample. Takes `now`. Both lists are sorted by pid. */
static void sampler_remember(struct sampler *sampler, struct sampler_seen *now, size_t count)
{
	for (size_t i = 0, old = 0; i < count; i++) {
		uint64_t before = 0;

		while (old < sampler->count && sampler->seen[old].pid < now[i].pid)
			old++;
		if (old < sampler->count && sampler->seen[old].pid == now[i].pid && sampler->seen[old].ns <= now[i].ns)
			before = sampler->seen[old].ns;
		sampler->cpu_ns += now[i].ns - before;
	}
	free(sampler->seen);
	sampler->seen = now;
	sampler->count = count;
}

/*
 * Reads the root's reaped children first, then processes by ascending pid: a process that is reaped meanwhile is missed
 * rather than counted twice.
 */
int sample_take(struct sampler *sampler, const struct sample_wanted *wanted, struct sample *ret_sample)
{
	struct sample sample = {.cpu_ns = sample_reaped_ns(), .memory_bytes = wanted->shared_bytes};
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), tick_ns = NS_PER_S / (uint64_t)sysconf(_SC_CLK_TCK);
	uint64_t size = 0, descriptors = 0, most = 0, kernel;
	struct sampler_seen *seen = NULL;
	struct proctree tree = {.count = 0};
	struct closely chosen = {0};
	size_t count = 0;
	int error = wanted->alone ? 0 : proctree_read(&tree);

	proctree_mark(&tree, wanted->root);
	if (error == 0) {
		seen = calloc(tree.count + 1, sizeof(*seen));
		error = seen ? 0 : -ENOMEM;
	}
	for (size_t i = 0; error == 0 && i < tree.count; i++) {
		uint64_t process_most = 0;
		struct stat_line line;

		if (tree.entry[i].place != PROCTREE_BELOW || !sample_read_stat(tree.entry[i].pid, &line))
			continue;
		seen[count] = (struct sampler_seen){.pid = tree.entry[i].pid, .ns = sample_own_ns(tree.entry[i].pid)};
		sample.cpu_ns += line.child_ticks * tick_ns + seen[count++].ns;
		sample.tasks += line.threads;
		if (wanted->near_bytes != UINT64_MAX)
			descriptors += held_descriptors(line.shown_by, &process_most);
		most += process_most;
		sample.memory_bytes += line.rss_pages * page;
		sample.running += line.state == 'R';
		size += line.vsize_bytes;
	}
	/* Buffers, shared mappings and swap are measured only if they could reach near_bytes at all. */
	kernel = sample.tasks * HELD_TASK_BYTES + descriptors * HELD_DESCRIPTOR_BYTES;
	if (error == 0 && sample.memory_bytes + most * wanted->buffer_bytes > wanted->near_bytes)
		kernel += sample_buffers(&tree);
	sample.memory_bytes += kernel;
	if (error == 0 && (sample.memory_bytes > wanted->near_bytes || size > wanted->near_bytes))
		error = sample_choose(&tree, &chosen);
	if (error == 0 && chosen.pid)
		sample.memory_bytes = kernel + sample_exactly(&chosen, wanted);
	free(chosen.pid);
	proctree_done(&tree);
	if (error < 0)
		return error;
	sampler_remember(sampler, seen, count);
	/* /proc/PID/stat rounds the children's two times down by up to a tick each. */
	sample.loses_time = sampler->cpu_ns > sample.cpu_ns + count * 2 * tick_ns;
	if (sampler->cpu_ns > sample.cpu_ns)
		sample.cpu_ns = sampler->cpu_ns;
	*ret_sample = sample;
	return 0;
}
