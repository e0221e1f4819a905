#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/proc/stat.h"
#include "supervisor/cpu/private.h"

/*
 * After unpinning, the number of scans for tasks that inherited the pinned mask, because they were being created, and
 * the delay of the first; the delay of each further scan is ten times as long.
 */
#define AFFINITY_RESCANS_AFTER_UNPIN 3u
#define AFFINITY_FIRST_RESCAN_DELAY_NS (5 * MS) /* from unpinning to the first further scan for tasks still pinned */
#define PID_MAX_FOR_FULL_SCAN 8192              /* up to this kernel.pid_max, unpinning tries every pid */
#define PID_REUSE_TIME_MIN_NS (20 * MS) /* with any pid_max, no pid is reused sooner */
#define NEW_PID_INTERVAL_MIN_NS UINT64_C(2500) /* shortest mean interval at which a machine creates tasks */
#define SCHED_TIME_SLICE_MIN_NS 100000u /* the kernel's minimum */
/* most pids that a scan looks at after the kernel has begun again with low pids */
#define SCANNED_PIDS_AFTER_WRAP_MAX 4096

static int affinity_get_mask(pid_t tid, cpu_set_t *ret_mask)
{
	CPU_ZERO(ret_mask);
	return sched_getaffinity(tid, sizeof(*ret_mask), ret_mask) < 0 ? -errno : 0;
}

static int affinity_set_mask(pid_t tid, const cpu_set_t *mask)
{
	return sched_setaffinity(tid, sizeof(*mask), mask) < 0 ? -errno : 0;
}

/* Restores a mask. "All CPUs" stands for the widest mask: it follows changes of the cpuset, like a mask never set. */
static void affinity_restore_mask(const struct affinity *affinity, pid_t tid, const cpu_set_t *mask)
{
	cpu_set_t all, now;

	if (CPU_EQUAL(mask, &affinity->widest_mask)) {
		memset(&all, 0xff, sizeof(all));
		if (affinity_set_mask(tid, &all) == 0 && affinity_get_mask(tid, &now) == 0 && CPU_EQUAL(&now, mask))
			return;
	}
	(void)affinity_set_mask(tid, mask);
}

/* Whether the pid still belongs to this task, even if it is a zombie. */
static bool affinity_pid_is_still_of_task(const struct task *task)
{
	return syscall(SYS_pidfd_send_signal, task->pidfd, 0, NULL, 0) == 0 || errno != ESRCH;
}

bool affinity_task_is_running(pid_t tid)
{
	struct procstat stat;

	return procstat_read(tid, &stat) == 0 && stat.state == 'R';
}

/* Reads proc_loadavg(5): "0.20 0.18 0.12 1/80 11206". */
struct machine_load affinity_read_load(const struct affinity *affinity)
{
	struct machine_load load = {.newest_pid = -1};
	char text[128];
	ssize_t len = pread(affinity->loadavg_fd, text, sizeof(text) - 1, 0);
	const char *at;

	if (len <= 0)
		return load;
	text[len] = '\0';
	at = strrchr(text, ' ');
	load.newest_pid = at ? (pid_t)strtol(at, NULL, 10) : -1;
	at = strchr(text, '/');
	while (at && at > text && at[-1] != ' ')
		at--;
	load.runnable = at ? strtoul(at, NULL, 10) : 0;
	return load;
}

bool affinity_pids_may_be_reused(const struct affinity *affinity, uint64_t within_ns)
{
	uint64_t shortest_ns = (uint64_t)affinity->pid_max * NEW_PID_INTERVAL_MIN_NS;

	return within_ns > (shortest_ns > PID_REUSE_TIME_MIN_NS ? shortest_ns : PID_REUSE_TIME_MIN_NS);
}

/* ---- pinning ---- */

void affinity_set_newest_unpinned_pid(struct affinity *affinity, pid_t last)
{
	affinity->newest_pid_before_pinning = affinity->newest_pid_before_last_scan = last;
}

int affinity_pin_self(struct affinity *affinity)
{
	int here = sched_getcpu();
	int r = here < 0 || here >= CPU_SETSIZE ? -ENODEV : affinity_get_mask(0, &affinity->supervisor_mask);

	if (r < 0)
		return r;
	if (affinity->rescans_left == 0)
		affinity->run_mask = affinity->supervisor_mask;
	CPU_ZERO(&affinity->pinned_mask);
	CPU_SET((size_t)here, &affinity->pinned_mask);
	CPU_OR(&affinity->ever_pinned_to, &affinity->ever_pinned_to, &affinity->pinned_mask);
	return affinity_set_mask(0, &affinity->pinned_mask);
}

void affinity_unpin_self(const struct affinity *affinity)
{
	affinity_restore_mask(affinity, 0, &affinity->supervisor_mask);
}

int affinity_pin_pid(const struct affinity *affinity, pid_t tid)
{
	cpu_set_t mask;
	int r = affinity_get_mask(tid, &mask);

	if (r < 0)
		return r;
	/*
	 * Pins only tasks with the run's mask, because unpinning restores that mask to all that inherited a pinned one.
	 */
	return CPU_EQUAL(&mask, &affinity->run_mask) ? affinity_set_mask(tid, &affinity->pinned_mask) : -ENODEV;
}

int affinity_pin_task(const struct affinity *affinity, const struct task *task)
{
	int r = task->pidfd < 0 ? -ENODEV : affinity_pin_pid(affinity, task->tid);

	/*
	 * The task may have ended before its mask was set, and another task may have got its pid. The mask of that task
	 * is restored.
	 */
	if (r == 0 && !affinity_pid_is_still_of_task(task)) {
		affinity_restore_mask(affinity, task->tid, &affinity->run_mask);
		return -ESRCH;
	}
	return r;
}

/* ---- unpinning ---- */

/*
 * Moves a task to another CPU. Giving the task a wider mask is not enough: it would wait for its old CPU until the
 * kernel balances the load.
 */
static void affinity_move_off_cpu(struct affinity *affinity, pid_t tid)
{
	cpu_set_t others;

	if (!affinity->moves_tasks_off_cpu || !affinity_task_is_running(tid))
		return;
	CPU_XOR(&others, &affinity->run_mask, &affinity->pinned_mask);
	if (affinity->first_task_stays_on_cpu)
		affinity->first_task_stays_on_cpu = false;
	else if (CPU_COUNT(&others) > 0)
		(void)affinity_set_mask(tid, &others);
}

/* Restores the task's mask, unless the task no longer has the pinned mask. */
static void affinity_unpin_task(struct task *task, void *ctx)
{
	struct affinity *affinity = ctx;
	cpu_set_t now;

	if (task->pidfd < 0 || !affinity_pid_is_still_of_task(task) || affinity_get_mask(task->tid, &now) < 0 ||
	    !CPU_EQUAL(&now, &affinity->pinned_mask))
		return;
	affinity_move_off_cpu(affinity, task->tid);
	affinity_restore_mask(affinity, task->tid, &affinity->run_mask);
}

/* Restores the mask of a task with a mask of one CPU to which the run was once pinned: the task has inherited it. */
static void affinity_unpin_new_task(struct affinity *affinity, pid_t tid)
{
	cpu_set_t now, known;

	if (affinity_get_mask(tid, &now) < 0 || CPU_COUNT(&now) != 1)
		return;
	CPU_AND(&known, &now, &affinity->ever_pinned_to);
	if (!CPU_EQUAL(&known, &now) || CPU_EQUAL(&now, &affinity->run_mask) ||
	    !task_table_pid_is_in_run(affinity->tasks, tid))
		return;
	affinity_move_off_cpu(affinity, tid);
	affinity_restore_mask(affinity, tid, &affinity->run_mask);
}

/* Restores masks of new tasks. Pids ascend, and begin again with low ones after pid_max. */
void affinity_unpin_new_tasks(struct affinity *affinity)
{
	pid_t last = affinity_read_load(affinity).newest_pid, top = last;
	pid_t first = affinity->newest_pid_before_last_scan < affinity->newest_pid_before_pinning
			      ? affinity->newest_pid_before_last_scan
			      : affinity->newest_pid_before_pinning;

	if (affinity->unpinning_scans_every_pid && affinity->pid_max > 0 &&
	    affinity->pid_max <= PID_MAX_FOR_FULL_SCAN) {
		for (pid_t tid = 2; tid <= affinity->pid_max; tid++)
			affinity_unpin_new_task(affinity, tid);
		affinity->newest_pid_before_pinning = last < 0 ? affinity->newest_pid_before_pinning : last;
	}
	affinity->unpinning_scans_every_pid = false;
	if (last < 0 || (last == affinity->newest_pid_before_pinning && last == affinity->newest_pid_before_last_scan))
		return;
	if (last < affinity->newest_pid_before_pinning) {
		top = affinity->newest_pid_before_pinning < INT_MAX - SCANNED_PIDS_AFTER_WRAP_MAX
			      ? affinity->newest_pid_before_pinning + SCANNED_PIDS_AFTER_WRAP_MAX
			      : INT_MAX;
		for (pid_t tid = 2; tid <= last; tid++)
			affinity_unpin_new_task(affinity, tid);
	}
	for (pid_t tid = first + 1; tid <= top && tid > 0; tid++)
		affinity_unpin_new_task(affinity, tid);
	affinity->newest_pid_before_last_scan = affinity->newest_pid_before_pinning;
	affinity->newest_pid_before_pinning = last;
}

/*
 * Restores all masks. A task that is being created inherits the pinned mask some time before it gets its pid: a longer
 * time if its parent has much memory. So later scans must follow.
 */
void affinity_unpin_run(struct affinity *affinity, bool spread)
{
	affinity->moves_tasks_off_cpu = affinity->first_task_stays_on_cpu = spread;
	task_table_visit_tasks(affinity->tasks, affinity_unpin_task, affinity);
	affinity_unpin_self(affinity);
	affinity_unpin_new_tasks(affinity);
	affinity->moves_tasks_off_cpu = false;
	affinity->rescans_left = AFFINITY_RESCANS_AFTER_UNPIN;
	affinity->late_step_ns = AFFINITY_FIRST_RESCAN_DELAY_NS;
	affinity->late_ns = io_read_clock_ns() + AFFINITY_FIRST_RESCAN_DELAY_NS;
}

int affinity_rescan_if_due(struct affinity *affinity, uint64_t now_ns)
{
	if (affinity->rescans_left > 0 && now_ns >= affinity->late_ns) {
		affinity_unpin_new_tasks(affinity);
		affinity->rescans_left--;
		affinity->late_step_ns *= 10;
		affinity->late_ns = now_ns + affinity->late_step_ns;
	}
	return affinity->rescans_left > 0 ? (int)((affinity->late_ns - now_ns) / MS) + 1 : -1;
}

/* ---- creation ---- */

/* kernel.pid_max; 0: unknown. */
static pid_t affinity_read_pid_max(void)
{
	_cleanup_close_ int fd = open("/proc/sys/kernel/pid_max", O_RDONLY | O_CLOEXEC);
	char text[24];
	ssize_t len = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	long most;

	if (len <= 0)
		return 0;
	text[len] = '\0';
	most = strtol(text, NULL, 10);
	return most > 0 && most <= INT_MAX ? (pid_t)most : 0;
}

/* Finds out which CPUs the cpuset permits, by setting all of them for a moment. */
static int affinity_find_widest_mask(cpu_set_t *ret_whole)
{
	cpu_set_t own, all;
	int r = affinity_get_mask(0, &own);

	memset(&all, 0xff, sizeof(all));
	if (r == 0)
		r = affinity_set_mask(0, &all);
	if (r < 0)
		return r;
	r = affinity_get_mask(0, ret_whole);
	if (r < 0 || !CPU_EQUAL(&own, ret_whole))
		(void)affinity_set_mask(0, &own);
	return r;
}

bool cpu_can_pin(void)
{
	cpu_set_t mask;

	return affinity_get_mask(0, &mask) == 0 && CPU_COUNT(&mask) > 1;
}

int cpu_open_loadavg(int proc_fd)
{
	_cleanup_close_ int fd = proc_fd < 0 ? open("/proc/loadavg", O_RDONLY | O_CLOEXEC)
					     : openat(proc_fd, "loadavg", O_RDONLY | O_CLOEXEC);
	struct statfs fs;

	if (fd < 0 || fstatfs(fd, &fs) < 0)
		return -errno;
	/* In a container lxcfs may have replaced the file. */
	return fs.f_type == PROC_SUPER_MAGIC ? steal_fd(&fd) : -ENODEV;
}

int affinity_init(struct affinity *affinity, struct task_table *tasks, int loadavg_fd)
{
	affinity->tasks = tasks;
	affinity->loadavg_fd = loadavg_fd;
	affinity->pid_max = affinity_read_pid_max();
	return loadavg_fd < 0 ? loadavg_fd : affinity_find_widest_mask(&affinity->widest_mask);
}

/* First version of struct sched_attr: <linux/sched/types.h> and <sched.h> cannot both be included. */
struct sched_attr_v0 {
	uint32_t size, policy;
	uint64_t flags;
	int32_t nice;
	uint32_t priority;
	uint64_t runtime_ns, deadline_ns, period_ns;
};

void cpu_request_short_time_slice(void)
{
	struct sched_attr_v0 attr = {.size = sizeof(attr)};

	if (syscall(SYS_sched_getattr, 0, &attr, sizeof(attr), 0) < 0 || attr.policy != SCHED_OTHER)
		return;
	attr.size = sizeof(attr);
	attr.runtime_ns = SCHED_TIME_SLICE_MIN_NS;
	(void)syscall(SYS_sched_setattr, 0, &attr, 0);
}
