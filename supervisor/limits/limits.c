#include "supervisor/limits/limits.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "audit/audit.h"
#include "base/io.h"
#include "base/times.h"
#include "confine/cgroup.h"
#include "supervisor/limits/held.h"
#include "supervisor/limits/sample.h"
#include "syscalls/account/limits/disk.h"
#include "syscalls/account/limits/forks.h"
#include "syscalls/account/limits/memfds.h"
#include "syscalls/call/call.h"

#define LIMITS_MEASURE_NEVER UINT64_MAX /* as next_measurement_ns: no limit needs samples */

#define CPU_SAMPLE_INTERVAL_MIN_NS (5 * NS_PER_MS) /* shortest time between two measurements of cpu time */
/* Longest intervals of cpu time samples: short enough to see short-lived children, long if few processes run. */
#define CPU_SAMPLE_INTERVAL_BUSY_NS (20 * NS_PER_MS)
#define CPU_SAMPLE_INTERVAL_IDLE_NS (500 * NS_PER_MS) /* while no process of the run uses the CPU */
/* Memory is sampled again before a process that writes 4 GB/s could use up the rest of the limit. */
#define MEMORY_FILL_RATE_MAX_BYTES_PER_MS (UINT64_C(4) << 20)
#define SAMPLE_INTERVAL_MIN_NS (2 * NS_PER_MS)   /* between samples of memory when the use is close to its limit */
#define SAMPLE_INTERVAL_MAX_NS (100 * NS_PER_MS) /* between samples of memory when the use is far below its limit */
/* how often tasks are counted if no other limit needs a sample sooner */
#define TASK_SAMPLE_INTERVAL_NS (500 * NS_PER_MS)
#define TASK_SAMPLE_FIRST_INTERVAL_NS (20 * NS_PER_MS) /* late, so that no sample is taken in a short run */
/*
 * Sampling takes at most 1/20 of a CPU. But a program that makes samples costly cannot delay the next sample beyond
 * SAMPLE_INTERVAL_IF_COSTLY_MAX_NS.
 */
#define SAMPLE_INTERVAL_TO_DURATION_MIN 20
#define SAMPLE_INTERVAL_IF_COSTLY_MAX_NS (200 * NS_PER_MS)

#define FILES_OPENED_BEFORE_RECOUNT_MIN 256 /* files that are opened before they are counted again, at least */

/* The limits of a run, and what it was last seen to use. */
struct limits {
	const struct sandbox *sandbox;
	struct cgroup *cgroup; /* borrowed; NULL: no control group counts */
	pid_t root_pid;
	struct limit_meter meter[LIMIT_MAX];
	enum limit_kind limit_that_ended_run; /* the limit that ended the run, or LIMIT_MAX */
	uint64_t cpu_count;                   /* CPUs that the run may use: bounds its CPU time per interval */
	uint64_t next_measurement_ns; /* when cpu and memory are measured next */
	uint64_t last_sample_duration_ns; /* time that the last sample took */
	struct sampler sampler;
	uint64_t last_sample_time_ns;            /* when the last sample was taken */
	uint64_t estimated_unsampled_cpu_ns;     /* estimate of cpu time that was used, but that no sample showed */
	uint64_t cpu_sample_interval_max_ns; /* longest interval until the next sample of cpu time */
	/* kernel memory of files that the supervisor opened, which no control group counts */
	uint64_t opened_files_kernel_bytes;
	uint64_t recount_at_files_opened;    /* number of opened files at which they are counted again */
	uint64_t last_returned_cpu_ns; /* what limits_read_cpu_ns() has returned last */
	bool sample_memory, sample_cpu;
	bool no_process_is_left;        /* the run has no process any more, so no sample is taken */
	bool samples_tasks;             /* RLIMIT_NPROC limits the tasks, but the kernel does not show its count */
};

static void limits_set_usage(struct limit_meter *meter, uint64_t used, uint64_t peak)
{
	meter->is_measured = true;
	meter->used = used;
	if (peak > meter->peak)
		meter->peak = peak;
}

int limits_create(const struct sandbox *sandbox, struct cgroup *cgroup, struct limits **ret_limits)
{
	struct limits *limits = calloc(1, sizeof(*limits));
	const struct policy_limits *policy = &policy_get_settings(sandbox->policy)->limits;
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);

	if (!limits)
		return -ENOMEM;
	limits->sandbox = sandbox;
	limits->cgroup = cgroup;
	limits->root_pid = getpid();
	limits->limit_that_ended_run = LIMIT_MAX;
	limits->recount_at_files_opened = FILES_OPENED_BEFORE_RECOUNT_MIN;
	limits->cpu_count = cpus > 0 ? (uint64_t)cpus : 1;
	limits_meters_init(limits->meter, policy);
	limits->sample_memory = policy->memory_bytes && !cgroup_has_controller(cgroup, CGROUP_MEMORY);
	limits->sample_cpu = policy->cpu_ns && !cgroup_has_controller(cgroup, CGROUP_CPU);
	limits->samples_tasks = policy->pids && !cgroup_has_controller(cgroup, CGROUP_PIDS) && !sandbox->forks;
	limits->next_measurement_ns = policy->cpu_ns || limits->sample_memory ? 0 : LIMITS_MEASURE_NEVER;
	if (limits->next_measurement_ns && limits->samples_tasks)
		limits->next_measurement_ns = io_read_clock_ns() + TASK_SAMPLE_FIRST_INTERVAL_NS;
	if (limits->samples_tasks)
		limits_set_usage(&limits->meter[LIMIT_PIDS], 1, 1); /* the program */
	*ret_limits = limits;
	return 0;
}

void limits_free(struct limits *limits)
{
	if (limits)
		sampler_release(&limits->sampler);
	free(limits);
}

struct limit_meter *limits_get_meters(struct limits *limits)
{
	return limits->meter;
}

static uint64_t limits_clamp_value(uint64_t value, uint64_t least, uint64_t most)
{
	return value < least ? least : value > most ? most : value;
}

/* Notes that a limit was exceeded, which ends the run. */
static void limits_mark_meter_exceeded(struct limit_meter *meter)
{
	meter->hit = true;
	meter->exceeding_ends_run = true;
}

/* ---- measuring by control groups ---- */

/* Takes over what control groups have counted. */
static void limits_read_cgroup(struct limits *limits)
{
	const struct cgroup *cgroup = limits->cgroup;
	struct limit_meter *meter = limits->meter;
	struct cgroup_usage usage;

	if (!cgroup)
		return;
	cgroup_read_usage(cgroup, &usage);
	if (cgroup_has_controller(cgroup, CGROUP_MEMORY)) {
		limits_set_usage(&meter[LIMIT_MEMORY], usage.memory_bytes + limits->opened_files_kernel_bytes,
				 (usage.memory_peak_bytes ? usage.memory_peak_bytes : usage.memory_bytes) +
					 limits->opened_files_kernel_bytes);
		/* The kernel counts its own OOM kills here, and no other kills. */
		if (usage.oom_kills > 0 && meter[LIMIT_MEMORY].limit)
			limits_mark_meter_exceeded(&meter[LIMIT_MEMORY]);
	}
	if (cgroup_has_controller(cgroup, CGROUP_CPU)) {
		limits_set_usage(&meter[LIMIT_CPU], usage.cpu_ns, usage.cpu_ns);
		if (meter[LIMIT_CPU].limit && usage.cpu_ns >= meter[LIMIT_CPU].limit)
			limits_mark_meter_exceeded(&meter[LIMIT_CPU]);
	}
	if (cgroup_has_controller(cgroup, CGROUP_PIDS)) {
		limits_set_usage(&meter[LIMIT_PIDS], usage.pids, usage.pids_peak ? usage.pids_peak : usage.pids);
		meter[LIMIT_PIDS].hit |= usage.refused_fork_count > 0;
	}
}

uint64_t limits_read_memory_bytes(void *opaque)
{
	struct limits *limits = opaque;

	limits_read_cgroup(limits);
	return limits->meter[LIMIT_MEMORY].used;
}

/* ---- samples ---- */

/* The most kernel memory that any descriptor of this run can hold. */
static uint64_t limits_get_buffer_bytes_per_fd(const struct limits *limits)
{
	const struct memfds *memfds = limits->sandbox->memfds;

	if (memfds && memfds_run_has_kernel_queues(memfds))
		return HELD_BUFFER_MAX_BYTES_LISTENER;
	return limits->sandbox->inet ? HELD_BUFFER_MAX_BYTES_TCP : HELD_BUFFER_MAX_BYTES_UNIX;
}

/* Measures the processes of the run, as far as control groups do not. */
static int limits_take_sample(struct limits *limits, struct sample *ret_sample)
{
	const struct memfds *memfds = limits->sandbox->memfds;
	struct disk *disk = limits->sandbox->disk;
	const struct sample_request wanted = {.root = limits->root_pid,
					      .has_no_descendants = limits->no_process_is_left,
					      .measure_exactly_above_bytes =
						      limits->sample_memory ? limits->meter[LIMIT_MEMORY].limit / 2
									    : UINT64_MAX,
					      .fd_buffer_max_bytes = limits_get_buffer_bytes_per_fd(limits),
					      .page_tables_limit_bytes = limits->meter[LIMIT_MEMORY].limit,
					      .unmapped_shared_bytes = (memfds ? memfds_measure_bytes(memfds) : 0) +
							      (disk ? disk_measure_memory_bytes(disk) : 0)};

	return sample_measure_process_tree(&limits->sampler, &wanted, ret_sample);
}

/* Whether a sample shows more memory or CPU time than the limit. */
static bool limits_sample_exceeds_limit(const struct limits *limits, const struct sample *sample)
{
	return (limits->sample_memory && sample->memory_bytes > limits->meter[LIMIT_MEMORY].limit) ||
	       (limits->sample_cpu &&
		sample->cpu_ns + limits->estimated_unsampled_cpu_ns >= limits->meter[LIMIT_CPU].limit);
}

/*
 * Estimates cpu time that no process shows: that of children whose parent ignores SIGCHLD. If much is lost, samples are
 * taken as often as possible, and every running process is assumed to have run since the last sample.
 */
static uint64_t limits_estimate_lost_cpu_time(struct limits *limits, const struct sample *sample, uint64_t since_ns)
{
	uint64_t running =
		sample->running_process_count < limits->cpu_count ? sample->running_process_count : limits->cpu_count;
	uint64_t seen = sample->cpu_ns + limits->estimated_unsampled_cpu_ns - limits->meter[LIMIT_CPU].used;

	if (sample->misses_child_cpu_time &&
	    sample->cpu_ns + limits->estimated_unsampled_cpu_ns >= limits->meter[LIMIT_CPU].used &&
	    running * since_ns > seen)
		limits->estimated_unsampled_cpu_ns += running * since_ns - seen;
	return limits->estimated_unsampled_cpu_ns;
}

static void limits_read_cpu(struct limits *limits, const struct sample *sample, uint64_t now_ns)
{
	struct limit_meter *meter = &limits->meter[LIMIT_CPU];
	uint64_t since_ns = now_ns - limits->last_sample_time_ns;
	uint64_t used = sample->cpu_ns + limits_estimate_lost_cpu_time(limits, sample, since_ns);

	if (used < meter->used)
		used = meter->used;
	if (sample->misses_child_cpu_time)
		limits->cpu_sample_interval_max_ns = CPU_SAMPLE_INTERVAL_MIN_NS;
	else if (sample->running_process_count > 0 || used - meter->used >= since_ns / 8)
		limits->cpu_sample_interval_max_ns = CPU_SAMPLE_INTERVAL_BUSY_NS;
	else
		limits->cpu_sample_interval_max_ns =
			limits_clamp_value(limits->cpu_sample_interval_max_ns * 2, CPU_SAMPLE_INTERVAL_BUSY_NS,
					   CPU_SAMPLE_INTERVAL_IDLE_NS);
	limits_set_usage(meter, used, used);
	if (used >= meter->limit)
		limits_mark_meter_exceeded(meter);
}

/* A sample is not taken at one instant, so a sample that would end the run is repeated. */
static void limits_take_and_apply_sample(struct limits *limits)
{
	uint64_t begin_ns = io_read_clock_ns();
	struct limit_meter *meter = limits->meter;
	struct sample sample;

	if (limits_take_sample(limits, &sample) < 0)
		return;
	if (limits_sample_exceeds_limit(limits, &sample)) {
		if (limits->sandbox->memfds)
			memfds_free_unused(limits->sandbox->memfds);
		if (limits_take_sample(limits, &sample) < 0)
			return;
	}
	if (limits->sample_memory) {
		limits_set_usage(&meter[LIMIT_MEMORY], sample.memory_bytes, sample.memory_bytes);
		if (sample.memory_bytes > meter[LIMIT_MEMORY].limit)
			limits_mark_meter_exceeded(&meter[LIMIT_MEMORY]);
	}
	if (limits->sample_cpu)
		limits_read_cpu(limits, &sample, begin_ns);
	if (!cgroup_has_controller(limits->cgroup, CGROUP_PIDS))
		limits_set_usage(&meter[LIMIT_PIDS], sample.task_count, sample.task_count);
	if (limits->samples_tasks && sample.task_count >= meter[LIMIT_PIDS].limit)
		meter[LIMIT_PIDS].hit = true;
	limits->last_sample_time_ns = begin_ns;
	limits->last_sample_duration_ns = io_read_clock_ns() - begin_ns;
}

/* Takes over the number of tasks that was counted where forks are judged. */
static void limits_read_judged_task_count(struct limits *limits)
{
	const struct forks *forks = limits->sandbox->forks;
	struct limit_meter *meter = &limits->meter[LIMIT_PIDS];

	if (!forks)
		return;
	limits_set_usage(meter, forks_get_task_count(forks), forks_get_peak_task_count(forks));
	meter->hit |= forks_get_refused_count(forks) > 0;
}

uint64_t limits_read_cpu_ns(void *opaque)
{
	struct limits *limits = opaque;
	uint64_t used_ns = limits->meter[LIMIT_CPU].used;
	struct cgroup_usage usage;
	struct sample sample;

	if (cgroup_has_controller(limits->cgroup, CGROUP_CPU)) {
		cgroup_read_usage(limits->cgroup, &usage);
		used_ns = usage.cpu_ns;
	} else if (!limits->sample_cpu && limits_take_sample(limits, &sample) == 0) {
		used_ns = sample.cpu_ns;
	}
	if (used_ns > limits->last_returned_cpu_ns)
		limits->last_returned_cpu_ns = used_ns;
	return limits->last_returned_cpu_ns;
}

/* ---- when ---- */

/* The time in which all CPUs together could use up the rest of the limit. */
static uint64_t limits_get_time_to_next_cpu_sample_ns(const struct limits *limits)
{
	const struct limit_meter *meter = &limits->meter[LIMIT_CPU];
	uint64_t left = meter->limit > meter->used ? meter->limit - meter->used : 0;

	return limits_clamp_value(left / limits->cpu_count, CPU_SAMPLE_INTERVAL_MIN_NS,
				  limits->sample_cpu ? limits->cpu_sample_interval_max_ns : LIMITS_MEASURE_NEVER / 2);
}

static uint64_t limits_get_time_to_next_memory_sample_ns(const struct limits *limits)
{
	const struct limit_meter *meter = &limits->meter[LIMIT_MEMORY];
	uint64_t left = meter->limit > meter->used ? meter->limit - meter->used : 0;
	uint64_t wait = limits_clamp_value(left / MEMORY_FILL_RATE_MAX_BYTES_PER_MS * NS_PER_MS, SAMPLE_INTERVAL_MIN_NS,
					   SAMPLE_INTERVAL_MAX_NS);
	uint64_t rest = limits->last_sample_duration_ns * SAMPLE_INTERVAL_TO_DURATION_MIN;

	if (rest > SAMPLE_INTERVAL_IF_COSTLY_MAX_NS)
		rest = limits->last_sample_duration_ns > SAMPLE_INTERVAL_IF_COSTLY_MAX_NS
			       ? limits->last_sample_duration_ns
			       : SAMPLE_INTERVAL_IF_COSTLY_MAX_NS;
	return wait < rest ? rest : wait;
}

static void limits_plan_next_measurement(struct limits *limits, uint64_t now_ns)
{
	uint64_t wait = LIMITS_MEASURE_NEVER;

	if (limits->meter[LIMIT_CPU].limit)
		wait = limits_get_time_to_next_cpu_sample_ns(limits);
	if (limits->sample_memory && limits_get_time_to_next_memory_sample_ns(limits) < wait)
		wait = limits_get_time_to_next_memory_sample_ns(limits);
	if (limits->samples_tasks && TASK_SAMPLE_INTERVAL_NS < wait)
		wait = TASK_SAMPLE_INTERVAL_NS;
	limits->next_measurement_ns = wait >= LIMITS_MEASURE_NEVER - now_ns ? LIMITS_MEASURE_NEVER : now_ns + wait;
}

/* Takes over what control groups count, what a sample shows, and the number of tasks. */
static void limits_measure_all(struct limits *limits)
{
	limits_read_cgroup(limits);
	/* Once a limit has ended the run, another sample would only delay the kill. */
	if (limits->limit_that_ended_run == LIMIT_MAX &&
	    (limits->sample_memory || limits->sample_cpu || limits->samples_tasks))
		limits_take_and_apply_sample(limits);
	limits_read_judged_task_count(limits);
}

/*
 * The kernel charges an open file to the process that opened it: the supervisor, which is outside the run's control
 * group. So this counts the files that the program holds, up to the number opened for it. They are counted again when
 * enough files were opened since to take a quarter of the rest of the limit. They may take as much as the limit once
 * more, because the group's own use includes the page cache, and may fill the limit at any time.
 */
static void limits_count_open_files(struct limits *limits)
{
	struct limit_meter *meter = &limits->meter[LIMIT_MEMORY];
	uint64_t opened = limits->sandbox->rlimit_usage.files_opened_in_total, held = 0, left;

	if (!meter->limit || limits->sample_memory || opened < limits->recount_at_files_opened)
		return;
	if (opened > 0 && sample_count_open_files(limits->root_pid, &held) < 0)
		held = opened;
	limits->opened_files_kernel_bytes = (held < opened ? held : opened) * HELD_KERNEL_BYTES_PER_DESCRIPTOR;
	limits_read_cgroup(limits);
	if (limits->opened_files_kernel_bytes > meter->limit)
		limits_mark_meter_exceeded(meter);
	left = limits->opened_files_kernel_bytes < meter->limit ? meter->limit - limits->opened_files_kernel_bytes : 0;
	limits->recount_at_files_opened =
		opened + FILES_OPENED_BEFORE_RECOUNT_MIN + left / 4 / HELD_KERNEL_BYTES_PER_DESCRIPTOR;
}

/* Takes over the disk use, and notes if its limit was exceeded. */
static void limits_read_disk(struct limits *limits, uint64_t now_ns)
{
	struct limit_meter *meter = &limits->meter[LIMIT_DISK];
	struct disk *disk = limits->sandbox->disk;
	bool ends;

	if (!disk)
		return;
	ends = disk_measure_due_files(disk, now_ns);
	if (meter->limit)
		limits_set_usage(meter, disk_get_used_bytes(disk), disk_get_peak_bytes(disk));
	if (ends)
		limits_mark_meter_exceeded(meter);
}

static void limits_measure_log_size(struct limits *limits)
{
	struct limit_meter *meter = &limits->meter[LIMIT_AUDIT];
	uint64_t bytes = limits->sandbox->audit ? audit_get_size(limits->sandbox->audit) : 0;

	if (bytes == 0)
		return; /* no log is kept */
	limits_set_usage(meter, bytes, bytes);
	if (meter->limit && bytes > meter->limit)
		limits_mark_meter_exceeded(meter);
}

/* Sets `hit` of open_files and file_size, which the kernel enforces: handlers have noted in sandbox which were hit. */
static void limits_read_which_rlimits_were_hit(struct limits *limits, int wait_status)
{
	const struct rlimit_usage *notes = &limits->sandbox->rlimit_usage;
	struct limit_meter *files = &limits->meter[LIMIT_OPEN_FILES], *size = &limits->meter[LIMIT_FILE_SIZE];

	if (notes->open_files > 0)
		limits_set_usage(files, notes->open_files, notes->open_files);
	files->hit |= notes->open_files_limit_hit && files->limit;
	size->hit |= notes->file_size_limit_hit && size->limit;
	/* A SIGXFSZ sent by another process of the run looks the same. */
	if (size->limit && WIFSIGNALED(wait_status) && WTERMSIG(wait_status) == SIGXFSZ)
		limits_mark_meter_exceeded(size);
}

static enum limit_kind limits_find_limit_to_end_run(struct limits *limits)
{
	for (enum limit_kind kind = 0; kind < LIMIT_MAX && limits->limit_that_ended_run == LIMIT_MAX; kind++)
		if (limits->meter[kind].exceeding_ends_run)
			limits->limit_that_ended_run = kind;
	return limits->limit_that_ended_run;
}

enum limit_kind limits_measure_due(struct limits *limits, uint64_t now_ns)
{
	if (limits->limit_that_ended_run != LIMIT_MAX)
		return limits->limit_that_ended_run;
	limits_read_disk(limits, now_ns);
	limits_measure_log_size(limits);
	limits_count_open_files(limits);
	if (now_ns >= limits->next_measurement_ns) {
		limits_measure_all(limits);
		limits_plan_next_measurement(limits, now_ns);
	}
	return limits_find_limit_to_end_run(limits);
}

bool limits_have_ended_run(void *opaque)
{
	return limits_measure_due(opaque, io_read_clock_ns()) != LIMIT_MAX;
}

int limits_get_ms_to_measurement(const struct limits *limits, uint64_t now_ns)
{
	int disk_ms = limits->sandbox->disk ? disk_get_next_measure_ms(limits->sandbox->disk, now_ns) : -1, own_ms = -1;
	uint64_t left_ns = limits->next_measurement_ns > now_ns ? limits->next_measurement_ns - now_ns : 0;

	if (limits->next_measurement_ns != LIMITS_MEASURE_NEVER)
		own_ms = (int)limits_clamp_value((left_ns + NS_PER_MS - 1) / NS_PER_MS, 0, 3600000);
	return (unsigned)own_ms < (unsigned)disk_ms ? own_ms : disk_ms; /* -1 is the largest as an unsigned number */
}

int limits_get_oom_fd(const struct limits *limits)
{
	return cgroup_get_oom_fd(limits->cgroup);
}

void limits_read_oom_event(struct limits *limits)
{
	limits_read_cgroup(limits); /* limits_read_cgroup() also reads the event of an OOM kill */
}

void limits_measure_final(struct limits *limits)
{
	limits_read_disk(limits, LIMITS_MEASURE_NEVER);
	limits_measure_log_size(limits);
}

enum limit_kind limits_measure_before_final_kill(struct limits *limits, int wait_status, bool no_process_is_left)
{
	limits->no_process_is_left = no_process_is_left;
	limits_measure_all(limits);
	limits_measure_final(limits);
	limits_read_which_rlimits_were_hit(limits, wait_status);
	return limits_find_limit_to_end_run(limits);
}
