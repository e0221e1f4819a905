#include <errno.h>
#include <limits.h>
#include <linux/seccomp.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "supervisor/cpu/private.h"
#include "syscalls/call/call.h"
#include "syscalls/table/handlers.h"

#include "base/banned.h"

#define SAMPLE_MS 4
#define SAMPLE_FIRST_MS 2 /* in the first milliseconds after pinning: */
#define FIRST_NS (20 * MS)
#define SAMPLE_LATE_NS (20 * MS)  /* without a CPU for so long: task numbers may have begun again */
#define IDLE_NS (32 * MS)         /* without a call: then pinning gains nothing */
#define DELAY_MOST_NS (800 * US)  /* run-queue delay that the run accepts */
#define GOOD_NS (200 * MS)        /* a run that was pinned for so long pauses as if for the first time */
#define PAUSE_FIRST_NS (50 * MS)  /* four times as long each time, up to: */
#define PAUSE_MOST_NS (1000 * MS)
#define CROWDED_NS (10 * MS)      /* until the load of the machine is looked at again */
#define READ_MASK_NS (2 * MS)     /* a pause for a thread that is reading its mask */
#define READ_STATUS_NS (200 * MS) /* … for a status file that was opened */
#define TASKS_MOST 32u            /* more are not pinned */
#define NEW_MOST 64               /* more new tasks than this are not asked whether they run */
#define READERS_MAX 8u

struct placement {
	struct cpu cpu;
	struct affinity affinity;
	bool off; /* for good: the run sets masks itself, or the kernel does not tell what has to be known */
	bool pinned;
	uint64_t pinned_ns, sampled_ns;
	unsigned calls;    /* since the last sample */
	uint64_t idle_ns;  /* without a call */
	uint64_t delay_ns; /* run-queue delay of the calling threads; half of it is forgotten at each sample */
	struct delays delays;
	pid_t reader[READERS_MAX]; /* threads that are reading a mask and have made no call since; or 0 */
	unsigned next_reader;
	uint64_t pause_ns; /* how long the next pause is */
	uint64_t paused_until_ns;
};

/* ---- pinning ---- */

static void placement_pause(struct placement *placement, uint64_t until_ns)
{
	if (until_ns > placement->paused_until_ns)
		placement->paused_until_ns = until_ns;
}

static void placement_pause_longer(struct placement *placement, uint64_t now_ns)
{
	uint64_t longer_ns = placement->pause_ns * 4;

	placement_pause(placement, now_ns + placement->pause_ns);
	placement->pause_ns = longer_ns < PAUSE_MOST_NS ? longer_ns : PAUSE_MOST_NS;
}

/* Unless other programs need all CPUs. One task more than CPUs: a parent that is about to wait for its child. */
static bool placement_pin_self(struct placement *placement, const struct load *load, uint64_t now_ns)
{
	struct affinity *affinity = &placement->affinity;

	if (load->last >= 0 && load->runnable <= (unsigned long)CPU_COUNT(&affinity->whole) + 1 &&
	    affinity_pin_self(affinity) == 0)
		return true;
	placement_pause(placement, now_ns + CROWDED_NS);
	return false;
}

static void placement_start(struct placement *placement, pid_t since, uint64_t now_ns)
{
	placement->pinned = true;
	placement->delays.since = since;
	placement->pinned_ns = placement->sampled_ns = now_ns;
	placement->calls = 0;
	placement->idle_ns = 0;
	placement->delay_ns = 0;
}

/* What the program makes inherits its mask, so that no fork or exec has to be noticed. */
static void placement_begin(struct cpu *cpu, pid_t program)
{
	struct placement *placement = (struct placement *)cpu;
	struct affinity *affinity = &placement->affinity;
	uint64_t now_ns = io_now_ns();
	struct load load;

	if (placement->off)
		return;
	load = affinity_load(affinity);
	if (!placement_pin_self(placement, &load, now_ns))
		return;
	affinity_new_from(affinity, program - 1);
	if (affinity_pin_number(affinity, program) < 0)
		affinity_unpin_self(affinity);
	else
		placement_start(placement, program - 1, now_ns);
}

struct survey {
	const struct task *caller; /* is not counted as running */
	pid_t last;                /* newer tasks are not counted at all */
	unsigned tasks, running;
};

static void survey_task(struct task *task, void *ctx)
{
	struct survey *survey = ctx;

	if (task->tid <= survey->last && ++survey->tasks <= TASKS_MOST && survey->running < 2 && task != survey->caller)
		survey->running += affinity_is_running(task->tid);
}

static void placement_pin_task(struct task *task, void *ctx)
{
	const struct placement *placement = ctx;

	for (unsigned i = 0; i < READERS_MAX; i++)
		if (placement->reader[i] == task->tid)
			return;
	(void)affinity_pin_task(&placement->affinity, task);
}

/*
 * Pins all tasks that have ever made a call, if the caller is the only one of them that wants a CPU. A task that makes
 * no calls computes or waits.
 */
static void placement_pin(struct placement *placement, const struct task *caller, uint64_t now_ns)
{
	struct affinity *affinity = &placement->affinity;
	struct load load = affinity_load(affinity);
	struct survey survey = {.caller = caller, .last = INT_MAX};

	tree_each(affinity->tree, survey_task, &survey);
	if (survey.tasks > TASKS_MOST || survey.running > 0) {
		placement_pause_longer(placement, now_ns);
		return;
	}
	if (!placement_pin_self(placement, &load, now_ns))
		return;
	if (affinity->late == 0)
		affinity_new_from(affinity, load.last);
	tree_each(affinity->tree, placement_pin_task, placement);
	placement_start(placement, load.last, now_ns);
}

/* ---- unpinning ---- */

static void placement_release(struct placement *placement, bool spread)
{
	struct affinity *affinity = &placement->affinity;

	if (!placement->pinned)
		return;
	placement->pinned = false;
	delays_forget(&placement->delays);
	affinity->all_numbers |= io_now_ns() - placement->sampled_ns > SAMPLE_LATE_NS;
	affinity_unpin(affinity, spread);
}

static void placement_unpin(struct cpu *cpu)
{
	placement_release((struct placement *)cpu, false);
}

/* More than one task wants the CPU. */
static void placement_spread(struct placement *placement, uint64_t now_ns)
{
	if (now_ns - placement->pinned_ns >= GOOD_NS)
		placement->pause_ns = PAUSE_FIRST_NS;
	placement_release(placement, true);
	placement_pause_longer(placement, now_ns);
}

/* Also the tasks that inherited a mask, which is about to be read. */
static void placement_hide(struct placement *placement)
{
	placement_release(placement, false);
	if (placement->affinity.late > 0)
		affinity_unpin_heirs(&placement->affinity);
}

/* ---- calls ---- */

static void placement_forget_reader(struct placement *placement, pid_t tid)
{
	for (unsigned i = 0; i < READERS_MAX; i++)
		if (placement->reader[i] == tid)
			placement->reader[i] = 0;
}

/* What the filter continues without placement. Another thread's mask is judged: it may be ours again at once. */
static bool placement_may_continue(const struct syscall_row *row, const struct seccomp_notif *notification)
{
	uint64_t arg[6];

	memcpy(arg, notification->data.args, sizeof(arg));
	if ((pid_t)arg[0] != 0 && (pid_t)arg[0] != (pid_t)notification->pid)
		return false;
	return table_allows(row, arg);
}

static bool placement_received(struct cpu *cpu, const struct syscall_row *row, const struct seccomp_notif *notification)
{
	struct placement *placement = (struct placement *)cpu;
	pid_t tid = (pid_t)notification->pid;

	if (!row || (row->hook != HOOK_GET_AFFINITY && row->hook != HOOK_SET_AFFINITY))
		return false;
	placement_hide(placement);
	placement_forget_reader(placement, tid);
	placement->reader[placement->next_reader++ % READERS_MAX] = tid;
	placement_pause(placement, io_now_ns() + READ_MASK_NS);
	if (row->hook == HOOK_SET_AFFINITY) {
		placement->off = true;
		placement->affinity.late = 0; /* from now on a mask like ours may be the run's own */
	}
	return placement_may_continue(row, notification);
}

/* /proc/PID/status and a thread's, which show the mask whenever they are read. */
static bool placement_opens_status(const struct call *call)
{
	static const char proc[] = "/proc/", leaf[] = "/status";
	const struct place *place = &call->place[0];
	const size_t proc_len = sizeof(proc) - 1, leaf_len = sizeof(leaf) - 1;

	return call->outcome.kind == OUTCOME_FD && place->virt_len > proc_len + leaf_len &&
	       memcmp(place->virt, proc, proc_len) == 0 &&
	       memcmp(place->virt + place->virt_len - leaf_len, leaf, leaf_len) == 0;
}

static void placement_responding(struct cpu *cpu, const struct call *call)
{
	struct placement *placement = (struct placement *)cpu;
	struct affinity *affinity = &placement->affinity;
	bool is_heir = affinity->late > 0 && call->tid > affinity->from;

	placement_forget_reader(placement, call->tid);
	if (!placement->pinned && is_heir)
		affinity_unpin_heirs(affinity);
	if (placement_opens_status(call)) {
		placement_hide(placement);
		placement_pause(placement, call->start_ns + READ_STATUS_NS);
	} else if (call->outcome.kind == OUTCOME_EXEC && call->tid != call->task->tgid) {
		placement_release(placement, false); /* it takes its leader's number, which tells nothing of its mask */
	} else if (placement->pinned) {
		placement->calls++;
		if (delays_note(&placement->delays, call->tid))
			(void)affinity_pin_task(affinity, call->task);
	} else if (!placement->off && call->start_ns >= placement->paused_until_ns) {
		placement_pin(placement, call->task, call->start_ns);
	}
}

/* ---- sampling ---- */

/* Two or more tasks of the run compute, although none makes calls. */
static bool placement_several_run(const struct placement *placement, pid_t last)
{
	const struct affinity *affinity = &placement->affinity;
	struct survey survey = {.last = affinity->from};

	tree_each(affinity->tree, survey_task, &survey);
	for (pid_t tid = affinity->from + 1; tid <= last && survey.running < 2; tid++)
		survey.running += affinity_is_running(tid);
	return survey.running > 1;
}

static void placement_sample(struct placement *placement, uint64_t now_ns)
{
	struct affinity *affinity = &placement->affinity;
	struct load load = affinity_load(affinity);
	uint64_t window_ns = now_ns - placement->sampled_ns;
	bool late = window_ns > SAMPLE_LATE_NS || load.last < affinity->from;
	bool quiet = placement->calls == 0, crowded = quiet && load.runnable > 2;
	bool many = load.last - affinity->from > NEW_MOST;

	affinity->all_numbers |= late;
	placement->delay_ns = placement->delay_ns / 2 + delays_sample(&placement->delays, placement->calls);
	placement->sampled_ns = now_ns;
	placement->calls = 0;
	placement->idle_ns = quiet ? placement->idle_ns + window_ns : 0;
	if (placement->delay_ns > DELAY_MOST_NS || (crowded && !many && placement_several_run(placement, load.last)))
		placement_spread(placement, now_ns);
	else if (placement->idle_ns > IDLE_NS || late || (crowded && many))
		placement_release(placement, false);
}

static int placement_waited(struct cpu *cpu, uint64_t now_ns)
{
	struct placement *placement = (struct placement *)cpu;
	int sample_ms = now_ns - placement->pinned_ns < FIRST_NS ? SAMPLE_FIRST_MS : SAMPLE_MS;

	if (placement->pinned && now_ns - placement->sampled_ns >= (uint64_t)sample_ms * MS)
		placement_sample(placement, now_ns);
	return placement->pinned ? sample_ms : affinity_look_late(&placement->affinity, now_ns);
}

/* ---- making ---- */

static void placement_free(struct cpu *cpu)
{
	struct placement *placement = (struct placement *)cpu;

	placement_release(placement, false);
	affinity_done(&placement->affinity);
	free(placement);
}

int cpu_create(struct tree *tree, int loadavg_fd, struct cpu **ret_cpu)
{
	static const struct cpu_ops ops = {
		.begin = placement_begin,
		.received = placement_received,
		.responding = placement_responding,
		.waited = placement_waited,
		.unpin = placement_unpin,
		.free = placement_free,
	};
	struct placement *placement = calloc(1, sizeof(*placement));
	bool told;

	if (!placement) {
		if (loadavg_fd >= 0)
			(void)close(loadavg_fd);
		return -ENOMEM;
	}
	placement->cpu.ops = &ops;
	placement->pause_ns = PAUSE_FIRST_NS;
	told = delays_init(&placement->delays);
	placement->off = affinity_init(&placement->affinity, tree, loadavg_fd) < 0 || !told;
	*ret_cpu = &placement->cpu;
	return 0;
}
