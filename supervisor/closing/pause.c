#include "supervisor/closing/pause.h"

#include <errno.h>
#include <stdlib.h>

#include "supervisor/closing/private.h"

/* Stops all programs of a session and lets them go on: callgate session pause. */
struct pause {
	struct closing_options options;
	struct closing *closing; /* borrowed; NULL: the policy has no after_read */
	struct freeze freeze;    /* the stopped threads, while is_active */
	bool is_active;       /* all threads are stopped */
};

int pause_create(const struct closing_options *options, struct closing *closing, struct pause **ret_pause)
{
	struct pause *pause = calloc(1, sizeof(*pause));

	if (!pause)
		return -ENOMEM;
	pause->options = *options;
	pause->closing = closing;
	*ret_pause = pause;
	return 0;
}

/* Frees the list of stopped threads. */
static void pause_release_freeze(struct pause *pause)
{
	freeze_release(&pause->freeze);
}

void pause_free(struct pause *pause)
{
	if (!pause)
		return;
	pause_release_freeze(pause);
	free(pause);
}

/* Lets the stopped threads go on, by the tracer or by closing.c, which may have to take descriptors from some first. */
static void pause_hand_stops_to_owners(struct pause *pause)
{
	for (size_t i = 0; i < pause->freeze.count; i++) {
		const struct frozen_thread *thread = &pause->freeze.thread[i];

		if (thread->state != FROZEN_STOPPED)
			continue;
		if (!pause->closing || !closing_on_stop(pause->closing, thread->tid, thread->wait_status))
			(void)trace_on_wait_status(pause->options.tracer, thread->tid, thread->wait_status);
	}
	pause_release_freeze(pause);
}

int pause_stop_threads(struct pause *pause)
{
	const struct closing_options *options = &pause->options;

	/* while the programs are stopped, too: one for a client that looks at a file */
	if (copies_are_being_made(options->copies))
		return -EINPROGRESS;
	if (pause->is_active)
		return 0;
	if (copies_have_calls(options->copies))
		return -EINPROGRESS;
	/* The next stop of a traced call, which the tracer waits for, would be mistaken for a stop of this pause. */
	if (trace_must_end_calls_before_closing(options->tracer) ||
	    (pause->closing && closing_has_waiting_call(pause->closing)))
		return -EAGAIN;
	if (!freeze_all_threads(&pause->freeze, options, FREEZE_FAILS_ON_ALREADY_TRACED, 0, NULL, NULL)) {
		/* Threads that have not stopped yet stop later, and the tracer lets them go on. */
		pause_hand_stops_to_owners(pause);
		return -EBUSY;
	}
	pause->is_active = true;
	return 0;
}

void pause_resume_threads(struct pause *pause)
{
	if (!pause->is_active)
		return;
	pause->is_active = false;
	pause_hand_stops_to_owners(pause);
}

bool pause_is_active(const struct pause *pause)
{
	return pause->is_active;
}

static struct frozen_thread *pause_find_thread(struct pause *pause, pid_t tid)
{
	for (size_t i = 0; pause->is_active && i < pause->freeze.count; i++)
		if (pause->freeze.thread[i].tid == tid && pause->freeze.thread[i].state != FROZEN_EXITED)
			return &pause->freeze.thread[i];
	return NULL;
}

bool pause_on_stop(struct pause *pause, pid_t tid, int status)
{
	struct frozen_thread *thread = pause_find_thread(pause, tid);

	if (!thread)
		return false;
	thread->state = FROZEN_STOPPED;
	thread->wait_status = status;
	return true;
}

void pause_forget_thread(struct pause *pause, pid_t tid)
{
	struct frozen_thread *thread = pause_find_thread(pause, tid);

	if (thread)
		thread->state = FROZEN_EXITED;
}
