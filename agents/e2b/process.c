/*
 * The service process.Process of envd: programs that clients run in a sandbox. A program goes on when the client that
 * has started it hangs up.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agents/e2b/process.h"
#include "agents/slist.h"
#include "base/cleanup.h"
#include "base/text.h"

#define TERMINAL_COLUMNS_DEFAULT 80 /* for a terminal whose size the client does not say */
#define TERMINAL_ROWS_DEFAULT 24
#define PROCESS_ARGUMENTS_MAX 4096u

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
	if (path[0] == '~' && (path[1] == '/' || path[1] == '\0'))
		return text_format(E2B_WORKDIR "%s", path + 1);
	if (path[0] == '/')
		return strdup(path);
	return text_format(E2B_WORKDIR "%s%s", *path ? "/" : "", path);
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

/* Starts the program, or answers why that fails. */
static void process_start_or_answer(struct e2b_process *process)
{
	_cleanup_free_ char *why = NULL;
	const int error = process_start_program(process);

	if (error == 0)
		return;
	why = text_format("the program cannot be started: %s", sandbox_describe_error(-error));
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
