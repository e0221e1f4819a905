/*
 * The service process.Process of envd: programs that clients run in a sandbox. A program goes on when the client that
 * has started it hangs up. Several clients may subscribe to its output; if one of them reads slowly, the program waits.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agents/e2b/process.h"
#include "agents/slist.h"
#include "base/cleanup.h"

#define TERMINAL_COLUMNS_DEFAULT 80 /* for a terminal whose size the client does not say */
#define TERMINAL_ROWS_DEFAULT 24
#define PROCESS_ARGUMENTS_MAX 4096u
#define PROCESS_SUBSCRIBERS_MAX 64u /* clients of one program; output for each may wait in memory */

/* A client's stream of a program's events: start, output, end. */
struct process_subscriber {
	struct process_subscriber *next;
	struct e2b_process *process;
	struct e2b_call *call;
	bool is_slow; /* the client reads slowly, so that the program waits */
};

static void process_free(struct e2b_process *process)
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
static struct process_subscriber *subscriber_add(struct e2b_process *process, struct http_request *request)
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
static void subscriber_begin_stream(struct process_subscriber *subscriber)
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

static void process_on_start(void *data, pid_t pid, unsigned number)
{
	struct e2b_process *process = data;

	(void)number;
	process->pid = pid;
	for (struct process_subscriber *subscriber = process->subscribers; subscriber; subscriber = subscriber->next)
		subscriber_begin_stream(subscriber);
}

/* Sends output of the program to all clients that listen to it. */
static void process_on_output(void *data, enum sandbox_stream stream, const char *bytes, size_t len)
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

static void process_on_end(void *data, const json_t *result)
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

/* ---- Start ---- */

/* Makes a program's argv of cmd and args. The caller owns the array, but not its texts. NULL: not all are texts. */
static const char **process_get_argv(const json_t *config)
{
	const json_t *args = connect_get_member(config, "args", NULL);
	const char *cmd = connect_get_text(config, "cmd", NULL);
	size_t count = json_array_size(args);
	const char **argv = cmd && count < PROCESS_ARGUMENTS_MAX ? calloc(count + 2, sizeof(*argv)) : NULL;

	if (!argv)
		return NULL;
	argv[0] = cmd;
	for (size_t i = 0; i < count; i++) {
		argv[i + 1] = json_string_value(json_array_get(args, i));
		if (!argv[i + 1]) {
			free(argv);
			return NULL;
		}
	}
	return argv;
}

char *e2b_make_path_absolute(const char *path)
{
	char *resolved;
	int len;

	if (path[0] == '~' && (path[1] == '/' || path[1] == '\0'))
		len = asprintf(&resolved, E2B_WORKDIR "%s", path + 1);
	else if (path[0] == '/')
		len = asprintf(&resolved, "%s", path);
	else
		len = asprintf(&resolved, E2B_WORKDIR "%s%s", *path ? "/" : "", path);
	return len < 0 ? NULL : resolved;
}

/* Gets the size of a terminal from a message's member pty.size. False: there is none, or it is malformed. */
static bool process_get_terminal_size(const json_t *message, unsigned *ret_columns, unsigned *ret_rows)
{
	const json_t *size = connect_get_member(connect_get_member(message, "pty", NULL), "size", NULL);
	int64_t columns = connect_get_integer(size, "cols", NULL, 0), rows = connect_get_integer(size, "rows", NULL, 0);

	if (columns < 1 || columns > UINT16_MAX || rows < 1 || rows > UINT16_MAX)
		return false;
	*ret_columns = (unsigned)columns;
	*ret_rows = (unsigned)rows;
	return true;
}

/* Copies the members that List answers with. Others, which could have megabytes, are not kept. NULL: no memory. */
static json_t *process_copy_config(const json_t *config)
{
	static const char *const names[] = {"cmd", "args", "envs", "cwd"};
	json_t *copy = json_object();
	bool is_whole = copy != NULL;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (json_object_get(config, names[i]))
			is_whole &= json_object_set_new(copy, names[i],
							json_deep_copy(json_object_get(config, names[i]))) == 0;
	if (is_whole)
		return copy;
	json_decref(copy);
	return NULL;
}

/* Makes the state of a program that a client asks for, and puts it on the sandbox's list. NULL: no memory. */
static struct e2b_process *process_create(struct e2b_sandbox *box, const json_t *message)
{
	struct e2b_process *process = calloc(1, sizeof(*process));
	const char *tag = connect_get_text(message, "tag", NULL);
	const json_t *stdin_wish = connect_get_member(message, "stdin", NULL);
	const json_t *config = connect_get_member(message, "process", NULL);
	const char *cwd = connect_get_text(config, "cwd", NULL);

	if (!process)
		return NULL;
	process->box = box;
	process->config = process_copy_config(config);
	process->tag = tag ? strdup(tag) : NULL;
	process->cwd = cwd && *cwd ? e2b_make_path_absolute(cwd) : NULL;
	process->has_terminal = connect_get_member(message, "pty", NULL) != NULL;
	process->columns = TERMINAL_COLUMNS_DEFAULT;
	process->rows = TERMINAL_ROWS_DEFAULT;
	if (process->has_terminal)
		(void)process_get_terminal_size(message, &process->columns, &process->rows);
	process->has_stdin = process->has_terminal || !stdin_wish || json_is_true(stdin_wish);
	if (!process->config || (cwd && *cwd && !process->cwd)) { /* it would be another program, or start elsewhere */
		process_free(process);
		return NULL;
	}
	process->next = box->processes;
	box->processes = process;
	return process;
}

/* Starts the program that a client asks for. 0 or -errno. */
static int process_start_program(struct e2b_process *process)
{
	_cleanup_free_ const char **argv = process_get_argv(process->config);
	_cleanup_json_ json_t *env = e2b_make_environment(process->box, json_object_get(process->config, "envs"));
	const struct sandbox_program_options options = {.argv = argv,
							.env = env,
							.cwd = process->cwd,
							.time_limit_ms = process->time_limit_ms,
							.stdin_is_open = process->has_stdin,
							.has_terminal = process->has_terminal,
							.columns = process->columns,
							.rows = process->rows,
							.on_start = process_on_start,
							.on_output = process_on_output,
							.on_room = process_on_stdin_room,
							.on_end = process_on_end,
							.data = process};

	return argv && env ? sandbox_start_program(process->box->sandbox, &options, &process->program) : -ENOMEM;
}

/* Answers all requests for a program that is not started, and frees it. */
static void process_answer_not_started(struct e2b_process *process, enum connect_code code, const char *why)
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

/* Starts the program, or answers why that fails. */
static void process_start_or_answer(struct e2b_process *process)
{
	_cleanup_free_ char *why = NULL;
	const int error = process_start_program(process);

	if (error == 0)
		return;
	if (asprintf(&why, "the program cannot be started: %s", sandbox_describe_error(-error)) < 0)
		why = NULL;
	process_answer_not_started(process, connect_code_from_errno(-error), why ? why : "no memory");
}

/* The program was looked at: starts it, unless what was found refuses it. */
static void process_on_looked(void *data, const json_t *answer, const char *why)
{
	struct e2b_process *process = data;
	const char *program = connect_get_text(process->config, "cmd", NULL);
	_cleanup_free_ char *refusal = NULL;

	process->look = NULL;
	process->looked = json_incref((json_t *)(uintptr_t)answer);
	if (e2b_judge_look(process->box, program, answer, why, &refusal))
		process_start_or_answer(process);
	else
		process_answer_not_started(process, answer ? CONNECT_PERMISSION_DENIED : CONNECT_INTERNAL,
					   refusal ? refusal : E2B_REFUSAL_WITHOUT_MEMORY);
}

/* Looks at the program first, or answers why that fails. */
static void process_look_or_answer(struct e2b_process *process)
{
	_cleanup_free_ const char **argv = process_get_argv(process->config);
	_cleanup_json_ json_t *env = e2b_make_environment(process->box, json_object_get(process->config, "envs"));
	const struct sandbox_look_options options = {.callgate_path = process->box->e2b->options.callgate_path,
						     .owner = process->box->key,
						     .argv = argv,
						     .env = env,
						     .cwd = process->cwd,
						     .reads_stdin = process->has_stdin,
						     .on_end = process_on_looked,
						     .data = process};

	const int error = argv && env ? sandbox_look_start(process->box->sandbox, &options, &process->look) : -ENOMEM;

	if (error < 0)
		process_answer_not_started(process, connect_code_from_errno(-error), sandbox_describe_error(-error));
}

static void process_start(struct e2b_sandbox *box, struct http_request *request, const json_t *message)
{
	const json_t *config = connect_get_member(message, "process", NULL);
	_cleanup_free_ const char **argv = process_get_argv(config);
	_cleanup_json_ json_t *env = argv ? e2b_make_environment(box, connect_get_member(config, "envs", NULL)) : NULL;
	const char *tag = connect_get_text(message, "tag", NULL);
	struct e2b_process *process;

	if (!connect_check_basic_auth_user(request))
		return;
	if (!argv || !env) {
		connect_answer_error(request, CONNECT_INVALID_ARGUMENT, "process.cmd, args and envs must be texts");
		return;
	}
	if (tag && strlen(tag) > E2B_NAME_VALUE_PAIR_BYTES_MAX) {
		connect_answer_error(request, CONNECT_INVALID_ARGUMENT, "tag must have at most %u bytes",
				     E2B_NAME_VALUE_PAIR_BYTES_MAX);
		return;
	}
	if (slist_count(box->processes, next) >= E2B_PROCESSES_MAX) {
		connect_answer_error(request, CONNECT_RESOURCE_EXHAUSTED,
				     "%u programs run in the sandbox, the most there may be", E2B_PROCESSES_MAX);
		return;
	}
	process = process_create(box, message);
	if (!process) {
		connect_answer_error(request, CONNECT_INTERNAL, "the server has no memory");
	} else if (!subscriber_add(process, request)) {
		process_free(process);
	} else {
		process->time_limit_ms = connect_get_timeout_ms(request);
		if (sandbox_wants_looks(box->sandbox))
			process_look_or_answer(process);
		else
			process_start_or_answer(process);
	}
}

/* ---- other methods of process.Process ---- */

/* Finds the program that a message names by tag or pid. NULL: there is none, and an error was answered. */
static struct e2b_process *process_find_selected(struct e2b_sandbox *box, struct http_request *request,
						 const json_t *message)
{
	const json_t *selector = connect_get_member(message, "process", NULL);
	const char *tag = connect_get_text(selector, "tag", NULL);
	int64_t pid = connect_get_integer(selector, "pid", NULL, 0);

	for (struct e2b_process *process = box->processes; process; process = process->next)
		if (process->pid && (tag ? process->tag && strcmp(process->tag, tag) == 0 : process->pid == pid))
			return process;
	if (tag)
		connect_answer_error(request, CONNECT_NOT_FOUND, "process with tag %s not found", tag);
	else
		connect_answer_error(request, CONNECT_NOT_FOUND, "process with pid %lld not found", (long long)pid);
	return NULL;
}

static void process_connect_subscriber(struct e2b_sandbox *box, struct http_request *request, const json_t *message)
{
	struct e2b_process *process = process_find_selected(box, request, message);
	struct process_subscriber *subscriber = process ? subscriber_add(process, request) : NULL;

	if (subscriber)
		subscriber_begin_stream(subscriber);
}

static void process_list(struct e2b_sandbox *box, struct http_request *request, const json_t *message)
{
	json_t *list = json_array();

	(void)message;
	for (const struct e2b_process *process = box->processes; process; process = process->next)
		if (process->pid)
			(void)json_array_append_new(list, json_pack("{s:O, s:i, s:s*}", "config", process->config,
								    "pid", (int)process->pid, "tag", process->tag));
	connect_answer(request, json_pack("{s:o}", "processes", list));
}

static void process_send_input(struct e2b_sandbox *box, struct http_request *request, const json_t *message)
{
	struct e2b_process *process = process_find_selected(box, request, message);

	if (process)
		process_queue_input(process, request, message);
}

static void process_close_stdin(struct e2b_sandbox *box, struct http_request *request, const json_t *message)
{
	struct e2b_process *process = process_find_selected(box, request, message);

	if (!process)
		return;
	if (process->has_terminal || !process->has_stdin) {
		connect_answer_error(request, CONNECT_FAILED_PRECONDITION,
				     process->has_terminal ? "a terminal is not closed: send Ctrl-D (0x04)"
							   : "the program was started without stdin");
		return;
	}
	process->closes_stdin_after_input = true;
	process_on_stdin_room(process);
	connect_answer(request, json_object());
}

static void process_send_signal(struct e2b_sandbox *box, struct http_request *request, const json_t *message)
{
	struct e2b_process *process = process_find_selected(box, request, message);
	const char *name = connect_get_text(message, "signal", NULL);
	int64_t number = connect_get_integer(message, "signal", NULL, 0);

	if (!process)
		return;
	if (name && strcmp(name, "SIGNAL_SIGTERM") == 0)
		number = SIGTERM;
	else if (name && strcmp(name, "SIGNAL_SIGKILL") == 0)
		number = SIGKILL;
	if (number != SIGTERM && number != SIGKILL)
		connect_answer_error(request, CONNECT_INVALID_ARGUMENT,
				     "the signal must be SIGNAL_SIGTERM or SIGNAL_SIGKILL");
	else if (sandbox_program_signal(process->program, (int)number) < 0)
		connect_answer_error(request, CONNECT_NOT_FOUND, "process with pid %d not found", (int)process->pid);
	else
		connect_answer(request, json_object());
}

static void process_update_terminal_size(struct e2b_sandbox *box, struct http_request *request, const json_t *message)
{
	struct e2b_process *process = process_find_selected(box, request, message);

	if (!process)
		return;
	if (!process->has_terminal || !process_get_terminal_size(message, &process->columns, &process->rows))
		connect_answer_error(request, CONNECT_FAILED_PRECONDITION,
				     "the program has no terminal, or there is no pty.size");
	else if (sandbox_program_resize(process->program, process->columns, process->rows) < 0)
		connect_answer_error(request, CONNECT_NOT_FOUND, "process with pid %d not found", (int)process->pid);
	else
		connect_answer(request, json_object());
}

const struct connect_method process_methods[] = {
	{"/process.Process/List", false, process_list},
	{"/process.Process/Start", true, process_start},
	{"/process.Process/Connect", true, process_connect_subscriber},
	{"/process.Process/SendInput", false, process_send_input},
	{"/process.Process/CloseStdin", false, process_close_stdin},
	{"/process.Process/SendSignal", false, process_send_signal},
	{"/process.Process/Update", false, process_update_terminal_size},
	{0},
};

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
		process_free(process);
	}
}
