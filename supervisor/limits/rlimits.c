#include "base/times.h"
#include "supervisor/limits/rlimits.h"

/*
 * RLIMIT_DATA stops processes that grow faster than samples are taken. It is far above the memory limit, because
 * private writable memory counts even if it is never touched: a JVM's heap, each thread's stack.
 */
#define RLIMIT_DATA_SLACK_MIN_BYTES (UINT64_C(256) << 20)
#define RLIMIT_DATA_SLACK_MAX_BYTES (UINT64_C(1) << 30) /* by how much RLIMIT_DATA exceeds the memory limit */
/*
 * A page of page tables maps 512 pages, so the limit of the address space also limits the memory of page tables. It is
 * never lower than the addresses that 1 GiB of page tables maps, because .NET reserves 256 GiB of addresses.
 */
#define MAPPED_PAGES_PER_PAGE_TABLE 512
/* least limit of page tables, however small the memory limit is */
#define PAGE_TABLES_LIMIT_MIN_BYTES (UINT64_C(1) << 30)
/*
 * Where memory is sampled, a process may open a descriptor for each 64 kB of the limit, but at least RLIMIT_NOFILE_MIN.
 * No process shows descriptors that are in flight in unix sockets, and each may be a socket that holds 200 kB. The
 * kernel lets a user have as many in flight as one process may have open (unix_attach_fds).
 */
#define MEMORY_LIMIT_BYTES_PER_DESCRIPTOR (UINT64_C(64) << 10)
#define RLIMIT_NOFILE_MIN 1024 /* descriptors that a process may have, however small the memory limit is */
/*
 * Queued signals and timers take 0.3 kB each and are counted by user, so the user's other processes need some as well.
 * The kernel's default grows with the machine's memory.
 */
#define RLIMIT_SIGPENDING_MAX 16384
#define RLIMIT_NPROC_SUPERVISOR_TASK_COUNT 2 /* the supervisor and its watchdog, which belong to the same user */

/* Caps soft and hard limit, because a program may raise its soft limit up to the hard limit. */
static struct rlimit rlimits_cap_soft_and_hard(uint64_t limit, rlim_t most)
{
	rlim_t value = limit < most ? limit : most;

	return (struct rlimit){.rlim_cur = value, .rlim_max = value};
}

/* RLIMIT_DATA for a memory limit: more, because reserved memory counts although it is unused. */
static uint64_t rlimits_get_data_bytes(uint64_t memory)
{
	uint64_t slack = memory < RLIMIT_DATA_SLACK_MAX_BYTES / 4 ? memory * 4 : RLIMIT_DATA_SLACK_MAX_BYTES;

	if (slack < RLIMIT_DATA_SLACK_MIN_BYTES)
		slack = RLIMIT_DATA_SLACK_MIN_BYTES;
	return memory < UINT64_MAX - slack ? memory + slack : memory;
}

/* Limits address space, and so page tables: no counter shows mappings of zero pages and of files. */
static uint64_t rlimits_get_address_space_bytes(uint64_t memory)
{
	uint64_t tables = rlimits_get_data_bytes(memory);

	if (tables < PAGE_TABLES_LIMIT_MIN_BYTES)
		tables = PAGE_TABLES_LIMIT_MIN_BYTES;
	return tables < UINT64_MAX / MAPPED_PAGES_PER_PAGE_TABLE ? tables * MAPPED_PAGES_PER_PAGE_TABLE : UINT64_MAX;
}

/* A resource limit for the program, not above callgate's own. */
static struct launch_rlimit rlimits_cap_at_own_limit(int resource, uint64_t limit)
{
	struct rlimit own = {RLIM_INFINITY, RLIM_INFINITY};

	(void)getrlimit((__rlimit_resource_t)resource, &own); /* cannot fail */
	return (struct launch_rlimit){.resource = resource, .limit = rlimits_cap_soft_and_hard(limit, own.rlim_max)};
}

/* Makes RLIMIT_NOFILE: the policy's limit, else callgate's own; lower if memory is sampled. */
static struct rlimit rlimits_make_open_files_limit(const struct policy_limits *limits, const struct rlimit *own,
						   bool sampled)
{
	uint64_t most = limits->memory_bytes / MEMORY_LIMIT_BYTES_PER_DESCRIPTOR;

	if (limits->open_files)
		return rlimits_cap_soft_and_hard(limits->open_files, own->rlim_max);
	if (!sampled || !limits->memory_bytes)
		return *own;
	if (most < RLIMIT_NOFILE_MIN)
		most = RLIMIT_NOFILE_MIN;
	return (struct rlimit){.rlim_cur = own->rlim_cur < most ? own->rlim_cur : most,
			       .rlim_max = own->rlim_max < most ? own->rlim_max : most};
}

/* Returns half of the caller's limit, so that one run does not take all. */
static struct launch_rlimit rlimits_make_sigpending_limit(void)
{
	struct launch_rlimit result = {.resource = RLIMIT_SIGPENDING, .limit = {0, 0}};
	struct rlimit own = {RLIM_INFINITY, RLIM_INFINITY};

	(void)getrlimit(RLIMIT_SIGPENDING, &own); /* cannot fail */
	result.limit = rlimits_cap_soft_and_hard(own.rlim_max / 2, RLIMIT_SIGPENDING_MAX);
	if (own.rlim_cur < result.limit.rlim_cur)
		result.limit.rlim_cur = own.rlim_cur;
	return result;
}

size_t rlimits_build(const struct policy_limits *limits, const struct rlimit *open_files,
		     const struct rlimits_without_cgroups *fallback,
		     struct launch_rlimit ret_rlimit[LAUNCH_RLIMITS_MAX])
{
	struct launch_rlimit *at = ret_rlimit;

	*at++ = (struct launch_rlimit){.resource = RLIMIT_NOFILE,
				       .limit = rlimits_make_open_files_limit(limits, open_files,
									      fallback->limits_memory_by_rlimit)};
	*at++ = rlimits_make_sigpending_limit();
	if (limits->file_size_bytes)
		*at++ = rlimits_cap_at_own_limit(RLIMIT_FSIZE, limits->file_size_bytes);
	if (fallback->limits_cpu_by_rlimit && limits->cpu_ns)
		*at++ = rlimits_cap_at_own_limit(RLIMIT_CPU, limits->cpu_ns / NS_PER_S + 2);
	if (fallback->limits_memory_by_rlimit && limits->memory_bytes) {
		*at++ = rlimits_cap_at_own_limit(RLIMIT_DATA, rlimits_get_data_bytes(limits->memory_bytes));
		*at++ = rlimits_cap_at_own_limit(RLIMIT_AS, rlimits_get_address_space_bytes(limits->memory_bytes));
	}
	if (fallback->limits_tasks_by_rlimit && limits->pids &&
	    limits->pids < UINT64_MAX - RLIMIT_NPROC_SUPERVISOR_TASK_COUNT)
		*at++ = rlimits_cap_at_own_limit(RLIMIT_NPROC, limits->pids + RLIMIT_NPROC_SUPERVISOR_TASK_COUNT);
	return (size_t)(at - ret_rlimit);
}
