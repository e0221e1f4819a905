#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "supervisor/answer.h"
#include "supervisor/blocking.h"
#include "syscalls/file/resolve.h"
#include "syscalls/call/work.h"
#include "syscalls/net/unix-sockets.h"

#include "base/banned.h"

#define BLOCKING_STACK_BYTES (64u * 1024)
#define DESCRIPTORS_EACH 4u /* of ours: a waiting call's, its caller's, and one for everything else */
#define LOOKS_MAX 64u /* callers asked about at a tick: some microseconds each, which everybody else waits for */

struct job {
	struct job *next;
	struct blocking *blocking;
	pthread_t thread;
	struct answer answer;
	pid_t tid;
	int fd;      /* owned by the thread, as the next */
	int peer_fd; /* connect(2) of fd to it; -1: an open */
	struct call_work *work; /* the thread's: a call on fd; NULL: not that */
	int open_flags;
	bool cloexec;
	bool no_wait; /* see struct call */
	atomic_bool interrupted; /* a signal waits for the caller, or has interrupted it before */
	bool done;               /* under the lock */
};

struct blocking {
	pthread_mutex_t lock;
	struct job *jobs;
	unsigned count;
	unsigned most;    /* of them */
	unsigned next;    /* whose turn it is to be looked at: its place on the list */
	uint64_t tick_ns; /* when */
};

static void job_on_wake(int number)
{
	(void)number; /* only there so that a blocked open(2) ends with EINTR */
}

/* As many as there are descriptors for: without any we could not even look up who calls. */
static unsigned blocking_most(void)
{
	struct rlimit limit;
	uint64_t most = 0;

	if (getrlimit(RLIMIT_NOFILE, &limit) == 0)
		most = limit.rlim_cur / DESCRIPTORS_EACH;
	return most < BLOCKING_MAX ? (unsigned)most : BLOCKING_MAX;
}

int blocking_create(struct blocking **ret_blocking)
{
	struct sigaction action = {.sa_handler = job_on_wake}; /* no SA_RESTART: that is the point */
	struct blocking *blocking = calloc(1, sizeof(*blocking));

	if (!blocking)
		return -ENOMEM;
	if (sigaction(SIGUSR1, &action, NULL) < 0 || pthread_mutex_init(&blocking->lock, NULL) != 0) {
		free(blocking);
		return -EAGAIN;
	}
	blocking->most = blocking_most();
	*ret_blocking = blocking;
	return 0;
}

static uint64_t status_field(const char *status, const char *name, int base)
{
	const char *at = strstr(status, name);

	return at ? strtoull(at + strlen(name), NULL, base) : 0;
}

uint64_t blocking_signals_waiting(pid_t tid)
{
	char path[32], status[4096];
	_cleanup_close_ int fd = -1;
	uint64_t waiting;
	ssize_t len;

	(void)snprintf(path, sizeof(path), "/proc/%d/status", tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	len = fd < 0 ? -1 : read(fd, status, sizeof(status) - 1);
	if (len <= 0)
		return 0; /* dead: answer_is_awaited tells */
	status[len] = '\0';
	waiting = status_field(status, "\nSigPnd:", 16);
	if (status_field(status, "\nTgid:", 10) == (uint64_t)tid)
		waiting |= status_field(status, "\nShdPnd:", 16);
	return waiting & ~status_field(status, "\nSigBlk:", 16);
}

/* Whether to wait on: a wake-up may be a stray one. */
static bool job_goes_on(void *ctx)
{
	struct job *job = ctx;

	return answer_is_awaited(&job->answer) && !atomic_load(&job->interrupted);
}

/* What was opened is given to the target process. Its number there or -errno. */
static int job_open(struct job *job)
{
	struct file_link link = file_link(job->fd);
	int fd;

	do
		fd = open(link.path, job->open_flags | O_CLOEXEC | O_NOCTTY);
	while (fd < 0 && errno == EINTR && job_goes_on(job));
	return fd < 0 ? -errno : answer_add(job->answer.sandbox->listener_fd, job->answer.id, fd, job->cloexec);
}

static int job_connect(struct job *job)
{
	int result;

	do
		result = sockets_connect(job->fd, job->peer_fd);
	while (result == -EINTR && job_goes_on(job));
	return result;
}

/* A connect(2) or a send: a value or -errno. */
static int64_t job_call(struct job *job)
{
	return job->work ? job->work->run(job->work, job->fd, job_goes_on, job) : job_connect(job);
}

static void *job_run(void *argument)
{
	struct job *job = argument;
	struct blocking *blocking = job->blocking;
	bool calls = job->peer_fd >= 0 || job->work;
	int64_t result = calls ? job_call(job) : job_open(job);

	/* Before the response: what the program closes after it must be closed (answer_add). */
	(void)close(job->fd);
	if (job->peer_fd >= 0)
		(void)close(job->peer_fd);
	if (job->work)
		job->work->free(job->work);
	answer_end(&job->answer, result == -EINTR && !job->no_wait ? ANSWER_RESTART : result);
	(void)pthread_mutex_lock(&blocking->lock);
	job->done = true;
	(void)pthread_mutex_unlock(&blocking->lock);
	return NULL;
}

static int job_start(struct job *job)
{
	pthread_attr_t attributes;
	int r;

	if (pthread_attr_init(&attributes) != 0)
		return -ENOMEM;
	(void)pthread_attr_setstacksize(&attributes, BLOCKING_STACK_BYTES);
	r = pthread_create(&job->thread, &attributes, job_run, job);
	(void)pthread_attr_destroy(&attributes);
	return -r;
}

static bool job_done(struct blocking *blocking, const struct job *job)
{
	bool done;

	(void)pthread_mutex_lock(&blocking->lock);
	done = job->done;
	(void)pthread_mutex_unlock(&blocking->lock);
	return done;
}

static void blocking_reap(struct blocking *blocking)
{
	struct job **at = &blocking->jobs;

	while (*at) {
		struct job *job = *at;

		if (!job_done(blocking, job)) {
			at = &job->next;
			continue;
		}
		*at = job->next;
		(void)pthread_join(job->thread, NULL);
		free(job);
		blocking->count--;
	}
}

int blocking_start(struct blocking *blocking, struct call *call)
{
	bool connects = call->outcome.kind == OUTCOME_CONNECT;
	bool works = call->outcome.kind == OUTCOME_WORK;
	struct job *job;
	int r;

	if (blocking->count >= blocking->most)
		blocking_reap(blocking);
	if (blocking->count >= blocking->most)
		return connects || works ? -EAGAIN : -EMFILE;
	job = calloc(1, sizeof(*job));
	if (!job)
		return -ENOMEM;
	*job = (struct job){.blocking = blocking,
			    .answer = answer_later(call),
			    .tid = call->tid,
			    .fd = call->outcome.fd,
			    .no_wait = call->no_wait,
			    .interrupted = call->no_wait,
			    .peer_fd = connects ? call->outcome.peer_fd : -1,
			    .work = works ? call->outcome.work : NULL,
			    .open_flags = call->outcome.open_flags,
			    .cloexec = call->outcome.fd_cloexec};
	r = job_start(job);
	if (r < 0) {
		free(job);
		return r;
	}
	call->outcome.fd = call->outcome.peer_fd = -1; /* the job's now */
	call->outcome.work = NULL;
	job->next = blocking->jobs;
	blocking->jobs = job;
	blocking->count++;
	return 0;
}

/* Again at every turn: the first signal may come before the thread blocks. */
static void job_look(struct job *job)
{
	if (blocking_signals_waiting(job->tid) != 0)
		atomic_store(&job->interrupted, true);
	if (!answer_is_awaited(&job->answer) || atomic_load(&job->interrupted))
		(void)pthread_kill(job->thread, SIGUSR1);
}

/* The next `most` of them. */
static void blocking_look(struct blocking *blocking, unsigned most)
{
	unsigned first = blocking->next < blocking->count ? blocking->next : 0, at = 0;

	for (struct job *job = blocking->jobs; job; job = job->next, at++)
		if (at >= first && at - first < most)
			job_look(job);
	blocking->next = first + most;
}

bool blocking_tick(struct blocking *blocking)
{
	uint64_t now;

	if (!blocking->jobs)
		return false;
	now = io_now_ns();
	if (now < blocking->tick_ns)
		return true;
	blocking->tick_ns = now + BLOCKING_TICK_MS * UINT64_C(1000000);
	blocking_reap(blocking);
	blocking_look(blocking, LOOKS_MAX);
	return blocking->jobs != NULL;
}

void blocking_free(struct blocking *blocking)
{
	if (!blocking)
		return;
	/*
	 * Every process of the run is dead by now, so no notification is valid and each thread ends at its next
	 * wake-up.
	 */
	while (blocking_reap(blocking), blocking->jobs) {
		blocking_look(blocking, BLOCKING_MAX);
		(void)usleep(1000);
	}
	(void)pthread_mutex_destroy(&blocking->lock);
	free(blocking);
}
