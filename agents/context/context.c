/* Contexts: makes, frees and restarts them, and takes the code that they are to run. */
#include "agents/context/context.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "agents/context/private.h"
#include "agents/slist.h"
#include "base/cleanup.h"
#include "base/text.h"

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
	*context = (struct context){.loop = loop,
				    .sandbox = sandbox,
				    .language = language,
				    .callbacks = &interpreter_reports,
				    .reference_count = 1};
	r = context_copy_options(context, options);
	if (r == 0)
		r = interpreter_start(context);
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
	r = interpreter_start(context);
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
