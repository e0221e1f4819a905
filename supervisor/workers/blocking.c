#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/io.h"
#include "base/proc/stat.h"
#include "supervisor/answer.h"
#include "supervisor/workers/blocking.h"
#include "supervisor/workers/thread.h"
#include "syscalls/file/resolve.h"
#include "syscalls/call/work.h"

#define BLOCKING_THREAD_STACK_BYTES (64u * 1024) /* stack of a worker thread */
/* descriptors for each blocking call: two of its own, and two that stay free for other uses */
#define BLOCKING_DESCRIPTORS_PER_CALL 4u
/* how long worker threads are interrupted until their calls end */
#define BLOCKING_INTERRUPT_ALL_TIMEOUT_NS UINT64_C(1000000000)
/* jobs checked at a tick: each check delays notifications by some microseconds */
#define BLOCKING_JOBS_CHECKED_PER_TICK_MAX 64u

/* One call that a worker thread performs. */
struct blocking_job {
	struct blocking_job *next;
	pthread_t thread;
	struct delayed_response delayed_response;
	pid_t tid;
	int fd;                       /* what is opened, or the socket of `work`; both are owned by the worker thread */
	struct call_work *work;       /* OUTCOME_BLOCKING_WORK: performed on fd; else NULL */
	int open_flags;               /* of an open that may wait, for a FIFO */
	bool cloexec;                 /* the descriptor is injected with O_CLOEXEC */
	bool performs_call_work;      /* OUTCOME_BLOCKING_WORK */
	bool open_must_not_wait;      /* a restarted open: it fails with EINTR where it would wait (interrupted.h) */
	atomic_bool interrupted;      /* a signal is pending for the target thread, or the call is a restarted open */
	atomic_bool thread_is_ending; /* the worker has responded: joining it does not block */
};

/* The calls that worker threads of the supervisor make, because they may wait. */
struct blocking {
	struct blocking_job *jobs;  /* list of the calls in progress */
	unsigned job_count;         /* entries of `jobs` */
	unsigned jobs_max;          /* most jobs at a time */
	unsigned next_job_to_check; /* index of the first job to be checked at the next tick */
	uint64_t next_job_check_ns; /* time of the next tick */
};

/* Does nothing: a signal with a handler ends a worker thread's system call with EINTR. */
static void job_on_wake_signal(int number)
{
	(void)number; /* the handler exists so that a blocked system call ends with EINTR */
}

unsigned blocking_get_share_of_fd_limit(unsigned parts)
{
	struct rlimit limit;
	uint64_t share = getrlimit(RLIMIT_NOFILE, &limit) < 0 ? 0 : limit.rlim_cur / parts;

	return share < UINT_MAX ? (unsigned)share : UINT_MAX;
}

int blocking_create(struct blocking **ret_blocking)
{
	struct sigaction action = {.sa_handler = job_on_wake_signal}; /* without SA_RESTART */
	struct blocking *blocking = calloc(1, sizeof(*blocking));

	if (!blocking)
		return -ENOMEM;
	if (sigaction(SIGUSR1, &action, NULL) < 0) {
		free(blocking);
		return -EAGAIN;
	}
	blocking->jobs_max = blocking_get_share_of_fd_limit(BLOCKING_DESCRIPTORS_PER_CALL);
	if (blocking->jobs_max > BLOCKING_CALLS_AT_ONCE_MAX)
		blocking->jobs_max = BLOCKING_CALLS_AT_ONCE_MAX;
	*ret_blocking = blocking;
	return 0;
}

/* The number behind "NAME:" in the text of /proc/TID/status; 0: no such line. */
static uint64_t blocking_parse_status_field(const char *status, const char *name, int base)
{
	const char *at = strstr(status, name);

	return at ? strtoull(at + strlen(name), NULL, base) : 0;
}

uint64_t blocking_read_pending_signals(pid_t tid)
{
	char status[4096];
	uint64_t waiting;

	if (procstat_read_file(tid, "status", status, sizeof(status)) <= 0)
		return 0; /* the thread is dead: it has no pending signals */
	waiting = blocking_parse_status_field(status, "\nSigPnd:", 16);
	if (blocking_parse_status_field(status, "\nTgid:", 10) == (uint64_t)tid)
		waiting |= blocking_parse_status_field(status, "\nShdPnd:", 16);
	return waiting & ~blocking_parse_status_field(status, "\nSigBlk:", 16);
}

/* Whether to repeat an interrupted system call. A stray signal does not end the call. */
static bool blocking_job_may_retry_syscall(void *ctx)
{
	struct blocking_job *job = ctx;

	return answer_thread_still_waits(&job->delayed_response) && !atomic_load(&job->interrupted);
}

/* Opens the file and adds it to the target process. The target's descriptor or -errno. */
static int blocking_job_open_for_target(struct blocking_job *job)
{
	struct io_proc_fd_path link = io_proc_fd_path(job->fd);
	int fd;

	do
		fd = open(link.path, job->open_flags | O_CLOEXEC | O_NOCTTY);
	while (fd < 0 && errno == EINTR && blocking_job_may_retry_syscall(job));
	return fd < 0 ? -errno
		      : answer_add_descriptor(job->delayed_response.sandbox->listener_fd, job->delayed_response.id, fd,
					      job->cloexec);
}

static void *job_run_thread(void *argument)
{
	struct blocking_job *job = argument;
	int64_t result; /* a value or -errno */

	result = job->work ? job->work->run(job->work, job->fd, blocking_job_may_retry_syscall, job)
			   : blocking_job_open_for_target(job);
	/* Closed before the response, so that the target's descriptor is the only one when its call returns. */
	(void)close(job->fd);
	if (job->work)
		job->work->free(job->work);
	answer_send_and_end_record(&job->delayed_response,
				   result == -EINTR && !job->open_must_not_wait ? ANSWER_ERESTARTSYS : result);
	atomic_store(&job->thread_is_ending, true);
	return NULL;
}

static void blocking_join_ended_threads(struct blocking *blocking)
{
	struct blocking_job **at = &blocking->jobs;

	while (*at) {
		struct blocking_job *job = *at;

		if (!atomic_load(&job->thread_is_ending)) {
			at = &job->next;
			continue;
		}
		*at = job->next;
		(void)pthread_join(job->thread, NULL);
		free(job);
		blocking->job_count--;
	}
}

int blocking_start_call(struct blocking *blocking, struct call *call)
{
	struct blocking_job *job;
	int r;

	if (blocking->job_count >= blocking->jobs_max)
		blocking_join_ended_threads(blocking);
	if (blocking->job_count >= blocking->jobs_max)
		return call->outcome.kind == OUTCOME_BLOCKING_OPEN ? -EMFILE : -EAGAIN;
	job = calloc(1, sizeof(*job));
	if (!job)
		return -ENOMEM;
	*job = (struct blocking_job){.delayed_response = answer_make_for_later_response(call),
				     .tid = call->tid,
				     .fd = call->outcome.fd,
				     .work = call->outcome.blocking_work,
				     .performs_call_work = call->outcome.blocking_work != NULL,
				     .open_flags = call->outcome.open_flags,
				     .cloexec = call->outcome.fd_is_cloexec,
				     .open_must_not_wait = call->fails_instead_of_waiting,
				     .interrupted = call->fails_instead_of_waiting};
	r = thread_start(&job->thread, BLOCKING_THREAD_STACK_BYTES, job_run_thread, job);
	if (r < 0) {
		free(job);
		return r;
	}
	call->outcome.fd = -1; /* the thread owns fd and work now */
	call->outcome.blocking_work = NULL;
	job->next = blocking->jobs;
	blocking->jobs = job;
	blocking->job_count++;
	return 0;
}

/* Interrupts the worker if its call must end. Repeated at each tick: a signal may come before the worker blocks. */
static void job_interrupt_if_needed(struct blocking_job *job)
{
	if (blocking_read_pending_signals(job->tid) != 0)
		atomic_store(&job->interrupted, true);
	if (!answer_thread_still_waits(&job->delayed_response) || atomic_load(&job->interrupted))
		(void)pthread_kill(job->thread, SIGUSR1);
}

bool blocking_serves_thread(const struct blocking *blocking, pid_t tid)
{
	for (const struct blocking_job *job = blocking->jobs; job; job = job->next)
		if (job->tid == tid && !atomic_load(&job->thread_is_ending))
			return true;
	return false;
}

bool blocking_interrupt_work(struct blocking *blocking)
{
	uint64_t until_ns = io_read_clock_ns() + BLOCKING_INTERRUPT_ALL_TIMEOUT_NS;
	bool left = true;

	while (left && io_read_clock_ns() < until_ns) {
		left = false;
		for (struct blocking_job *job = blocking->jobs; job; job = job->next) {
			if (!job->performs_call_work || atomic_load(&job->thread_is_ending))
				continue;
			left = true;
			atomic_store(&job->interrupted, true);
			(void)pthread_kill(job->thread, SIGUSR1); /* the thread still exists: it is not joined yet */
		}
		if (left)
			(void)usleep(100);
	}
	return !left;
}

/* Checks the next `most` jobs, and interrupts those that must end. */
static void blocking_check_jobs(struct blocking *blocking, unsigned most)
{
	unsigned first = blocking->next_job_to_check < blocking->job_count ? blocking->next_job_to_check : 0, at = 0;

	for (struct blocking_job *job = blocking->jobs; job; job = job->next, at++)
		if (at >= first && at - first < most)
			job_interrupt_if_needed(job);
	blocking->next_job_to_check = first + most;
}

bool blocking_check_due_jobs(struct blocking *blocking)
{
	uint64_t now;

	if (!blocking->jobs)
		return false;
	now = io_read_clock_ns();
	if (now < blocking->next_job_check_ns)
		return true;
	blocking->next_job_check_ns = now + BLOCKING_JOB_CHECK_INTERVAL_MS * UINT64_C(1000000);
	blocking_join_ended_threads(blocking);
	blocking_check_jobs(blocking, BLOCKING_JOBS_CHECKED_PER_TICK_MAX);
	return blocking->jobs != NULL;
}

void blocking_free(struct blocking *blocking)
{
	if (!blocking)
		return;
	/* Every process of the run is dead, so no call is awaited and each worker ends when it is interrupted. */
	while (blocking_join_ended_threads(blocking), blocking->jobs) {
		blocking_check_jobs(blocking, BLOCKING_CALLS_AT_ONCE_MAX);
		(void)usleep(1000);
	}
	free(blocking);
}
