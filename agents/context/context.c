/* Contexts: the queue of code runs, the interpreter's events, and the end of an interpreter. */
#include "agents/context/context.h"

#include <ctype.h>
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agents/context/private.h"
#include "agents/slist.h"
#include "base/cleanup.h"
#include "base/text.h"

static void context_start_next_run(struct context *context);
static void context_on_interpreter_start_failed(struct context *context, int error);
static int context_start_interpreter(struct context *context);

/* ---- references to a context: held during a callback, which may free it ---- */

/* Frees the context with its last reference, so that a callback may free it while it is used. */
static void context_drop_reference(struct context *context)
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

static void run_free(struct context_run *run)
{
	loop_cancel_timer(run->timeout_timer);
	loop_cancel_timer(run->start_timer);
	free(run->code);
	json_decref(run->env);
	free(run);
}

/* The run has ended, or its context is freed: its timers are stopped. */
static void run_detach_from_context(struct context_run *run)
{
	run->context = NULL;
	loop_cancel_timer(run->timeout_timer);
	loop_cancel_timer(run->start_timer);
	run->timeout_timer = run->start_timer = NULL;
}

/* Finds a run by its number after a callback, which may have ended and freed the run. NULL: the run has ended. */
static struct context_run *context_find_run(const struct context *context, unsigned number)
{
	struct context_run *run = context->is_freed ? NULL : context->first_run;

	while (run && run->run_number != number)
		run = run->next;
	return run;
}

/*
 * Passes an event to the run's callback. Takes the reference to the event. False: the callback has freed the context or
 * ended its interpreter.
 */
static bool run_report_event(struct context_run *run, json_t *event)
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

static bool __attribute__((format(printf, 3, 4)))
run_report_error(struct context_run *run, const char *name, const char *format, ...)
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

/* Removes a run from the queue, and calls its on_end. */
static void run_end(struct context_run *run)
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

/* Reports an error of a run, ends the run, and starts the next one. */
static void context_fail_run(struct context *context, struct context_run *run, const char *name, const char *reason)
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

/* Sends the first run to the interpreter, if the interpreter is ready. Starts an interpreter if there is none. */
static void context_start_next_run(struct context *context)
{
	struct context_run *run = context->first_run;
	int r;

	if (!run || run->is_sent_to_interpreter)
		return;
	if (!run->timeout_timer && run->options.timeout_ms > 0 && !run->has_timed_out)
		(void)run_set_timer(run, run->options.timeout_ms, run_on_timeout); /* out of memory: no timeout */
	if (!context->interpreter_program) {
		r = context_start_interpreter(context);
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

/* ---- output and events of the interpreter ---- */

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
	char *text;
	int r;

	if (message)
		r = asprintf(&text, "the interpreter: %s", message);
	else if (signal > 0)
		r = asprintf(&text, "the interpreter was ended by signal %d (%s)", (int)signal,
			     strsignal((int)signal));
	else
		r = asprintf(&text, "the interpreter has ended with exit status %d",
			     (int)json_integer_value(json_object_get(result, "exit_code")));
	return r < 0 ? NULL : text;
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

static int context_start_interpreter(struct context *context)
{
	static const struct interpreter_callbacks callbacks = {context_on_interpreter_output, context_on_denials,
							       context_on_interpreter_end};

	return interpreter_start(context, &callbacks);
}

/* ---- making, freeing and restarting a context ---- */

static int context_copy_options(struct context *context, const struct context_options *options)
{
	context->forks_for_each_run = options->forks_for_each_run && strcmp(options->language, "python") == 0;
	context->modules_to_import = json_array();
	context->cwd = options->cwd ? strdup(options->cwd) : NULL;
	context->interpreter = options->interpreter ? strdup(options->interpreter) : NULL;
	context->env = options->env ? json_deep_copy(options->env) : NULL;
	for (const char *const *module = options->modules_to_import; module && *module; module++)
		if (json_array_append_new(context->modules_to_import, json_string(*module)) < 0)
			return -EILSEQ;
	return (!options->cwd || context->cwd) && (!options->interpreter || context->interpreter) &&
			       (!options->env || context->env) && context->modules_to_import
		       ? 0
		       : -ENOMEM;
}

int context_create(struct loop *loop, struct sandbox *sandbox, const struct context_options *options,
		   struct context **ret_context)
{
	const struct language *language = language_find(options->language);
	struct context *context;
	int r;

	if (!language)
		return -ENOTSUP;
	context = calloc(1, sizeof(*context));
	if (!context)
		return -ENOMEM;
	*context = (struct context){.loop = loop, .sandbox = sandbox, .language = language, .reference_count = 1};
	r = context_copy_options(context, options);
	if (r == 0)
		r = context_start_interpreter(context);
	if (r < 0)
		context_free(context);
	else
		*ret_context = context;
	return r;
}

void context_free(struct context *context)
{
	struct context_run *run;

	if (!context)
		return;
	context->is_freed = true;
	interpreter_discard(context);
	while ((run = context->first_run)) {
		context->first_run = run->next;
		run_detach_from_context(run);
		if (run->was_freed_by_caller)
			run_free(run);
	}
	context_drop_reference(context);
}

void context_restart(struct context *context)
{
	const unsigned last = context->last_run_number;
	struct context_run *run;
	unsigned number;
	int r;

	context->reference_count++;
	interpreter_discard(context);
	free(context->unreported_death_text);
	context->unreported_death_text = NULL;
	r = context_start_interpreter(context);
	while (!context->is_freed && context->first_run && context->first_run->run_number <= last) {
		run = context->first_run;
		number = run->run_number;
		(void)run_report_error(run, "ContextRestarted", "the context was restarted");
		run = context_find_run(context, number);
		if (run)
			run_end(run);
	}
	if (!context->is_freed && r == 0)
		context_start_next_run(context);
	context_drop_reference(context);
}

/* ---- code that a client wants to be run ---- */

/* Whether every name is one that a shell accepts for a variable, and every value a text without NUL bytes. */
static bool run_variables_are_valid(const json_t *env)
{
	const char *name;
	json_t *value;

	json_object_foreach((json_t *)(uintptr_t)env, name, value) {
		bool is_name = *name && !isdigit((unsigned char)*name);

		for (const char *at = name; *at; at++)
			is_name = is_name && (isalnum((unsigned char)*at) || *at == '_');
		if (!is_name || !json_is_string(value) ||
		    strlen(json_string_value(value)) != json_string_length(value))
			return false;
	}
	return true;
}

static void run_on_start_timer(void *data)
{
	struct context_run *run = data;

	run->start_timer = NULL;
	if (run->context->first_run == run)
		context_start_next_run(run->context);
}

int context_run_code(struct context *context, const struct context_run_options *options,
		     struct context_run **ret_run)
{
	struct context_run *run;

	if (context->run_count >= CONTEXT_RUNS_MAX)
		return -EAGAIN;
	if (strlen(options->code) > CONTEXT_CODE_BYTES_MAX)
		return -EMSGSIZE;
	if (!text_is_utf8(options->code, strlen(options->code)))
		return -EILSEQ;
	if (options->env && (!json_is_object(options->env) || !run_variables_are_valid(options->env)))
		return -EINVAL;
	run = calloc(1, sizeof(*run));
	if (!run)
		return -ENOMEM;
	*run = (struct context_run){.context = context,
				    .code = strdup(options->code),
				    .env = options->env ? json_deep_copy(options->env) : NULL,
				    .run_number = ++context->last_run_number,
				    .options = {.timeout_ms = options->timeout_ms,
						.on_event = options->on_event,
						.on_end = options->on_end,
						.data = options->data}};
	/* Starts the run by a timer, so that no callback is called before the caller has *ret_run. */
	run->start_timer = loop_add_timer(context->loop, 0, run_on_start_timer, run);
	if (!run->code || (options->env && !run->env) || !run->start_timer) {
		run_free(run);
		return -ENOMEM;
	}
	slist_append(context->first_run, run, next);
	context->run_count++;
	*ret_run = run;
	return 0;
}
