/* The programs of a session: asked for, running, ended. */
#include <errno.h>
#include <linux/futex.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fdpass.h"
#include "base/io.h"
#include "base/proc/stat.h"
#include "base/text.h"
#include "supervisor/environment.h"
#include "supervisor/limits/killtree.h"
#include "supervisor/lookup.h"
#include "supervisor/report.h"
#include "supervisor/session/private.h"
#include "supervisor/status.h"
#include "syscalls/account/result/denials.h"

/* how often the descendants of an ended program are searched and killed */
#define PROGRAM_KILL_INTERVAL_NS UINT64_C(5000000)
#define PROCESS_ANCESTORS_MAX 100000 /* a chain of parents that changes while it is read must end */

struct program *programs_find(const struct session *session, unsigned number)
{
	for (unsigned i = 0; i < SPAWNER_PROGRAMS_MAX; i++)
		if (session->program[i] && session->program[i]->number == number)
			return session->program[i];
	return NULL;
}

int programs_hide_process_from_run(const struct session *session, pid_t pid)
{
	struct view *second = session->options->second_view;
	int r = view_hide_process(session->sandbox->view, pid);

	return r == 0 && second ? view_hide_process(second, pid) : r;
}

void programs_unhide_process_from_run(const struct session *session, pid_t pid)
{
	view_unhide_process(session->sandbox->view, pid);
	if (session->options->second_view)
		view_unhide_process(session->options->second_view, pid);
}

/* ---- making the request to the spawner ---- */

/* Writes a program's arguments and variables into the request to the spawner. */
struct request_text {
	struct spawner_request *request;
	size_t used;  /* bytes written to request->text */
	bool is_full; /* the texts do not fit: the program is not started */
};

static void request_add_text(struct request_text *text, const char *part)
{
	size_t bytes = strlen(part) + 1;

	if (text->is_full || bytes > sizeof(text->request->text) - text->used) {
		text->is_full = true;
		return;
	}
	memcpy(text->request->text + text->used, part, bytes);
	text->used += bytes;
}

static void request_add_variable(struct request_text *text, const char *name, const char *value)
{
	_cleanup_free_ char *variable = text_format("%s=%s", name, value);

	if (!variable) {
		text->is_full = true;
		return;
	}
	request_add_text(text, variable);
	text->request->variables++;
}

/* Adds the run's environment variables, except those that the request sets, and then those of the request. */
static void request_add_environment(struct request_text *text, char *const *envp, const json_t *own)
{
	const char *name;
	const json_t *value;

	for (; *envp; envp++) {
		_cleanup_free_ char *known = strndup(*envp, strcspn(*envp, "="));

		if (known && json_object_get(own, known))
			continue;
		request_add_text(text, *envp);
		text->request->variables++;
	}
	json_object_foreach((json_t *)(uintptr_t)own, name, value) { /* cppcheck does not know the macro */
		request_add_variable(text, name, json_string_value(value));
	}
}

/*
 * Fills session->spawn_request for the spawner. Returns the number of bytes to send; 0: the request would be too long.
 */
static size_t programs_make_request(struct session *session, const struct program *program,
				    const struct program_request *wanted, const char *path)
{
	struct spawner_request *request = &session->spawn_request;
	struct request_text text = {.request = request};
	const json_t *argument;
	size_t i;

	request->program_number = program->number;
	request->slot = program->slot_index;
	request->arguments = request->variables = 0;
	request->has_terminal = wanted->master_fd != NULL;
	request_add_text(&text, wanted->cwd ? wanted->cwd : "");
	request_add_text(&text, path);
	json_array_foreach(wanted->argv, i, argument) {
		request_add_text(&text, json_string_value(argument));
		request->arguments++;
	}
	request_add_environment(&text, session->options->envp, wanted->env);
	return text.is_full ? 0 : offsetof(struct spawner_request, text) + text.used;
}

/* ---- adding, finding and freeing a program ---- */

void program_free(struct session *session, struct program *program)
{
	session->program[program->slot_index] = NULL;
	denials_free(program->denials);
	cleanup_close(&program->master_fd);
	free(program->executed_path);
	free(program->cwd);
	free(program);
}

static struct program *programs_add(struct session *session, const char *path, const char *cwd)
{
	struct program *program;
	uint32_t slot = 0;

	while (slot < SPAWNER_PROGRAMS_MAX && session->program[slot])
		slot++;
	if (slot == SPAWNER_PROGRAMS_MAX || !(program = calloc(1, sizeof(*program))))
		return NULL;
	session->program[slot] = program;
	program->slot_index = slot;
	program->master_fd = -1;
	program->number = session->last_program_number + 1;
	program->start_ns = io_read_clock_ns();
	program->deadline_ns = UINT64_MAX;
	program->denials = denials_create();
	program->executed_path = strdup(path);
	program->cwd = cwd ? strdup(cwd) : NULL;
	if (program->denials && program->executed_path && !cwd == !program->cwd)
		return program;
	program_free(session, program);
	return NULL;
}

/* Fills what a client is told when no program is started. Returns error. */
static int programs_refuse(int error, const char *code, const char *text, const char **ret_code, char *message,
			   size_t size)
{
	*ret_code = code;
	(void)snprintf(message, size, "%s", text);
	return error;
}

/* Notes that the spawner was asked to start the program. */
static void programs_set_running(struct session *session, struct program *program, struct client *client,
				 const struct program_request *wanted)
{
	session->last_program_number++;
	session->running_program_count++;
	session->idle_since_ns = UINT64_MAX;
	if (wanted->time_limit_ns && wanted->time_limit_ns < UINT64_MAX - program->start_ns)
		program->deadline_ns = program->start_ns + wanted->time_limit_ns;
	if (wanted->master_fd)
		program->master_fd = steal_fd(wanted->master_fd);
	program->is_detached = wanted->is_detached;
	program->client = client;
	client->program = program;
}

int programs_start(struct session *session, struct client *client, const struct program_request *wanted,
		   const char **ret_code, char *message, size_t size)
{
	const char *path_env = json_string_value(json_object_get(wanted->env, "PATH"));
	struct lookup lookup = {
		.view = session->sandbox->view, .policy = session->sandbox->policy,
		.wanted_name = json_string_value(json_array_get(wanted->argv, 0)),
		.path_env = path_env ? path_env : environment_get_value(session->options->envp, "PATH")};
	enum lookup_result result;
	struct program *program;
	size_t bytes;
	int r;

	result = lookup_find_program(&lookup);
	if (result == LOOKUP_FAILED)
		return programs_refuse(lookup.error, "unavailable", strerror(-lookup.error), ret_code, message, size);
	if (result == LOOKUP_MISSING) {
		const bool is_path = strchr(lookup.wanted_name, '/');

		(void)snprintf(message, size, "%s: not found%s%s", lookup.wanted_name, is_path ? "" : " in PATH ",
			       is_path ? "" : lookup.path_env ? lookup.path_env : "(unset)");
		*ret_code = "not_found";
		return -ENOENT;
	}
	program = programs_add(session, lookup.found_path, wanted->cwd);
	if (!program)
		return programs_refuse(-EAGAIN, "too_many_programs", "the session runs as many programs as it can",
				       ret_code, message, size);
	bytes = programs_make_request(session, program, wanted, lookup.found_path);
	r = bytes ? 0 : -E2BIG;
	atomic_store(&session->spawner_page->slot[program->slot_index].go, 0);
	session->spawner_page->slot[program->slot_index].error = 0;
	if (r == 0)
		r = fdpass_send(session->spawner_fd[0], &session->spawn_request, bytes, wanted->stdio_fd, 3,
				MSG_DONTWAIT);
	if (r < 0) {
		program_free(session, program);
		return r == -E2BIG ? programs_refuse(r, "too_long",
						     "arguments and environment have more than 128 KiB; pass a file",
						     ret_code, message, size)
				   : programs_refuse(r, "busy", "the session is busy; try again", ret_code, message,
						     size);
	}
	programs_set_running(session, program, client, wanted);
	return 0;
}

/* ---- the end of a program ---- */

/* Makes the answer that tells the client why the program could not be started. */
static json_t *program_make_error(const struct program *program, enum spawner_step step, int error, bool was_denied)
{
	const bool chdir_failed = step == SPAWNER_CHDIR;

	return json_pack("{s:s, s:o}", "code",
			 chdir_failed ? "cwd_failed" : was_denied ? "refused" : "not_executable", "message",
			 json_sprintf("%s: %s", chdir_failed && program->cwd ? program->cwd : program->executed_path,
				      strerror(error)));
}

/*
 * Returns as many denials of a program as fit in a message. The program chooses how long its paths are, and a client
 * gets no message that is longer than the socket's buffer. *ret_unlisted: attempts not in the list.
 */
static json_t *program_make_denials(const struct program *program, uint64_t *ret_unlisted)
{
	json_t *all = report_make_denials(program->denials, ret_unlisted), *denials = json_array(), *denial;
	size_t i, bytes = 0;

	json_array_foreach(all, i, denial) {
		bytes += json_dumpb(denial, NULL, 0, JSON_COMPACT) + 1; /* the length only; and a comma */
		if (i < SESSION_DENIALS_IN_RESULT_MAX && bytes <= SESSION_DENIALS_JSON_BYTES_MAX)
			(void)json_array_append(denials, denial);
		else
			*ret_unlisted += (uint64_t)json_integer_value(json_object_get(denial, "count"));
	}
	json_decref(all);
	return denials;
}

void programs_report_denials(struct program *program)
{
	struct denials *next = denials_create();
	uint64_t unlisted = 0;
	json_t *denials = program_make_denials(program, &unlisted);

	program->was_denied = program->was_denied || json_array_size(denials) > 0 || unlisted > 0;
	clients_send(program->client, json_pack("{s:i, s:o, s:I}", "program", (int)program->number, "denials", denials,
						"denials_unlisted", (json_int_t)unlisted));
	if (!next) /* no memory: these denials stay in the list, and the next report repeats them */
		return;
	denials_free(program->denials);
	program->denials = next;
}

/* The answer to the client: how the program ended, and what was denied to it. */
static json_t *program_make_result(const struct session *session, const struct program *program)
{
	const enum spawner_step step = session->spawner_page->slot[program->slot_index].step;
	const int error = session->spawner_page->slot[program->slot_index].error;
	uint64_t unlisted = 0, duration_ns = io_read_clock_ns() - program->start_ns;
	json_t *denials = program_make_denials(program, &unlisted), *result;
	const bool was_denied = program->was_denied || json_array_size(denials) > 0 || unlisted > 0;
	struct run_ending ending =
		run_ending_make(program->has_timed_out ? RUN_END_TIMEOUT : RUN_END_NOT_ORDERED, 0, LIMIT_MAX,
				program->has_wait_status ? program->wait_status : SIGKILL, was_denied);

	if (error) {
		ending.status = RUN_ERROR;
		ending.exit_code = step == SPAWNER_EXEC ? RUN_EXIT_REFUSED : RUN_EXIT_ERROR;
	}
	result = json_pack("{s:i, s:s, s:i, s:i, s:I, s:I, s:I, s:o, s:I, s:o*}", "program", (int)program->number,
			   "status", run_status_get_name(ending.status), "exit_code", ending.exit_code, "signal",
			   ending.signal, "duration_ms", (json_int_t)(duration_ns / 1000000), "cpu_ms",
			   (json_int_t)(program->cpu_us / 1000), "max_rss_kb", (json_int_t)program->max_rss_kb,
			   "denials", denials, "denials_unlisted", (json_int_t)unlisted, "error",
			   error ? program_make_error(program, step, error, was_denied) : NULL);
	return result;
}

/* Forgets a program that has left no process, and tells its client. */
static void programs_forget_and_tell_client(struct session *session, struct program *program)
{
	if (program->client) {
		program->client->program = NULL;
		clients_send(program->client, program_make_result(session, program));
	}
	if (program->monitor > 0)
		programs_unhide_process_from_run(session, program->monitor);
	program_free(session, program);
	session->running_program_count--;
	if (session->running_program_count == 0)
		session->idle_since_ns = io_read_clock_ns();
}

void programs_end(struct program *program)
{
	if (program->state == PROGRAM_STARTING) {
		program->deadline_ns = 0; /* the program ends as soon as it runs: its deadline is over */
		return;
	}
	program->state = PROGRAM_ENDING;
	/* The monitor is our child, so its pid is not reused. */
	if (killtree_kill_descendants_once(program->monitor))
		(void)kill(program->monitor, SIGKILL);
	program->next_kill_ns = io_read_clock_ns() + PROGRAM_KILL_INTERVAL_NS;
}

void programs_end_all(struct session *session)
{
	session->is_ending = true;
	for (unsigned i = 0; i < SPAWNER_PROGRAMS_MAX; i++)
		if (session->program[i])
			programs_end(session->program[i]);
}

/* ---- messages of spawner and monitors ---- */

/* Lets a started program, which waits on a futex, execute its file. */
static void program_permit_exec(struct session *session, const struct program *program)
{
	_Atomic uint32_t *go = &session->spawner_page->slot[program->slot_index].go;

	atomic_store(go, program->number);
	(void)syscall(SYS_futex, go, FUTEX_WAKE, 1, NULL, NULL, 0);
}

/* Handles the spawner's message with the pids of a program and its monitor. */
static void programs_on_started(struct session *session, struct program *program, const struct spawner_message *message)
{
	program->monitor = message->monitor_pid;
	program->pid = message->pid;
	program->state = PROGRAM_RUNNING;
	if (programs_hide_process_from_run(session, program->monitor) < 0 ||
	    (!program->client && !program->is_detached)) {
		programs_end(program);
		return;
	}
	if (program->client)
		clients_send_fd(program->client,
				json_pack("{s:i, s:i}", "program", (int)program->number, "pid", (int)program->pid),
				program->master_fd);
	close_fd(&program->master_fd);
	program_permit_exec(session, program);
}

/*
 * Handles a message of the spawner or of a monitor. These are in the sandbox, so a program might make them send false
 * messages. In any case only processes that a SPAWNER_STARTED message has named, and their descendants, are killed.
 */
static void programs_on_message(struct session *session, const struct spawner_message *message)
{
	struct program *program = programs_find(session, message->program_number);

	if (!program)
		return;
	if (message->event == SPAWNER_STARTED && program->state == PROGRAM_STARTING && message->monitor_pid > 1 &&
	    message->pid > 1) {
		programs_on_started(session, program, message);
	} else if (message->event == SPAWNER_FAILED && program->state == PROGRAM_STARTING) {
		if (program->client)
			clients_send_error(program->client, "start_failed", strerror(message->wait_status_or_errno));
		programs_forget_and_tell_client(session, program);
	} else if (message->event == SPAWNER_ENDED && program->state != PROGRAM_STARTING &&
		   !program->has_wait_status) {
		program->has_wait_status = true;
		program->wait_status = message->wait_status_or_errno;
		program->cpu_us = message->cpu_us;
		program->max_rss_kb = message->max_rss_kb;
		if (message->has_descendants)
			programs_end(program);
		else
			/* its monitor exits by itself, and then session_on_child_exit() is called */
			program->state = PROGRAM_ENDING;
		program->deadline_ns = UINT64_MAX;
		program->next_kill_ns = io_read_clock_ns() + PROGRAM_KILL_INTERVAL_NS;
	}
}

void programs_read_spawner(struct session *session)
{
	struct spawner_message message;

	while (read(session->spawner_fd[0], &message, sizeof(message)) == (ssize_t)sizeof(message)) /* O_NONBLOCK */
		programs_on_message(session, &message);
}

static struct program *programs_find_by_monitor(const struct session *session, pid_t pid)
{
	for (unsigned i = 0; i < SPAWNER_PROGRAMS_MAX; i++)
		if (session->program[i] && session->program[i]->monitor == pid)
			return session->program[i];
	return NULL;
}

bool session_on_child_exit(struct session *session, pid_t pid)
{
	struct program *program;

	programs_read_spawner(session); /* reads the messages that the monitor has sent before it exited */
	program = programs_find_by_monitor(session, pid);
	if (program)
		programs_forget_and_tell_client(session, program);
	return program;
}

/* ---- finding the program that a task belongs to ---- */

/*
 * Climbs from parent to parent up to a monitor: the descendants of a program are descendants of its monitor, which is a
 * subreaper.
 */
static unsigned session_find_program_of_process(const struct session *session, pid_t pid)
{
	const struct program *program = NULL;

	for (int depth = 0; pid > 1 && !program && depth < PROCESS_ANCESTORS_MAX; depth++) {
		pid = procstat_read_parent(pid);
		program = programs_find_by_monitor(session, pid);
	}
	return program ? program->number : 0;
}

void session_assign_task_to_program(struct session *session, struct task *task)
{
	if (task->session_program_number == 0 || task->pidfd < 0)
		task->session_program_number = session_find_program_of_process(session, task->tgid);
}
