#include "supervisor/limits/limits.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "audit/audit.h"
#include "base/io.h"
#include "confine/cgroup.h"
#include "supervisor/limits/held.h"
#include "supervisor/limits/sample.h"
#include "syscalls/account/disk.h"
#include "syscalls/account/forks.h"
#include "syscalls/account/memfds.h"
#include "syscalls/call/call.h"

#include "base/banned.h"

#define NS_PER_MS UINT64_C(1000000)
#define NEVER UINT64_MAX

#define CPU_SHORTEST_NS (5 * NS_PER_MS) /* between two looks at the cpu time */
/* When it is sampled: often enough to see short-lived children, seldom while next to nothing runs. */
#define CPU_BUSY_NS (20 * NS_PER_MS)
#define CPU_IDLE_NS (500 * NS_PER_MS)
/* Memory is sampled as often as it would take the fastest writer seen here (4 GB/s) to use up what is left. */
#define FILL_BYTES_PER_MS (UINT64_C(4) << 20)
#define SAMPLE_SHORTEST_NS (2 * NS_PER_MS)
#define SAMPLE_LONGEST_NS (100 * NS_PER_MS)
#define TASKS_NS (500 * NS_PER_MS)
#define TASKS_FIRST_NS (20 * NS_PER_MS) /* a short run need not pay for it */
#define SAMPLE_COST_FACTOR 20 /* and no more than a twentieth of a processor is spent on it, but for a program */
#define SAMPLE_COSTLY_NS (200 * NS_PER_MS) /* that makes looking costly: it is not to buy itself time by that */

#define FILES_LEAST 256 /* opened, before they are counted again */

struct limits {
	struct limits_options options;
	pid_t root_pid;
	struct limit_meter meter[LIMIT_MAX];
	enum limit_kind ended; /* LIMIT_MAX: nothing has */
	uint64_t cpus;
	uint64_t next_ns; /* when cpu and memory are due */
	uint64_t cost_ns; /* of the last sample */
	struct sampler sampler;
	uint64_t sampled_ns;  /* when, last */
	uint64_t lost_ns;     /* processor time that was used, as far as can be guessed, and not seen */
	uint64_t cpu_step_ns; /* the longest until the next sample of the processor time */
	uint64_t files_bytes;  /* with a control group: kernel memory of files that we opened, which is not in it */
	uint64_t files_at;     /* so many opened, they are counted again */
	bool sample_memory, sample_cpu;
	bool alone;        /* nobody is left to be sampled */
	bool sample_tasks; /* the kernel counts them (RLIMIT_NPROC) and does not tell */
};

static void set(struct limit_meter *meter, uint64_t used, uint64_t peak)
{
	meter->known = true;
	meter->used = used;
	if (peak > meter->peak)
		meter->peak = peak;
}

int limits_create(const struct limits_options *options, pid_t root_pid, struct limits **ret_limits)
{
	struct limits *limits = calloc(1, sizeof(*limits));
	const struct policy_limits *policy = options->policy;
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);

	if (!limits)
		return -ENOMEM;
	limits->options = *options;
	limits->root_pid = root_pid;
	limits->ended = LIMIT_MAX;
	limits->files_at = FILES_LEAST;
	limits->cpus = cpus > 0 ? (uint64_t)cpus : 1;
	limits_meters_init(limits->meter, policy);
	limits->sample_memory = policy->memory_bytes && !cgroup_has(options->cgroup, CGROUP_MEMORY);
	limits->sample_cpu = policy->cpu_ns && !cgroup_has(options->cgroup, CGROUP_CPU);
	limits->sample_tasks = policy->pids && !cgroup_has(options->cgroup, CGROUP_PIDS) && !options->forks;
	limits->next_ns = policy->cpu_ns || limits->sample_memory ? 0 : NEVER;
	if (limits->next_ns && limits->sample_tasks)
		limits->next_ns = io_now_ns() + TASKS_FIRST_NS;
	if (limits->sample_tasks)
		set(&limits->meter[LIMIT_PIDS], 1, 1); /* the program */
	*ret_limits = limits;
	return 0;
}

void limits_free(struct limits *limits)
{
	if (limits)
		sampler_done(&limits->sampler);
	free(limits);
}

struct limit_meter *limits_meters(struct limits *limits)
{
	return limits->meter;
}

static uint64_t clamp(uint64_t value, uint64_t least, uint64_t most)
{
	return value < least ? least : value > most ? most : value;
}

static void over(struct limit_meter *meter)
{
	meter->hit = true;
	meter->ends = true;
}

/* ---- what control groups tell ---- */

static void read_cgroup(struct limits *limits)
{
	const struct cgroup *cgroup = limits->options.cgroup;
	struct limit_meter *meter = limits->meter;
	struct cgroup_usage usage;

	if (!cgroup)
		return;
	cgroup_read(cgroup, &usage);
	if (cgroup_has(cgroup, CGROUP_MEMORY)) {
		set(&meter[LIMIT_MEMORY], usage.memory_bytes + limits->files_bytes,
		    (usage.memory_peak_bytes ? usage.memory_peak_bytes : usage.memory_bytes) + limits->files_bytes);
		/* The kernel's own word: a program that kills itself, or is killed, has none. */
		if (usage.oom_kills > 0 && meter[LIMIT_MEMORY].limit)
			over(&meter[LIMIT_MEMORY]);
	}
	if (cgroup_has(cgroup, CGROUP_CPU)) {
		set(&meter[LIMIT_CPU], usage.cpu_ns, usage.cpu_ns);
		if (meter[LIMIT_CPU].limit && usage.cpu_ns >= meter[LIMIT_CPU].limit)
			over(&meter[LIMIT_CPU]);
	}
	if (cgroup_has(cgroup, CGROUP_PIDS)) {
		set(&meter[LIMIT_PIDS], usage.pids, usage.pids_peak ? usage.pids_peak : usage.pids);
		meter[LIMIT_PIDS].hit |= usage.pids_refused > 0;
	}
}

uint64_t limits_memory_bytes(void *opaque)
{
	struct limits *limits = opaque;

	read_cgroup(limits);
	return limits->meter[LIMIT_MEMORY].used;
}

/* ---- what sampling tells ---- */

static uint64_t buffer_bytes(const struct limits *limits)
{
	const struct memfds *memfds = limits->options.memfds;

	if (memfds && memfds_queues(memfds))
		return HELD_BUFFER_QUEUE_BYTES;
	return limits->options.inet ? HELD_BUFFER_INET_BYTES : HELD_BUFFER_BYTES;
}

static int take(struct limits *limits, struct sample *ret_sample)
{
	const struct memfds *memfds = limits->options.memfds;
	struct disk *disk = limits->options.disk;
	const struct sample_wanted wanted = {
		.root = limits->root_pid,
		.alone = limits->alone,
		.near_bytes = limits->sample_memory ? limits->meter[LIMIT_MEMORY].limit / 2 : UINT64_MAX,
		.buffer_bytes = buffer_bytes(limits),
		.enough_bytes = limits->meter[LIMIT_MEMORY].limit,
		.shared_bytes = (memfds ? memfds_bytes(memfds) : 0) + (disk ? disk_memory(disk) : 0)};

	return sample_take(&limits->sampler, &wanted, ret_sample);
}

static bool is_over(const struct limits *limits, const struct sample *sample)
{
	return (limits->sample_memory && sample->memory_bytes > limits->meter[LIMIT_MEMORY].limit) ||
	       (limits->sample_cpu && sample->cpu_ns + limits->lost_ns >= limits->meter[LIMIT_CPU].limit);
}

/*
 * Children whose parent ignores SIGCHLD leave their time to nobody. When there is much of that, samples are taken as
 * often as can be, and whatever is found running is taken to have run since the last one.
 */
static uint64_t guess_lost(struct limits *limits, const struct sample *sample, uint64_t since_ns)
{
	uint64_t running = sample->running < limits->cpus ? sample->running : limits->cpus;
	uint64_t seen = sample->cpu_ns + limits->lost_ns - limits->meter[LIMIT_CPU].used;

	if (sample->loses_time && sample->cpu_ns + limits->lost_ns >= limits->meter[LIMIT_CPU].used &&
	    running * since_ns > seen)
		limits->lost_ns += running * since_ns - seen;
	return limits->lost_ns;
}

static void read_cpu(struct limits *limits, const struct sample *sample, uint64_t now_ns)
{
	struct limit_meter *meter = &limits->meter[LIMIT_CPU];
	uint64_t since_ns = now_ns - limits->sampled_ns;
	uint64_t used = sample->cpu_ns + guess_lost(limits, sample, since_ns);

	if (used < meter->used)
		used = meter->used;
	if (sample->loses_time)
		limits->cpu_step_ns = CPU_SHORTEST_NS;
	else if (sample->running > 0 || used - meter->used >= since_ns / 8)
		limits->cpu_step_ns = CPU_BUSY_NS;
	else
		limits->cpu_step_ns = clamp(limits->cpu_step_ns * 2, CPU_BUSY_NS, CPU_IDLE_NS);
	set(meter, used, used);
	if (used >= meter->limit)
		over(meter);
}

/* A sample is put together from many moments: what decides is seen twice. */
static void read_sample(struct limits *limits)
{
	uint64_t begin_ns = io_now_ns();
	struct limit_meter *meter = limits->meter;
	struct sample sample;

	if (take(limits, &sample) < 0)
		return;
	if (is_over(limits, &sample)) {
		if (limits->options.memfds)
			memfds_sweep(limits->options.memfds);
		if (take(limits, &sample) < 0)
			return;
	}
	if (limits->sample_memory) {
		set(&meter[LIMIT_MEMORY], sample.memory_bytes, sample.memory_bytes);
		if (sample.memory_bytes > meter[LIMIT_MEMORY].limit)
			over(&meter[LIMIT_MEMORY]);
	}
	if (limits->sample_cpu)
		read_cpu(limits, &sample, begin_ns);
	if (!cgroup_has(limits->options.cgroup, CGROUP_PIDS))
		set(&meter[LIMIT_PIDS], sample.tasks, sample.tasks);
	if (limits->sample_tasks && sample.tasks >= meter[LIMIT_PIDS].limit)
		meter[LIMIT_PIDS].hit = true;
	limits->sampled_ns = begin_ns;
	limits->cost_ns = io_now_ns() - begin_ns;
}

static void read_forks(struct limits *limits)
{
	const struct forks *forks = limits->options.forks;
	struct limit_meter *meter = &limits->meter[LIMIT_PIDS];

	if (!forks)
		return;
	set(meter, forks_members(forks), forks_peak(forks));
	meter->hit |= forks_refused(forks) > 0;
}

/* ---- when ---- */

/* No sooner than all processors together could use up what is left. */
static uint64_t cpu_wait_ns(const struct limits *limits)
{
	const struct limit_meter *meter = &limits->meter[LIMIT_CPU];
	uint64_t left = meter->limit > meter->used ? meter->limit - meter->used : 0;

	return clamp(left / limits->cpus, CPU_SHORTEST_NS, limits->sample_cpu ? limits->cpu_step_ns : NEVER / 2);
}

static uint64_t memory_wait_ns(const struct limits *limits)
{
	const struct limit_meter *meter = &limits->meter[LIMIT_MEMORY];
	uint64_t left = meter->limit > meter->used ? meter->limit - meter->used : 0;
	uint64_t wait = clamp(left / FILL_BYTES_PER_MS * NS_PER_MS, SAMPLE_SHORTEST_NS, SAMPLE_LONGEST_NS);
	uint64_t rest = limits->cost_ns * SAMPLE_COST_FACTOR;

	if (rest > SAMPLE_COSTLY_NS)
		rest = limits->cost_ns > SAMPLE_COSTLY_NS ? limits->cost_ns : SAMPLE_COSTLY_NS;
	return wait < rest ? rest : wait;
}

static void plan(struct limits *limits, uint64_t now_ns)
{
	uint64_t wait = NEVER;

	if (limits->meter[LIMIT_CPU].limit)
		wait = cpu_wait_ns(limits);
	if (limits->sample_memory && memory_wait_ns(limits) < wait)
		wait = memory_wait_ns(limits);
	if (limits->sample_tasks && TASKS_NS < wait)
		wait = TASKS_NS;
	limits->next_ns = wait >= NEVER - now_ns ? NEVER : now_ns + wait;
}

static void look(struct limits *limits)
{
	read_cgroup(limits);
	/*
	 * What has ended the run was seen in this very turn: another look at hundreds of processes would only let them
	 * live.
	 */
	if (limits->ended == LIMIT_MAX && (limits->sample_memory || limits->sample_cpu || limits->sample_tasks))
		read_sample(limits);
	read_forks(limits);
}

/*
 * The kernel charges an open file to who opened it: to us, outside of the run's control group. As many as the
 * program holds by now, but no more than we have opened; counted when enough were opened since to take a quarter of
 * what is left. They may take as much as the limit once more, not the rest of it: what the group uses includes the
 * page cache, which may fill it at any time.
 */
static void read_files(struct limits *limits)
{
	struct limit_meter *meter = &limits->meter[LIMIT_MEMORY];
	uint64_t opened = limits->options.notes ? limits->options.notes->files_opened : 0, held = 0, left;

	if (!meter->limit || limits->sample_memory || opened < limits->files_at)
		return;
	if (opened > 0 && held_files(limits->root_pid, &held) < 0)
		held = opened;
	limits->files_bytes = (held < opened ? held : opened) * HELD_DESCRIPTOR_BYTES;
	read_cgroup(limits);
	if (limits->files_bytes > meter->limit)
		over(meter);
	left = limits->files_bytes < meter->limit ? meter->limit - limits->files_bytes : 0;
	limits->files_at = opened + FILES_LEAST + left / 4 / HELD_DESCRIPTOR_BYTES;
}

/* What the disk's own meter says. */
static void read_disk(struct limits *limits, uint64_t now_ns)
{
	struct limit_meter *meter = &limits->meter[LIMIT_DISK];
	struct disk *disk = limits->options.disk;
	bool ends;

	if (!disk)
		return;
	ends = disk_tick(disk, now_ns);
	if (meter->limit)
		set(meter, disk_used(disk), disk_peak(disk));
	if (ends)
		over(meter);
}

static void read_audit(struct limits *limits)
{
	struct limit_meter *meter = &limits->meter[LIMIT_AUDIT];
	uint64_t bytes = limits->options.audit ? audit_bytes(limits->options.audit) : 0;

	if (bytes == 0)
		return; /* none is kept */
	set(meter, bytes, bytes);
	if (meter->limit && bytes > meter->limit)
		over(meter);
}

/* What handlers saw of the limits that the kernel keeps for each process. */
static void read_notes(struct limits *limits, int wait_status)
{
	const struct limit_events *notes = limits->options.notes;
	struct limit_meter *files = &limits->meter[LIMIT_OPEN_FILES], *size = &limits->meter[LIMIT_FILE_SIZE];

	if (notes && notes->open_files > 0)
		set(files, notes->open_files, notes->open_files);
	files->hit |= notes && notes->open_files_full && files->limit;
	size->hit |= notes && notes->file_size_passed && size->limit;
	/* Its end by another's SIGXFSZ would look the same; it is its own doing either way. */
	if (size->limit && WIFSIGNALED(wait_status) && WTERMSIG(wait_status) == SIGXFSZ)
		over(size);
}

static enum limit_kind judge(struct limits *limits)
{
	for (enum limit_kind kind = 0; kind < LIMIT_MAX && limits->ended == LIMIT_MAX; kind++)
		if (limits->meter[kind].ends)
			limits->ended = kind;
	return limits->ended;
}

enum limit_kind limits_tick(struct limits *limits, uint64_t now_ns)
{
	if (limits->ended != LIMIT_MAX)
		return limits->ended;
	read_disk(limits, now_ns);
	read_audit(limits);
	read_files(limits);
	if (now_ns >= limits->next_ns) {
		look(limits);
		plan(limits, now_ns);
	}
	return judge(limits);
}

bool limits_over(void *opaque)
{
	return limits_tick(opaque, io_now_ns()) != LIMIT_MAX;
}

int limits_wait_ms(const struct limits *limits, uint64_t now_ns)
{
	int disk_ms = limits->options.disk ? disk_wait_ms(limits->options.disk, now_ns) : -1, own_ms = -1;

	if (limits->next_ns != NEVER)
		own_ms = limits->next_ns <= now_ns
				 ? 0
				 : (int)clamp((limits->next_ns - now_ns + NS_PER_MS - 1) / NS_PER_MS, 1, 3600000);
	if (disk_ms < 0 || (own_ms >= 0 && own_ms < disk_ms))
		return own_ms;
	return disk_ms;
}

int limits_event_fd(const struct limits *limits)
{
	return cgroup_event_fd(limits->options.cgroup);
}

void limits_event(struct limits *limits)
{
	read_cgroup(limits); /* which takes the event */
}

enum limit_kind limits_end(struct limits *limits, int wait_status, bool alone)
{
	limits->alone = alone;
	look(limits);
	read_disk(limits, NEVER);
	read_audit(limits);
	read_notes(limits, wait_status);
	return judge(limits);
}

void limits_settle(struct limits *limits)
{
	read_disk(limits, NEVER);
	read_audit(limits);
}
