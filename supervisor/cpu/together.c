#include <sched.h>

#include "base/io.h"
#include "supervisor/cpu/private.h"
#include "view/tree.h"

#include "base/banned.h"

#define LOOK_MS HANDOFF_IDLE_MS
#define LOOK_FIRST_MS 2 /* so often while it is young: */
#define YOUNG_NS (20 * MS)
#define LOOK_LATE_NS (20 * MS)   /* we had no CPU for so long: no telling what was made meanwhile */
#define IDLE_NS (32 * MS)        /* without a call: then there is nothing to be gained */
#define HARM_NS (800 * US)       /* so long callers may wait for a CPU */
#define GOOD_NS (200 * MS)       /* when they did not for so long, the next pause is the first again */
#define PAUSE_FIRST_NS (50 * MS) /* four times as long each time, up to: */
#define PAUSE_MOST_NS (1000 * MS)
#define CROWDED_NS (10 * MS) /* until we look again whether others leave us a CPU */
#define SHOWN_NS (2 * MS)    /* for a task that is being told a mask */
#define TASKS_MOST 32u       /* that are moved to one CPU */
#define NEW_MOST 64          /* numbers that are looked at for who computes */

/* ---- beginning ---- */

void together_init(struct handoff *handoff)
{
	handoff->together.possible = callers_init(&handoff->together.callers);
	handoff->together.pause_ns = PAUSE_FIRST_NS;
}

void together_pause(struct handoff *handoff, uint64_t until_ns)
{
	if (until_ns > handoff->together.paused_until_ns)
		handoff->together.paused_until_ns = until_ns;
}

static void pause_longer(struct handoff *handoff, uint64_t now_ns)
{
	struct together *together = &handoff->together;

	together->divided = true;
	together_pause(handoff, now_ns + together->pause_ns);
	together->pause_ns = together->pause_ns * 4 < PAUSE_MOST_NS ? together->pause_ns * 4 : PAUSE_MOST_NS;
}

/* The receiver, where it is at this moment. False: not now. */
static bool stay(struct handoff *handoff, const struct load *load, uint64_t now_ns)
{
	/* One more than CPUs: somebody who is about to wait for whom he made. */
	if (load->last < 0 || load->runnable > (unsigned long)CPU_COUNT(&handoff->whole) + 1 ||
	    handoff_stay(handoff) < 0) {
		together_pause(handoff, now_ns + CROWDED_NS);
		return false;
	}
	if (handoff->late == 0)
		handoff->theirs = handoff->own;
	CPU_OR(&handoff->used, &handoff->used, &handoff->cpu);
	return true;
}

static void start(struct handoff *handoff, pid_t since, uint64_t now_ns)
{
	struct together *together = &handoff->together;

	together->on = true;
	together->divided = false;
	together->callers.since = since;
	together->begun_ns = together->looked_ns = now_ns;
	together->calls = 0;
	together->idle_ns = 0;
	together->harm_ns = 0;
	together->looked = NULL;
}

void handoff_begin(struct handoff *handoff, pid_t program)
{
	uint64_t now_ns = io_now_ns();
	struct load load;

	if (!handoff || !handoff->together.possible)
		return;
	load = handoff_load(handoff);
	if (!stay(handoff, &load, now_ns))
		return;
	handoff_new_from(handoff, program - 1);
	if (handoff_take_number(handoff, program) < 0)
		handoff_put_back(handoff, 0, &handoff->own);
	else
		start(handoff, program - 1, now_ns);
}

struct survey {
	struct handoff *handoff;
	const struct task *caller;
	unsigned tasks, running;
};

static void look_at(struct task *task, void *arg)
{
	struct survey *survey = arg;

	if (++survey->tasks <= TASKS_MOST && survey->running == 0 && task != survey->caller)
		survey->running += handoff_is_running(task->tid);
}

static bool is_shown(const struct together *together, pid_t tid)
{
	for (unsigned i = 0; i < SHOWN_MAX; i++)
		if (together->shown[i] == tid)
			return true;
	return false;
}

static void take(struct task *task, void *arg)
{
	const struct handoff *handoff = arg;

	if (!is_shown(&handoff->together, task->tid))
		(void)handoff_take(handoff, task);
}

/* All who are known, while one of them waits for us and no other one can run. Whoever is not known computes, or waits. */
static void begin_again(struct handoff *handoff, const struct task *caller, uint64_t now_ns)
{
	struct survey all = {.caller = caller};
	struct load load = handoff_load(handoff);

	tree_each(handoff->tree, look_at, &all);
	if (all.tasks > TASKS_MOST || all.running > 0) {
		pause_longer(handoff, now_ns);
		return;
	}
	homes_release(handoff);
	if (!stay(handoff, &load, now_ns))
		return;
	if (handoff->late == 0)
		handoff_new_from(handoff, load.last);
	tree_each(handoff->tree, take, handoff);
	start(handoff, load.last, now_ns);
}

/* ---- ending ---- */

static void let_go(struct task *task, void *arg)
{
	const struct kept kept = {.task = task};

	if (task->pidfd >= 0)
		handoff_let_go(arg, &kept);
}

void together_release(struct handoff *handoff)
{
	if (!handoff->together.on)
		return;
	handoff->together.on = false;
	callers_forget(&handoff->together.callers);
	handoff->all_numbers |= io_now_ns() - handoff->together.looked_ns > LOOK_LATE_NS;
	tree_each(handoff->tree, let_go, handoff);
	handoff_put_back(handoff, 0, &handoff->own);
	handoff_follow(handoff);
}

void together_forget(struct handoff *handoff, const struct task *task)
{
	if (handoff->together.taker == task)
		handoff->together.taker = NULL;
	if (handoff->together.looked == task)
		handoff->together.looked = NULL;
}

/* ---- calls ---- */

void together_call(struct handoff *handoff, pid_t tid)
{
	struct together *together = &handoff->together;

	for (unsigned i = 0; i < SHOWN_MAX; i++)
		if (together->shown[i] == tid)
			together->shown[i] = 0; /* it was told */
	if (!together->on)
		return;
	together->calls++;
	callers_note(&together->callers, tid);
}

void together_shown(struct handoff *handoff, pid_t tid)
{
	struct together *together = &handoff->together;

	together->shown[together->shown_next++ % SHOWN_MAX] = tid;
	together_pause(handoff, io_now_ns() + SHOWN_NS);
}

static bool takes_a_number(const struct task *task, int nr)
{
	return handoff_is_exec(nr) && task->tid != task->tgid;
}

void handoff_known(struct handoff *handoff, const struct task *task, int nr, uint64_t now_ns)
{
	if (!handoff || handoff->off || !handoff->together.possible)
		return;
	if (handoff->together.on) {
		if (takes_a_number(task, nr))
			handoff_release(handoff);
		return;
	}
	if (takes_a_number(task, nr)) {
		homes_release(handoff);
		return;
	}
	if (handoff->count == 0 && now_ns >= handoff->together.paused_until_ns)
		begin_again(handoff, task, now_ns);
	if (handoff->count == 0 && handoff->together.divided)
		homes_call(handoff, task, handoff_is_exec(nr), now_ns);
}

void together_slow(struct handoff *handoff)
{
	struct together *together = &handoff->together;

	if (!together->taker || together->taker == together->looked || is_shown(together, together->taker->tid))
		return;
	together->looked = together->taker;
	(void)handoff_take(handoff, together->taker);
}

/* The mask is for the moment only. */
void handoff_apart(struct handoff *handoff)
{
	if (handoff && handoff->together.on)
		handoff_put_back(handoff, 0, &handoff->own);
	else
		handoff_release(handoff);
}

void handoff_again(struct handoff *handoff)
{
	if (handoff && handoff->together.on)
		(void)sched_setaffinity(0, sizeof(handoff->cpu), &handoff->cpu);
}

/* ---- looking ---- */

static void count_running(struct task *task, void *arg)
{
	struct survey *survey = arg;

	if (task->tid <= survey->handoff->from && ++survey->tasks <= TASKS_MOST)
		survey->running += handoff_is_running(task->tid);
}

/* Two or more who are here, though nobody calls. */
static bool several_compute(struct handoff *handoff, pid_t last)
{
	struct survey all = {.handoff = handoff};

	tree_each(handoff->tree, count_running, &all);
	for (pid_t tid = handoff->from + 1; tid <= last && all.running < 2; tid++)
		all.running += handoff_is_running(tid);
	return all.running > 1;
}

/* More than one want the CPU. */
static void divide(struct handoff *handoff, uint64_t now_ns)
{
	struct together *together = &handoff->together;

	if (now_ns - together->begun_ns >= GOOD_NS)
		together->pause_ns = PAUSE_FIRST_NS;
	handoff->scatter = handoff->first_stays = true;
	handoff_release(handoff);
	handoff->scatter = false;
	pause_longer(handoff, now_ns);
}

static void look(struct handoff *handoff, uint64_t now_ns)
{
	struct together *together = &handoff->together;
	bool quiet = together->calls == 0, many;
	uint64_t window_ns = now_ns - together->looked_ns;
	struct load load = handoff_load(handoff);

	many = load.last - handoff->from > NEW_MOST;
	handoff->all_numbers |= window_ns > LOOK_LATE_NS || load.last < handoff->from;
	together->harm_ns = together->harm_ns / 2 + callers_waited(&together->callers, together->calls);
	together->looked_ns = now_ns;
	together->calls = 0;
	together->idle_ns = quiet ? together->idle_ns + window_ns : 0;
	if (together->harm_ns > HARM_NS || (quiet && load.runnable > 2 && !many && several_compute(handoff, load.last)))
		divide(handoff, now_ns);
	else if (together->idle_ns > IDLE_NS || handoff->all_numbers || (quiet && load.runnable > 2 && many))
		handoff_release(handoff); /* till the next call */
}

int together_tick(struct handoff *handoff, uint64_t now_ns)
{
	struct together *together = &handoff->together;
	unsigned look_ms = now_ns - together->begun_ns < YOUNG_NS ? LOOK_FIRST_MS : LOOK_MS;

	if (together->on && now_ns - together->looked_ns >= look_ms * MS)
		look(handoff, now_ns);
	return together->on ? (int)look_ms : -1;
}
