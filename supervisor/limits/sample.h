/*
 * Samples from /proc what a process tree uses, for runs without control groups. Memory that a process allocates and
 * frees between two samples is not seen.
 */
#ifndef CALLGATE_SUPERVISOR_LIMITS_SAMPLE_H
#define CALLGATE_SUPERVISOR_LIMITS_SAMPLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* What a sample is to measure, and how exactly. */
struct sample_request {
	pid_t root;             /* the calling process */
	bool has_no_descendants;             /* `root` has no descendants, so only reaped children count */
	/* above this memory is measured exactly: pages that processes share count once */
	uint64_t measure_exactly_above_bytes;
	/* if page tables alone exceed this, the limit is exceeded and mapped memory need not be measured */
	uint64_t page_tables_limit_bytes;
	uint64_t fd_buffer_max_bytes;  /* most bytes that a descriptor can hold; decides whether buffers are measured */
	/* shared memory without a page in any process: syscalls/account/limits/memfds.h */
	uint64_t unmapped_shared_bytes;
};

/* The processes that a sample has found. */
struct sample_list {
	struct sample_process *process; /* owned */
	size_t count;                   /* entries of process[] */
};

/* What is kept from one sample to the next. To be initialised with zeros, and released by sampler_release(). */
struct sampler {
	struct sample_list last_process_list; /* the processes that the last sample has seen, with their cpu time */
	uint64_t summed_process_cpu_ns; /* sum of the cpu time that processes were seen to use themselves */
};

void sampler_release(struct sampler *sampler);

/* What the run's processes use together at one time. */
struct sample {
	uint64_t memory_bytes; /* anonymous pages, shared memory and swap; not the page cache, which can be reclaimed */
	/*
	 * cpu time of living processes and of all that were reaped; or summed_process_cpu_ns if that is more, because
	 * no process shows the time of children whose parent ignores SIGCHLD
	 */
	uint64_t cpu_ns;
	uint64_t task_count;    /* threads */
	uint64_t running_process_count; /* processes */
	bool misses_child_cpu_time; /* summed_process_cpu_ns is much more than cpu_ns, so samples miss many children */
};

/* Takes a sample. 0, or -errno when /proc cannot be listed. */
int sample_measure_process_tree(struct sampler *sampler, const struct sample_request *wanted,
				struct sample *ret_sample);

/* Descriptors and memory areas of all descendants of root: an upper bound of their open files. 0 or -errno. */
int sample_count_open_files(pid_t root, uint64_t *ret_files);

#endif
