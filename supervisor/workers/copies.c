#include "supervisor/workers/copies.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "supervisor/answer.h"
#include "supervisor/workers/thread.h"
#include "syscalls/call/work.h"

#define COPIES_THREAD_STACK_BYTES (160u * 1024) /* io_copy_sparse() takes 64 KiB */

/* A call that waits for a copy; or a copy for no call (copies_begin_for_client()). */
struct copies_call {
	struct copies_call *next; /* the one that came after it */
	struct seccomp_notif notification;
	struct delayed_response awaits; /* only tells whether its thread still waits */
	struct kept_call *judged;       /* owned; NULL: it is no call */
	bool needs_copy;                /* false: copies_wait_for_others() */
	int64_t result;                 /* of the work that was done for it */
};

struct copies {
	struct copies_call *first; /* the calls that wait; while is_being_made, the first one is that for which it is */
	struct copies_call **end;  /* where the next one is put */
	pthread_t thread;          /* while is_being_made, like the members below */
	int fd;                    /* what is copied; owned */
	struct call_work *work;    /* owned */
	int64_t result;            /* of the work; written by the thread */
	bool is_being_made;
	atomic_bool thread_is_ending; /* joining it does not block */
	atomic_bool run_has_ended;
};

int copies_create(struct copies **ret_copies)
{
	struct copies *copies = calloc(1, sizeof(*copies));

	if (!copies)
		return -ENOMEM;
	copies->end = &copies->first;
	*ret_copies = copies;
	return 0;
}

/* Only the end of the call ends the copy: a signal with a handler comes after it, as after an uninterruptible wait. */
static bool copies_may_go_on(void *ctx)
{
	const struct copies *copies = ctx;

	return copies->first->judged ? answer_thread_still_waits(&copies->first->awaits)
				     : !atomic_load(&copies->run_has_ended);
}

static void *copies_run_thread(void *argument)
{
	struct copies *copies = argument;

	copies->result = copies->work->run(copies->work, copies->fd, copies_may_go_on, copies);
	atomic_store(&copies->thread_is_ending, true);
	(void)kill(getpid(), SIGCHLD); /* so that the loop looks before the next tick */
	return NULL;
}

/* Makes the entry of a call. NULL: no memory. */
static struct copies_call *copies_make_call(const struct call *call, const struct seccomp_notif *notification,
					    bool needs_copy)
{
	struct copies_call *waiting = malloc(sizeof(*waiting));

	if (!waiting)
		return NULL;
	*waiting = (struct copies_call){.notification = *notification,
					.awaits = answer_make_for_later_response(call),
					.judged = kept_call_create(call),
					.needs_copy = needs_copy};
	if (waiting->judged)
		return waiting;
	free(waiting);
	return NULL;
}

static void copies_free_call(struct copies_call *waiting)
{
	free(waiting->judged);
	free(waiting);
}

static void copies_append(struct copies *copies, struct copies_call *waiting)
{
	*copies->end = waiting;
	copies->end = &waiting->next;
}

/* Begins the copy for the first call. 0 or -errno. */
static int copies_begin_work(struct copies *copies, struct outcome *outcome)
{
	int r;

	copies->fd = outcome->fd;
	copies->work = outcome->blocking_work;
	atomic_store(&copies->thread_is_ending, false);
	r = thread_start(&copies->thread, COPIES_THREAD_STACK_BYTES, copies_run_thread, copies);
	if (r < 0)
		return r;
	copies->is_being_made = true;
	outcome->fd = -1;
	outcome->blocking_work = NULL;
	return 0;
}

/* Takes the first call from the list. It is owned by the caller. */
static struct copies_call *copies_take_first(struct copies *copies)
{
	struct copies_call *first = copies->first;

	copies->first = first->next;
	if (!copies->first)
		copies->end = &copies->first;
	return first;
}

/* Puts a call before those that wait. */
static void copies_prepend(struct copies *copies, struct copies_call *waiting)
{
	waiting->next = copies->first;
	if (!copies->first)
		copies->end = &waiting->next;
	copies->first = waiting;
}

int copies_begin(struct copies *copies, struct call *call, const struct seccomp_notif *notification)
{
	struct copies_call *waiting = copies_make_call(call, notification, true);
	int r = 0;

	if (!waiting)
		return -ENOMEM;
	if (copies->is_being_made) {
		copies_append(copies, waiting);
		return 0;
	}
	/* first, if others wait: most often it came out of the list, and needs a further copy */
	copies_prepend(copies, waiting);
	if (call->outcome.blocking_work) /* else what it was to wait for is done */
		r = copies_begin_work(copies, &call->outcome);
	if (r < 0)
		copies_free_call(copies_take_first(copies));
	return r;
}

int copies_begin_for_client(struct copies *copies, int *fd, struct call_work **work)
{
	struct outcome outcome = {.fd = *fd, .blocking_work = *work};
	struct copies_call *waiting = copies->is_being_made ? NULL : malloc(sizeof(*waiting));
	int r;

	if (!waiting)
		return copies->is_being_made ? -EBUSY : -ENOMEM;
	*waiting = (struct copies_call){.needs_copy = true};
	copies_prepend(copies, waiting);
	r = copies_begin_work(copies, &outcome);
	if (r < 0)
		copies_free_call(copies_take_first(copies));
	*fd = outcome.fd;
	*work = outcome.blocking_work;
	return r;
}

int copies_wait_for_others(struct copies *copies, const struct call *call, const struct seccomp_notif *notification)
{
	struct copies_call *waiting = copies_make_call(call, notification, false);

	if (!waiting)
		return -ENOMEM;
	copies_append(copies, waiting);
	return 0;
}

bool copies_have_calls(const struct copies *copies)
{
	for (const struct copies_call *call = copies->first; call; call = call->next)
		if (call->needs_copy)
			return true;
	return false;
}

/* Ends the copy, of which the thread has ended or ends when it is interrupted. */
static void copies_end_work(struct copies *copies)
{
	(void)pthread_join(copies->thread, NULL);
	copies->is_being_made = false;
	if (copies->work->end)
		copies->work->end(copies->work, copies->fd, copies->result);
	copies->work->free(copies->work);
	close_fd(&copies->fd);
	copies->first->result = copies->result;
	if (!copies->first->judged)
		copies_free_call(copies_take_first(copies));
}

void copies_collect(struct copies *copies)
{
	if (copies->is_being_made && atomic_load(&copies->thread_is_ending))
		copies_end_work(copies);
}

bool copies_pop(struct copies *copies, struct copies_ended *ret_ended)
{
	struct copies_call *first;

	if (!copies->first || copies->is_being_made)
		return false;
	first = copies_take_first(copies);
	*ret_ended = (struct copies_ended){.notification = first->notification,
					   .start_ns = first->awaits.start_ns,
					   .result = first->result,
					   .judged = steal_pointer(&first->judged)};
	copies_free_call(first);
	return true;
}

bool copies_are_being_made(const struct copies *copies)
{
	return copies->is_being_made;
}

/* Whether the thread has not ended its work yet. */
static bool copies_thread_works(const struct copies *copies)
{
	return copies->is_being_made && !atomic_load(&copies->thread_is_ending);
}

bool copies_serve_thread(const struct copies *copies, pid_t tid)
{
	for (const struct copies_call *call = copies->first; call; call = call->next)
		if ((pid_t)call->notification.pid == tid)
			return true;
	return false;
}

bool copies_check(struct copies *copies)
{
	/* Repeated, because the signal may come before the thread blocks. */
	if (copies_thread_works(copies) && !copies_may_go_on(copies))
		(void)pthread_kill(copies->thread, SIGUSR1);
	return copies->first;
}

void copies_end(struct copies *copies)
{
	/* Every process of the run is dead, so no call is awaited. */
	atomic_store(&copies->run_has_ended, true);
	while (copies_thread_works(copies)) {
		(void)copies_check(copies);
		(void)usleep(1000);
	}
	if (copies->is_being_made)
		copies_end_work(copies);
}

void copies_free(struct copies *copies)
{
	if (!copies)
		return;
	copies_end(copies);
	while (copies->first)
		copies_free_call(copies_take_first(copies));
	free(copies);
}
