/*
 * What clients are told of a program that they have started, or listen to: start, output, end. If one of several
 * clients reads slowly, the program waits.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agents/e2b/process.h"
#include "agents/slist.h"

#define PROCESS_SUBSCRIBERS_MAX 64u /* clients of one program; output for each may wait in memory */

/* A client's stream of a program's events: start, output, end. */
struct process_subscriber {
	struct process_subscriber *next;
	struct e2b_process *process;
	struct e2b_call *call;
	bool is_slow; /* the client reads slowly, so that the program waits */
};

void process_free(struct e2b_process *process)
{
	slist_remove(process->box->processes, process, next);
	sandbox_look_free(process->look);
	sandbox_program_free(process->program);
	json_decref(process->looked);
	json_decref(process->config);
	free(process->tag);
	free(process->cwd);
	free(process);
}

/* ---- subscribers ---- */

/* Pauses the program's output while one of its subscribers is slow, so that the queue for each stays bounded. */
static void process_update_output_pause(struct e2b_process *process)
{
	bool is_paused = false;

	if (!process->program) /* it has no output yet */
		return;
	for (const struct process_subscriber *subscriber = process->subscribers; subscriber;
	     subscriber = subscriber->next)
		is_paused |= subscriber->is_slow;
	sandbox_program_pause_output(process->program, is_paused);
}

/* The client reads again: the program's output may go on. */
static void subscriber_on_room(void *data)
{
	struct process_subscriber *subscriber = data;

	subscriber->is_slow = false;
	process_update_output_pause(subscriber->process);
}

static void subscriber_on_cancel(void *data)
{
	struct process_subscriber *subscriber = data;
	struct e2b_process *process = subscriber->process;

	slist_remove(subscriber->process->subscribers, subscriber, next);
	free(subscriber);
	process_update_output_pause(process);
}

/* Whether one more client may listen to the program. If not, the request has been answered with an error. */
static bool subscriber_may_be_added(const struct e2b_process *process, struct http_request *request)
{
	if (slist_count(process->subscribers, next) < PROCESS_SUBSCRIBERS_MAX)
		return true;
	connect_answer_error(request, CONNECT_RESOURCE_EXHAUSTED,
			     "%u clients listen to the program, the most there may be", PROCESS_SUBSCRIBERS_MAX);
	return false;
}

/* Adds a client that listens to the program. NULL: the request has been answered with an error. */
struct process_subscriber *subscriber_add(struct e2b_process *process, struct http_request *request)
{
	struct process_subscriber *subscriber;

	if (!subscriber_may_be_added(process, request))
		return NULL;
	subscriber = calloc(1, sizeof(*subscriber));
	if (subscriber) {
		subscriber->process = process;
		subscriber->call = e2b_call_create(process->box, request, subscriber_on_cancel, subscriber);
	}
	if (!subscriber || !subscriber->call) {
		free(subscriber);
		connect_answer_error(request, CONNECT_INTERNAL, "the server has no memory");
		return NULL;
	}
	subscriber->next = process->subscribers;
	process->subscribers = subscriber;
	return subscriber;
}

/* Begins the stream to a client that listens to the program. */
void subscriber_begin_stream(struct process_subscriber *subscriber)
{
	connect_begin_stream(subscriber->call, json_pack("{s:{s:{}}}", "event", "keepalive"), subscriber_on_room);
	(void)connect_send_message(subscriber->call,
				   json_pack("{s:{s:{s:i}}}", "event", "start", "pid", (int)subscriber->process->pid));
}

/* ---- events of a program ---- */

/* Sends a message to all clients of the program, and takes it. While one is slow, the output pauses. */
static void process_send_to_subscribers(struct e2b_process *process, json_t *message)
{
	struct process_subscriber *subscriber, *next;

	for (subscriber = process->subscribers; subscriber; subscriber = next) {
		next = subscriber->next;
		subscriber->is_slow = !connect_send_message(subscriber->call, json_incref(message));
	}
	json_decref(message);
	process_update_output_pause(process);
}

void process_on_start(void *data, pid_t pid, unsigned number)
{
	struct e2b_process *process = data;

	(void)number;
	process->pid = pid;
	for (struct process_subscriber *subscriber = process->subscribers; subscriber; subscriber = subscriber->next)
		subscriber_begin_stream(subscriber);
}

/* Sends output of the program to all clients that listen to it. */
void process_on_output(void *data, enum sandbox_stream stream, const char *bytes, size_t len)
{
	struct e2b_process *process = data;
	const char *name = process->has_terminal ? "pty" : stream == SANDBOX_STDERR ? "stderr" : "stdout";

	if (process->subscribers)
		process_send_to_subscribers(process, json_pack("{s:{s:{s:o}}}", "event", "data", name,
							       connect_encode_base64(bytes, len)));
}

/* Makes the event that tells a program's end, in envd's words, which are those of Go's os.ProcessState. */
static json_t *process_describe_end(const json_t *result)
{
	const json_t *signal_value = json_object_get(result, "signal");
	int exit_code = (int)json_integer_value(json_object_get(result, "exit_code"));
	bool was_killed = json_is_string(signal_value) || json_integer_value(signal_value) > 0;
	char status[64];

	if (was_killed && json_is_integer(signal_value))
		(void)snprintf(status, sizeof(status), "signal: %s", strsignal((int)json_integer_value(signal_value)));
	else if (was_killed)
		(void)snprintf(status, sizeof(status), "signal: %s", json_string_value(signal_value));
	else
		(void)snprintf(status, sizeof(status), "exit status %d", exit_code);
	if (was_killed)
		return json_pack("{s:{s:{s:i, s:b, s:s, s:s}}}", "event", "end", "exitCode", -1, "exited", 0, "status",
				 status, "error", status);
	if (exit_code != 0)
		return json_pack("{s:{s:{s:i, s:b, s:s, s:s}}}", "event", "end", "exitCode", exit_code, "exited", 1,
				 "status", status, "error", status);
	return json_pack("{s:{s:{s:i, s:b, s:s}}}", "event", "end", "exitCode", 0, "exited", 1, "status", status);
}

/* Returns the protocol's error code for a program that could not be started. */
static enum connect_code process_get_start_error_code(const json_t *error)
{
	static const char *const clients_mistakes[] = {"not_found", "cwd_failed", "bad_request", "too_long"};
	const char *code = json_string_value(json_object_get(error, "code"));

	if (!code)
		return CONNECT_INTERNAL;
	for (size_t i = 0; i < sizeof(clients_mistakes) / sizeof(clients_mistakes[0]); i++)
		if (strcmp(code, clients_mistakes[i]) == 0)
			return CONNECT_INVALID_ARGUMENT;
	return strcmp(code, "refused") == 0 ? CONNECT_PERMISSION_DENIED : CONNECT_INTERNAL;
}

void process_on_end(void *data, const json_t *result)
{
	struct e2b_process *process = data;
	const json_t *error = json_object_get(result, "error");
	const char *message = json_string_value(json_object_get(error, "message"));
	const char *status = json_string_value(json_object_get(result, "status"));
	const char *code = json_string_value(json_object_get(error, "code"));
	bool is_late = status && strstr(status, "timeout"), is_gone = code && strcmp(code, "session_ended") == 0;

	process_end_inputs(process);
	slist_remove(process->box->processes, process, next);
	process->box->ended_programs_cpu_ms += (uint64_t)json_integer_value(json_object_get(result, "cpu_ms"));
	keys_charge_cpu(process->box, process->box->ended_programs_cpu_ms);
	e2b_tell_changes(process->box, connect_get_text(process->config, "cmd", NULL), process->looked, process->cwd);
	if (!error && !is_late)
		process_send_to_subscribers(process, process_describe_end(result));
	while (process->subscribers) {
		struct process_subscriber *subscriber = process->subscribers;
		struct e2b_call *call = subscriber->call;
		struct http_request *request = call->request;

		slist_remove(subscriber->process->subscribers, subscriber, next);
		free(subscriber);
		if (process->pid == 0) {
			e2b_call_finish(call);
			connect_answer_error(request, process_get_start_error_code(error), "%s",
					     message ? message : "it could not be started");
		} else if (is_gone) { /* the sandbox has ended, so that the program's exit status is unknown */
			e2b_call_abort(call);
		} else if (error) {
			connect_end_stream(call, process_get_start_error_code(error),
					   message ? message : "it could not be started");
		} else {
			connect_end_stream(call, CONNECT_DEADLINE_EXCEEDED,
					   is_late ? "the time given for the program is over" : NULL);
		}
	}
	process_free(process);
}

/* ---- the end of programs ---- */

/* Answers all requests for a program that is not started, and frees it. */
void process_answer_not_started(struct e2b_process *process, enum connect_code code, const char *why)
{
	while (process->subscribers) {
		struct process_subscriber *subscriber = process->subscribers;
		struct http_request *request = subscriber->call->request;

		process->subscribers = subscriber->next;
		e2b_call_finish(subscriber->call);
		free(subscriber);
		connect_answer_error(request, code, "%s", why);
	}
	process_free(process);
}

void processes_end_all(struct e2b_sandbox *box)
{
	while (box->processes) {
		struct e2b_process *process = box->processes;

		while (process->subscribers) {
			struct process_subscriber *subscriber = process->subscribers;

			process->subscribers = subscriber->next;
			e2b_call_abort(subscriber->call);
			free(subscriber);
		}
		process_abort_inputs(process);
		if (process->program)
			e2b_tell_changes_unknown(box, connect_get_text(process->config, "cmd", NULL), process->looked);
		process_free(process);
	}
}
