#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/io.h"
#include "supervisor/handoff.h"
#include "syscalls/tree.h"

#include "base/banned.h"

#define US UINT64_C(1000)
#define MS UINT64_C(1000000)

#define IDLE_NS (HANDOFF_IDLE_MS * MS)
#define BURST_NS (2 * MS)       /* calls further apart are no burst */
#define KEPT_LONGEST_NS (30 * MS) /* then the scheduler may choose another CPU */
#define CONTENDED_NS (1 * MS)   /* so long takes what has to wait for its turn on a CPU that others want */
#define PAUSE_NS (50 * MS)      /* when it did not help, at first; doubled up to: */
#define PAUSE_LONGEST_NS (1000 * MS)
#define SLOW_LEAST 3u           /* so many slow ones in a row before anything is done about it */
#define TRIAL 8u                /* so many are measured before it is judged */
#define TOOK_MOST_NS (200 * US) /* what one may count in a mean */

/* First guesses, replaced by what is measured. */
#define COST_NS (15 * US)
#define FAST_NS (5 * US)

struct mean {
	uint64_t total_ns;
	unsigned count;
};

struct handoff {
	cpu_set_t whole;    /* what we would get if we asked for all */
	pid_t tid;          /* whose call was the last */
	bool called;        /* since the last tick */
	uint64_t last_ns;   /* a tick that saw a call */
	struct mean loose;  /* its slow ones in a row, while it was not kept */
	uint64_t given_ns;  /* when the last was */
	uint64_t pause_ns;  /* the next pause */
	uint64_t paused_until_ns;
	uint64_t cost_ns;   /* of keeping and releasing, the last time */
	uint64_t fast_ns;   /* what it takes on one CPU */

	const struct task *kept; /* NULL: nobody */
	cpu_set_t cpu;      /* where */
	cpu_set_t own, theirs; /* the masks to be put back */
	uint64_t kept_ns;   /* since when */
	struct mean here;   /* while it is kept */
};

static uint64_t mean_ns(const struct mean *mean)
{
	return mean->count ? mean->total_ns / mean->count : 0;
}

static void mean_add(struct mean *mean, uint64_t took_ns)
{
	mean->total_ns += took_ns < TOOK_MOST_NS ? took_ns : TOOK_MOST_NS;
	mean->count++;
}

/* ---- masks ---- */

static int get_mask(pid_t tid, cpu_set_t *ret_mask)
{
	CPU_ZERO(ret_mask);
	return sched_getaffinity(tid, sizeof(*ret_mask), ret_mask) < 0 ? -errno : 0;
}

static int set_mask(pid_t tid, const cpu_set_t *mask)
{
	return sched_setaffinity(tid, sizeof(*mask), mask) < 0 ? -errno : 0;
}

static void all(cpu_set_t *ret_mask)
{
	memset(ret_mask, 0xff, sizeof(*ret_mask));
}

/*
 * A mask that leaves nothing out is put back as "all": as if it had never been set, it grows when the machine or the cpuset
 * does.
 */
static void put_back(const struct handoff *handoff, pid_t tid, const cpu_set_t *mask)
{
	cpu_set_t everything, now;

	if (CPU_EQUAL(mask, &handoff->whole)) {
		all(&everything);
		if (set_mask(tid, &everything) == 0 && get_mask(tid, &now) == 0 && CPU_EQUAL(&now, mask))
			return;
	}
	(void)set_mask(tid, mask);
}

/* The number is still the task's: a zombie's is, until it is reaped. */
static bool is_there(const struct task *task)
{
	return syscall(SYS_pidfd_send_signal, task->pidfd, 0, NULL, 0) == 0 || errno != ESRCH;
}

/* Its mask, unless the number is another's by now or somebody else has set one. */
static void put_back_theirs(const struct handoff *handoff, const struct task *task)
{
	cpu_set_t now;

	if (is_there(task) && get_mask(task->tid, &now) == 0 && CPU_EQUAL(&now, &handoff->cpu))
		put_back(handoff, task->tid, &handoff->theirs);
}

/* ---- keeping and releasing ---- */

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

/* 0, or -errno with nothing changed. */
static int keep(struct handoff *handoff, const struct task *task)
{
	int here = sched_getcpu();
	size_t cpu = here < 0 ? CPU_SETSIZE : (size_t)here;
	int r = cpu >= CPU_SETSIZE || task->pidfd < 0 ? -ENODEV : get_mask(task->tid, &handoff->theirs);

	if (r == 0)
		r = get_mask(0, &handoff->own);
	if (r < 0)
		return r;
	/* With a mask of one CPU it is where it wants to be; and nobody is put where it may not be. */
	if (CPU_COUNT(&handoff->theirs) < 2 || !CPU_ISSET(cpu, &handoff->theirs))
		return -ENODEV;
	CPU_ZERO(&handoff->cpu);
	CPU_SET(cpu, &handoff->cpu);
	r = set_mask(task->tid, &handoff->cpu);
	if (r < 0)
		return r;
	r = set_mask(0, &handoff->cpu);
	/*
	 * Its number was its own a moment ago, when its call was received. Asked again afterwards, because whose it is now
	 * is not to be kept.
	 */
	if (r == 0 && is_there(task))
		return 0;
	if (r == 0)
		put_back(handoff, 0, &handoff->own);
	put_back(handoff, task->tid, &handoff->theirs);
	return -ESRCH;
}

void handoff_release(struct handoff *handoff)
{
	uint64_t begin_ns;

	if (!handoff || !handoff->kept)
		return;
	begin_ns = io_now_ns();
	put_back_theirs(handoff, handoff->kept);
	put_back(handoff, 0, &handoff->own);
	handoff->kept = NULL;
	handoff->loose = (struct mean){0};
	handoff->cost_ns += io_now_ns() - begin_ns;
}

void handoff_pause(struct handoff *handoff, uint64_t now_ns)
{
	if (!handoff)
		return;
	handoff_release(handoff);
	pause_until(handoff, now_ns + PAUSE_NS);
}

void handoff_forget(struct handoff *handoff, const struct task *task)
{
	if (!handoff || handoff->kept != task)
		return;
	put_back(handoff, 0, &handoff->own);
	handoff->kept = NULL;
}

/* ---- when ---- */

/* New tasks inherit a mask, exec takes a thread's number away, and the rest is about masks. */
static bool shows_or_passes(int nr)
{
	switch (nr) {
	case SYS_clone:
#ifdef SYS_fork
	case SYS_fork:
	case SYS_vfork:
#endif
	case SYS_execve:
	case SYS_execveat:
	case SYS_sched_getaffinity:
	case SYS_sched_setaffinity:
		return true;
	default:
		return false;
	}
}

void handoff_call(struct handoff *handoff, pid_t tid, int nr)
{
	if (!handoff)
		return;
	handoff->called = true;
	if (nr == SYS_sched_setaffinity) /* of another task, perhaps, and not done yet when that one calls */
		pause_until(handoff, io_now_ns() + PAUSE_NS);
	if (tid == handoff->tid && !(handoff->kept && shows_or_passes(nr)))
		return;
	handoff_release(handoff);
	handoff->tid = tid;
	handoff->loose = (struct mean){0};
}

void handoff_before(struct handoff *handoff, const struct task *task, uint64_t now_ns)
{
	uint64_t lost_ns, begin_ns;

	if (!handoff || handoff->kept || handoff->loose.count < SLOW_LEAST || now_ns < handoff->paused_until_ns)
		return;
	/* As much as keeping it would have cost, so that at worst it is twice what was best. */
	lost_ns = handoff->loose.total_ns - handoff->loose.count * handoff->fast_ns;
	if (lost_ns < handoff->cost_ns)
		return;
	begin_ns = io_now_ns();
	if (keep(handoff, task) < 0) {
		no_use(handoff, now_ns);
		return;
	}
	handoff->kept = task;
	handoff->kept_ns = handoff->last_ns = now_ns;
	handoff->cost_ns = io_now_ns() - begin_ns;
	handoff->here = (struct mean){0};
}

static void after_loose(struct handoff *handoff, uint64_t took_ns, uint64_t now_ns)
{
	if (took_ns < handoff->fast_ns)
		handoff->fast_ns -= (handoff->fast_ns - took_ns) / 8; /* it stayed by itself */
	if (now_ns - handoff->given_ns > BURST_NS || took_ns < 2 * handoff->fast_ns)
		handoff->loose = (struct mean){0};
	if (took_ns >= 2 * handoff->fast_ns && took_ns < CONTENDED_NS)
		mean_add(&handoff->loose, took_ns);
}

static void after_kept(struct handoff *handoff, uint64_t took_ns, uint64_t now_ns)
{
	mean_add(&handoff->here, took_ns);
	if (took_ns >= CONTENDED_NS) {
		no_use(handoff, now_ns);
	} else if (handoff->here.count == TRIAL) {
		uint64_t here_ns = mean_ns(&handoff->here);

		if (here_ns * 4 > mean_ns(&handoff->loose) * 3) {
			no_use(handoff, now_ns);
			return;
		}
		handoff->fast_ns = here_ns < handoff->fast_ns ? here_ns : handoff->fast_ns + handoff->fast_ns / 8;
		handoff->pause_ns = PAUSE_NS;
		handoff->here = (struct mean){0};
	}
}

void handoff_after(struct handoff *handoff, uint64_t took_ns, uint64_t now_ns)
{
	if (!handoff)
		return;
	if (handoff->kept)
		after_kept(handoff, took_ns, now_ns);
	else
		after_loose(handoff, took_ns, now_ns);
	handoff->given_ns = now_ns;
}

int handoff_tick(struct handoff *handoff, uint64_t now_ns)
{
	if (!handoff || !handoff->kept)
		return -1;
	if (handoff->called)
		handoff->last_ns = now_ns;
	handoff->called = false;
	if (now_ns - handoff->last_ns < IDLE_NS && now_ns - handoff->kept_ns < KEPT_LONGEST_NS)
		return HANDOFF_IDLE_MS;
	handoff_release(handoff);
	return -1;
}

pid_t handoff_kept(const struct handoff *handoff)
{
	return handoff && handoff->kept ? handoff->kept->tid : 0;
}

/* ---- making ---- */

bool handoff_possible(void)
{
	cpu_set_t mask;

	return get_mask(0, &mask) == 0 && CPU_COUNT(&mask) > 1;
}

/* What a mask that leaves nothing out comes to. */
static int find_whole(cpu_set_t *ret_whole)
{
	cpu_set_t own, everything;
	int r = get_mask(0, &own);

	all(&everything);
	if (r == 0)
		r = set_mask(0, &everything);
	if (r < 0)
		return r;
	r = get_mask(0, ret_whole);
	if (r < 0 || !CPU_EQUAL(&own, ret_whole))
		(void)set_mask(0, &own);
	return r;
}

int handoff_create(struct handoff **ret_handoff)
{
	struct handoff *handoff = calloc(1, sizeof(*handoff));
	int r;

	if (!handoff)
		return -ENOMEM;
	handoff->pause_ns = PAUSE_NS;
	handoff->cost_ns = COST_NS;
	handoff->fast_ns = FAST_NS;
	r = find_whole(&handoff->whole);
	if (r < 0) {
		free(handoff);
		return r;
	}
	*ret_handoff = handoff;
	return 0;
}

void handoff_free(struct handoff *handoff)
{
	handoff_release(handoff);
	free(handoff);
}
