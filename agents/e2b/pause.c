/*
 * Pauses of sandboxes: their programs are stopped, and requests for them are refused until the client connects again.
 * The memory of a paused sandbox stays in use and counts for its key.
 */
#include "agents/e2b/private.h"

static const char *const pause_state_names[] = {[PAUSE_NONE] = "running",
						[PAUSE_BEGINS] = "being paused",
						[PAUSE_LASTS] = "paused",
						[PAUSE_ENDS] = "being resumed"};

static void pause_on_request_gone(void *data, bool complete)
{
	struct e2b_sandbox *box = data;

	(void)complete;
	box->pause_request = NULL;
}

/*
 * Lets the request wait until the sandbox is paused or resumed. request NULL: no client has asked for the pause,
 * because the sandbox's timeout has begun it.
 */
static void pause_await_answer(struct e2b_sandbox *box, enum pause_state state, struct http_request *request)
{
	box->pause_state = state;
	box->pause_request = request;
	if (request)
		http_set_owner(request, pause_on_request_gone, box);
}

/* Logs an event about the pausing of a sandbox. */
static void pause_log_event(const struct e2b_sandbox *box, const char *event)
{
	log_event(event, json_pack("{s:s, s:s, s:s}", "sandbox", box->id, "key", box->key->name, "session",
				   sandbox_get_id(box->sandbox)));
}

/* The programs are stopped: the sandbox's time to live stops, too. */
static void pause_on_paused(struct e2b_sandbox *box, struct http_request *request)
{
	loop_cancel_timer(box->end_timer);
	box->end_timer = NULL;
	pause_log_event(box, "sandbox_pause");
	if (request)
		http_answer(request, 204, NULL, "", 0);
}

/* The programs run again: the sandbox's time to live begins anew. */
static void pause_on_resumed(struct e2b_sandbox *box, struct http_request *request)
{
	e2b_sandbox_set_end_time(box, e2b_get_real_time_ms() + box->timeout_ms);
	pause_log_event(box, "sandbox_resume");
	if (request)
		http_answer_json(request, 201, e2b_sandbox_describe(box));
}

void pause_on_answer(void *data, bool is_paused, const char *why)
{
	struct e2b_sandbox *box = data;
	struct http_request *request = e2b_sandbox_take_pause_request(box);
	const bool was_beginning = box->pause_state == PAUSE_BEGINS;

	box->pause_state = is_paused ? PAUSE_LASTS : PAUSE_NONE;
	if (was_beginning && is_paused) {
		pause_on_paused(box, request);
	} else if (was_beginning) {
		if (request)
			e2b_answer_error(request, 503, "the sandbox cannot be paused now: %s",
					 why ? why : "it does not stop");
		if (!box->end_timer) /* the sandbox's timeout has expired */
			e2b_sandbox_end(box, "timeout");
	} else if (!is_paused) {
		pause_on_resumed(box, request);
	} else if (request) {
		e2b_answer_error(request, 503, "the sandbox cannot be resumed");
	}
}

void pause_begin(struct e2b_sandbox *box, struct http_request *request)
{
	if (box->pause_state != PAUSE_NONE) {
		if (request)
			e2b_answer_error(request, 409, "the sandbox is %s", pause_state_names[box->pause_state]);
		return;
	}
	e2b_calls_abort_all(box);
	if (sandbox_pause(box->sandbox) == 0) {
		pause_await_answer(box, PAUSE_BEGINS, request);
		return;
	}
	if (request)
		e2b_answer_error(request, 503, "the sandbox has ended, or is too busy to be paused");
	else
		e2b_sandbox_end(box, "timeout");
}

void pause_end(struct e2b_sandbox *box, struct http_request *request, int64_t timeout_ms)
{
	if (box->pause_state != PAUSE_LASTS) {
		e2b_answer_error(request, 409, "the sandbox is %s", pause_state_names[box->pause_state]);
	} else if (sandbox_resume(box->sandbox) == 0) {
		box->timeout_ms = timeout_ms;
		pause_await_answer(box, PAUSE_ENDS, request);
	} else {
		e2b_answer_error(request, 503, "the sandbox has ended, or is too busy to be resumed");
	}
}

bool pause_refuses_request(const struct e2b_sandbox *box, struct http_request *request)
{
	if (box->pause_state == PAUSE_NONE)
		return false;
	http_answer_json(request, 502,
			 json_pack("{s:o, s:s, s:i}", "message",
				   json_sprintf("The sandbox is %s", pause_state_names[box->pause_state]), "sandboxId",
				   box->id, "code", 502));
	return true;
}
