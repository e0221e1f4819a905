#include "supervisor/limits/rlimits.h"

#include "base/banned.h"

#define NS_PER_S UINT64_C(1000000000)
/*
 * Private writable memory that was asked for but never touched counts for RLIMIT_DATA: a JVM commits its heap, each
 * thread its stack. It only stands behind the sampling, against what is faster.
 */
#define DATA_LEAST_BYTES (UINT64_C(256) << 20)
#define DATA_MOST_BYTES (UINT64_C(1) << 30)
/*
 * Of address space for a page of page tables; less than 1 GiB of them is not asked for: runtimes reserve 256 GiB
 * (.NET).
 */
#define SPACE_PER_TABLE 512
#define TABLES_LEAST_BYTES (UINT64_C(1) << 30)
/*
 * A socket that is under way in another one shows in no process, with what is in it: 200 kB. The kernel lets a user
 * have as many descriptors under way as one process may have open (unix_attach_fds).
 */
#define MEMORY_PER_DESCRIPTOR (UINT64_C(64) << 10)
#define DESCRIPTORS_LEAST 1024
/*
 * Queued signals and timers of all processes of a user count together, 0.3 kB each: the others need some, too. The
 * kernel's own limit grows with the machine's memory.
 */
#define SIGNALS_MOST 16384
#define OWN_TASKS 2 /* the supervisor and its watchdog are the same user's */

/* Soft and hard: a program that raises its soft limit as far as it goes must end here. */
static struct rlimit capped(uint64_t limit, rlim_t most)
{
	rlim_t value = limit < most ? limit : most;

	return (struct rlimit){.rlim_cur = value, .rlim_max = value};
}

static uint64_t data_bytes(uint64_t memory)
{
	uint64_t slack = memory < DATA_MOST_BYTES / 4 ? memory * 4 : DATA_MOST_BYTES;

	if (slack < DATA_LEAST_BYTES)
		slack = DATA_LEAST_BYTES;
	return memory < UINT64_MAX - slack ? memory + slack : memory;
}

/* What maps pages that are counted nowhere (of zeroes, of files) takes page tables. */
static uint64_t space_bytes(uint64_t memory)
{
	uint64_t tables = data_bytes(memory) > TABLES_LEAST_BYTES ? data_bytes(memory) : TABLES_LEAST_BYTES;

	return tables < UINT64_MAX / SPACE_PER_TABLE ? tables * SPACE_PER_TABLE : UINT64_MAX;
}

static struct launch_rlimit within_own(int resource, uint64_t limit)
{
	struct rlimit own = {RLIM_INFINITY, RLIM_INFINITY};

	(void)getrlimit((__rlimit_resource_t)resource, &own); /* cannot fail for a resource there is */
	return (struct launch_rlimit){.resource = resource, .limit = capped(limit, own.rlim_max)};
}

/* Of one process: as the policy says, else as callgate's own; fewer where memory is sampled. */
static struct rlimit descriptors(const struct policy_limits *limits, const struct rlimit *own, bool sampled)
{
	uint64_t most = limits->memory_bytes / MEMORY_PER_DESCRIPTOR;
	struct rlimit capped_own = *own;

	if (limits->open_files)
		return capped(limits->open_files, own->rlim_max);
	if (!sampled || !limits->memory_bytes)
		return *own;
	if (most < DESCRIPTORS_LEAST)
		most = DESCRIPTORS_LEAST;
	if (capped_own.rlim_cur > most)
		capped_own.rlim_cur = most;
	if (capped_own.rlim_max > most)
		capped_own.rlim_max = most;
	return capped_own;
}

/* Half of what the caller may have, so that one run does not take all of it. */
static struct launch_rlimit signals(void)
{
	struct launch_rlimit result = {.resource = RLIMIT_SIGPENDING, .limit = {0, 0}};
	struct rlimit own = {RLIM_INFINITY, RLIM_INFINITY};

	(void)getrlimit(RLIMIT_SIGPENDING, &own); /* cannot fail for a resource there is */
	result.limit = capped(own.rlim_max / 2, SIGNALS_MOST);
	if (own.rlim_cur < result.limit.rlim_cur)
		result.limit.rlim_cur = own.rlim_cur;
	return result;
}

size_t rlimits_build(const struct policy_limits *limits, const struct rlimit *open_files,
		     const struct rlimits_fallback *fallback, struct launch_rlimit ret_rlimit[LAUNCH_RLIMITS_MAX])
{
	struct launch_rlimit *at = ret_rlimit;

	*at++ = (struct launch_rlimit){.resource = RLIMIT_NOFILE,
				       .limit = descriptors(limits, open_files, fallback->memory)};
	*at++ = signals();
	if (limits->file_size_bytes)
		*at++ = within_own(RLIMIT_FSIZE, limits->file_size_bytes);
	if (fallback->cpu && limits->cpu_ns)
		*at++ = within_own(RLIMIT_CPU, limits->cpu_ns / NS_PER_S + 2);
	if (fallback->memory && limits->memory_bytes) {
		*at++ = within_own(RLIMIT_DATA, data_bytes(limits->memory_bytes));
		*at++ = within_own(RLIMIT_AS, space_bytes(limits->memory_bytes));
	}
	if (fallback->tasks && limits->pids && limits->pids < UINT64_MAX - OWN_TASKS)
		*at++ = within_own(RLIMIT_NPROC, limits->pids + OWN_TASKS);
	return (size_t)(at - ret_rlimit);
}
