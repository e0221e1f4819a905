/*
 * While a run is divided. An answer wakes its caller on the receiver's CPU, wherever that called from, so that two who compute
 * and call meet on one CPU, and the other one is idle until the scheduler divides them, milliseconds later. So each process
 * that calls has a home, the CPU with the fewest of the run to run: it is woken nowhere else, and the receiver,
 * which has none, is woken where the caller is.
 */
#include "supervisor/cpu/private.h"
#include "view/tree.h"

#include "base/banned.h"

#define LOOK_MS HANDOFF_IDLE_MS
#define QUIET_WAITING 2u  /* looks without a call, of one who waits: it may be woken anywhere */
#define QUIET_RUNNING 50u /* … of one who computes */
#define CROWDED_NS (10 * MS)
#define THREADS_NS (200 * MS) /* since a thread called: those of one process wait for each other */
#define CPUS_MOST 64          /* on more there is hardly ever none idle */

static struct home *find(struct homes *homes, const struct task *task)
{
	for (unsigned i = 0; i < homes->count; i++)
		if (homes->home[i].task == task)
			return &homes->home[i];
	return NULL;
}

bool homes_hold(const struct handoff *handoff, pid_t tid)
{
	for (unsigned i = 0; i < handoff->homes.count; i++)
		if (handoff->homes.home[i].task->tid == tid)
			return true;
	return false;
}

static void only(int cpu, cpu_set_t *ret_mask)
{
	CPU_ZERO(ret_mask);
	CPU_SET((size_t)cpu, ret_mask);
}

/* ---- where ---- */

struct loads {
	unsigned running[CPUS_MOST];
};

static void count_running(struct handoff *handoff, const struct task *but, struct loads *ret_loads)
{
	*ret_loads = (struct loads){{0}};
	for (unsigned i = 0; i < handoff->homes.count; i++) {
		struct home *home = &handoff->homes.home[i];

		home->running = home->task != but && handoff_is_running(home->task->tid);
		ret_loads->running[home->cpu] += home->running;
	}
}

/* The one with the fewest; here, if none has fewer. -1: none that we know. */
static int choose(const struct handoff *handoff, const struct loads *loads, int here)
{
	int best = here >= 0 && here < CPUS_MOST && CPU_ISSET((size_t)here, &handoff->theirs) ? here : -1;

	for (int cpu = 0; cpu < CPUS_MOST; cpu++)
		if (CPU_ISSET((size_t)cpu, &handoff->theirs) &&
		    (best < 0 || loads->running[cpu] < loads->running[best]))
			best = cpu;
	return best;
}

static int move(struct handoff *handoff, struct home *home, int cpu)
{
	cpu_set_t mask;
	int r;

	only(cpu, &mask);
	r = handoff_move(handoff, home->task, &mask);
	if (r == 0)
		home->cpu = cpu;
	return r;
}

/* ---- letting go ---- */

static void let_go(struct handoff *handoff, const struct home *home)
{
	cpu_set_t mask;

	only(home->cpu, &mask);
	handoff_let_go_from(handoff, home->task, &mask);
}

static void drop(struct homes *homes, struct home *home)
{
	*home = homes->home[--homes->count];
}

void homes_release(struct handoff *handoff)
{
	struct homes *homes = &handoff->homes;

	if (homes->count == 0)
		return;
	for (unsigned i = 0; i < homes->count; i++)
		let_go(handoff, &homes->home[i]);
	homes->count = 0;
	handoff_follow(handoff);
}

void homes_forget(struct handoff *handoff, const struct task *task)
{
	struct home *home = find(&handoff->homes, task);

	if (!home)
		return;
	drop(&handoff->homes, home);
	if (handoff->homes.count == 0)
		handoff_follow(handoff);
}

/* ---- taking ---- */

/* Before the first has one: what everybody else's mask is, and who is yet to be made. False: not now. */
static bool begin(struct handoff *handoff, uint64_t now_ns)
{
	struct load load = handoff_load(handoff);

	if (load.last < 0 || handoff_is_crowded(handoff, &load)) {
		handoff->homes.paused_until_ns = now_ns + CROWDED_NS;
		return false;
	}
	if (handoff->late == 0) {
		if (sched_getaffinity(0, sizeof(handoff->theirs), &handoff->theirs) < 0)
			return false;
		handoff_new_from(handoff, load.last);
	}
	handoff->homes.looked_ns = now_ns;
	return true;
}

static void take(struct handoff *handoff, const struct task *task)
{
	struct homes *homes = &handoff->homes;
	struct home *home = &homes->home[homes->count];
	struct loads loads;
	int cpu;

	count_running(handoff, task, &loads);
	cpu = choose(handoff, &loads, sched_getcpu());
	*home = (struct home){.task = task, .called = true};
	if (cpu >= 0 && move(handoff, home, cpu) == 0)
		homes->count++;
}

/* What it becomes has little in memory yet: the moment to go where there is less to do. */
static void take_again(struct handoff *handoff, struct home *home)
{
	struct loads loads;
	int cpu;

	count_running(handoff, home->task, &loads);
	cpu = choose(handoff, &loads, home->cpu);
	if (cpu >= 0 && cpu != home->cpu)
		(void)move(handoff, home, cpu);
}

void homes_call(struct handoff *handoff, const struct task *task, bool is_exec, uint64_t now_ns)
{
	struct homes *homes = &handoff->homes;
	struct home *home = find(homes, task);

	if (home) {
		home->called = true;
		if (is_exec)
			take_again(handoff, home);
		return;
	}
	if (now_ns < homes->paused_until_ns || now_ns < handoff->paused_until_ns || task->pidfd < 0)
		return;
	if (task->tid != task->tgid) {
		homes_release(handoff);
		homes->paused_until_ns = now_ns + THREADS_NS;
		return;
	}
	if (homes->count < HOMES_MAX && (homes->count > 0 || begin(handoff, now_ns)))
		take(handoff, task);
}

/* ---- looking ---- */

/* Lets those go who wait for something else, or have not called for long. */
static void let_quiet_go(struct handoff *handoff)
{
	struct homes *homes = &handoff->homes;

	for (unsigned i = homes->count; i-- > 0;) {
		struct home *home = &homes->home[i];

		home->quiet = home->called ? 0 : home->quiet + 1;
		home->called = false;
		if (home->quiet < (home->running ? QUIET_RUNNING : QUIET_WAITING))
			continue;
		let_go(handoff, home);
		drop(homes, home);
	}
}

/* One of two or more who want the same CPU, to one that nobody wants. */
static void balance(struct handoff *handoff, const struct loads *loads)
{
	int idle = choose(handoff, loads, -1);

	for (unsigned i = 0; idle >= 0 && loads->running[idle] == 0 && i < handoff->homes.count; i++) {
		struct home *home = &handoff->homes.home[i];

		if (home->running && loads->running[home->cpu] > 1) {
			(void)move(handoff, home, idle);
			return;
		}
	}
}

static void look(struct handoff *handoff, uint64_t now_ns)
{
	struct load load = handoff_load(handoff);
	struct loads loads;

	handoff->homes.looked_ns = now_ns;
	if (handoff_is_crowded(handoff, &load)) {
		homes_release(handoff);
		handoff->homes.paused_until_ns = now_ns + CROWDED_NS;
		return;
	}
	count_running(handoff, NULL, &loads);
	balance(handoff, &loads);
	let_quiet_go(handoff);
	if (handoff->homes.count > 0)
		handoff_put_back_new(handoff);
	else
		handoff_follow(handoff);
}

int homes_tick(struct handoff *handoff, uint64_t now_ns)
{
	if (handoff->homes.count > 0 && now_ns - handoff->homes.looked_ns >= LOOK_MS * MS)
		look(handoff, now_ns);
	return handoff->homes.count > 0 ? LOOK_MS : -1;
}
