/* The sandboxes of the server: makes, finds, describes and ends them. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agents/e2b/private.h"
#include "agents/slist.h"
#include "base/cleanup.h"
#include "base/text.h"

#define SANDBOX_ARGUMENTS_MAX 220u      /* most arguments of `callgate session create` */
#define SANDBOX_SETUP_TIMEOUT_MS 60000u /* time that a template's setup command may take in a new sandbox */

struct e2b_sandbox *e2b_sandbox_find(struct e2b *e2b, const char *id)
{
	struct e2b_sandbox *found = NULL;

	for (struct e2b_sandbox *box = e2b->sandboxes; id && box; box = box->next)
		if (keys_equal_in_constant_time(box->id, id)) /* so that an id cannot be guessed letter by letter */
			found = box;
	return found && found->is_ready ? found : NULL;
}

void e2b_sandbox_unlink(struct e2b_sandbox *box)
{
	struct e2b_sandbox **list = box->is_spare ? &box->e2b->spares : &box->e2b->sandboxes;

	if (!slist_remove(*list, box, next))
		return;
	if (box->is_spare) {
		box->template->spare_count--;
		return;
	}
	box->e2b->sandbox_count--;
	box->e2b->starting_sandbox_count -= !box->is_ready;
	keys_return_quota(box->key, box->template);
}

void e2b_sandbox_free(struct e2b_sandbox *box)
{
	struct e2b *e2b = box->e2b;

	e2b_sandbox_unlink(box);
	loop_cancel_timer(box->end_timer);
	contexts_free_all(box);
	watchers_free_all(box);
	processes_end_all(box);
	e2b_changes_free_all(box);
	e2b_calls_abort_all(box);
	sandbox_free(box->sandbox);
	json_decref(box->metadata);
	json_decref(box->env);
	json_decref(box->allow_internet_access);
	free(box);
	if (!e2b->is_stopping)
		e2b->on_room(e2b);
}

struct http_request *e2b_sandbox_take_pause_request(struct e2b_sandbox *box)
{
	struct http_request *request = box->pause_request;

	box->pause_request = NULL;
	if (request)
		http_set_owner(request, NULL, NULL);
	return request;
}

void e2b_sandbox_end(struct e2b_sandbox *box, const char *reason)
{
	struct http_request *creator = steal_pointer(&box->create_request);
	struct http_request *pausing = e2b_sandbox_take_pause_request(box);

	if (!box->is_spare)
		log_event("sandbox_end",
			  json_pack("{s:s, s:s, s:s, s:s*, s:I}", "sandbox", box->id, "key", box->key->name, "reason",
				    reason, "session", box->sandbox ? sandbox_get_id(box->sandbox) : NULL, "age_ms",
				    (json_int_t)(e2b_get_real_time_ms() - box->start_time_ms)));
	if (creator) {
		http_set_owner(creator, NULL, NULL);
		e2b_answer_error(creator, 503, "the sandbox ended before it was ready: %s", reason);
	}
	if (pausing)
		e2b_answer_error(pausing, 404, "the sandbox has ended: %s", reason);
	e2b_sandbox_free(box);
}

/* The sandbox has lived its time: pauses or ends it. */
static void e2b_sandbox_on_timeout(void *data)
{
	struct e2b_sandbox *box = data;

	box->end_timer = NULL;
	if (box->pauses_at_timeout || box->pause_state != PAUSE_NONE)
		box->e2b->pause(box, NULL);
	else
		e2b_sandbox_end(box, "timeout");
}

void e2b_sandbox_set_end_time(struct e2b_sandbox *box, int64_t end_time_ms)
{
	int64_t left = end_time_ms - e2b_get_real_time_ms();

	loop_cancel_timer(box->end_timer);
	box->end_time_ms = end_time_ms;
	/* Cannot fail: the new timer takes the memory of the one that was cancelled. */
	box->end_timer = loop_add_timer(box->e2b->loop, left > 0 ? (uint64_t)left : 0, e2b_sandbox_on_timeout, box);
}

/* ---- start ---- */

/* The sandbox that a client waits for is there, or failed (error): answers the request. */
static void e2b_sandbox_on_made(struct e2b_sandbox *box, const char *error)
{
	struct http_request *creator = steal_pointer(&box->create_request);

	if (creator)
		http_set_owner(creator, NULL, NULL);
	if (error) {
		box->e2b->start_failure_count++;
		log_event("sandbox_failed",
			  json_pack("{s:s, s:s, s:s}", "sandbox", box->id, "key", box->key->name, "error", error));
		if (creator)
			e2b_answer_error(creator, 500, "the sandbox could not be made: %s", error);
		e2b_sandbox_free(box);
		return;
	}
	if (!creator) { /* the client has hung up: no client knows the sandbox's id */
		e2b_sandbox_end(box, "client_gone");
		return;
	}
	box->is_ready = true;
	box->e2b->starting_sandbox_count--;
	log_event("sandbox_start", json_pack("{s:s, s:s, s:s, s:s, s:I}", "sandbox", box->id, "key", box->key->name,
					     "template", box->template->name, "session", sandbox_get_id(box->sandbox),
					     "ms", (json_int_t)(e2b_get_real_time_ms() - box->start_time_ms)));
	e2b_sandbox_set_end_time(box, e2b_get_real_time_ms() + box->timeout_ms);
	http_answer_json(creator, 201, e2b_sandbox_describe(box));
	box->e2b->on_room(box->e2b);
}

/* The session of a client's sandbox has ended by itself. */
static void e2b_sandbox_on_session_end(void *data)
{
	struct e2b_sandbox *box = data;

	e2b_sandbox_end(box, "session_ended");
}

/* Charges the sandbox's processor time to its key, and ends the sandbox if the key has used up its quota. */
static void e2b_sandbox_on_usage(void *data, uint64_t cpu_ms)
{
	struct e2b_sandbox *box = data;

	if (!box->key) /* a spare is charged to the key that takes it */
		return;
	keys_charge_cpu(box, cpu_ms);
	if (keys_cpu_quota_is_used_up(box->key))
		e2b_sandbox_end(box, "cpu_quota"); /* quota.c ends the other sandboxes of the key */
}

static void e2b_sandbox_on_create_request_gone(void *data, bool complete)
{
	struct e2b_sandbox *box = data;

	(void)complete;
	box->create_request = NULL; /* e2b_sandbox_on_made() then ends the sandbox */
}

/*
 * Makes the arguments of `callgate session create`. The array and *ret_log_path are the caller's, the other texts are
 * the template's. NULL: no memory.
 */
static const char **e2b_sandbox_make_arguments(const struct e2b_sandbox *box, char **ret_log_path)
{
	const char **arguments = calloc(SANDBOX_ARGUMENTS_MAX + 1, sizeof(*arguments));
	const json_t *approval = box->e2b->options.approval;
	size_t count = 0;

	for (; arguments && box->template->create_arguments[count] && count < SANDBOX_ARGUMENTS_MAX - 14; count++)
		arguments[count] = box->template->create_arguments[count];
	if (!arguments)
		return NULL;
	for (size_t i = 0; i < json_array_size(approval) && i < 6; i++)
		arguments[count++] = json_string_value(json_array_get(approval, i));
	arguments[count++] = "--idle";
	arguments[count++] = "0"; /* no idle timeout: this server ends the sandbox */
	if (json_is_false(box->allow_internet_access))
		arguments[count++] = "--no-net";
	if (box->e2b->options.audit_log_dir) {
		*ret_log_path = text_format("%s/%s.jsonl", box->e2b->options.audit_log_dir, box->id);
		if (!*ret_log_path) {
			free(arguments);
			return NULL;
		}
		arguments[count++] = "--audit";
		arguments[count++] = *ret_log_path;
	}
	arguments[count] = NULL;
	return arguments;
}

/* ---- the template's setup command ---- */

static void setup_on_output(void *data, enum sandbox_stream stream, const char *bytes, size_t len)
{
	struct e2b_sandbox *box = data;
	size_t room = sizeof(box->setup_stderr) - 1 - box->setup_stderr_len;

	if (stream != SANDBOX_STDERR)
		return;
	len = len < room ? len : room;
	memcpy(box->setup_stderr + box->setup_stderr_len, bytes, len);
	box->setup_stderr_len += len;
}

/* The template's setup command has ended: the sandbox is ready, or could not be made. */
static void setup_on_end(void *data, const json_t *result)
{
	struct e2b_sandbox *box = data;
	const char *why = json_string_value(json_object_get(json_object_get(result, "error"), "message"));
	const json_t *code = json_object_get(result, "exit_code");
	char text[sizeof(box->setup_stderr) + 64];

	sandbox_program_free(box->setup_program);
	box->setup_program = NULL;
	if (!why && json_is_integer(code) && json_integer_value(code) == 0) {
		box->on_made(box, NULL);
		return;
	}
	(void)snprintf(text, sizeof(text), "its setup failed: %s",
		       why                     ? why
		       : box->setup_stderr_len ? box->setup_stderr
					       : "it ended with another status than 0");
	box->on_made(box, text);
}

/* Called when the sandbox's session was made, or could not be. Runs the template's setup command, if it has one. */
static void e2b_sandbox_on_session_ready(void *data, const char *error)
{
	struct e2b_sandbox *box = data;
	const char *const argv[] = {"/bin/bash", "-l", "-c", box->template->setup_command, NULL};
	const struct sandbox_program_options options = {.argv = argv,
							.env = box->template->env,
							.time_limit_ms = SANDBOX_SETUP_TIMEOUT_MS,
							.on_output = setup_on_output,
							.on_end = setup_on_end,
							.data = box};
	int r = error || !box->template->setup_command
			? 0
			: sandbox_start_program(box->sandbox, &options, &box->setup_program);

	if (error || !box->template->setup_command)
		box->on_made(box, error);
	else if (r < 0)
		box->on_made(box, sandbox_describe_error(-r));
}

int e2b_sandbox_start_session(struct e2b_sandbox *box, void (*on_made)(struct e2b_sandbox *box, const char *error),
			      void (*on_end)(void *data))
{
	_cleanup_free_ char *log_path = NULL;
	_cleanup_free_ const char **arguments = e2b_sandbox_make_arguments(box, &log_path);
	const struct sandbox_options options = {.callgate_path = box->e2b->options.callgate_path,
						.arguments = arguments,
						.looks_at_programs = true,
						.on_ready = e2b_sandbox_on_session_ready,
						.on_end = on_end,
						.on_usage = e2b_sandbox_on_usage,
						.on_pause = box->e2b->on_pause,
						.data = box};

	box->on_made = on_made;
	/*
	 * The timer is allocated here, because setting it again later cannot fail: so every ready sandbox ends in time.
	 */
	box->end_timer = loop_add_timer(box->e2b->loop, UINT64_MAX, e2b_sandbox_on_timeout, box);
	return arguments && box->end_timer ? sandbox_create(box->e2b->loop, &options, &box->sandbox) : -ENOMEM;
}

/* A copy of the object, or an empty object for NULL. */
static json_t *e2b_sandbox_copy_json_object(const json_t *texts)
{
	return texts ? json_copy((json_t *)(uintptr_t)texts) : json_object();
}

void e2b_sandbox_make(struct e2b *e2b, struct e2b_key *key, struct e2b_template *template, struct http_request *request,
		      const struct e2b_create_options *create_options)
{
	struct e2b_sandbox *box = calloc(1, sizeof(*box));
	int error = -ENOMEM;

	if (box) {
		*box = (struct e2b_sandbox){.e2b = e2b,
					    .key = key,
					    .template = template,
					    .create_request = request,
					    .metadata = e2b_sandbox_copy_json_object(create_options->metadata),
					    .env = e2b_sandbox_copy_json_object(create_options->env),
					    .start_time_ms = e2b_get_real_time_ms(),
					    .allow_internet_access = json_incref(
						    (json_t *)(uintptr_t)create_options->allow_internet_access),
					    .timeout_ms = create_options->timeout_ms,
					    .pauses_at_timeout = create_options->pauses_at_timeout,
					    .next = e2b->sandboxes};
		e2b->sandboxes = box;
		e2b->sandbox_count++;
		e2b->starting_sandbox_count++;
		keys_reserve_quota(key, template);
		http_set_owner(request, e2b_sandbox_on_create_request_gone, box);
		error = keys_make_random_id(box->id) && keys_make_random_token(box->traffic_token) &&
					(!create_options->requires_token || keys_make_random_token(box->envd_token))
				? e2b_sandbox_start_session(box, e2b_sandbox_on_made, e2b_sandbox_on_session_end)
				: -EIO;
	}
	if (error == 0)
		return;
	http_set_owner(request, NULL, NULL);
	if (sandbox_error_is_lack_of_descriptors(-error))
		http_add_header(request, "Retry-After", ADMISSION_RETRY_AFTER_S);
	e2b_answer_error(request, sandbox_error_is_lack_of_descriptors(-error) ? 429 : 500,
			 "the sandbox could not be made: %s", sandbox_describe_error(-error));
	if (box)
		e2b_sandbox_free(box);
}

/* ---- descriptions ---- */

bool e2b_sandbox_state_is_one_of(const struct e2b_sandbox *box, const char *states)
{
	return strstr(states, box->pause_state == PAUSE_LASTS ? "paused" : "running");
}

json_t *e2b_sandbox_describe(const struct e2b_sandbox *box)
{
	return json_pack("{s:s, s:s, s:s, s:s, s:s*, s:s*, s:n}", "sandboxID", box->id, "templateID",
			 box->template->name, "clientID", "callgate", "envdVersion", E2B_ENVD_VERSION,
			 "envdAccessToken", box->envd_token[0] ? box->envd_token : NULL, "trafficAccessToken",
			 box->envd_token[0] ? box->traffic_token : NULL, "domain");
}

/* Makes the answer of E2B's API to a request for one sandbox: also its state, limits and metadata. */
json_t *e2b_sandbox_describe_details(const struct e2b_sandbox *box)
{
	char start[E2B_TIME_TEXT_SIZE], end[E2B_TIME_TEXT_SIZE];
	json_t *detail = e2b_sandbox_describe(box);

	e2b_format_time(box->start_time_ms, start);
	e2b_format_time(box->end_time_ms, end);
	(void)json_object_del(detail, "trafficAccessToken");
	(void)json_object_set_new(detail, "alias", json_string(box->template->name));
	(void)json_object_set_new(detail, "startedAt", json_string(start));
	(void)json_object_set_new(detail, "endAt", json_string(end));
	(void)json_object_set_new(detail, "state",
				  json_string(e2b_sandbox_state_is_one_of(box, "paused") ? "paused" : "running"));
	(void)json_object_set_new(detail, "cpuCount", json_integer(box->e2b->cpu_count));
	(void)json_object_set_new(detail, "memoryMB",
				  json_integer((json_int_t)(box->template->memory_limit_bytes >> 20)));
	(void)json_object_set_new(detail, "diskSizeMB",
				  json_integer((json_int_t)(box->template->disk_limit_bytes >> 20)));
	(void)json_object_set(detail, "metadata", box->metadata);
	(void)json_object_set(detail, "allowInternetAccess",
			      box->allow_internet_access ? box->allow_internet_access : json_null());
	(void)json_object_set_new(detail, "lifecycle",
				  json_pack("{s:s, s:b}", "onTimeout", box->pauses_at_timeout ? "pause" : "kill",
					    "autoResume", 0));
	(void)json_object_set_new(detail, "volumeMounts", json_array());
	return detail;
}
