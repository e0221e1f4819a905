#include "agents/e2b/contexts.h"

#include <stdlib.h>
#include <string.h>

#include "agents/slist.h"

void execution_free(struct execution *execution)
{
	sandbox_look_free(execution->look);
	if (execution->run) {
		e2b_tell_changes_unknown(execution->context->box, execution->context->language, execution->looked);
		context_run_free(execution->run);
	}
	json_decref(execution->env);
	json_decref(execution->looked);
	free(execution->code);
	free(execution->refusal);
	free(execution);
}

void e2b_context_free(struct e2b_context *context)
{
	slist_remove(context->box->contexts, context, next);
	while (context->executions) {
		struct execution *execution = context->executions;

		context->executions = execution->next;
		e2b_call_abort(execution->call);
		execution_free(execution);
	}
	if (context->interpreter)
		context_free(context->interpreter);
	free(context->cwd);
	free(context);
}

struct e2b_context *e2b_context_add(struct e2b_sandbox *box, const char *language, const char *cwd)
{
	struct e2b_context *context = calloc(1, sizeof(*context));

	if (!context)
		return NULL;
	context->box = box;
	context->language = language;
	context->cwd = e2b_make_path_absolute(cwd);
	if (!context->cwd || !keys_make_random_id(context->id)) {
		free(context->cwd);
		free(context);
		return NULL;
	}
	slist_append(box->contexts, context, next);
	return context;
}

int e2b_context_start_interpreter(struct e2b_context *context)
{
	bool is_python = strcmp(context->language, "python") == 0;
	const struct context_options options = {
		.language = context->language,
		.cwd = context->cwd,
		.interpreter = is_python ? context->box->template->python_interpreter : NULL,
		.modules_to_import = is_python ? (const char *const *)context->box->template->preloaded_modules : NULL};

	return context->interpreter ? 0
				    : context_create(context->box->e2b->loop, context->box->sandbox, &options,
						     &context->interpreter);
}

void contexts_free_all(struct e2b_sandbox *box)
{
	while (box->contexts)
		e2b_context_free(box->contexts);
}

struct e2b_context *e2b_context_find(const struct e2b_sandbox *box, const char *id)
{
	struct e2b_context *context = box->contexts;

	while (context && strcmp(context->id, id) != 0)
		context = context->next;
	return context;
}

json_t *e2b_context_describe(const struct e2b_context *context)
{
	return json_pack("{s:s, s:s, s:s}", "id", context->id, "language", context->language, "cwd", context->cwd);
}

struct e2b_context *e2b_context_get_default(struct e2b_sandbox *box, const char *language)
{
	struct e2b_context *context = box->contexts;

	while (context && !(context->is_default && strcmp(context->language, language) == 0))
		context = context->next;
	if (!context)
		context = e2b_context_add(box, language, E2B_WORKDIR);
	if (context)
		context->is_default = true;
	return context;
}

void e2b_context_add_defaults(struct e2b_sandbox *box)
{
	(void)e2b_context_get_default(box, "python");
	(void)e2b_context_get_default(box, "javascript");
}

void contexts_start_default_python(struct e2b_sandbox *box)
{
	struct e2b_context *context;

	e2b_context_add_defaults(box);
	context = e2b_context_get_default(box, "python");
	if (context) /* after a failure, the first code to run tries again, and gets the error */
		(void)e2b_context_start_interpreter(context);
}
