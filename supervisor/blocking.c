#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "supervisor/blocking.h"
#include "supervisor/notify.h"
#include "syscalls/file/resolve.h"
#include "syscalls/net/inet-work.h"
#include "syscalls/net/sockets.h"

#include "base/banned.h"

#define BLOCKING_STACK_BYTES (64u * 1024)
#define DESCRIPTORS_EACH 4u /* of ours: a waiting call's, its caller's, and one for everything else */
#define LOOKS_MAX 64u /* callers asked about at a tick: some microseconds each, which everybody else waits for */
#define ERESTARTSYS 512 /* linux/errno.h, kernel only: EINTR, or again after a handler with SA_RESTART */

struct job {
	struct job *next;
	struct blocking *blocking;
	pthread_t thread;
	uint64_t id;
	uint64_t start_ns;
	pid_t tid;
	int fd;      /* owned by the thread, as the next */
	int peer_fd; /* connect(2) of fd to it; -1: an open */
	struct inet_work *work; /* the thread's: a call on fd; NULL: not that */
	int open_flags;
	bool cloexec;
	bool no_wait; /* see struct call */
	atomic_bool interrupted; /* a signal waits for the caller, or has interrupted it before */
	bool done;               /* under the lock */
	struct audit_slot slot;
};

struct blocking {
	struct sandbox *sandbox;
	pthread_mutex_t lock;
	struct job *jobs;
	unsigned count;
	unsigned most;    /* of them */
	unsigned next;    /* whose turn it is to be looked at: its place on the list */
	uint64_t tick_ns; /* when */
};

static void on_wake(int number)
{
	(void)number; /* only there so that a blocked open(2) ends with EINTR */
}

/* As many as there are descriptors for: without any we could not even look up who calls. */
static unsigned most_jobs(void)
{
	struct rlimit limit;
	uint64_t most = 0;

	if (getrlimit(RLIMIT_NOFILE, &limit) == 0)
		most = limit.rlim_cur / DESCRIPTORS_EACH;
	return most < BLOCKING_MAX ? (unsigned)most : BLOCKING_MAX;
}

int blocking_create(struct sandbox *sandbox, struct blocking **ret_blocking)
{
	struct sigaction action = {.sa_handler = on_wake}; /* no SA_RESTART: that is the point */
	struct blocking *blocking = calloc(1, sizeof(*blocking));

	if (!blocking)
		return -ENOMEM;
	if (sigaction(SIGUSR1, &action, NULL) < 0 || pthread_mutex_init(&blocking->lock, NULL) != 0) {
		free(blocking);
		return -EAGAIN;
	}
	blocking->sandbox = sandbox;
	blocking->most = most_jobs();
	*ret_blocking = blocking;
	return 0;
}

static bool still_wanted(const struct job *job)
{
	return ioctl(job->blocking->sandbox->listener_fd, SECCOMP_IOCTL_NOTIF_ID_VALID, &job->id) == 0;
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
		return 0; /* dead: still_wanted tells */
	status[len] = '\0';
	waiting = status_field(status, "\nSigPnd:", 16);
	if (status_field(status, "\nTgid:", 10) == (uint64_t)tid)
		waiting |= status_field(status, "\nShdPnd:", 16);
	return waiting & ~status_field(status, "\nSigBlk:", 16);
}

/* Opens until it works, fails, or nobody waits; a stray wake-up is no reason to fail. */
static int open_patiently(const struct job *job)
{
	struct file_link link = file_link(job->fd);
	int fd;

	do
		fd = open(link.path, job->open_flags | O_CLOEXEC | O_NOCTTY);
	while (fd < 0 && errno == EINTR && still_wanted(job) && !atomic_load(&job->interrupted));
	return fd < 0 ? -errno : fd;
}

/* What was opened is given to the caller. Its number there or -errno. */
static int run_open(const struct job *job)
{
	int fd = open_patiently(job);

	return fd < 0 ? fd : notify_add(job->blocking->sandbox->listener_fd, job->id, fd, job->cloexec);
}

static int run_connect(const struct job *job)
{
	int result;

	do
		result = sockets_connect(job->fd, job->peer_fd);
	while (result == -EINTR && still_wanted(job) && !atomic_load(&job->interrupted));
	return result;
}

static bool go_on(void *ctx)
{
	const struct job *job = ctx;

	return still_wanted(job) && !atomic_load(&job->interrupted);
}

/* A connect(2) or a send: a value or -errno. */
static int64_t run_call(struct job *job)
{
	return job->work ? job->work->run(job->work, job->fd, go_on, job) : run_connect(job);
}

static void *run_job(void *argument)
{
	struct job *job = argument;
	struct blocking *blocking = job->blocking;
	int listener = blocking->sandbox->listener_fd;
	bool calls = job->peer_fd >= 0 || job->work;
	int64_t result = calls ? run_call(job) : run_open(job);

	/* Before the answer: what its program closes then must be closed (notify_add). */
	(void)close(job->fd);
	if (job->peer_fd >= 0)
		(void)close(job->peer_fd);
	if (job->work)
		job->work->free(job->work);
	/* Both fail when the caller is gone: there is nobody to tell then. */
	if (result < 0)
		(void)notify_error(listener, job->id, result == -EINTR && !job->no_wait ? -ERESTARTSYS : (int)result);
	else
		(void)notify_value(listener, job->id, result);
	audit_end(blocking->sandbox->audit, job->slot, result == -ENOENT ? -EINTR : result, io_now_ns() - job->start_ns);
	(void)pthread_mutex_lock(&blocking->lock);
	job->done = true;
	(void)pthread_mutex_unlock(&blocking->lock);
	return NULL;
}

static int start_thread(struct job *job)
{
	pthread_attr_t attributes;
	int r;

	if (pthread_attr_init(&attributes) != 0)
		return -ENOMEM;
	(void)pthread_attr_setstacksize(&attributes, BLOCKING_STACK_BYTES);
	r = pthread_create(&job->thread, &attributes, run_job, job);
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

static void reap(struct blocking *blocking)
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

static void work_free(struct inet_work **work)
{
	if (*work)
		(*work)->free(*work);
}
#define _cleanup_work_ __attribute__((cleanup(work_free)))

int blocking_start(struct blocking *blocking, struct call *call)
{
	bool connects = call->outcome.kind == OUTCOME_CONNECT;
	_cleanup_work_ struct inet_work *work = call->outcome.kind == OUTCOME_INET ? call->outcome.work : NULL;
	_cleanup_close_ int fd = call->outcome.fd;
	_cleanup_close_ int peer = connects ? call->outcome.peer_fd : -1;
	struct job *job;
	int r;

	if (blocking->count >= blocking->most)
		reap(blocking);
	if (blocking->count >= blocking->most)
		return connects || work ? -EAGAIN : -EMFILE;
	job = calloc(1, sizeof(*job));
	if (!job)
		return -ENOMEM;
	*job = (struct job){.blocking = blocking, .id = call->id, .start_ns = call->start_ns, .tid = call->tid, .fd = fd,
			    .no_wait = call->no_wait, .interrupted = call->no_wait,
			    .peer_fd = peer, .work = work,
			    .open_flags = call->outcome.open_flags, .cloexec = call->outcome.fd_cloexec,
			    .slot = call->slot};
	r = start_thread(job);
	if (r < 0) {
		free(job);
		return r;
	}
	fd = peer = -1; /* the job's now */
	work = NULL;
	job->next = blocking->jobs;
	blocking->jobs = job;
	blocking->count++;
	return 0;
}

/* Again at every turn: the first signal may come before the thread blocks. */
static void look_at(struct job *job)
{
	if (blocking_signals_waiting(job->tid) != 0)
		atomic_store(&job->interrupted, true);
	if (!still_wanted(job) || atomic_load(&job->interrupted))
		(void)pthread_kill(job->thread, SIGUSR1);
}

/* The next `most` of them. */
static void look(struct blocking *blocking, unsigned most)
{
	unsigned first = blocking->next < blocking->count ? blocking->next : 0, at = 0;

	for (struct job *job = blocking->jobs; job; job = job->next, at++)
		if (at >= first && at - first < most)
			look_at(job);
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
	reap(blocking);
	look(blocking, LOOKS_MAX);
	return blocking->jobs != NULL;
}

void blocking_free(struct blocking *blocking)
{
	if (!blocking)
		return;
	/* Every process of the run is dead by now, so no notification is valid and each thread ends at its next wake-up. */
	while (reap(blocking), blocking->jobs) {
		look(blocking, BLOCKING_MAX);
		(void)usleep(1000);
	}
	(void)pthread_mutex_destroy(&blocking->lock);
	free(blocking);
}
