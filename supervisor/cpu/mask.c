#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/procstat.h"
#include "supervisor/cpu/private.h"
#include "view/tree.h"

#include "base/banned.h"

#define LATE_LOOKS 3u          /* for tasks whose making was under way: after */
#define LATE_FIRST_NS (5 * MS) /* … and ten times as long each time */
#define NUMBERS_FEW 8192
#define WRAPPED_MOST 4096 /* numbers looked at beyond the last one, when they begin again below */

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
void handoff_put_back(const struct handoff *handoff, pid_t tid, const cpu_set_t *mask)
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

bool handoff_is_running(pid_t tid)
{
	struct procstat stat;

	return procstat_read(tid, &stat) == 0 && stat.state == 'R';
}

/* A wider mask moves nobody by itself: who waits for a CPU would do so until the scheduler balances, some milliseconds. */
static void scatter(struct handoff *handoff, pid_t tid)
{
	cpu_set_t others;

	if (!handoff->scatter || !handoff_is_running(tid))
		return;
	CPU_XOR(&others, &handoff->theirs, &handoff->cpu);
	if (handoff->first_stays)
		handoff->first_stays = false;
	else if (CPU_COUNT(&others) > 0)
		(void)set_mask(tid, &others);
}

/* Its mask, unless the number is another's by now or somebody else has set one. */
void handoff_let_go(struct handoff *handoff, const struct kept *kept)
{
	cpu_set_t now;

	if (!is_there(kept->task) || get_mask(kept->task->tid, &now) < 0 || !CPU_EQUAL(&now, &handoff->cpu))
		return;
	scatter(handoff, kept->task->tid);
	handoff_put_back(handoff, kept->task->tid, &handoff->theirs);
}

void handoff_let_go_from(const struct handoff *handoff, const struct task *task, const cpu_set_t *ours)
{
	cpu_set_t now;

	if (is_there(task) && get_mask(task->tid, &now) == 0 && CPU_EQUAL(&now, ours))
		handoff_put_back(handoff, task->tid, &handoff->theirs);
}

int handoff_move(struct handoff *handoff, const struct task *task, const cpu_set_t *mask)
{
	cpu_set_t now, known;
	int r = is_there(task) ? get_mask(task->tid, &now) : -ESRCH;

	if (r < 0)
		return r;
	CPU_AND(&known, &now, &handoff->used);
	if (!CPU_EQUAL(&now, &handoff->theirs) && (CPU_COUNT(&now) != 1 || !CPU_EQUAL(&known, &now)))
		return -ENODEV;
	CPU_OR(&handoff->used, &handoff->used, mask);
	r = set_mask(task->tid, mask);
	/* As in handoff_take: whose number it is now is not to be kept. */
	if (r == 0 && !is_there(task)) {
		handoff_put_back(handoff, task->tid, &handoff->theirs);
		return -ESRCH;
	}
	return r;
}

/* ---- those who were made meanwhile ---- */

struct kept *handoff_find(struct handoff *handoff, pid_t tid)
{
	for (unsigned i = 0; i < handoff->count; i++)
		if (handoff->kept[i].task->tid == tid)
			return &handoff->kept[i];
	return NULL;
}

/* proc_loadavg(5): "0.20 0.18 0.12 1/80 11206". */
struct load handoff_load(const struct handoff *handoff)
{
	struct load load = {.last = -1};
	char text[128];
	ssize_t len = pread(handoff->loadavg_fd, text, sizeof(text) - 1, 0);
	const char *at;

	if (len <= 0)
		return load;
	text[len] = '\0';
	at = strrchr(text, ' ');
	load.last = at ? (pid_t)strtol(at, NULL, 10) : -1;
	at = strchr(text, '/');
	while (at && at > text && at[-1] != ' ')
		at--;
	load.runnable = at ? strtoul(at, NULL, 10) : 0;
	return load;
}

bool handoff_is_exec(int nr)
{
	return nr == SYS_execve || nr == SYS_execveat;
}

/* Enough to do for every CPU: none is idle that a task could be taken to, and the scheduler has to be free to divide them. */
bool handoff_is_crowded(const struct handoff *handoff, const struct load *load)
{
	return load->runnable > 2 * (unsigned long)CPU_COUNT(&handoff->whole);
}

/* Of a mask of ours: in this run nobody else sets any. */
static void put_back_inherited(struct handoff *handoff, pid_t tid)
{
	cpu_set_t now, known;

	if (get_mask(tid, &now) < 0 || CPU_COUNT(&now) != 1 || handoff_find(handoff, tid) || homes_hold(handoff, tid))
		return;
	CPU_AND(&known, &now, &handoff->used);
	if (!CPU_EQUAL(&known, &now) || CPU_EQUAL(&now, &handoff->theirs) || !tree_holds(handoff->tree, tid))
		return;
	scatter(handoff, tid);
	handoff_put_back(handoff, tid, &handoff->theirs);
}

void handoff_new_from(struct handoff *handoff, pid_t last)
{
	handoff->from = handoff->from_before = last;
}

/*
 * Whoever was made since the look before the last one. Numbers are given in order, and begin again below when there is no higher
 * one.
 */
void handoff_put_back_new(struct handoff *handoff)
{
	pid_t last = handoff_load(handoff).last, top = last;
	pid_t first = handoff->from_before < handoff->from ? handoff->from_before : handoff->from;

	if (handoff->all_numbers && handoff->numbers > 0) {
		for (pid_t tid = 2; tid <= handoff->numbers; tid++)
			put_back_inherited(handoff, tid);
		handoff->from = last < 0 ? handoff->from : last;
	}
	handoff->all_numbers = false;
	if (last < 0 || (last == handoff->from && last == handoff->from_before))
		return;
	if (last < handoff->from) {
		top = handoff->from < INT_MAX - WRAPPED_MOST ? handoff->from + WRAPPED_MOST : INT_MAX;
		for (pid_t tid = 2; tid <= last; tid++)
			put_back_inherited(handoff, tid);
	}
	for (pid_t tid = first + 1; tid <= top && tid > 0; tid++)
		put_back_inherited(handoff, tid);
	handoff->from_before = handoff->from;
	handoff->from = last;
}

/* A task that is just being made has no number yet, but its mask: the larger its maker, the longer. */
static void look_later(struct handoff *handoff, uint64_t now_ns)
{
	handoff->late = LATE_LOOKS;
	handoff->late_step_ns = LATE_FIRST_NS;
	handoff->late_ns = now_ns + LATE_FIRST_NS;
}

void handoff_look_late(struct handoff *handoff, uint64_t now_ns)
{
	if (handoff->late == 0 || now_ns < handoff->late_ns)
		return;
	handoff_put_back_new(handoff);
	handoff->late--;
	handoff->late_step_ns *= 10;
	handoff->late_ns = now_ns + handoff->late_step_ns;
}

/* ---- keeping and releasing ---- */

void handoff_drop(struct handoff *handoff, struct kept *kept)
{
	*kept = handoff->kept[--handoff->count];
	if (handoff->count == 0)
		handoff_put_back(handoff, 0, &handoff->own);
}

/* After some were let go. */
void handoff_follow(struct handoff *handoff)
{
	handoff_put_back_new(handoff);
	look_later(handoff, io_now_ns());
}

/* The receiver, where it is at this moment. 0 or -errno. */
int handoff_stay(struct handoff *handoff)
{
	int here = sched_getcpu();
	int r = here < 0 || here >= CPU_SETSIZE ? -ENODEV : get_mask(0, &handoff->own);

	if (r < 0)
		return r;
	CPU_ZERO(&handoff->cpu);
	CPU_SET((size_t)here, &handoff->cpu);
	return set_mask(0, &handoff->cpu);
}

/* A task that waits for us, where we are. load: for the first one. 0, or -errno with nothing changed. */
int handoff_keep(struct handoff *handoff, const struct task *task, const struct load *load)
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
	if (handoff->late == 0 && handoff->count == 0) {
		handoff->theirs = mask;
		handoff_new_from(handoff, load->last);
	}
	CPU_OR(&handoff->used, &handoff->used, &handoff->cpu);
	r = handoff_take(handoff, task);
	if (r < 0)
		return r;
	kept->task = task;
	kept->called = true;
	handoff->count++;
	return 0;
}

int handoff_take_number(const struct handoff *handoff, pid_t tid)
{
	cpu_set_t mask;
	int r = get_mask(tid, &mask);

	if (r < 0)
		return r;
	/* All have the same, so that whoever inherits one is known to have had this one. */
	return CPU_EQUAL(&mask, &handoff->theirs) ? set_mask(tid, &handoff->cpu) : -ENODEV;
}

int handoff_take(const struct handoff *handoff, const struct task *task)
{
	int r = task->pidfd < 0 ? -ENODEV : handoff_take_number(handoff, task->tid);

	/*
	 * Its number was its own a moment ago, when its call was received. Asked again afterwards, because whose it is now
	 * is not to be kept.
	 */
	if (r == 0 && !is_there(task)) {
		handoff_put_back(handoff, task->tid, &handoff->theirs);
		return -ESRCH;
	}
	return r;
}

/* ---- making ---- */

pid_t handoff_few_numbers(void)
{
	_cleanup_close_ int fd = open("/proc/sys/kernel/pid_max", O_RDONLY | O_CLOEXEC);
	char text[24];
	ssize_t len = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	long most;

	if (len <= 0)
		return 0;
	text[len] = '\0';
	most = strtol(text, NULL, 10);
	return most > 0 && most <= NUMBERS_FEW ? (pid_t)most : 0;
}

bool handoff_possible(void)
{
	cpu_set_t mask;

	return get_mask(0, &mask) == 0 && CPU_COUNT(&mask) > 1;
}

/* What a mask that leaves nothing out comes to. */
int handoff_find_whole(cpu_set_t *ret_whole)
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
