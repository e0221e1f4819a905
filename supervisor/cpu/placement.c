#include <errno.h>
#include <limits.h>
#include <linux/seccomp.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "supervisor/cpu/private.h"
#include "syscalls/call/call.h"

#define DELAY_SAMPLE_INTERVAL_MS 4       /* how often run-queue delays are read while the run is pinned */
#define DELAY_SAMPLE_INTERVAL_FIRST_MS 2 /* sampling interval until DELAY_SAMPLE_FIRST_PERIOD_NS after pinning */
#define DELAY_SAMPLE_FIRST_PERIOD_NS (20 * MS) /* time after pinning with more frequent samples */
#define UNPIN_AFTER_IDLE_NS (32 * MS)         /* time without a call, after which the run is unpinned */
#define UNPIN_ABOVE_RUN_QUEUE_DELAY_NS (800 * US)  /* run-queue delay above which the run is unpinned */
/* after this time pinned, the run next stays unpinned for PAUSE_BEFORE_PINNING_FIRST_NS again */
#define PAUSE_BEFORE_PINNING_RESET_AFTER_NS (100 * MS)
/* how long the run stays unpinned the first time when two tasks want the CPU; four times as long each further time */
#define PAUSE_BEFORE_PINNING_FIRST_NS (50 * MS)
/* longest time that the run stays unpinned after two tasks wanted the CPU */
#define PAUSE_BEFORE_PINNING_MAX_NS (1000 * MS)
#define PAUSE_BEFORE_PINNING_ON_BUSY_MACHINE_NS (10 * MS) /* how long the run stays unpinned when the machine is busy */
/* how long the run stays unpinned after a thread has read its mask */
#define PAUSE_BEFORE_PINNING_FOR_MASK_READ_NS (2 * MS)
/* how long the run stays unpinned after a /proc/PID/status was opened */
#define PAUSE_BEFORE_PINNING_FOR_STATUS_READ_NS (200 * MS)
#define PINNED_TASKS_MAX 32u                               /* a run with more tasks is not pinned */
#define NEW_TASKS_SAMPLED_MAX 64               /* most new tasks whose state is read at a sample */
#define AFFINITY_MASK_READERS_MAX 8u           /* threads remembered because they have read their affinity mask */

/* The state of CPU placement. */
struct cpu {
	struct affinity affinity;
	bool off; /* no pinning any more: the run sets masks itself, or the kernel does not report run-queue delays */
	bool is_pinned; /* the run is pinned to the supervisor thread's CPU */
	uint64_t pinned_ns, sampled_ns;
	unsigned calls_since_sample;    /* judged calls since run-queue delays were last read */
	uint64_t time_without_call_ns;  /* how long no call has been made */
	uint64_t run_queue_delay_ns; /* run-queue delay of the calling threads, halved at each sample */
	struct run_queue_delays delays;
	/* threads that read a mask, and have made no other call since; 0: free */
	pid_t mask_reader[AFFINITY_MASK_READERS_MAX];
	unsigned next_mask_reader_to_replace; /* index in mask_reader[] */
	uint64_t next_pause_length_ns; /* how long the run will stay unpinned when it is unpinned next */
	uint64_t pinning_paused_until_ns; /* until then the run is not pinned again */
};

/* ---- pinning ---- */

/* Leaves the run unpinned until this time, or longer if that was decided before. */
static void placement_pause_pinning_until(struct cpu *placement, uint64_t until_ns)
{
	if (until_ns > placement->pinning_paused_until_ns)
		placement->pinning_paused_until_ns = until_ns;
}

/* Leaves the run unpinned for a time, which is four times as long each time. */
static void placement_pause_pinning_and_double(struct cpu *placement, uint64_t now_ns)
{
	uint64_t longer_ns = placement->next_pause_length_ns * 4;

	placement_pause_pinning_until(placement, now_ns + placement->next_pause_length_ns);
	placement->next_pause_length_ns =
		longer_ns < PAUSE_BEFORE_PINNING_MAX_NS ? longer_ns : PAUSE_BEFORE_PINNING_MAX_NS;
}

/*
 * False: other programs need all CPUs. One runnable task more than CPUs is accepted, because it may be a parent that is
 * about to wait for its child.
 */
static bool placement_machine_has_spare_cpus(const struct cpu *placement, const struct machine_load *load)
{
	return load->newest_pid >= 0 &&
	       load->runnable <= (unsigned long)CPU_COUNT(&placement->affinity.widest_mask) + 1;
}

/* Pins the supervisor thread. False: it cannot be pinned now, and the next attempt is later. */
static bool placement_pin_self(struct cpu *placement, const struct machine_load *load, uint64_t now_ns)
{
	if (placement_machine_has_spare_cpus(placement, load) && affinity_pin_self(&placement->affinity) == 0)
		return true;
	placement_pause_pinning_until(placement, now_ns + PAUSE_BEFORE_PINNING_ON_BUSY_MACHINE_NS);
	return false;
}

/* Begins to measure run-queue delays, after the run was pinned. */
static void placement_start_sampling(struct cpu *placement, pid_t since, uint64_t now_ns)
{
	placement->is_pinned = true;
	delays_start_measuring(&placement->delays, since);
	placement->pinned_ns = placement->sampled_ns = now_ns;
	placement->calls_since_sample = 0;
	placement->time_without_call_ns = 0;
	placement->run_queue_delay_ns = 0;
}

/* Pins the program. Its children inherit the mask, so forks and execs need no action. */
void cpu_pin_program(struct cpu *placement, pid_t program)
{
	struct affinity *affinity = placement ? &placement->affinity : NULL;
	uint64_t now_ns = io_read_clock_ns();
	struct machine_load load;

	if (!placement || placement->off)
		return;
	load = affinity_read_load(affinity);
	if (!placement_pin_self(placement, &load, now_ns))
		return;
	affinity_set_newest_unpinned_pid(affinity, program - 1);
	if (affinity_pin_pid(affinity, program) < 0)
		affinity_unpin_self(affinity);
	else
		placement_start_sampling(placement, program - 1, now_ns);
}

/* A count of the run's tasks, and of those that are running now. */
struct placement_running_tasks {
	const struct task *caller; /* the thread whose call is judged: not counted as running */
	pid_t last;                /* tasks with higher pids are not counted */
	unsigned tasks, running;
};

/* Adds a task of the run to the count, up to what decides whether the run is pinned. */
static void placement_count_running_task(struct task *task, void *ctx)
{
	struct placement_running_tasks *survey = ctx;

	if (task->tid <= survey->last && ++survey->tasks <= PINNED_TASKS_MAX && survey->running < 2 &&
	    task != survey->caller)
		survey->running += affinity_task_is_running(task->tid);
}

static void placement_pin_task(struct task *task, void *ctx)
{
	const struct cpu *placement = ctx;

	for (unsigned i = 0; i < AFFINITY_MASK_READERS_MAX; i++)
		if (placement->mask_reader[i] == task->tid)
			return;
	(void)affinity_pin_task(&placement->affinity, task);
}

/* Pins all known tasks, if only the caller is runnable. A task becomes known by its first notified call. */
static void placement_pin_run(struct cpu *placement, const struct task *caller, uint64_t now_ns)
{
	struct affinity *affinity = &placement->affinity;
	struct machine_load load = affinity_read_load(affinity);
	struct placement_running_tasks survey = {.caller = caller, .last = INT_MAX};

	/* The load is checked first: on a busy machine, where this is called every 10 ms, no file of a task is read. */
	if (placement_machine_has_spare_cpus(placement, &load))
		task_table_visit_tasks(affinity->tasks, placement_count_running_task, &survey);
	if (survey.tasks > PINNED_TASKS_MAX || survey.running > 0) {
		placement_pause_pinning_and_double(placement, now_ns);
		return;
	}
	if (!placement_pin_self(placement, &load, now_ns))
		return;
	if (affinity->rescans_left == 0)
		affinity_set_newest_unpinned_pid(affinity, load.newest_pid);
	task_table_visit_tasks(affinity->tasks, placement_pin_task, placement);
	placement_start_sampling(placement, load.newest_pid, now_ns);
}

/* ---- unpinning ---- */

/* Restores all masks. spread: moves running tasks to other CPUs. */
static void placement_unpin_run(struct cpu *placement, bool spread)
{
	struct affinity *affinity = &placement->affinity;

	if (!placement->is_pinned)
		return;
	placement->is_pinned = false;
	delays_forget_callers(&placement->delays);
	affinity->unpinning_scans_every_pid |=
		affinity_pids_may_be_reused(affinity, io_read_clock_ns() - placement->sampled_ns);
	affinity_unpin_run(affinity, spread);
}

void cpu_unpin_run(struct cpu *placement)
{
	if (placement)
		placement_unpin_run(placement, false);
}

/* Called when more than one task is runnable. */
static void placement_unpin_and_pause(struct cpu *placement, uint64_t now_ns)
{
	if (now_ns - placement->pinned_ns >= PAUSE_BEFORE_PINNING_RESET_AFTER_NS)
		placement->next_pause_length_ns = PAUSE_BEFORE_PINNING_FIRST_NS;
	placement_unpin_run(placement, true);
	placement_pause_pinning_and_double(placement, now_ns);
}

/* Called before a mask is read: unpins all tasks, including tasks that inherited the pinned mask. */
static void placement_unpin_before_mask_read(struct cpu *placement)
{
	placement_unpin_run(placement, false);
	if (placement->affinity.rescans_left > 0)
		affinity_unpin_new_tasks(&placement->affinity);
}

/* ---- calls ---- */

/* Forgets that the thread has read its mask. */
static void placement_forget_mask_reader(struct cpu *placement, pid_t tid)
{
	for (unsigned i = 0; i < AFFINITY_MASK_READERS_MAX; i++)
		if (placement->mask_reader[i] == tid)
			placement->mask_reader[i] = 0;
}

/* Whether the call is about the calling thread's mask. Another thread might be pinned before the call is performed. */
static bool placement_call_is_about_own_mask(const struct syscall_row *row, const struct seccomp_notif *notification)
{
	uint64_t arg[6];

	memcpy(arg, notification->data.args, sizeof(arg));
	if ((pid_t)arg[0] != 0 && (pid_t)arg[0] != (pid_t)notification->pid)
		return false;
	return table_row_allows(row, arg);
}

bool cpu_unpin_before_affinity_call(struct cpu *placement, const struct syscall_row *row,
				    const struct seccomp_notif *notification)
{
	pid_t tid;

	if (!placement || !row || (row->hook != HOOK_GET_AFFINITY && row->hook != HOOK_SET_AFFINITY))
		return false;
	tid = (pid_t)notification->pid;
	placement_unpin_before_mask_read(placement);
	placement_forget_mask_reader(placement, tid);
	placement->mask_reader[placement->next_mask_reader_to_replace++ % AFFINITY_MASK_READERS_MAX] = tid;
	placement_pause_pinning_until(placement, io_read_clock_ns() + PAUSE_BEFORE_PINNING_FOR_MASK_READ_NS);
	if (row->hook == HOOK_SET_AFFINITY) {
		placement->off = true;
		/* No more scans: from now on the program may have set a mask of one CPU itself. */
		placement->affinity.rescans_left = 0;
	}
	return placement_call_is_about_own_mask(row, notification);
}

/* Whether the call opens /proc/PID/status or /proc/PID/task/TID/status, which show the mask. */
static bool placement_call_opens_proc_status(const struct call *call)
{
	const char *virt = call->resolved_place[0].virt;
	size_t len = call->resolved_place[0].virt_len;

	return call->outcome.kind == OUTCOME_FD && len > strlen("/proc//status") &&
	       memcmp(virt, "/proc/", 6) == 0 && memcmp(virt + len - 7, "/status", 7) == 0;
}

void cpu_update_placement_before_response(struct cpu *placement, const struct call *call)
{
	struct affinity *affinity;

	if (!placement)
		return;
	affinity = &placement->affinity;
	placement_forget_mask_reader(placement, call->tid);
	if (!placement->is_pinned && affinity->rescans_left > 0 && call->tid > affinity->newest_pid_before_pinning)
		affinity_unpin_new_tasks(affinity);
	if (placement_call_opens_proc_status(call)) {
		placement_unpin_before_mask_read(placement);
		placement_pause_pinning_until(placement, call->start_ns + PAUSE_BEFORE_PINNING_FOR_STATUS_READ_NS);
	} else if (call->outcome.kind == OUTCOME_EXEC && call->tid != call->task->tgid) {
		/*
		 * Unpinned before the exec, because after it the thread has the pid of its leader, but still its own
		 * CPU affinity mask.
		 */
		placement_unpin_run(placement, false);
	} else if (placement->is_pinned) {
		placement->calls_since_sample++;
		if (delays_note_calling_thread(&placement->delays, call->tid))
			(void)affinity_pin_task(affinity, call->task);
	} else if (!placement->off && call->start_ns >= placement->pinning_paused_until_ns) {
		placement_pin_run(placement, call->task, call->start_ns);
	}
}

/* ---- sampling ---- */

/* Whether two or more tasks of the run are computing. */
static bool placement_has_several_running(const struct cpu *placement, pid_t last)
{
	const struct affinity *affinity = &placement->affinity;
	struct placement_running_tasks survey = {.last = affinity->newest_pid_before_pinning};

	task_table_visit_tasks(affinity->tasks, placement_count_running_task, &survey);
	for (pid_t tid = affinity->newest_pid_before_pinning + 1; tid <= last && survey.running < 2; tid++)
		survey.running += affinity_task_is_running(tid);
	return survey.running > 1;
}

/* Reads the run-queue delays, and unpins the run if they are long. */
static void placement_sample_run_queue_delay(struct cpu *placement, uint64_t now_ns)
{
	struct affinity *affinity = &placement->affinity;
	struct machine_load load = affinity_read_load(affinity);
	uint64_t window_ns = now_ns - placement->sampled_ns;
	bool late = affinity_pids_may_be_reused(affinity, window_ns) ||
		    load.newest_pid < affinity->newest_pid_before_pinning;
	bool quiet = placement->calls_since_sample == 0, crowded = quiet && load.runnable > 2;
	bool many = load.newest_pid - affinity->newest_pid_before_pinning > NEW_TASKS_SAMPLED_MAX;

	affinity->unpinning_scans_every_pid |= late;
	placement->run_queue_delay_ns = placement->run_queue_delay_ns / 2 +
			      delays_sum_delays_of_callers(&placement->delays, window_ns);
	placement->sampled_ns = now_ns;
	placement->calls_since_sample = 0;
	placement->time_without_call_ns = quiet ? placement->time_without_call_ns + window_ns : 0;
	if (placement->run_queue_delay_ns > UNPIN_ABOVE_RUN_QUEUE_DELAY_NS ||
	    (crowded && !many && placement_has_several_running(placement, load.newest_pid)))
		placement_unpin_and_pause(placement, now_ns);
	else if (placement->time_without_call_ns > UNPIN_AFTER_IDLE_NS || late || (crowded && many))
		placement_unpin_run(placement, false);
}

int cpu_update_placement_after_wait(struct cpu *placement, uint64_t now_ns)
{
	int sample_ms;

	if (!placement)
		return -1;
	sample_ms = now_ns - placement->pinned_ns < DELAY_SAMPLE_FIRST_PERIOD_NS ? DELAY_SAMPLE_INTERVAL_FIRST_MS
									   : DELAY_SAMPLE_INTERVAL_MS;
	if (placement->is_pinned && now_ns - placement->sampled_ns >= (uint64_t)sample_ms * MS)
		placement_sample_run_queue_delay(placement, now_ns);
	return placement->is_pinned ? sample_ms : affinity_rescan_if_due(&placement->affinity, now_ns);
}

/* ---- creation ---- */

void cpu_free(struct cpu *placement)
{
	if (!placement)
		return;
	placement_unpin_run(placement, false);
	cleanup_close(&placement->affinity.loadavg_fd);
	free(placement);
}

int cpu_create(struct task_table *tasks, int loadavg_fd, struct cpu **ret_cpu)
{
	struct cpu *placement = calloc(1, sizeof(*placement));
	bool told;

	if (!placement) {
		cleanup_close(&loadavg_fd);
		return -ENOMEM;
	}
	placement->next_pause_length_ns = PAUSE_BEFORE_PINNING_FIRST_NS;
	told = delays_init(&placement->delays);
	placement->off = affinity_init(&placement->affinity, tasks, loadavg_fd) < 0 || !told;
	*ret_cpu = placement;
	return 0;
}
