/* What the interpreter tells of its runs: output, events, and its end. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agents/context/private.h"
#include "base/cleanup.h"
#include "base/text.h"

/* Where output or an event came from: the context of the interpreter, and its stream. */
struct interpreter_stream {
	struct context *context;
	enum sandbox_stream stream;
};

/* Reports output to the run that is in progress, or drops it between runs. Returns false if the parser must stop. */
static bool stream_on_output(void *data, const char *bytes, size_t len)
{
	const struct interpreter_stream *origin = data;
	struct context_run *run = origin->context->first_run;

	/* Output between runs is dropped: processes that a run has left, or the start of the interpreter, wrote it. */
	if (!run || !run->is_sent_to_interpreter || run->has_end_event_on[origin->stream])
		return true;
	return run_report_event(run, event_make_output(origin->stream, bytes, len));
}

/* The interpreter has begun the run. If the run was to end meanwhile, interrupts it now. */
static void run_on_begin_event(struct context_run *run)
{
	if (run->has_begun)
		return;
	run->has_begun = true;
	if (run->was_interrupted || run->was_freed_by_caller)
		interpreter_signal(run->context, SIGINT);
}

/* Reports the denials of a run. False: the callback has freed the context or ended its interpreter. */
static bool run_report_denials(struct context_run *run, const json_t *denials)
{
	if (json_array_size(denials) == 0)
		return true;
	return run_report_event(run, json_pack("{s:s, s:O}", "type", "denials", "denials", denials));
}

/* Ends the first run after all its events were reported, and starts the next run. */
static void context_finish_first_run(struct context *context)
{
	struct context_run *run = context->first_run;

	if (run->has_timed_out && !run->has_failed) {
		context_fail_run(context, run, "TimeoutError", "it took too long");
		return;
	}
	context->reference_count++;
	run_end(run);
	if (!context->is_freed)
		context_start_next_run(context);
	context_drop_reference(context);
}

/* Names an error event TimeoutError if the run was interrupted by its timeout. */
static void run_rename_error_to_timeout(struct context_run *run, json_t *event)
{
	if (!run->has_timed_out)
		return;
	(void)json_object_set_new(event, "name", json_string("TimeoutError"));
	(void)json_object_set_new(event, "value",
				  json_sprintf("it took longer than %llu ms",
					       (unsigned long long)run->options.timeout_ms));
}

/*
 * Handles the session's list of denials since the last list. Denials from before the interpreter is ready (it looks for
 * configuration in the home directory, say) belong to no run, and are dropped.
 */
static void context_on_denials(void *data, const json_t *denials)
{
	struct context *context = data;
	struct context_run *run = context->first_run;
	unsigned number;

	context->reference_count++;
	if (!context->is_ready) {
		context->is_ready = true;
		context_start_next_run(context);
	} else if (run && run->awaits_denials) {
		number = run->run_number;
		if (run_report_denials(run, denials) && context_find_run(context, number))
			context_finish_first_run(context);
	}
	context_drop_reference(context);
}

/* The interpreter is ready when both its streams have said so. Returns false if it was freed or replaced meanwhile. */
static bool context_on_ready_event(struct context *context, enum sandbox_stream stream)
{
	const unsigned generation = context->interpreter_generation;

	if (context->has_ready_event_on[stream])
		return true;
	context->has_ready_event_on[stream] = true;
	if (context->has_ready_event_on[SANDBOX_STDOUT] && context->has_ready_event_on[SANDBOX_STDERR] &&
	    sandbox_program_request_denials(context->interpreter_program) < 0)
		context_on_denials(context, NULL);
	return !context->is_freed && context->interpreter_generation == generation;
}

/*
 * A run ends when both streams of the interpreter have said so. Returns false if the interpreter was freed or replaced.
 */
static bool context_on_end_event(struct context *context, enum sandbox_stream stream, const json_t *event)
{
	struct context_run *run = context->first_run;
	const unsigned generation = context->interpreter_generation;

	if (!run || !run->is_sent_to_interpreter ||
	    json_integer_value(json_object_get(event, "run")) != (json_int_t)run->run_number)
		return true;
	if (run->has_end_event_on[stream])
		return true;
	run->has_end_event_on[stream] = true;
	if (run->has_end_event_on[SANDBOX_STDOUT] && run->has_end_event_on[SANDBOX_STDERR]) {
		/* the run ends when its denials are reported, too: its output and events were */
		run->awaits_denials = true;
		loop_cancel_timer(run->timeout_timer);
		run->timeout_timer = NULL;
		if (sandbox_program_request_denials(context->interpreter_program) < 0)
			context_finish_first_run(context);
	}
	return !context->is_freed && context->interpreter_generation == generation;
}

/* Handles a line of the interpreter's events. Returns false if the parser must stop. */
static bool stream_on_event_line(void *data, const char *line, size_t len)
{
	const struct interpreter_stream *origin = data;
	struct context *context = origin->context;
	struct context_run *run = context->first_run;
	_cleanup_json_ json_t *event = event_parse(line, len);
	const char *type = json_string_value(json_object_get(event, "type"));

	if (!type)
		return true;
	if (strcmp(type, "ready") == 0)
		return context_on_ready_event(context, origin->stream);
	if (strcmp(type, "end") == 0)
		return context_on_end_event(context, origin->stream, event);
	if (!run || !run->is_sent_to_interpreter || run->has_end_event_on[origin->stream])
		return true;
	if (strcmp(type, "number_of_executions") == 0)
		run_on_begin_event(run);
	if (strcmp(type, "error") == 0) {
		run->has_failed = true;
		run_rename_error_to_timeout(run, event);
	}
	return run_report_event(run, json_incref(event));
}

/* Parses output of the interpreter. Events in it may free the context. */
static void context_on_interpreter_output(void *data, enum sandbox_stream stream, const char *bytes, size_t len)
{
	struct interpreter_stream origin = {.context = data, .stream = stream};
	const struct frames_handler handler = {
		.on_output = stream_on_output, .on_line = stream_on_event_line, .data = &origin};

	origin.context->reference_count++;
	(void)frames_parse_bytes(&origin.context->frame_parsers[stream], &handler, bytes, len);
	context_drop_reference(origin.context);
}

/* Makes a message for people: how an interpreter has ended. Owned by the caller; NULL: out of memory. */
static char *context_describe_death(const json_t *result)
{
	const json_int_t signal = json_integer_value(json_object_get(result, "signal"));
	const char *message = json_string_value(json_object_get(json_object_get(result, "error"), "message"));

	if (message)
		return text_format("the interpreter: %s", message);
	if (signal > 0)
		return text_format("the interpreter was ended by signal %d (%s)", (int)signal, strsignal((int)signal));
	return text_format("the interpreter has ended with exit status %d",
			   (int)json_integer_value(json_object_get(result, "exit_code")));
}

/* Keeps the message about an interpreter's end, which the next run reports. Takes the text. */
static void context_keep_death_text(struct context *context, char *death)
{
	free(context->unreported_death_text);
	context->unreported_death_text = death;
}

/*
 * Ends, fails or retries the first run after the interpreter has died. *death is taken if the next run is to report it.
 */
static void context_continue_after_death(struct context *context, bool was_ready, char **death)
{
	struct context_run *run = context->first_run;

	if (run->awaits_denials) {
		context_keep_death_text(context, steal_pointer(death));
		context_finish_first_run(context);
	} else if (run->has_timed_out) {
		context_fail_run(context, run, "TimeoutError", "it took too long, and did not end when interrupted");
	} else if (was_ready && !run->has_begun && !run->is_retry) {
		run->is_retry = true; /* the run is sent once more, to a new interpreter */
		run->is_sent_to_interpreter = false;
		context_keep_death_text(context, steal_pointer(death));
		context_start_next_run(context);
	} else {
		context_fail_run(context, run, was_ready ? "InterpreterDied" : "InterpreterFailed",
				 *death ? *death : "the interpreter has ended");
	}
}

/* The interpreter has ended: its run fails, or is tried again if the interpreter died before the run began. */
static void context_on_interpreter_end(void *data, const json_t *result)
{
	struct context *context = data;
	struct context_run *run = context->first_run;
	const bool was_ready = context->is_ready;
	const unsigned number = run ? run->run_number : 0;
	_cleanup_free_ char *death = context_describe_death(result);

	interpreter_discard(context);
	if (!run) {
		context_keep_death_text(context, steal_pointer(&death));
		return;
	}
	context->reference_count++;
	if (run_report_denials(run, json_object_get(result, "denials")) && context_find_run(context, number))
		context_continue_after_death(context, was_ready, &death);
	context_drop_reference(context);
}

const struct interpreter_callbacks interpreter_reports = {context_on_interpreter_output, context_on_denials,
							  context_on_interpreter_end};
