/*
 * What a tree of processes uses, read from /proc: for runs without control groups. Every number is a moment's: what a
 * process uses and gives back between two samples is not seen.
 */
#ifndef CALLGATE_SUPERVISOR_LIMITS_SAMPLE_H
#define CALLGATE_SUPERVISOR_LIMITS_SAMPLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct sample_wanted {
	pid_t root;             /* whose descendants are looked at; must be the caller, whose reaped children count */
	bool alone;             /* it has none: only what it reaped is told */
	/* memory beyond this is looked at closely: pages that processes share are counted once */
	uint64_t near_bytes;
	uint64_t enough_bytes;  /* page tables beyond this are answer enough: what they map is not looked at */
	uint64_t buffer_bytes;  /* what one descriptor can hold at most: with fewer nobody looks at them one by one */
	/* shared memory that has no page in any process: memfds, see syscalls/account/memfds.h */
	uint64_t shared_bytes;
};

/* What is remembered from one sample to the next. Zero at first; sampler_done releases it. */
struct sampler {
	struct sampler_seen *seen;
	size_t count;
	uint64_t cpu_ns; /* that processes were seen to use themselves */
};

void sampler_done(struct sampler *sampler);

struct sample {
	uint64_t memory_bytes; /* anonymous pages, shared memory and swap; no files, which the kernel takes back */
	/*
	 * Of the living, of what they reaped and of what the root reaped; or all that was seen, if that is more:
	 * children whose parent ignores SIGCHLD leave their time to nobody.
	 */
	uint64_t cpu_ns;
	uint64_t tasks;        /* threads */
	uint64_t running;      /* processes */
	bool loses_time;       /* much was seen that nobody has any more: there are more children than samples see */
};

/* 0, or -errno when /proc cannot be listed. */
int sample_take(struct sampler *sampler, const struct sample_wanted *wanted, struct sample *ret_sample);

#endif
