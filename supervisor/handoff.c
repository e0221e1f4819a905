#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "supervisor/handoff.h"
#include "syscalls/tree.h"

#include "base/banned.h"

#define US UINT64_C(1000)
#define MS UINT64_C(1000000)

#define IDLE_NS (HANDOFF_IDLE_MS * MS)
#define BURST_NS (2 * MS)       /* calls further apart are no burst */
#define SPAN_NS (20 * MS)       /* what was before that is forgotten */
#define KEPT_LONGEST_NS (30 * MS) /* then the scheduler may choose another CPU */
#define CONTENDED_NS (1 * MS)   /* so long takes what has to wait for its turn on a CPU that others want */
#define PAUSE_NS (50 * MS)      /* when it did not help, at first; doubled up to: */
#define PAUSE_LONGEST_NS (1000 * MS)
#define SLOW_LEAST 3u           /* so many slow ones of one task in a row before anything is done about it */
#define CROWD_LEAST 8u          /* … of several tasks */
#define KEPT_MAX 8u             /* at a time */
#define TRIAL 8u                /* so many are measured before it is judged */
#define CROWD_TRIAL 64u         /* so many calls */
#define LATE_LOOKS 3u           /* for tasks whose making was under way: after */
#define LATE_FIRST_NS (5 * MS)  /* … and ten times as long each time */
#define WRAPPED_MOST 4096       /* numbers looked at beyond the last one, when they begin again below */
#define TOOK_MOST_NS (200 * US) /* what one may count in a mean */

/* First guesses, replaced by what is measured. */
#define COST_NS (15 * US)
#define FAST_NS (5 * US)
#define COST_MOST_NS (100 * US) /* more is somebody else who ran meanwhile */

struct mean {
	uint64_t total_ns;
	unsigned count;
};

/* Some time in which calls were made. */
struct span {
	uint64_t begin_ns;
	unsigned calls;
	unsigned turns;   /* calls of another task than the last one */
	unsigned slow;    /* descriptors that were given slowly */
	uint64_t lost_ns; /* by that */
};

struct kept {
	const struct task *task;
	bool called; /* since it was looked at last */
};

struct handoff {
	struct tree *tree;
	int loadavg_fd;     /* says which number was given to a task last, in our pid namespace */
	bool off;           /* the run sets masks itself */
	cpu_set_t whole;    /* what we would get if we asked for all */
	pid_t tid;          /* whose call was the last */
	struct mean loose;  /* its slow ones in a row, while it was not kept */
	struct span before; /* of everybody, while nobody was kept */
	uint64_t given_ns;  /* when the last was */
	uint64_t pause_ns;  /* the next pause */
	uint64_t paused_until_ns;
	uint64_t cost_ns;   /* of keeping and releasing, the last time */
	uint64_t fast_ns;   /* what it takes on one CPU */

	struct kept kept[KEPT_MAX];
	unsigned count;
	bool crowd;         /* several are kept, as they call by turns */
	cpu_set_t cpu;      /* where */
	cpu_set_t own;      /* our mask, to be put back */
	cpu_set_t theirs;   /* everybody else's */
	cpu_set_t used;     /* where any were kept, ever */
	pid_t from;         /* tasks with numbers above this one may have inherited a mask */
	unsigned late;      /* looks at them still to come */
	uint64_t late_ns, late_step_ns; /* when the next is */
	uint64_t kept_ns;   /* since when */
	uint64_t looked_ns; /* when we looked who still calls */
	struct mean here;   /* while they are kept */
	struct span during;
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
static void let_go(const struct handoff *handoff, const struct kept *kept)
{
	cpu_set_t now;

	if (is_there(kept->task) && get_mask(kept->task->tid, &now) == 0 && CPU_EQUAL(&now, &handoff->cpu))
		put_back(handoff, kept->task->tid, &handoff->theirs);
}

/* ---- those who were made meanwhile ---- */

static struct kept *find(struct handoff *handoff, pid_t tid)
{
	for (unsigned i = 0; i < handoff->count; i++)
		if (handoff->kept[i].task->tid == tid)
			return &handoff->kept[i];
	return NULL;
}

/* The number that was given to a task last; -1: not known. */
static pid_t last_pid(const struct handoff *handoff)
{
	char text[128];
	ssize_t len = pread(handoff->loadavg_fd, text, sizeof(text) - 1, 0);
	const char *at;

	if (len <= 0)
		return -1;
	text[len] = '\0';
	at = strrchr(text, ' ');
	return at ? (pid_t)strtol(at, NULL, 10) : -1;
}

/* Of a mask of ours: in this run nobody else sets any. */
static void put_back_inherited(struct handoff *handoff, pid_t tid)
{
	cpu_set_t now, known;

	if (get_mask(tid, &now) < 0 || CPU_COUNT(&now) != 1 || find(handoff, tid))
		return;
	CPU_AND(&known, &now, &handoff->used);
	if (CPU_EQUAL(&known, &now) && !CPU_EQUAL(&now, &handoff->theirs) && tree_holds(handoff->tree, tid))
		put_back(handoff, tid, &handoff->theirs);
}

/* Whoever was made since this was done last. Numbers are given in order, and begin again below when there is no higher one. */
static void put_back_new(struct handoff *handoff)
{
	pid_t last = last_pid(handoff), top = last;

	if (last < 0 || last == handoff->from)
		return;
	if (last < handoff->from) {
		top = handoff->from < INT_MAX - WRAPPED_MOST ? handoff->from + WRAPPED_MOST : INT_MAX;
		for (pid_t tid = 2; tid <= last; tid++)
			put_back_inherited(handoff, tid);
	}
	for (pid_t tid = handoff->from + 1; tid <= top && tid > 0; tid++)
		put_back_inherited(handoff, tid);
	handoff->from = last;
}

/* A task that is just being made has no number yet, but its mask: the larger its maker, the longer. */
static void look_later(struct handoff *handoff, uint64_t now_ns)
{
	handoff->late = LATE_LOOKS;
	handoff->late_step_ns = LATE_FIRST_NS;
	handoff->late_ns = now_ns + LATE_FIRST_NS;
}

static void look_late(struct handoff *handoff, uint64_t now_ns)
{
	if (handoff->late == 0 || now_ns < handoff->late_ns)
		return;
	put_back_new(handoff);
	handoff->late--;
	handoff->late_step_ns *= 10;
	handoff->late_ns = now_ns + handoff->late_step_ns;
}

/* ---- keeping and releasing ---- */

static void drop(struct handoff *handoff, struct kept *kept)
{
	*kept = handoff->kept[--handoff->count];
	if (handoff->count == 0)
		put_back(handoff, 0, &handoff->own);
}

/* After some were let go. */
static void follow(struct handoff *handoff)
{
	put_back_new(handoff);
	look_later(handoff, io_now_ns());
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

/* The receiver, where it is at this moment. 0 or -errno. */
static int stay(struct handoff *handoff)
{
	int here = sched_getcpu();
	int r = here < 0 || here >= CPU_SETSIZE ? -ENODEV : get_mask(0, &handoff->own);

	if (r < 0)
		return r;
	CPU_ZERO(&handoff->cpu);
	CPU_SET((size_t)here, &handoff->cpu);
	return set_mask(0, &handoff->cpu);
}

/* A task that waits for us, where we are. 0, or -errno with nothing changed. */
static int keep(struct handoff *handoff, const struct task *task)
{
	struct kept *kept = &handoff->kept[handoff->count];
	cpu_set_t both, mask;
	int r = task->pidfd < 0 ? -ENODEV : get_mask(task->tid, &mask);

	if (r < 0)
		return r;
	/* With a mask of one CPU it is where it wants to be; and nobody is put where it may not be. */
	CPU_AND(&both, &mask, &handoff->cpu);
	if (CPU_COUNT(&mask) < 2 || CPU_COUNT(&both) == 0)
		return -ENODEV;
	if (handoff->late > 0 || handoff->count > 0) {
		/* All have the same, so that whoever inherits one is known to have had this one. */
		if (!CPU_EQUAL(&mask, &handoff->theirs))
			return -ENODEV;
	} else {
		handoff->theirs = mask;
		handoff->from = last_pid(handoff);
		if (handoff->from < 0)
			return -ENODEV;
	}
	CPU_OR(&handoff->used, &handoff->used, &handoff->cpu);
	r = set_mask(task->tid, &handoff->cpu);
	if (r < 0)
		return r;
	/*
	 * Its number was its own a moment ago, when its call was received. Asked again afterwards, because whose it is now
	 * is not to be kept.
	 */
	if (!is_there(task)) {
		put_back(handoff, task->tid, &handoff->theirs);
		return -ESRCH;
	}
	kept->task = task;
	kept->called = true;
	handoff->count++;
	return 0;
}

static void add_cost(struct handoff *handoff, uint64_t begin_ns)
{
	handoff->cost_ns += io_now_ns() - begin_ns;
	if (handoff->cost_ns > COST_MOST_NS)
		handoff->cost_ns = COST_MOST_NS;
}

static int begin(struct handoff *handoff, const struct task *task, uint64_t now_ns)
{
	uint64_t begin_ns = io_now_ns();
	int r = stay(handoff);

	if (r < 0)
		return r;
	r = keep(handoff, task);
	if (r < 0) {
		put_back(handoff, 0, &handoff->own);
		return r;
	}
	handoff->kept_ns = handoff->looked_ns = now_ns;
	handoff->here = (struct mean){0};
	handoff->during = (struct span){.begin_ns = now_ns};
	handoff->cost_ns = 0;
	add_cost(handoff, begin_ns);
	return 0;
}

void handoff_release(struct handoff *handoff)
{
	uint64_t begin_ns;

	if (!handoff || handoff->count == 0)
		return;
	begin_ns = io_now_ns();
	while (handoff->count > 0) {
		let_go(handoff, &handoff->kept[0]);
		drop(handoff, &handoff->kept[0]);
	}
	follow(handoff);
	handoff->loose = (struct mean){0};
	add_cost(handoff, begin_ns);
}

void handoff_pause(struct handoff *handoff, uint64_t now_ns)
{
	if (!handoff)
		return;
	handoff_release(handoff);
	if (handoff->late > 0)
		put_back_new(handoff);
	pause_until(handoff, now_ns + PAUSE_NS);
}

void handoff_forget(struct handoff *handoff, const struct task *task)
{
	for (unsigned i = 0; handoff && i < handoff->count; i++)
		if (handoff->kept[i].task == task) {
			drop(handoff, &handoff->kept[i]);
			follow(handoff);
			return;
		}
}

/* ---- when ---- */

static bool shows_masks(int nr)
{
	return nr == SYS_sched_getaffinity || nr == SYS_sched_setaffinity;
}

/* It may take a thread's number away. */
static bool is_exec(int nr)
{
	return nr == SYS_execve || nr == SYS_execveat;
}

void handoff_call(struct handoff *handoff, pid_t tid, int nr)
{
	struct kept *kept;
	struct span *span;

	if (!handoff)
		return;
	kept = find(handoff, tid);
	if (shows_masks(nr) || is_exec(nr) || (!kept && !handoff->crowd))
		handoff_release(handoff);
	if (handoff->late > 0 && (shows_masks(nr) || tid > handoff->from))
		put_back_new(handoff);
	if (nr == SYS_sched_setaffinity) {
		handoff->off = true;
		handoff->late = 0; /* from now on a mask like ours may be its own */
	}
	kept = find(handoff, tid);
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

	return is_alone(&handoff->before) && loose->count >= SLOW_LEAST && loose->total_ns - loose->count * handoff->fast_ns >= handoff->cost_ns;
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
	if (!handoff || handoff->off || now_ns < handoff->paused_until_ns || find(handoff, task->tid))
		return;
	if (handoff->count > 0) {
		/* Comes when some are kept: one of a crowd. */
		if (handoff->count < KEPT_MAX)
			(void)keep(handoff, task);
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

	return during->calls * (handoff->kept_ns - before->begin_ns) * 4 >= before->calls * (now_ns - during->begin_ns) * 5;
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
	if (handoff->count == 0)
		after_loose(handoff, took_ns, now_ns);
	handoff->given_ns = now_ns;
	if (handoff->count == 0)
		return;
	mean_add(&handoff->here, took_ns);
	if (took_ns >= CONTENDED_NS || !is_of_use(handoff, now_ns))
		no_use(handoff, now_ns);
}

/* Lets those go who have not called since this was done last. */
static void look(struct handoff *handoff, uint64_t now_ns)
{
	handoff->looked_ns = now_ns;
	for (unsigned i = handoff->count; i-- > 0;) {
		struct kept *kept = &handoff->kept[i];

		if (!kept->called) {
			let_go(handoff, kept);
			drop(handoff, kept);
			follow(handoff);
		} else {
			kept->called = false;
		}
	}
}

int handoff_tick(struct handoff *handoff, uint64_t now_ns)
{
	if (!handoff || (handoff->count == 0 && handoff->late == 0))
		return -1;
	look_late(handoff, now_ns);
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

int handoff_create(struct tree *tree, int proc_fd, struct handoff **ret_handoff)
{
	struct handoff *handoff = calloc(1, sizeof(*handoff));
	struct statfs fs;
	int r;

	if (!handoff)
		return -ENOMEM;
	handoff->pause_ns = PAUSE_NS;
	handoff->cost_ns = COST_NS;
	handoff->fast_ns = FAST_NS;
	handoff->tree = tree;
	/* Whichever procfs it is, it tells of the reader's own namespace. */
	handoff->loadavg_fd = proc_fd < 0 ? open("/proc/loadavg", O_RDONLY | O_CLOEXEC)
					  : openat(proc_fd, "loadavg", O_RDONLY | O_CLOEXEC);
	/* A container's may be made up, by FUSE, from other numbers. */
	if (handoff->loadavg_fd < 0 || fstatfs(handoff->loadavg_fd, &fs) < 0 || fs.f_type != PROC_SUPER_MAGIC)
		r = -ENODEV;
	else
		r = find_whole(&handoff->whole);
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
