/* Contexts: the queue of runs, what the interpreter tells of them, and its end. */
#include "agents/context/context.h"

#include <ctype.h>
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agents/context/private.h"
#include "base/cleanup.h"
#include "base/text.h"

static void context_go_on(struct context *context);
static void context_on_start_failed(struct context *context, int error);
static int context_start_interpreter(struct context *context);

/* ---- references: callbacks may free the context ---- */

static void context_release(struct context *context)
{
	if (--context->references > 0)
		return;
	for (int i = 0; i < SANDBOX_STREAM_MAX; i++)
		frames_release(&context->frames[i]);
	free(context->cwd);
	free(context->interpreter);
	free(context->death);
	json_decref(context->env);
	json_decref(context->warm);
	free(context);
}

/* ---- one run ---- */

static void run_free(struct context_run *run)
{
	loop_cancel(run->timer);
	loop_cancel(run->start);
	free(run->code);
	json_decref(run->env);
	free(run);
}

static void run_forget_context(struct context_run *run)
{
	run->context = NULL;
	loop_cancel(run->timer);
	loop_cancel(run->start);
	run->timer = run->start = NULL;
}

/* Finds a run after callbacks that may have ended and freed it. NULL: it has ended. */
static struct context_run *context_find_run(const struct context *context, unsigned number)
{
	struct context_run *run = context->is_freed ? NULL : context->run;

	while (run && run->number != number)
		run = run->next;
	return run;
}

/* Tells an event, and drops the reference to it. False: the callback has freed the context or ended its interpreter. */
static bool run_tell(struct context_run *run, json_t *event)
{
	struct context *context = run->context;
	const unsigned generation = context->generation;
	bool goes_on;

	context->references++;
	if (event && !run->is_abandoned)
		run->options.on_event(run->options.data, event);
	json_decref(event);
	goes_on = !context->is_freed && context->generation == generation;
	context_release(context);
	return goes_on;
}

static bool __attribute__((format(printf, 3, 4))) run_tell_error(struct context_run *run, const char *name,
								 const char *format, ...)
{
	va_list arguments;
	json_t *value;

	va_start(arguments, format);
	value = json_vsprintf(format, arguments);
	va_end(arguments);
	run->has_failed = true;
	return run_tell(run, json_pack("{s:s, s:s, s:o, s:s}", "type", "error", "name", name, "value", value,
				       "traceback", ""));
}

/* Takes a run out of the queue and tells its end. */
static void run_end(struct context_run *run)
{
	struct context *context = run->context;
	struct context_run **at = &context->run;
	const bool was_first = *at == run;

	while (*at != run)
		at = &(*at)->next;
	*at = run->next;
	context->run_count--;
	run_forget_context(run);
	if (was_first && context->program)
		sandbox_program_pause(context->program, false);
	if (run->is_abandoned)
		run_free(run);
	else
		run->options.on_end(run->options.data);
}

/* Ends a run by an error, and begins the next one. */
static void context_fail_run(struct context *context, struct context_run *run, const char *name, const char *reason)
{
	const unsigned number = run->number;

	context->references++;
	(void)run_tell_error(run, name, "%s", reason);
	run = context_find_run(context, number);
	if (run)
		run_end(run);
	if (!context->is_freed)
		context_go_on(context);
	context_release(context);
}

/* ---- timeouts and interrupts ---- */

static void run_kill_interpreter(void *data)
{
	struct context_run *run = data;

	run->timer = NULL;
	interpreter_signal(run->context, SIGKILL);
}

/* SIGINT now, SIGKILL after CONTEXT_GRACE_MS. */
static void run_stop(struct context_run *run)
{
	struct context *context = run->context;

	loop_cancel(run->timer);
	run->timer = NULL;
	if (!context->program)
		return;
	if (run->has_begun)
		interpreter_signal(context, SIGINT);
	sandbox_program_pause(context->program, false);
	run->timer = loop_after(context->loop, CONTEXT_GRACE_MS, run_kill_interpreter, run);
	if (!run->timer)
		interpreter_signal(context, SIGKILL);
}

static void run_on_timeout(void *data)
{
	struct context_run *run = data;

	run->timer = NULL;
	run->has_timed_out = run->was_interrupted = true;
	run_stop(run);
}

void context_interrupt(struct context_run *run)
{
	struct context *context = run->context;

	if (!context)
		return;
	run->was_interrupted = true;
	if (run->is_sent) {
		if (run->has_begun)
			interpreter_signal(context, SIGINT);
		return;
	}
	context_fail_run(context, run, "KeyboardInterrupt", "interrupted before it began");
}

void context_run_pause(struct context_run *run, bool paused)
{
	struct context *context = run->context;

	if (context && context->run == run && context->program)
		sandbox_program_pause(context->program, paused);
}

void context_run_free(struct context_run *run)
{
	if (!run)
		return;
	if (!run->context) {
		run_free(run);
		return;
	}
	run->is_abandoned = true;
	if (run->is_sent) {
		run_stop(run);
	} else {
		struct context *context = run->context;

		run_end(run);
		context_go_on(context);
	}
}

/* ---- the queue ---- */

bool context_is_ready(const struct context *context)
{
	return context->is_ready && !context->run;
}

/* Tells the first run that the interpreter has died while nothing ran. False: the callback has changed everything. */
static bool context_tell_death(struct context *context)
{
	_cleanup_free_ char *death = steal_pointer(&context->death);
	json_t *note;

	if (!death)
		return true;
	note = json_pack("{s:s, s:s+}", "type", "stderr", "text", death, ": another one was started\n");
	return run_tell(context->run, note);
}

/* Begins the first run, if it can. */
static void context_go_on(struct context *context)
{
	struct context_run *run = context->run;
	int r;

	if (!run || run->is_sent)
		return;
	if (!run->timer && run->options.timeout_ms > 0 && !run->has_timed_out)
		run->timer = loop_after(context->loop, run->options.timeout_ms, run_on_timeout, run);
	if (!context->program) {
		r = context_start_interpreter(context);
		if (r < 0)
			context_on_start_failed(context, r);
	} else if (context->is_ready) {
		const unsigned number = run->number;

		run->is_sent = true; /* an interrupt from now on is for the interpreter */
		if (context_tell_death(context) && context_find_run(context, number))
			interpreter_send_run(context);
	}
}

static void context_on_start_failed(struct context *context, int error)
{
	context_fail_run(context, context->run, "InterpreterFailed",
			 error == -ENOTCONN ? "the sandbox has ended" : strerror(-error));
}

/* ---- what the interpreter says ---- */

/* The stream on which something was said, and to whom. */
struct listener {
	struct context *context;
	enum sandbox_stream stream;
};

static bool listener_on_output(void *data, const char *bytes, size_t len)
{
	const struct listener *listener = data;
	struct context_run *run = listener->context->run;

	/* Between runs it is nobody's: of processes that a run has left, or of the interpreter's start. */
	if (!run || !run->is_sent || run->has_ended_on[listener->stream])
		return true;
	return run_tell(run, event_make_output(listener->stream, bytes, len));
}

static void run_on_begin(struct context_run *run)
{
	if (run->has_begun)
		return;
	run->has_begun = true;
	if (run->was_interrupted || run->is_abandoned)
		interpreter_signal(run->context, SIGINT);
}

/* Tells what was denied to a run. False: the callback has changed everything. */
static bool run_tell_denials(struct context_run *run, const json_t *denials)
{
	if (json_array_size(denials) == 0)
		return true;
	return run_tell(run, json_pack("{s:s, s:O}", "type", "denials", "denials", denials));
}

/* All that is to be told about the first run was told. */
static void context_on_run_end(struct context *context)
{
	struct context_run *run = context->run;

	if (run->has_timed_out && !run->has_failed) {
		context_fail_run(context, run, "TimeoutError", "it took too long");
		return;
	}
	context->references++;
	run_end(run);
	if (!context->is_freed)
		context_go_on(context);
	context_release(context);
}

/* An error of code that has run too long is called by its cause. */
static void run_explain_error(struct context_run *run, json_t *event)
{
	if (!run->has_timed_out)
		return;
	(void)json_object_set_new(event, "name", json_string("TimeoutError"));
	(void)json_object_set_new(event, "value",
				  json_sprintf("it took longer than %llu ms",
					       (unsigned long long)run->options.timeout_ms));
}

/* What the interpreter has asked for before it was ready (configuration in the home, say) is no run's doing. */
static void context_on_denials(void *data, const json_t *denials)
{
	struct context *context = data;
	struct context_run *run = context->run;
	unsigned number;

	context->references++;
	if (!context->is_ready) {
		context->is_ready = true;
		context_go_on(context);
	} else if (run && run->awaits_denials) {
		number = run->number;
		if (run_tell_denials(run, denials) && context_find_run(context, number))
			context_on_run_end(context);
	}
	context_release(context);
}

static bool context_on_ready(struct context *context, enum sandbox_stream stream)
{
	const unsigned generation = context->generation;

	if (context->is_ready_on[stream])
		return true;
	context->is_ready_on[stream] = true;
	if (context->is_ready_on[SANDBOX_STDOUT] && context->is_ready_on[SANDBOX_STDERR] &&
	    sandbox_program_ask_denials(context->program) < 0)
		context_on_denials(context, NULL);
	return !context->is_freed && context->generation == generation;
}

static bool context_on_end_event(struct context *context, enum sandbox_stream stream, const json_t *event)
{
	struct context_run *run = context->run;
	const unsigned generation = context->generation;

	if (!run || !run->is_sent ||
	    json_integer_value(json_object_get(event, "run")) != (json_int_t)run->number)
		return true;
	if (run->has_ended_on[stream])
		return true;
	run->has_ended_on[stream] = true;
	if (run->has_ended_on[SANDBOX_STDOUT] && run->has_ended_on[SANDBOX_STDERR]) {
		run->awaits_denials = true; /* all its output and events were told */
		loop_cancel(run->timer);
		run->timer = NULL;
		if (sandbox_program_ask_denials(context->program) < 0)
			context_on_run_end(context);
	}
	return !context->is_freed && context->generation == generation;
}

static bool listener_on_line(void *data, const char *line, size_t len)
{
	const struct listener *listener = data;
	struct context *context = listener->context;
	struct context_run *run = context->run;
	_cleanup_json_ json_t *event = event_parse(line, len);
	const char *type = json_string_value(json_object_get(event, "type"));

	if (!type)
		return true;
	if (strcmp(type, "ready") == 0)
		return context_on_ready(context, listener->stream);
	if (strcmp(type, "end") == 0)
		return context_on_end_event(context, listener->stream, event);
	if (!run || !run->is_sent || run->has_ended_on[listener->stream])
		return true;
	if (strcmp(type, "number_of_executions") == 0)
		run_on_begin(run);
	if (strcmp(type, "error") == 0) {
		run->has_failed = true;
		run_explain_error(run, event);
	}
	return run_tell(run, json_incref(event));
}

static void context_on_output(void *data, enum sandbox_stream stream, const char *bytes, size_t len)
{
	struct listener listener = {.context = data, .stream = stream};
	const struct frames_handler handler = {.on_output = listener_on_output, .on_line = listener_on_line,
					       .data = &listener};

	listener.context->references++;
	(void)frames_read(&listener.context->frames[stream], &handler, bytes, len);
	context_release(listener.context);
}

/* How an interpreter has ended, for people; owned. NULL: there is no memory. */
static char *make_death(const json_t *result)
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

/* Lets the next run be told; takes the text. */
static void context_note_death(struct context *context, char *death)
{
	free(context->death);
	context->death = death;
}

/* The interpreter has died: goes on with the first run. *death is taken if it is to be told later. */
static void context_go_on_after_death(struct context *context, bool was_ready, char **death)
{
	struct context_run *run = context->run;

	if (run->awaits_denials) {
		context_note_death(context, steal_pointer(death));
		context_on_run_end(context);
	} else if (run->has_timed_out) {
		context_fail_run(context, run, "TimeoutError", "it took too long, and did not end when interrupted");
	} else if (was_ready && !run->has_begun && !run->is_second_try) {
		run->is_second_try = true; /* another interpreter runs it */
		run->is_sent = false;
		context_note_death(context, steal_pointer(death));
		context_go_on(context);
	} else {
		context_fail_run(context, run, was_ready ? "InterpreterDied" : "InterpreterFailed",
				 *death ? *death : "the interpreter has ended");
	}
}

static void context_on_end(void *data, const json_t *result)
{
	struct context *context = data;
	struct context_run *run = context->run;
	const bool was_ready = context->is_ready;
	const unsigned number = run ? run->number : 0;
	_cleanup_free_ char *death = make_death(result);

	interpreter_forget(context);
	if (!run) {
		context_note_death(context, steal_pointer(&death));
		return;
	}
	context->references++;
	if (run_tell_denials(run, json_object_get(result, "denials")) && context_find_run(context, number))
		context_go_on_after_death(context, was_ready, &death);
	context_release(context);
}

static int context_start_interpreter(struct context *context)
{
	static const struct interpreter_callbacks callbacks = {context_on_output, context_on_denials, context_on_end};

	return interpreter_start(context, &callbacks);
}

/* ---- the context ---- */

static int context_copy_options(struct context *context, const struct context_options *options)
{
	context->is_fresh = options->is_fresh && strcmp(options->language, "python") == 0;
	context->warm = json_array();
	context->cwd = options->cwd ? strdup(options->cwd) : NULL;
	context->interpreter = options->interpreter ? strdup(options->interpreter) : NULL;
	context->env = options->env ? json_deep_copy(options->env) : NULL;
	for (const char *const *module = options->warm; module && *module; module++)
		if (json_array_append_new(context->warm, json_string(*module)) < 0)
			return -EILSEQ;
	return (!options->cwd || context->cwd) && (!options->interpreter || context->interpreter) &&
			       (!options->env || context->env) && context->warm
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
	*context = (struct context){.loop = loop, .sandbox = sandbox, .language = language, .references = 1};
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
	interpreter_forget(context);
	while ((run = context->run)) {
		context->run = run->next;
		run_forget_context(run);
		if (run->is_abandoned)
			run_free(run);
	}
	context_release(context);
}

void context_restart(struct context *context)
{
	const unsigned last = context->last_number;
	struct context_run *run;
	unsigned number;
	int r;

	context->references++;
	interpreter_forget(context);
	free(context->death);
	context->death = NULL;
	r = context_start_interpreter(context);
	while (!context->is_freed && context->run && context->run->number <= last) {
		run = context->run;
		number = run->number;
		(void)run_tell_error(run, "ContextRestarted", "the context was restarted");
		run = context_find_run(context, number);
		if (run)
			run_end(run);
	}
	if (!context->is_freed && r == 0)
		context_go_on(context);
	context_release(context);
}

/* ---- new runs ---- */

static bool variables_are_valid(const json_t *env)
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

static void context_start_queue(void *data)
{
	struct context_run *run = data;

	run->start = NULL;
	if (run->context->run == run)
		context_go_on(run->context);
}

int context_run_code(struct context *context, const struct context_run_options *options,
		     struct context_run **ret_run)
{
	struct context_run *run, **at = &context->run;

	if (context->run_count >= CONTEXT_RUNS_MAX)
		return -EAGAIN;
	if (strlen(options->code) > CONTEXT_CODE_BYTES_MAX)
		return -EMSGSIZE;
	if (!text_is_utf8(options->code, strlen(options->code)))
		return -EILSEQ;
	if (options->env && (!json_is_object(options->env) || !variables_are_valid(options->env)))
		return -EINVAL;
	run = calloc(1, sizeof(*run));
	if (!run)
		return -ENOMEM;
	*run = (struct context_run){
		.context = context, .code = strdup(options->code),
		.env = options->env ? json_deep_copy(options->env) : NULL, .number = ++context->last_number,
		.options = {.timeout_ms = options->timeout_ms, .on_event = options->on_event,
			    .on_end = options->on_end, .data = options->data}};
	/* From the loop, so that no callback comes before the caller has *ret_run. */
	run->start = loop_after(context->loop, 0, context_start_queue, run);
	if (!run->code || (options->env && !run->env) || !run->start) {
		run_free(run);
		return -ENOMEM;
	}
	while (*at)
		at = &(*at)->next;
	*at = run;
	context->run_count++;
	*ret_run = run;
	return 0;
}
