#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/proc/stat.h"
#include "supervisor/cpu/private.h"

/* Reads schedstat. Its second number is the run-queue delay; its third number is 0 if the kernel does not count. */
static bool delays_read_schedstat(int fd, uint64_t *ret_ns)
{
	char text[96], *end;
	ssize_t len = fd < 0 ? -1 : pread(fd, text, sizeof(text) - 1, 0);

	if (len <= 0)
		return false;
	text[len] = '\0';
	(void)strtoull(text, &end, 10);
	*ret_ns = strtoull(end, &end, 10);
	return strtoull(end, NULL, 10) > 0;
}

/* Reads a thread's delay. The file stays open, because opening is slow. It is empty after the thread's death. */
static bool delays_read_calling_thread(struct calling_thread *caller, uint64_t *ret_ns)
{
	if (caller->fd >= 0 && delays_read_schedstat(caller->fd, ret_ns))
		return true;
	cleanup_close(&caller->fd);
	caller->fd = procstat_open_file(caller->tid, "schedstat");
	return delays_read_schedstat(caller->fd, ret_ns);
}

/* Gives the slot to another thread. tid 0: frees it. */
static void delays_replace_calling_thread(struct calling_thread *caller, pid_t tid)
{
	cleanup_close(&caller->fd);
	*caller = (struct calling_thread){.tid = tid, .called_since_sample = tid > 0, .fd = -1};
}

/* Returns the CPU time of the supervisor thread. */
static uint64_t delays_read_own_cpu_ns(void)
{
	struct timespec used = {0};

	(void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
	return (uint64_t)used.tv_sec * 1000 * MS + (uint64_t)used.tv_nsec;
}

void delays_start_measuring(struct run_queue_delays *delays, pid_t since)
{
	delays->since = since;
	delays->own_cpu_ns_at_last_sample = delays_read_own_cpu_ns();
	delays->own_cpu_ns_without_waiting = 0;
}

bool delays_init(struct run_queue_delays *delays)
{
	_cleanup_close_ int fd = procstat_open_file(getpid(), "schedstat");
	uint64_t ns;

	for (unsigned i = 0; i < RUN_QUEUE_DELAY_THREADS_MAX; i++)
		delays->calling_threads[i].fd = -1;
	return delays_read_schedstat(fd, &ns);
}

bool delays_note_calling_thread(struct run_queue_delays *delays, pid_t tid)
{
	struct calling_thread *caller = NULL;

	for (unsigned i = 0; i < RUN_QUEUE_DELAY_THREADS_MAX; i++) {
		if (delays->calling_threads[i].tid == tid) {
			delays->calling_threads[i].called_since_sample = true;
			return false;
		}
		if (!delays->calling_threads[i].called_since_sample)
			caller = &delays->calling_threads[i];
	}
	if (!caller)
		return false;
	delays_replace_calling_thread(caller, tid);
	if (tid > delays->since)
		return false;
	/* The delay before the run was pinned does not count. */
	(void)delays_read_calling_thread(caller, &caller->run_queue_delay_ns);
	return true;
}

uint64_t delays_sum_delays_of_callers(struct run_queue_delays *delays, uint64_t window_ns)
{
	uint64_t own_cpu_ns = delays_read_own_cpu_ns(), ran_ns = own_cpu_ns - delays->own_cpu_ns_at_last_sample;
	uint64_t explained_ns = ran_ns + delays->own_cpu_ns_without_waiting, total_ns = 0, left_ns, now_ns;

	for (unsigned i = 0; i < RUN_QUEUE_DELAY_THREADS_MAX; i++) {
		struct calling_thread *caller = &delays->calling_threads[i];

		if (!caller->called_since_sample)
			continue;
		caller->called_since_sample = false;
		if (!delays_read_calling_thread(caller, &now_ns) || now_ns < caller->run_queue_delay_ns)
			continue;
		total_ns += now_ns - caller->run_queue_delay_ns;
		caller->run_queue_delay_ns = now_ns;
	}
	delays->own_cpu_ns_at_last_sample = own_cpu_ns;
	/* The kernel adds a delay when it is over: that of a thread that waits now belongs to the next sample. */
	left_ns = explained_ns > total_ns ? explained_ns - total_ns : 0;
	delays->own_cpu_ns_without_waiting = left_ns < ran_ns ? left_ns : ran_ns;
	return 2 * ran_ns > window_ns || total_ns < explained_ns ? 0 : total_ns - explained_ns;
}

void delays_forget_callers(struct run_queue_delays *delays)
{
	for (unsigned i = 0; i < RUN_QUEUE_DELAY_THREADS_MAX; i++)
		delays_replace_calling_thread(&delays->calling_threads[i], 0);
}
