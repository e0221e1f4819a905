#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "supervisor/cpu/private.h"
#include "view/tree.h"

#include "base/banned.h"

#define IDLE_NS (HANDOFF_IDLE_MS * MS)
#define BURST_NS (2 * MS)         /* calls further apart are no burst */
#define SPAN_NS (20 * MS)         /* what was before that is forgotten */
#define KEPT_LONGEST_NS (30 * MS) /* then the scheduler may choose another CPU */
#define CONTENDED_NS (1 * MS)     /* so long takes what has to wait for its turn on a CPU that others want */
#define CROWDED_NS (10 * MS)      /* a pause while the machine has more to do than CPUs */
#define PAUSE_NS (50 * MS)        /* when it did not help, at first; doubled up to: */
#define PAUSE_LONGEST_NS (1000 * MS)
#define SHOWN_NS (200 * MS)     /* for what was opened and shows masks, of all together */
#define SLOW_LEAST 3u           /* so many slow ones of one task in a row before anything is done about it */
#define CROWD_LEAST 8u          /* … of several tasks */
#define TRIAL 8u                /* so many are measured before it is judged */
#define CROWD_TRIAL 64u         /* so many calls */
#define TOOK_MOST_NS (200 * US) /* what one may count in a mean */

/* First guesses, replaced by what is measured. */
#define COST_NS (15 * US)
#define FAST_NS (5 * US)
#define COST_MOST_NS (100 * US) /* more is somebody else who ran meanwhile */

static uint64_t mean_ns(const struct mean *mean)
{
	return mean->count ? mean->total_ns / mean->count : 0;
}

static void mean_add(struct mean *mean, uint64_t took_ns)
{
	mean->total_ns += took_ns < TOOK_MOST_NS ? took_ns : TOOK_MOST_NS;
	mean->count++;
}

static void pause_until(struct handoff *handoff, uint64_t until_ns)
{
	if (until_ns > handoff->paused_until_ns)
		handoff->paused_until_ns = until_ns;
}

static void no_use(struct handoff *handoff, uint64_t now_ns)
{
	handoff_release(handoff);
	pause_until(handoff, now_ns + handoff->pause_ns);
	handoff->pause_ns = handoff->pause_ns * 2 < PAUSE_LONGEST_NS ? handoff->pause_ns * 2 : PAUSE_LONGEST_NS;
}

static void add_cost(struct handoff *handoff, uint64_t begin_ns)
{
	handoff->cost_ns += io_now_ns() - begin_ns;
	if (handoff->cost_ns > COST_MOST_NS)
		handoff->cost_ns = COST_MOST_NS;
}

/* 0 also when it is no time for that. */
static int begin(struct handoff *handoff, const struct task *task, uint64_t now_ns)
{
	uint64_t begin_ns = io_now_ns();
	struct load load = handoff_load(handoff);
	int r;

	if (handoff_is_crowded(handoff, &load)) {
		pause_until(handoff, now_ns + CROWDED_NS);
		return 0;
	}
	r = load.last < 0 ? -ENODEV : handoff_stay(handoff);
	if (r < 0)
		return r;
	r = handoff_keep(handoff, task, &load);
	if (r < 0) {
		handoff_put_back(handoff, 0, &handoff->own);
		return r;
	}
	handoff->kept_ns = handoff->looked_ns = now_ns;
	handoff->here = (struct mean){0};
	handoff->during = (struct span){.begin_ns = now_ns};
	handoff->cost_ns = 0;
	add_cost(handoff, begin_ns);
	return 0;
}

static void release_kept(struct handoff *handoff)
{
	uint64_t begin_ns;

	if (handoff->count == 0)
		return;
	begin_ns = io_now_ns();
	while (handoff->count > 0) {
		handoff_let_go(handoff, &handoff->kept[0]);
		handoff_drop(handoff, &handoff->kept[0]);
	}
	handoff_follow(handoff);
	handoff->loose = (struct mean){0};
	add_cost(handoff, begin_ns);
}

void handoff_release(struct handoff *handoff)
{
	if (!handoff)
		return;
	together_release(handoff);
	homes_release(handoff);
	release_kept(handoff);
}

void handoff_pause(struct handoff *handoff, uint64_t now_ns)
{
	if (!handoff)
		return;
	handoff_release(handoff);
	if (handoff->late > 0)
		handoff_put_back_new(handoff);
	pause_until(handoff, now_ns + PAUSE_NS);
	together_pause(handoff, now_ns + SHOWN_NS);
}

void handoff_forget(struct handoff *handoff, const struct task *task)
{
	if (!handoff)
		return;
	together_forget(handoff, task);
	homes_forget(handoff, task);
	for (unsigned i = 0; i < handoff->count; i++)
		if (handoff->kept[i].task == task) {
			handoff_drop(handoff, &handoff->kept[i]);
			handoff_follow(handoff);
			return;
		}
}

/* ---- when ---- */

static bool shows_masks(int nr)
{
	return nr == SYS_sched_getaffinity || nr == SYS_sched_setaffinity;
}

void handoff_call(struct handoff *handoff, pid_t tid, int nr)
{
	struct kept *kept;
	struct span *span;

	if (!handoff)
		return;
	together_call(handoff, tid);
	kept = handoff_find(handoff, tid);
	if (shows_masks(nr)) {
		handoff_release(handoff);
		together_shown(handoff, tid);
	} else if (!handoff->together.on && (handoff_is_exec(nr) || (!kept && !handoff->crowd))) {
		release_kept(handoff);
	}
	if (handoff->late > 0 && !handoff->together.on && (shows_masks(nr) || tid > handoff->from))
		handoff_put_back_new(handoff);
	if (nr == SYS_sched_setaffinity) {
		handoff->off = true;
		handoff->late = 0; /* from now on a mask like ours may be its own */
	}
	kept = handoff_find(handoff, tid);
	if (kept)
		kept->called = true;
	span = handoff->count > 0 ? &handoff->during : &handoff->before;
	span->calls++;
	if (tid == handoff->tid)
		return;
	handoff->tid = tid;
	span->turns++;
	handoff->loose = (struct mean){0};
}

static bool is_alone(const struct span *span)
{
	return span->turns * 4 < span->slow;
}

/* One that calls by itself: as much is lost as keeping it would have cost, so that at worst it is twice what was best. */
static bool pays(const struct handoff *handoff)
{
	const struct mean *loose = &handoff->loose;

	return is_alone(&handoff->before) && loose->count >= SLOW_LEAST &&
	       loose->total_ns - loose->count * handoff->fast_ns >= handoff->cost_ns;
}

/*
 * Several that call by turns. On one CPU they would wait for each other whenever they compute: so only when most of the time
 * is lost anyway.
 */
static bool pays_for_all(const struct handoff *handoff, uint64_t now_ns)
{
	const struct span *before = &handoff->before;

	return before->slow >= CROWD_LEAST && before->lost_ns >= handoff->cost_ns &&
	       before->lost_ns * 2 >= now_ns - before->begin_ns;
}

void handoff_before(struct handoff *handoff, const struct task *task, uint64_t now_ns)
{
	if (!handoff)
		return;
	handoff->together.taker = task;
	if (handoff->off || handoff->together.on || handoff->homes.count > 0 || now_ns < handoff->paused_until_ns ||
	    handoff_find(handoff, task->tid))
		return;
	if (handoff->count > 0) {
		/* Comes when some are kept: one of a crowd. */
		if (handoff->count < KEPT_MAX)
			(void)handoff_keep(handoff, task, NULL);
		return;
	}
	handoff->crowd = !pays(handoff);
	if (handoff->crowd && !pays_for_all(handoff, now_ns))
		handoff->crowd = false;
	else if (begin(handoff, task, now_ns) < 0)
		no_use(handoff, now_ns);
}

static void after_loose(struct handoff *handoff, uint64_t took_ns, uint64_t now_ns)
{
	bool slow = took_ns >= 2 * handoff->fast_ns;

	if (took_ns < handoff->fast_ns)
		handoff->fast_ns -= (handoff->fast_ns - took_ns) / 8; /* it stayed by itself */
	if (now_ns - handoff->given_ns > BURST_NS)
		handoff->loose = (struct mean){0};
	if (now_ns - handoff->given_ns > BURST_NS || now_ns - handoff->before.begin_ns > SPAN_NS)
		handoff->before = (struct span){.begin_ns = now_ns - took_ns};
	if (!slow) {
		handoff->loose = (struct mean){0};
	} else if (took_ns < CONTENDED_NS) {
		mean_add(&handoff->loose, took_ns);
		handoff->before.slow++;
		handoff->before.lost_ns += took_ns - handoff->fast_ns;
	}
}

/* More calls in the same time than before, by a quarter. */
static bool is_quicker(const struct handoff *handoff, uint64_t now_ns)
{
	const struct span *before = &handoff->before, *during = &handoff->during;

	return during->calls * (handoff->kept_ns - before->begin_ns) * 4 >=
	       before->calls * (now_ns - during->begin_ns) * 5;
}

static bool is_of_use(struct handoff *handoff, uint64_t now_ns)
{
	uint64_t here_ns = mean_ns(&handoff->here);

	if (handoff->crowd)
		return handoff->during.calls < CROWD_TRIAL || is_quicker(handoff, now_ns);
	if (handoff->here.count < TRIAL)
		return true;
	handoff->here = (struct mean){0};
	if (here_ns * 4 > mean_ns(&handoff->loose) * 3)
		return false;
	handoff->fast_ns = here_ns < handoff->fast_ns ? here_ns : handoff->fast_ns + handoff->fast_ns / 8;
	handoff->pause_ns = PAUSE_NS;
	return true;
}

void handoff_after(struct handoff *handoff, uint64_t took_ns, uint64_t now_ns)
{
	if (!handoff)
		return;
	if (handoff->together.on) {
		if (took_ns >= 2 * handoff->fast_ns && took_ns < CONTENDED_NS)
			together_slow(handoff);
		return;
	}
	if (handoff->count == 0 && handoff->homes.count == 0)
		after_loose(handoff, took_ns, now_ns);
	handoff->given_ns = now_ns;
	if (handoff->count == 0)
		return;
	mean_add(&handoff->here, took_ns);
	if (took_ns >= CONTENDED_NS || !is_of_use(handoff, now_ns))
		no_use(handoff, now_ns);
}

/* Lets those go who have not called since this was done last, or all. */
static void look(struct handoff *handoff, uint64_t now_ns)
{
	struct load load = handoff_load(handoff);

	handoff->looked_ns = now_ns;
	if (handoff_is_crowded(handoff, &load)) {
		handoff_release(handoff);
		pause_until(handoff, now_ns + CROWDED_NS);
	}
	for (unsigned i = handoff->count; i-- > 0;) {
		struct kept *kept = &handoff->kept[i];

		if (!kept->called) {
			handoff_let_go(handoff, kept);
			handoff_drop(handoff, kept);
			handoff_follow(handoff);
		} else {
			kept->called = false;
		}
	}
}

int handoff_tick(struct handoff *handoff, uint64_t now_ns)
{
	int look_ms;

	if (!handoff || (handoff->count + handoff->late + handoff->homes.count == 0 && !handoff->together.on))
		return -1;
	look_ms = together_tick(handoff, now_ns);
	if (look_ms >= 0)
		return look_ms;
	handoff_look_late(handoff, now_ns);
	look_ms = homes_tick(handoff, now_ns);
	if (look_ms >= 0)
		return look_ms;
	if (handoff->count > 0 && now_ns - handoff->kept_ns >= KEPT_LONGEST_NS)
		handoff_release(handoff);
	else if (handoff->count > 0 && now_ns - handoff->looked_ns >= IDLE_NS)
		look(handoff, now_ns);
	if (handoff->count > 0)
		return HANDOFF_IDLE_MS;
	return handoff->late > 0 && handoff->late_ns > now_ns ? (int)((handoff->late_ns - now_ns) / MS) + 1 : -1;
}

bool handoff_keeps(const struct handoff *handoff, pid_t tid)
{
	for (unsigned i = 0; handoff && i < handoff->count; i++)
		if (handoff->kept[i].task->tid == tid)
			return true;
	return false;
}

/* ---- making ---- */

int handoff_loadavg(int proc_fd)
{
	_cleanup_close_ int fd = proc_fd < 0 ? open("/proc/loadavg", O_RDONLY | O_CLOEXEC)
					     : openat(proc_fd, "loadavg", O_RDONLY | O_CLOEXEC);
	struct statfs fs;

	if (fd < 0 || fstatfs(fd, &fs) < 0)
		return -errno;
	/* A container's may be made up, by FUSE, from other numbers. */
	return fs.f_type == PROC_SUPER_MAGIC ? steal_fd(&fd) : -ENODEV;
}

int handoff_create(struct tree *tree, int loadavg_fd, struct handoff **ret_handoff)
{
	struct handoff *handoff = calloc(1, sizeof(*handoff));
	int r;

	if (!handoff) {
		(void)close(loadavg_fd);
		return -ENOMEM;
	}
	handoff->pause_ns = PAUSE_NS;
	handoff->cost_ns = COST_NS;
	handoff->fast_ns = FAST_NS;
	handoff->tree = tree;
	handoff->loadavg_fd = loadavg_fd;
	handoff->numbers = handoff_few_numbers();
	together_init(handoff);
	r = handoff_find_whole(&handoff->whole);
	if (r < 0) {
		handoff_free(handoff);
		return r;
	}
	*ret_handoff = handoff;
	return 0;
}

void handoff_free(struct handoff *handoff)
{
	if (!handoff)
		return;
	handoff_release(handoff);
	cleanup_close(&handoff->loadavg_fd);
	free(handoff);
}
