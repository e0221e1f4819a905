/* The queue of runs: when the first one is sent to the interpreter, is interrupted, and ends. */
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>

#include "agents/context/private.h"
#include "agents/slist.h"
#include "base/cleanup.h"

static void context_on_interpreter_start_failed(struct context *context, int error);

/* ---- references to a context: held during a callback, which may free it ---- */

void context_drop_reference(struct context *context)
{
	if (--context->reference_count > 0)
		return;
	for (int i = 0; i < SANDBOX_STREAM_MAX; i++)
		frames_release(&context->frame_parsers[i]);
	free(context->cwd);
	free(context->interpreter);
	free(context->unreported_death_text);
	json_decref(context->env);
	json_decref(context->modules_to_import);
	free(context);
}

/* ---- end of a run ---- */

void run_free(struct context_run *run)
{
	loop_cancel_timer(run->timeout_timer);
	loop_cancel_timer(run->start_timer);
	free(run->code);
	json_decref(run->env);
	free(run);
}

void run_detach_from_context(struct context_run *run)
{
	run->context = NULL;
	loop_cancel_timer(run->timeout_timer);
	loop_cancel_timer(run->start_timer);
	run->timeout_timer = run->start_timer = NULL;
}

struct context_run *context_find_run(const struct context *context, unsigned number)
{
	struct context_run *run = context->is_freed ? NULL : context->first_run;

	while (run && run->run_number != number)
		run = run->next;
	return run;
}

bool run_report_event(struct context_run *run, json_t *event)
{
	struct context *context = run->context;
	const unsigned generation = context->interpreter_generation;
	bool goes_on;

	context->reference_count++;
	if (event && !run->was_freed_by_caller)
		run->options.on_event(run->options.data, event);
	json_decref(event);
	goes_on = !context->is_freed && context->interpreter_generation == generation;
	context_drop_reference(context);
	return goes_on;
}

bool run_report_error(struct context_run *run, const char *name, const char *format, ...)
{
	va_list arguments;
	json_t *value;

	va_start(arguments, format);
	value = json_vsprintf(format, arguments);
	va_end(arguments);
	run->has_failed = true;
	return run_report_event(run, json_pack("{s:s, s:s, s:o, s:s}", "type", "error", "name", name, "value", value,
					       "traceback", ""));
}

void run_end(struct context_run *run)
{
	struct context *context = run->context;
	const bool was_first = context->first_run == run;

	slist_remove(context->first_run, run, next);
	context->run_count--;
	run_detach_from_context(run);
	if (was_first && context->interpreter_program)
		sandbox_program_pause_output(context->interpreter_program, false);
	if (run->was_freed_by_caller)
		run_free(run);
	else
		run->options.on_end(run->options.data);
}

void context_fail_run(struct context *context, struct context_run *run, const char *name, const char *reason)
{
	const unsigned number = run->run_number;

	context->reference_count++;
	(void)run_report_error(run, name, "%s", reason);
	run = context_find_run(context, number);
	if (run)
		run_end(run);
	if (!context->is_freed)
		context_start_next_run(context);
	context_drop_reference(context);
}

/* ---- timeouts and interrupts ---- */

/* Called when timeout_timer expires. If the sandbox is or was paused, the run has not used all its time yet. */
static void run_on_timeout_timer(void *data)
{
	struct context_run *run = data;
	struct context *context = run->context;
	const uint64_t running_ms = sandbox_get_running_ms(context->sandbox);

	run->timeout_timer = NULL;
	/* adding the timer cannot fail: it takes the memory of the one that has just expired */
	if (sandbox_is_paused(context->sandbox))
		run->timeout_timer =
			loop_add_timer(context->loop, CONTEXT_PAUSE_CHECK_INTERVAL_MS, run_on_timeout_timer, run);
	else if (running_ms < run->timeout_due_ms)
		run->timeout_timer =
			loop_add_timer(context->loop, run->timeout_due_ms - running_ms, run_on_timeout_timer, run);
	if (!run->timeout_timer)
		run->on_timeout(run);
}

/* Calls on_timeout when the sandbox has run for delay_ms more. False: out of memory. */
static bool run_set_timer(struct context_run *run, uint64_t delay_ms, void (*on_timeout)(struct context_run *run))
{
	const uint64_t running_ms = sandbox_get_running_ms(run->context->sandbox);

	loop_cancel_timer(run->timeout_timer);
	run->on_timeout = on_timeout;
	if (__builtin_add_overflow(running_ms, delay_ms, &run->timeout_due_ms))
		run->timeout_due_ms = UINT64_MAX;
	run->timeout_timer = loop_add_timer(run->context->loop, delay_ms, run_on_timeout_timer, run);
	return run->timeout_timer != NULL;
}

/* Kills the interpreter, because a run has not ended some time after it was interrupted. */
static void run_kill_interpreter(struct context_run *run)
{
	interpreter_signal(run->context, SIGKILL);
}

/* Sends the interpreter SIGINT if the run has begun, and SIGKILL after CONTEXT_INTERRUPT_GRACE_MS. */
static void run_interrupt_then_kill(struct context_run *run)
{
	struct context *context = run->context;

	loop_cancel_timer(run->timeout_timer);
	run->timeout_timer = NULL;
	if (!context->interpreter_program)
		return;
	if (run->has_begun)
		interpreter_signal(context, SIGINT);
	sandbox_program_pause_output(context->interpreter_program, false);
	if (!run_set_timer(run, CONTEXT_INTERRUPT_GRACE_MS, run_kill_interpreter))
		interpreter_signal(context, SIGKILL);
}

/* The run has reached its time limit: interrupts it, later kills the interpreter. */
static void run_on_timeout(struct context_run *run)
{
	run->has_timed_out = run->was_interrupted = true;
	run_interrupt_then_kill(run);
}

void context_run_interrupt(struct context_run *run)
{
	struct context *context = run->context;

	if (!context)
		return;
	run->was_interrupted = true;
	if (run->is_sent_to_interpreter) {
		if (run->has_begun)
			interpreter_signal(context, SIGINT);
		return;
	}
	context_fail_run(context, run, "KeyboardInterrupt", "interrupted before it began");
}

void context_run_pause_output(struct context_run *run, bool paused)
{
	struct context *context = run->context;

	if (context && context->first_run == run && context->interpreter_program)
		sandbox_program_pause_output(context->interpreter_program, paused);
}

void context_run_free(struct context_run *run)
{
	if (!run)
		return;
	if (!run->context) {
		run_free(run);
		return;
	}
	run->was_freed_by_caller = true;
	if (run->is_sent_to_interpreter) {
		run_interrupt_then_kill(run);
	} else {
		struct context *context = run->context;

		run_end(run);
		context_start_next_run(context);
	}
}

/* ---- queue of runs ---- */

bool context_is_ready(const struct context *context)
{
	return context->is_ready && !context->first_run;
}

/*
 * Reports to the first run, on its stderr, that an interpreter died while no run was in progress. False: the callback
 * has freed the context or ended its interpreter.
 */
static bool context_report_interpreter_death(struct context *context)
{
	_cleanup_free_ char *death = steal_pointer(&context->unreported_death_text);
	json_t *note;

	if (!death)
		return true;
	note = json_pack("{s:s, s:s+}", "type", "stderr", "text", death, ": another one was started\n");
	return run_report_event(context->first_run, note);
}

void context_start_next_run(struct context *context)
{
	struct context_run *run = context->first_run;
	int r;

	if (!run || run->is_sent_to_interpreter)
		return;
	if (!run->timeout_timer && run->options.timeout_ms > 0 && !run->has_timed_out)
		(void)run_set_timer(run, run->options.timeout_ms, run_on_timeout); /* out of memory: no timeout */
	if (!context->interpreter_program) {
		r = interpreter_start(context);
		if (r < 0)
			context_on_interpreter_start_failed(context, r);
	} else if (context->is_ready) {
		const unsigned number = run->run_number;

		run->is_sent_to_interpreter = true; /* from now on, an interrupt signals the interpreter */
		if (context_report_interpreter_death(context) && context_find_run(context, number))
			interpreter_send_run(context);
	}
}

/* Ends the first run with the error that the interpreter cannot be started. */
static void context_on_interpreter_start_failed(struct context *context, int error)
{
	context_fail_run(context, context->first_run, "InterpreterFailed",
			 error == -ENOTCONN ? "the sandbox has ended" : sandbox_describe_error(-error));
}
