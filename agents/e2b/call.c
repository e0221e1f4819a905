/* Calls: clients' requests that wait for something in a sandbox. They end with the client or with the sandbox. */
#include <stdlib.h>
#include <string.h>

#include "agents/e2b/private.h"
#include "agents/slist.h"

static void e2b_call_free(struct e2b_call *call)
{
	slist_remove(call->box->calls, call, next);
	loop_cancel_timer(call->ping_timer);
	json_decref(call->ping_message);
	free(call);
}

/* The client is gone: the call is cancelled. */
static void e2b_call_on_request_done(void *data, bool complete)
{
	struct e2b_call *call = data;

	(void)complete;
	call->request = NULL;
	call->on_cancel(call->data);
	e2b_call_free(call);
}

struct e2b_call *e2b_call_create(struct e2b_sandbox *box, struct http_request *request, void (*on_cancel)(void *data),
				 void *data)
{
	struct e2b_call *call = calloc(1, sizeof(*call));

	if (!call)
		return NULL;
	call->box = box;
	call->request = request;
	call->on_cancel = on_cancel;
	call->data = data;
	call->next = box->calls;
	box->calls = call;
	http_set_owner(request, e2b_call_on_request_done, call);
	return call;
}

void e2b_call_finish(struct e2b_call *call)
{
	if (call->request)
		http_set_owner(call->request, NULL, NULL);
	e2b_call_free(call);
}

void e2b_call_abort(struct e2b_call *call)
{
	struct http_request *request = call->request;

	e2b_call_finish(call);
	if (request)
		http_abort(request);
}

/* For calls that have nothing to stop. */
static void e2b_call_ignore_cancel(void *data)
{
	(void)data;
}

void e2b_call_read_body(struct e2b_sandbox *box, struct http_request *request,
			void (*on_body)(void *call, struct http_request *request, const char *bytes, size_t len))
{
	struct e2b_call *call = e2b_call_create(box, request, e2b_call_ignore_cancel, NULL);

	if (call)
		http_read_body(request, E2B_BODY_BYTES_MAX, on_body, call);
	else
		http_abort(request);
}

void e2b_calls_abort_all(struct e2b_sandbox *box)
{
	while (box->calls) {
		struct e2b_call *call = box->calls;

		call->on_cancel(call->data);
		e2b_call_abort(call);
	}
}

/* Adds a request's variables. False: one is none, or there is no memory. */
static bool environment_add(json_t *env, const json_t *request_env)
{
	const json_t *value;
	const char *name;

	json_object_foreach((json_t *)(uintptr_t)request_env, name, value)
	{
		if (!json_is_string(value) || !*name || strchr(name, '=') ||
		    json_object_set(env, name, (json_t *)(uintptr_t)value) < 0)
			return false;
	}
	return true;
}

/* A variable that is left out for lack of memory would make what was looked at differ from what is started. */
json_t *e2b_make_environment(const struct e2b_sandbox *box, const json_t *request_env)
{
	json_t *env = json_object();

	if ((box->template->env && json_object_update(env, box->template->env) < 0) ||
	    (box->env && json_object_update(env, box->env) < 0) || !environment_add(env, request_env)) {
		json_decref(env);
		return NULL;
	}
	return env;
}
