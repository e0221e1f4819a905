/*
 * The code interpreter of the protocol: makes contexts in a sandbox, and runs code in them. The answer to /execute is a
 * stream of events, each a line of JSON.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agents/e2b/contexts.h"
#include "agents/slist.h"
#include "base/cleanup.h"

/* ---- errors, and names of languages ---- */

/* Returns the language that a client's name, such as "js", stands for. NULL: the server does not have it. */
static const char *language_find_by_alias(const char *name)
{
	static const char *const names[][2] = {
		{"python", "python"}, {"python3", "python"},        {"javascript", "javascript"},
		{"js", "javascript"}, {"node", "javascript"},       {"bash", "bash"},
		{"sh", "bash"},       {"typescript", "typescript"}, {"ts", "typescript"},
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(names[i][0], name) == 0)
			return names[i][1];
	return NULL;
}

static void interpreter_answer_error(struct http_request *request, unsigned status, const char *text)
{
	http_answer(request, status, "text/plain; charset=utf-8", text, strlen(text));
}

static void interpreter_answer_not_found(struct http_request *request, const char *id)
{
	char text[128];

	(void)snprintf(text, sizeof(text), "Context %.64s not found", id);
	interpreter_answer_error(request, 404, text);
}

/* ---- running code in a context ---- */

static void executions_start_next(struct e2b_context *context);

static void execution_unlink(struct execution *execution)
{
	slist_remove(execution->context->executions, execution, next);
}

/* Sends an event to the client as a line. While the client does not read, the interpreter's output pauses. */
static void execution_write_event(struct execution *execution, const json_t *event)
{
	_cleanup_free_ char *text = json_dumps(event, JSON_COMPACT);

	if (!text)
		return;
	(void)http_write_stream(execution->call->request, text, strlen(text));
	if (!http_write_stream(execution->call->request, "\n", 1) && execution->run)
		context_run_pause_output(execution->run, true);
}

static void execution_on_room(void *data)
{
	struct execution *execution = data;

	if (execution->run)
		context_run_pause_output(execution->run, false);
}

/* Removes the quotes around a result that is a string, because E2B's own server does. */
static json_t *execution_strip_result_quotes(const json_t *event)
{
	const char *text = json_string_value(json_object_get(event, "text"));
	size_t len = text ? strlen(text) : 0;
	json_t *copy;

	if (len < 2 || text[0] != text[len - 1] || (text[0] != '\'' && text[0] != '"'))
		return json_incref((json_t *)(uintptr_t)event);
	copy = json_copy((json_t *)(uintptr_t)event);
	(void)json_object_set_new(copy, "text", json_stringn(text + 1, len - 2));
	return copy;
}

static void execution_on_event(void *data, const json_t *event)
{
	const char *type = json_string_value(json_object_get(event, "type"));
	bool is_result = type && strcmp(type, "result") == 0;
	_cleanup_json_ json_t *sent_event =
		is_result ? execution_strip_result_quotes(event) : json_incref((json_t *)(uintptr_t)event);

	execution_write_event(data, sent_event);
}

/* Ends the answer, and frees the execution. */
static void execution_end(struct execution *execution)
{
	_cleanup_json_ json_t *end = json_pack("{s:s}", "type", "end_of_execution");

	execution_write_event(execution, end);
	http_end_stream(execution->call->request);
	execution_unlink(execution);
	e2b_call_finish(execution->call);
	execution_free(execution);
}

static void execution_on_end(void *data)
{
	struct execution *execution = data;
	const struct e2b_context *context = execution->context;

	e2b_tell_changes(context->box, context->language, execution->looked, context->cwd);
	json_decref(execution->looked);
	execution->looked = NULL;
	execution_end(execution);
}

/* The client has hung up, or the sandbox ends: interrupts the code, so that the context is free for other code. */
static void execution_on_cancel(void *data)
{
	struct execution *execution = data;
	struct e2b_context *context = execution->context;

	execution_unlink(execution);
	execution_free(execution);
	executions_start_next(context);
}

/* Starts the context's interpreter, unless it runs, and queues the code. 0 or -errno. */
static int execution_run_code(struct execution *execution)
{
	const struct context_run_options options = {.code = execution->code,
						    .env = execution->env,
						    .on_event = execution_on_event,
						    .on_end = execution_on_end,
						    .data = execution};
	int error = e2b_context_start_interpreter(execution->context);

	return error < 0 ? error : context_run_code(execution->context->interpreter, &options, &execution->run);
}

/* Answers that the code cannot be run, and frees the execution. */
static void execution_answer_error(struct execution *execution, int error)
{
	struct http_request *request = execution->call->request;

	execution_unlink(execution);
	e2b_call_finish(execution->call);
	execution_free(execution);
	interpreter_answer_error(request,
				 error == -EAGAIN || error == -EUSERS ? 429
				 : error == -EINVAL                   ? 422
								      : 500,
				 error == -EAGAIN   ? "too many runs wait in this context"
				 : error == -EUSERS ? sandbox_describe_error(-error)
				 : error == -EINVAL ? "\"env_vars\" has a name or value that is no variable's"
						    : "the code could not be started");
}

/* Answers with an error, as code does that fails. Frees the execution. */
static void execution_refuse(struct execution *execution)
{
	const char *why = execution->refusal ? execution->refusal : E2B_REFUSAL_WITHOUT_MEMORY;
	_cleanup_json_ json_t *event =
		json_pack("{s:s, s:s, s:s, s:s}", "type", "error", "name", "Refused", "value", why, "traceback", why);

	http_begin_stream(execution->call->request, 200, "application/x-ndjson", -1, execution_on_room, execution);
	execution_write_event(execution, event);
	execution_end(execution);
}

/* Runs the code, or answers with an error. */
static void execution_start(struct execution *execution)
{
	const int error = execution->is_refused ? 0 : execution_run_code(execution);

	if (error < 0) {
		execution_answer_error(execution, error);
	} else if (execution->is_refused) {
		execution_refuse(execution);
	} else { /* the code runs now; its events are sent as they come */
		free(steal_pointer(&execution->code));
		http_begin_stream(execution->call->request, 200, "application/x-ndjson", -1, execution_on_room,
				  execution);
	}
}

/* Starts what was looked at, in the order in which it came: until what is still being looked at. */
static void executions_start_next(struct e2b_context *context)
{
	struct execution *execution = context->executions;

	while (execution && !execution->look) {
		const bool is_new = execution->code != NULL;

		if (is_new)
			execution_start(execution); /* which may end it */
		execution = is_new ? context->executions : execution->next;
	}
}

static void execution_on_looked(void *data, const json_t *answer, const char *why)
{
	struct execution *execution = data;
	struct e2b_context *context = execution->context;

	execution->look = NULL;
	execution->looked = json_incref((json_t *)(uintptr_t)answer);
	execution->is_refused = !e2b_judge_look(context->box, context->language, answer, why, &execution->refusal);
	executions_start_next(context);
}

/* Looks at the code first. 0 or -errno. */
static int execution_start_look(struct execution *execution)
{
	const struct e2b_context *context = execution->context;
	const struct sandbox_look_options options = {.callgate_path = context->box->e2b->options.callgate_path,
						     .owner = context->box->key,
						     .code = execution->code,
						     .language = context->language,
						     .env = execution->env,
						     .cwd = context->cwd,
						     .on_end = execution_on_looked,
						     .data = execution};

	return sandbox_look_start(context->box->sandbox, &options, &execution->look);
}

/* Adds a request to run code to the context's. NULL: no memory. */
static struct execution *execution_add(struct e2b_context *context, struct http_request *request, const char *code,
				       json_t *env)
{
	struct execution *execution = calloc(1, sizeof(*execution));

	if (!execution)
		return NULL;
	execution->context = context;
	execution->code = strdup(code);
	execution->env = json_incref(env);
	execution->call =
		execution->code ? e2b_call_create(context->box, request, execution_on_cancel, execution) : NULL;
	if (!execution->call) {
		execution_free(execution);
		return NULL;
	}
	slist_append(context->executions, execution, next);
	return execution;
}

/* Runs code in a context, and answers with its events as they come, or with an error. */
static void execution_begin(struct e2b_context *context, struct http_request *request, const char *code, json_t *env)
{
	struct execution *execution = NULL;
	const size_t running = slist_count(context->executions, next);
	int error = running < CONTEXT_RUNS_MAX ? -ENOMEM : -EAGAIN;

	if (error == -ENOMEM)
		execution = execution_add(context, request, code, env);
	if (!execution) {
		interpreter_answer_error(request, error == -EAGAIN ? 429 : 500,
					 error == -EAGAIN ? "too many runs wait in this context"
							  : "the code could not be started");
		return;
	}
	error = sandbox_wants_looks(context->box->sandbox) ? execution_start_look(execution) : 0;
	if (error < 0)
		execution_answer_error(execution, error);
	else
		executions_start_next(context);
}

static const char unknown_language_message[] =
	"this server has no such language: it has python, javascript, typescript and bash";

/*
 * Finds the context that a request names, else the default one of its language, else that of Python. NULL: there is
 * none, and an error was answered.
 */
static struct e2b_context *execution_find_context(struct e2b_sandbox *box, struct http_request *request,
						  const json_t *body)
{
	const char *id = json_string_value(json_object_get(body, "context_id"));
	const char *name = json_string_value(json_object_get(body, "language"));
	const char *language = language_find_by_alias(name ? name : "python");
	struct e2b_context *context = NULL;

	if (id && name) {
		interpreter_answer_error(request, 400, "Only one of context_id or language can be provided");
	} else if (id) {
		context = e2b_context_find(box, id);
		if (!context)
			interpreter_answer_not_found(request, id);
	} else if (!language) {
		interpreter_answer_error(request, 400, unknown_language_message);
	} else {
		context = e2b_context_get_default(box, language);
		if (!context)
			interpreter_answer_error(request, 500, "the server has no memory");
	}
	return context;
}

static void interpreter_execute_code(struct e2b_sandbox *box, struct http_request *request, const json_t *body)
{
	const char *code = json_string_value(json_object_get(body, "code"));
	const json_t *vars = json_object_get(body, "env_vars");
	_cleanup_json_ json_t *env = e2b_make_environment(box, vars);
	struct e2b_context *context;

	if (!code || !env) {
		interpreter_answer_error(request, 422, "\"code\" must be a text, and \"env_vars\" an object of texts");
		return;
	}
	context = execution_find_context(box, request, body);
	if (context)
		execution_begin(context, request, code, env);
}

/* ---- requests ---- */

static void interpreter_create_context(struct e2b_sandbox *box, struct http_request *request, const json_t *body)
{
	const char *name = json_string_value(json_object_get(body, "language"));
	const char *cwd = json_string_value(json_object_get(body, "cwd"));
	const char *language = language_find_by_alias(name ? name : "python");
	struct e2b_context *context = NULL;

	e2b_context_add_defaults(box); /* before the new context, so that they are the first ones listed */
	if (!language)
		interpreter_answer_error(request, 400, unknown_language_message);
	else if (slist_count(box->contexts, next) >= E2B_CONTEXTS_MAX)
		interpreter_answer_error(request, 429, "the sandbox has as many contexts as it may have");
	else if (!(context = e2b_context_add(box, language, cwd ? cwd : E2B_WORKDIR)))
		interpreter_answer_error(request, 500, "the server has no memory");
	if (!context)
		return;
	if (e2b_context_start_interpreter(context) == 0) {
		http_answer_json(request, 200, e2b_context_describe(context));
		return;
	}
	e2b_context_free(context);
	interpreter_answer_error(request, 500, "the interpreter could not be started");
}

static void interpreter_list_contexts(struct e2b_sandbox *box, struct http_request *request)
{
	json_t *list = json_array();

	e2b_context_add_defaults(box);
	for (const struct e2b_context *context = box->contexts; context; context = context->next)
		(void)json_array_append_new(list, e2b_context_describe(context));
	http_answer_json(request, 200, list);
}

static void interpreter_on_body(void *data, struct http_request *request, const char *bytes, size_t len)
{
	struct e2b_call *call = data;
	struct e2b_sandbox *box = call->box;
	_cleanup_json_ json_t *body = NULL;

	e2b_call_finish(call);
	body = e2b_parse_body(request, bytes, len);
	if (!body)
		return;
	if (strcmp(http_get_path(request), "/execute") == 0)
		interpreter_execute_code(box, request, body);
	else
		interpreter_create_context(box, request, body);
}

void interpreter_handle_request(struct e2b_sandbox *box, struct http_request *request)
{
	const char *path = http_get_path(request), *method = http_get_method(request);
	bool is_post = strcmp(method, "POST") == 0;
	char part[HTTP_PATH_WILDCARDS_MAX][HTTP_PATH_WILDCARD_SIZE];
	struct e2b_context *context = NULL;

	if (strcmp(method, "GET") == 0 && strcmp(path, "/health") == 0) {
		http_answer_json(request, 200, json_string("OK"));
	} else if (is_post && (strcmp(path, "/execute") == 0 || strcmp(path, "/contexts") == 0)) {
		e2b_call_read_body(box, request, interpreter_on_body);
	} else if (strcmp(method, "GET") == 0 && strcmp(path, "/contexts") == 0) {
		interpreter_list_contexts(box, request);
	} else if (!(is_post && http_match_path("/contexts/{}/restart", path, part)) &&
		   !(strcmp(method, "DELETE") == 0 && http_match_path("/contexts/{}", path, part))) {
		interpreter_answer_error(request, 404, "Not Found");
	} else if (!(context = e2b_context_find(box, part[0]))) {
		interpreter_answer_not_found(request, part[0]);
	} else {
		if (!is_post)
			e2b_context_free(context);
		else if (context->interpreter)
			context_restart(context->interpreter);
		http_answer_json(request, 200, json_null());
	}
}
