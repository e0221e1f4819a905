#include "supervisor/closing/closing.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "supervisor/answer.h"
#include "supervisor/closing/private.h"
#include "syscalls/account/result/after.h"

/* most time for traced calls to end before the run is stopped */
#define CLOSING_AWAIT_TRACED_MAX_NS UINT64_C(3000000000)

/*
 * most time to list and take away what the stopped threads hold; a process for which this has not been done then is
 * killed
 */
#define CLOSING_REMOVAL_MAX_NS UINT64_C(2000000000)

/* A thread that waits in the kernel while the run is stopped. It stops later, when its wait ends. */
struct closing_waiting_thread {
	struct closing_waiting_thread *next;
	pid_t tid, tgid;
};

/* What is under way since a call fired an after entry. */
struct closing {
	struct closing_options options;
	struct call
		*waiting_call; /* owned: a copy of the waiting call; later used for the records about other threads */
	struct task task;      /* the task of waiting_call, without a pidfd */
	char *exe;           /* owned: task.exe */
	bool response_is_delayed;     /* the call that fires entries waits for its response */
	bool response_was_sent;       /* the waiting call has got its response */
	uint32_t fired_entries_mask;       /* the entries that the waiting call fires */
	uint64_t deadline_ns;         /* when the run is stopped although traced calls have not ended */
	/* when taking away must be complete: CLOSING_REMOVAL_MAX_NS after all threads were stopped */
	uint64_t removal_deadline_ns;
	struct closing_waiting_thread *waiting_threads; /* list of threads whose removal is still to come */
};

int closing_create(const struct closing_options *options, struct closing **ret_closing)
{
	struct closing *closing = calloc(1, sizeof(*closing));

	if (!closing)
		return -ENOMEM;
	closing->options = *options;
	closing->waiting_call = calloc(1, sizeof(*closing->waiting_call));
	if (!closing->waiting_call) {
		free(closing);
		return -ENOMEM;
	}
	closing->waiting_call->sandbox = options->sandbox;
	*ret_closing = closing;
	return 0;
}

void closing_free(struct closing *closing)
{
	if (!closing)
		return;
	while (closing->waiting_threads)
		closing_forget_thread(closing, closing->waiting_threads->tid);
	free(closing->waiting_call);
	free(closing->exe);
	free(closing);
}

/* Sets the thread that the next records are about. task NULL: only its tid is known. */
static void closing_set_task(struct closing *closing, const struct task *task, pid_t tid)
{
	static char unknown[] = "";

	free(closing->exe);
	closing->exe = task ? strdup(task->exe) : NULL;
	closing->task = task_make_copy(task ? task : &(const struct task){.tid = tid, .tgid = tid},
				       closing->exe ? closing->exe : unknown);
	closing->waiting_call->task = &closing->task;
	closing->waiting_call->tid = tid;
}

void closing_fire_entries(struct closing *closing, struct call *call)
{
	closing->response_is_delayed = true;
	closing->fired_entries_mask = call->after_entries_to_fire;
	closing->deadline_ns = io_read_clock_ns() + CLOSING_AWAIT_TRACED_MAX_NS;
	closing->waiting_call->id = call->id;
	closing_set_task(closing, call->task, call->tid);
	after_fire_entries(call, call->after_entries_to_fire);
}

bool closing_has_waiting_call(const struct closing *closing)
{
	return closing->response_is_delayed;
}

/* ---- removing what one stopped thread holds ---- */

/* Records that a process loses a descriptor, mapping or its life by an entry. */
static void closing_record_loss(struct closing *closing, pid_t tid, unsigned entry, enum after_loss loss,
				const char *path)
{
	closing_set_task(closing, task_table_find_task(closing->options.sandbox->tree, tid), tid);
	after_record_loss(closing->waiting_call, entry, loss, path);
}

/* Records that a process was killed because of the fired entries. */
static void closing_record_kill(struct closing *closing, pid_t tid)
{
	closing_record_loss(closing, tid, (unsigned)__builtin_ctz(closing->fired_entries_mask), AFTER_PROCESS, NULL);
}

/* Records and removes what a stopped thread must lose: descriptors and mappings. */
static int closing_remove_held_items(struct closing *closing, pid_t tid, pid_t tgid, const struct held_list *list)
{
	_cleanup_free_ int *fd = calloc(list->count, sizeof(*fd));
	_cleanup_free_ struct trace_range *range = calloc(list->count, sizeof(*range));
	struct trace_removal loss = {.fd = fd, .range = range, .deadline_ns = closing->removal_deadline_ns};

	if (!fd || !range)
		return -ENOMEM;
	for (size_t i = 0; i < list->count; i++) {
		const struct held_item *item = &list->item[i];

		closing_record_loss(closing, tid, item->after_entry_index, item->loss, item->path);
		if (item->is_mapping)
			range[loss.range_count++] = (struct trace_range){item->start, item->len};
		else
			fd[loss.fds++] = item->fd;
	}
	return trace_remove_fds_and_mappings(closing->options.tracer, tid, tgid, &loss);
}

/*
 * Removes from a stopped thread the descriptors and mappings that it must no longer have, and checks that none is left.
 * 0 or -errno.
 */
static int closing_remove_held_items_of_thread(struct closing *closing, pid_t tid, pid_t tgid,
					 const struct held_sockets *sockets)
{
	const struct sandbox *sandbox = closing->options.sandbox;
	struct held_list list = {.count = 0};
	int r = held_list_items_of_thread(sandbox, tid, sockets, closing->removal_deadline_ns, &list);

	if (r == 0 && list.count > 0) {
		r = closing_remove_held_items(closing, tid, tgid, &list);
		held_list_release(&list);
		if (r == 0)
			r = held_list_items_of_thread(sandbox, tid, sockets, closing->removal_deadline_ns, &list);
		if (r == 0 && list.count > 0)
			r = -EBUSY;
	}
	held_list_release(&list);
	return r;
}

/* ---- threads that stop only after the run was resumed ---- */

static int closing_add_waiting_thread(struct closing *closing, const struct frozen_thread *thread)
{
	struct closing_waiting_thread *waiting = malloc(sizeof(*waiting));

	if (!waiting)
		return -ENOMEM;
	*waiting = (struct closing_waiting_thread){closing->waiting_threads, thread->tid, thread->tgid};
	closing->waiting_threads = waiting;
	return 0;
}

void closing_forget_thread(struct closing *closing, pid_t tid)
{
	for (struct closing_waiting_thread **at = &closing->waiting_threads; *at; at = &(*at)->next) {
		struct closing_waiting_thread *waiting = *at;

		if (waiting->tid != tid)
			continue;
		*at = waiting->next;
		free(waiting);
		return;
	}
}

static const struct closing_waiting_thread *closing_find_waiting_thread(const struct closing *closing,
										  pid_t tid)
{
	const struct closing_waiting_thread *waiting = closing->waiting_threads;

	while (waiting && waiting->tid != tid)
		waiting = waiting->next;
	return waiting;
}

/* Sets *ret_closed, and if a fired entry has closed the network, lists the internet sockets. 0 or -errno. */
static int closing_list_inet_sockets(const struct closing *closing, struct held_sockets *sockets, bool *ret_closed)
{
	*sockets = (struct held_sockets){.count = 0};
	*ret_closed = policy_find_entry_that_closed_network(closing->options.sandbox->policy) != NULL;
	return *ret_closed ? held_list_inet_sockets(sockets) : 0;
}

bool closing_on_stop(struct closing *closing, pid_t tid, int status)
{
	const struct closing_waiting_thread *waiting =
		closing->waiting_threads ? closing_find_waiting_thread(closing, tid) : NULL;
	struct held_sockets sockets;
	bool closed;
	pid_t tgid;
	int r;

	if (!waiting)
		return false;
	tgid = waiting->tgid;
	closing->removal_deadline_ns = io_read_clock_ns() + CLOSING_REMOVAL_MAX_NS;
	r = closing_list_inet_sockets(closing, &sockets, &closed);
	if (r == 0)
		r = closing_remove_held_items_of_thread(closing, tid, tgid, closed ? &sockets : NULL);
	held_sockets_release(&sockets);
	closing_forget_thread(closing, tid);
	if (r < 0) {
		(void)kill(tgid, SIGKILL); /* the thread is seized, so the pid of its process cannot be reused */
		closing_record_kill(closing, tid);
	}
	(void)trace_on_wait_status(closing->options.tracer, tid, status);
	return true;
}

/* ---- removing what all threads of the run hold ---- */

/*
 * Responds to the call that fired the entries. Its thread was interrupted before, so it stops at the response, and
 * makes the call again when it is resumed.
 */
static void closing_answer_waiting_call(void *ctx, pid_t tid)
{
	struct closing *closing = ctx;

	(void)tid;
	closing->response_was_sent = true;
	(void)answer_with_error(closing->options.sandbox->listener_fd, closing->waiting_call->id, ANSWER_ERESTARTSYS);
}

/* Records each process that was killed, also those that another process traced (freeze.c). */
static void closing_record_kills(struct closing *closing, const struct freeze *freeze)
{
	for (size_t i = 0; i < freeze->count; i++) {
		size_t first = 0;

		while (first < i && (freeze->thread[first].tgid != freeze->thread[i].tgid ||
				     freeze->thread[first].state != FROZEN_KILLED))
			first++;
		if (freeze->thread[i].state == FROZEN_KILLED && first == i)
			closing_record_kill(closing, freeze->thread[i].tgid);
	}
}

static void closing_remove_held_items_of_threads(struct closing *closing, struct freeze *freeze,
					   const struct held_sockets *sockets)
{
	closing->removal_deadline_ns = io_read_clock_ns() + CLOSING_REMOVAL_MAX_NS;
	/* The oldest first (freeze.c lists the newest first): those for which there is no time left are killed. */
	for (size_t i = freeze->count; i > 0; i--) {
		const struct frozen_thread thread = freeze->thread[i - 1];
		int r = 0;

		if (thread.state == FROZEN_STOPPED)
			r = closing_remove_held_items_of_thread(closing, thread.tid, thread.tgid, sockets);
		else if (thread.state == FROZEN_STOPS_WHEN_CALL_ENDS)
			r = closing_add_waiting_thread(closing, &thread);
		if (r < 0 || thread.state == FROZEN_ASKED_TO_STOP)
			freeze_kill_process(freeze, thread.tgid);
	}
	closing_record_kills(closing, freeze);
}

/* True: nothing is left by which data could leave the run. */
static bool closing_remove_held_items_of_run(struct closing *closing)
{
	struct held_sockets sockets;
	struct freeze freeze;
	bool closed, done;

	done = freeze_all_threads(&freeze, &closing->options, FREEZE_KILLS_ALREADY_TRACED, closing->waiting_call->tid,
				  closing_answer_waiting_call, closing);
	done = closing_list_inet_sockets(closing, &sockets, &closed) == 0 && done;
	/* A send(2) of a worker thread may read the program's memory after this moment, and pass descriptors. */
	done = blocking_interrupt_work(closing->options.blocking) && done;
	/*
	 * Called after the sockets were listed: the end of egress closes connections, whose sockets would be missing in
	 * the list.
	 */
	if (closed && closing->options.egress)
		done = egress_client_end_network(closing->options.egress) && done;
	closing_remove_held_items_of_threads(closing, &freeze, closed ? &sockets : NULL);
	held_sockets_release(&sockets);
	done = freeze_await_killed_threads(&freeze) && done;
	freeze_hand_stops_to_tracer(&freeze, closing->options.tracer);
	return done;
}

void closing_continue_removal(struct closing *closing)
{
	struct after_entries *after = closing->options.sandbox->after_entries;
	const pid_t caller = closing->waiting_call->tid;

	if (trace_must_end_calls_before_closing(closing->options.tracer) && io_read_clock_ns() < closing->deadline_ns)
		return;
	closing->response_is_delayed = closing->response_was_sent = false;
	if (!trace_must_end_calls_before_closing(closing->options.tracer) && closing_remove_held_items_of_run(closing))
		after->completed_entries_mask |= closing->fired_entries_mask;
	else
		after->refused = caller;
	/* The thread was not interrupted, so the kernel would not restart its call: the call fails with EINTR. */
	if (!closing->response_was_sent)
		(void)answer_with_error(closing->options.sandbox->listener_fd, closing->waiting_call->id, -EINTR);
}
