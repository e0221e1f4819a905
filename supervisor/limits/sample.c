#include "supervisor/limits/sample.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "base/proc/stat.h"
#include "base/proc/tree.h"
#include "base/times.h"
#include "supervisor/limits/held.h"

/* A process as a sample has found it. */
struct sample_process {
	pid_t pid;
	pid_t shown_by; /* the thread whose files in /proc show the memory: see held_find_thread_showing_memory() */
	struct procstat stat;                  /* its /proc/PID/stat */
	uint64_t own_cpu_ns;                   /* cpu time of the process's threads */
	bool lends_memory_to_vfork_child;      /* a vfork child runs in the process's memory */
	bool borrows_memory_by_vfork;    /* the process is a vfork child in its parent's memory */
};

/* The memory of one process, in bytes. */
struct process_memory {
	uint64_t private_bytes; /* anonymous pages and swap */
	uint64_t shared_bytes;  /* shmem pages */
};

/* Uses the clock id that clock_getcpuclockid(3) would return, without its system call. */
static uint64_t sample_read_process_cpu_ns(pid_t pid)
{
	clockid_t clock = (clockid_t)(~(unsigned)pid << 3 | 2);
	struct timespec time;

	return clock_gettime(clock, &time) < 0 ? 0 : (uint64_t)time.tv_sec * NS_PER_S + (uint64_t)time.tv_nsec;
}

static bool sample_read_process(pid_t pid, struct sample_process *ret_process)
{
	struct procstat *stat = &ret_process->stat;

	*ret_process = (struct sample_process){.pid = pid, .own_cpu_ns = sample_read_process_cpu_ns(pid)};
	if (procstat_read(pid, stat) < 0)
		return false;
	ret_process->shown_by = held_find_thread_showing_memory(pid, stat->state, stat->threads);
	return ret_process->shown_by == pid || procstat_read(ret_process->shown_by, stat) == 0;
}

/* Lists the descendants of root by ascending pid. 0 or -errno. sample_list_release() releases the list. */
static int sample_list_processes(pid_t root, struct sample_list *ret_list)
{
	struct sample_list list = {0};
	struct proctree tree;
	int error = proctree_read(&tree);

	proctree_mark_descendants(&tree, root);
	list.process = calloc(tree.entry_count + 1, sizeof(*list.process));
	if (!list.process)
		error = -ENOMEM;
	for (size_t i = 0; error == 0 && i < tree.entry_count; i++)
		list.count += tree.entry[i].place == PROCTREE_DESCENDANT &&
			      sample_read_process(tree.entry[i].pid, &list.process[list.count]);
	proctree_release(&tree);
	*ret_list = list;
	return error;
}

/* Frees a list of processes of which memory and CPU time are measured. */
static void sample_list_release(struct sample_list *list)
{
	free(list->process);
	*list = (struct sample_list){0};
}

/* The value of a line "Key:   123 kB", in bytes. */
static uint64_t sample_parse_kilobytes(const char *text, const char *key)
{
	char line[32];
	const char *at;

	(void)snprintf(line, sizeof(line), "\n%s:", key); /* fits: keys are short */
	at = strstr(text, line);
	return at ? strtoull(at + strlen(line), NULL, 10) * 1024 : 0;
}

/* Pages that processes share, as after fork, count once in total. All pages of an undumpable process count. */
static struct process_memory sample_read_process_memory(pid_t pid)
{
	char text[4096];

	if (procstat_read_file(pid, "smaps_rollup", text, sizeof(text)) > 0)
		return (struct process_memory){sample_parse_kilobytes(text, "Pss_Anon") +
					       sample_parse_kilobytes(text, "SwapPss"),
				       sample_parse_kilobytes(text, "Pss_Shmem")};
	if (procstat_read_file(pid, "status", text, sizeof(text)) > 0)
		return (struct process_memory){sample_parse_kilobytes(text, "RssAnon") +
						       sample_parse_kilobytes(text, "VmSwap"),
				       sample_parse_kilobytes(text, "RssShmem")};
	return (struct process_memory){0};
}

static int sample_compare_pids(const void *a, const void *b)
{
	const struct sample_process *one = a, *other = b;

	return one->pid < other->pid ? -1 : one->pid > other->pid;
}

/*
 * Whether the process is a vfork child, which runs in its parent's memory while the parent waits. Its pages count as
 * the parent's. A parent waits for one such child at a time, so another child of the same size has its own memory.
 */
static bool sample_process_is_vfork_child(const struct sample_list *list, const struct sample_process *process)
{
	const struct sample_process key = {.pid = process->stat.parent};
	struct sample_process *parent = bsearch(&key, list->process, list->count, sizeof(key), sample_compare_pids);

	if (!parent || parent->lends_memory_to_vfork_child || parent->stat.state != 'D' ||
	    parent->stat.vsize_bytes != process->stat.vsize_bytes ||
	    parent->stat.rss_pages != process->stat.rss_pages)
		return false;
	parent->lends_memory_to_vfork_child = true;
	return true;
}

/*
 * Measures page tables, with which alone a process may fill memory: reading one byte in each 2 MiB of zero pages makes
 * one. An exact measurement walks the tables, so it takes longer the more there are.
 */
static uint64_t sample_measure_page_tables(const struct sample_list *list)
{
	uint64_t sum = 0;
	char text[4096];

	for (size_t i = 0; i < list->count; i++)
		if (!list->process[i].borrows_memory_by_vfork &&
		    procstat_read_file(list->process[i].shown_by, "status", text, sizeof(text)) > 0)
			sum += sample_parse_kilobytes(text, "VmPTE");
	return sum;
}

/* Measures memory exactly. Each address space counts once. */
static uint64_t sample_measure_exact_memory(const struct sample_list *list, const struct sample_request *wanted)
{
	uint64_t tables, areas = 0;
	struct process_memory sum = {0};

	for (size_t i = 0; i < list->count; i++)
		list->process[i].borrows_memory_by_vfork = sample_process_is_vfork_child(list, &list->process[i]);
	tables = sample_measure_page_tables(list);
	if (tables > wanted->page_tables_limit_bytes)
		return tables;
	for (size_t i = 0; i < list->count; i++) {
		struct process_memory one;

		if (list->process[i].borrows_memory_by_vfork)
			continue;
		one = sample_read_process_memory(list->process[i].shown_by);
		sum.private_bytes += one.private_bytes;
		sum.shared_bytes += one.shared_bytes;
		areas += held_count_lines_of_proc_file(list->process[i].shown_by, "maps");
	}
	/* Mapped shared pages may be part of wanted->shared_bytes: the larger of the two counts, not their sum. */
	return tables + areas * HELD_KERNEL_BYTES_PER_MAPPING + sum.private_bytes +
	       (sum.shared_bytes > wanted->unmapped_shared_bytes ? sum.shared_bytes : wanted->unmapped_shared_bytes);
}

/* Adds the bytes in pipes and sockets. */
static uint64_t sample_measure_fd_buffers(const struct sample_list *list)
{
	struct held_buffers buffers = {0};
	uint64_t bytes;

	for (size_t i = 0; i < list->count; i++)
		held_buffers_add_process(&buffers, list->process[i].shown_by);
	bytes = buffers.total_bytes;
	held_buffers_release(&buffers);
	return bytes;
}

int sample_count_open_files(pid_t root, uint64_t *ret_files)
{
	struct sample_list list;
	int error = sample_list_processes(root, &list);
	uint64_t sum = 0, most;

	for (size_t i = 0; error == 0 && i < list.count; i++)
		sum += held_count_descriptors(list.process[i].shown_by, &most) +
		       held_count_lines_of_proc_file(list.process[i].shown_by, "maps");
	sample_list_release(&list);
	if (error == 0)
		*ret_files = sum;
	return error;
}

/* CPU time of the children that this process has reaped, and of theirs. */
static uint64_t sample_read_reaped_cpu_ns(void)
{
	struct rusage usage;

	if (getrusage(RUSAGE_CHILDREN, &usage) < 0)
		return 0;
	return ((uint64_t)usage.ru_utime.tv_sec + (uint64_t)usage.ru_stime.tv_sec) * NS_PER_S +
	       ((uint64_t)usage.ru_utime.tv_usec + (uint64_t)usage.ru_stime.tv_usec) * 1000;
}

void sampler_release(struct sampler *sampler)
{
	sample_list_release(&sampler->last_process_list);
	*sampler = (struct sampler){0};
}

/* Adds the cpu time that each process has used since the last sample. Keeps the list `now`. */
static void sampler_remember_usage(struct sampler *sampler, const struct sample_list *now)
{
	for (size_t i = 0; i < now->count; i++) {
		const struct sample_process *process = &now->process[i];
		const struct sample_process *before =
			sampler->last_process_list.count == 0
				? NULL
				: bsearch(process, sampler->last_process_list.process, sampler->last_process_list.count,
					  sizeof(*process), sample_compare_pids);

		sampler->summed_process_cpu_ns += process->own_cpu_ns;
		if (before && before->own_cpu_ns <= process->own_cpu_ns)
			sampler->summed_process_cpu_ns -= before->own_cpu_ns;
	}
	sample_list_release(&sampler->last_process_list);
	sampler->last_process_list = *now;
}

/*
 * Reads the root's reaped children first, then processes by ascending pid. So a process that is reaped meanwhile is
 * missed, and not counted twice.
 */
int sample_measure_process_tree(struct sampler *sampler, const struct sample_request *wanted, struct sample *ret_sample)
{
	struct sample sample = {.cpu_ns = sample_read_reaped_cpu_ns(), .memory_bytes = wanted->unmapped_shared_bytes};
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), tick_ns = NS_PER_S / (uint64_t)sysconf(_SC_CLK_TCK);
	uint64_t size = 0, descriptors = 0, most = 0, kernel;
	struct sample_list now = {0};
	int error = wanted->has_no_descendants ? 0 : sample_list_processes(wanted->root, &now);

	if (error < 0) {
		sample_list_release(&now);
		return error;
	}
	for (size_t i = 0; i < now.count; i++) {
		const struct procstat *stat = &now.process[i].stat;
		uint64_t process_most = 0;

		sample.cpu_ns += stat->child_ticks * tick_ns + now.process[i].own_cpu_ns;
		sample.task_count += stat->threads;
		if (wanted->measure_exactly_above_bytes != UINT64_MAX)
			descriptors += held_count_descriptors(now.process[i].shown_by, &process_most);
		most += process_most;
		sample.memory_bytes += stat->rss_pages * page;
		sample.running_process_count += stat->state == 'R';
		size += stat->vsize_bytes;
	}
	/*
	 * Buffers, shared mappings and swap are measured only if the memory could then reach
	 * measure_exactly_above_bytes.
	 */
	kernel = sample.task_count * HELD_KERNEL_BYTES_PER_TASK + descriptors * HELD_KERNEL_BYTES_PER_DESCRIPTOR;
	if (sample.memory_bytes + most * wanted->fd_buffer_max_bytes > wanted->measure_exactly_above_bytes)
		kernel += sample_measure_fd_buffers(&now);
	sample.memory_bytes += kernel;
	if (sample.memory_bytes > wanted->measure_exactly_above_bytes || size > wanted->measure_exactly_above_bytes)
		sample.memory_bytes = kernel + sample_measure_exact_memory(&now, wanted);
	sampler_remember_usage(sampler, &now);
	/* /proc/PID/stat rounds each of the two times of children down, by up to one tick. */
	sample.misses_child_cpu_time = sampler->summed_process_cpu_ns > sample.cpu_ns + now.count * 2 * tick_ns;
	if (sampler->summed_process_cpu_ns > sample.cpu_ns)
		sample.cpu_ns = sampler->summed_process_cpu_ns;
	*ret_sample = sample;
	return 0;
}
