/* What a session's clients ask for. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fdpass.h"
#include "base/io.h"
#include "base/times.h"
#include "supervisor/limits/limits.h"
#include "supervisor/session/private.h"

/*
 * Whether each of the client's descriptors is a pipe or /dev/null. A directory or another file of the host would be a
 * way out of the view. The user's terminal is refused as well: a program may do everything to its terminal, so the
 * session makes a terminal for it.
 */
static bool program_stdio_is_pipes_or_dev_null(const int stdio_fd[3])
{
	struct stat st;

	for (int i = 0; i < 3; i++) {
		int flags = stdio_fd[i] < 0 ? -1 : fcntl(stdio_fd[i], F_GETFL);

		if (flags < 0 || flags & O_PATH || fstat(stdio_fd[i], &st) < 0)
			return false;
		if (!S_ISFIFO(st.st_mode) && !(S_ISCHR(st.st_mode) && st.st_rdev == makedev(1, 3)))
			return false;
	}
	return true;
}

static bool program_request_is_valid(const struct program_request *wanted)
{
	const json_t *argument, *value;
	const char *name;
	size_t i;

	if (json_array_size(wanted->argv) == 0 || (wanted->env && !json_is_object(wanted->env)))
		return false;
	json_array_foreach(wanted->argv, i, argument) {
		if (!json_is_string(argument))
			return false;
	}
	json_object_foreach((json_t *)(uintptr_t)wanted->env, name, value) {
		if (!json_is_string(value) || !*name || strchr(name, '='))
			return false;
	}
	return true;
}

/* Starts the program of a request whose descriptors were checked. */
static void client_start_program(struct session *session, struct client *client,
				 const struct program_request *wanted)
{
	const char *code = "";
	char message[512];

	if (session->is_ending)
		clients_send_error(client, "session_ends", "the session ends");
	else if (pausing_is_requested(session))
		clients_send_error(client, "paused", "the session is paused");
	else if (programs_start(session, client, wanted, &code, message, sizeof(message)) < 0)
		clients_send_error(client, code, message);
}

/*
 * Returns the requested number of columns or rows. 0: none was requested; many programs then assume 80 columns and 24
 * rows.
 */
static unsigned short terminal_get_size(const json_t *terminal, const char *name)
{
	json_int_t value = json_integer_value(json_object_get(terminal, name));

	return value > 0 && value <= USHRT_MAX ? (unsigned short)value : 0;
}

/* Makes a terminal for a program, and starts the program on it. */
static void client_start_on_terminal(struct session *session, struct client *client,
				     const struct program_request *asked, const json_t *terminal)
{
	const struct winsize size = {.ws_col = terminal_get_size(terminal, "columns"),
				     .ws_row = terminal_get_size(terminal, "rows")};
	_cleanup_close_ int master = -1, slave = -1;
	struct program_request wanted = *asked;
	char message[128];
	int r = view_make_terminal(session->sandbox->view, &master, &slave);

	if (r == 0 && ioctl(master, TIOCSWINSZ, &size) < 0)
		r = -errno;
	if (r < 0) {
		(void)snprintf(message, sizeof(message), "cannot make a terminal: %s",
			       r == -ENOTTY ? "the session has no /dev/pts" : strerror(-r));
		clients_send_error(client, "no_terminal", message);
		return;
	}
	for (int i = 0; i < 3; i++)
		wanted.stdio_fd[i] = slave;
	wanted.master_fd = &master;
	client_start_program(session, client, &wanted);
}

/* Starts the program that a client asks for, or tells it why not. */
static void client_request_program(struct session *session, struct client *client, const json_t *asked,
				   const int stdio_fd[3])
{
	struct program_request wanted = {
		.argv = json_object_get(asked, "argv"), .env = json_object_get(asked, "env"),
		.cwd = json_string_value(json_object_get(asked, "cwd")),
		.stdio_fd = {stdio_fd[0], stdio_fd[1], stdio_fd[2]},
		.is_detached = json_is_true(json_object_get(asked, "detached"))};
	const json_t *terminal = json_object_get(asked, "terminal");
	json_int_t wall_ms = json_integer_value(json_object_get(asked, "wall_ms"));

	if (wall_ms > 0 && (uint64_t)wall_ms < UINT64_MAX / NS_PER_MS)
		wanted.time_limit_ns = (uint64_t)wall_ms * NS_PER_MS;
	if (looking_is_wanted(session) && !json_is_true(json_object_get(asked, "inspected")))
		clients_send_error(client, "not_inspected",
				   "the policy says \"inspect\", and this client starts programs without looking at "
				   "them; callgate session exec and callgate mcp look");
	else if (!program_request_is_valid(&wanted))
		clients_send_error(client, "bad_request",
				   "\"argv\" must be an array of texts, and \"env\" an object of texts");
	else if (terminal && (!json_is_object(terminal) || wanted.is_detached))
		clients_send_error(client, "bad_request",
				   "\"terminal\" must be an object, and no program with one can be detached");
	else if (terminal)
		client_start_on_terminal(session, client, &wanted, terminal);
	else if (!program_stdio_is_pipes_or_dev_null(stdio_fd))
		clients_send_error(client, "bad_request", "\"exec\" needs three descriptors: pipes or /dev/null");
	else
		client_start_program(session, client, &wanted);
}

/* Sends a list of programs, of as many as fit in a message: their paths may be long. */
static void client_list_programs(struct session *session, struct client *client)
{
	json_t *list = json_array(), *item;
	uint64_t now = io_read_clock_ns();
	size_t bytes = 0;
	int unlisted = 0;

	for (unsigned i = 0; i < SPAWNER_PROGRAMS_MAX; i++) {
		const struct program *program = session->program[i];

		if (!program)
			continue;
		item = json_pack("{s:i, s:i, s:s, s:I}", "program", (int)program->number, "pid", (int)program->pid,
				 "path", program->executed_path, "duration_ms",
				 (json_int_t)((now - program->start_ns) / NS_PER_MS));
		bytes += json_dumpb(item, NULL, 0, JSON_COMPACT) + 1; /* the length only; and a comma */
		if (bytes <= SESSION_PROGRAM_LIST_BYTES_MAX)
			(void)json_array_append(list, item);
		else
			unlisted++;
		json_decref(item);
	}
	clients_send(client, json_pack("{s:s, s:i, s:o, s:i}", "session", session->options->run_id, "started",
				       (int)session->last_program_number, "programs", list, "unlisted", unlisted));
}

/* Lets the session last as long as this client is connected. */
static void client_hold_session(struct session *session, struct client *client)
{
	session->holding_client_count += !client->holds_session;
	client->holds_session = true;
	/* A path that is not UTF-8 is left out. */
	clients_send(client, json_pack("{s:s, s:b, s:o*}", "session", session->options->run_id, "inspects",
				       looking_is_wanted(session), "workdir",
				       json_string(policy_get_settings(session->sandbox->policy)->workdir)));
}

/* Answers a client that asks for the session's CPU time. */
static void client_tell_usage(const struct session *session, struct client *client)
{
	const uint64_t cpu_ns = limits_read_cpu_ns(session->sandbox->memory.meter);

	clients_send(client, json_pack("{s:s, s:I}", "session", session->options->run_id, "cpu_ms",
				       (json_int_t)(cpu_ns / NS_PER_MS)));
}

/*
 * Sends a signal to the process group of the client's program. The program leads that group until its monitor reaps it,
 * so the group's number is not reused before.
 */
static void client_signal_program(struct client *client, const json_t *asked)
{
	json_int_t number = json_integer_value(json_object_get(asked, "signal"));
	const struct program *program = client->program;

	if (number < 1 || number >= _NSIG)
		clients_send_error(client, "bad_request", "\"signal\" must be the number of a signal");
	else if (program->state == PROGRAM_RUNNING && kill(-program->pid, (int)number) < 0)
		/*
		 * the program has not become the leader of a process group yet, so only the process itself gets the
		 * signal
		 */
		(void)kill(program->pid, (int)number);
}

/* Performs what a client's message asks for. */
static void client_handle_message(struct session *session, struct client *client, const json_t *asked,
				  const int stdio_fd[3])
{
	const char *op = json_string_value(json_object_get(asked, "op"));

	if (op && client->program && strcmp(op, "signal") == 0)
		client_signal_program(client, asked);
	else if (op && client->program && strcmp(op, "denials") == 0)
		programs_report_denials(client->program);
	else if (op && !client->program && strcmp(op, "exec") == 0)
		client_request_program(session, client, asked, stdio_fd);
	else if (op && !client->program && strcmp(op, "list") == 0)
		client_list_programs(session, client);
	else if (op && !client->program && strcmp(op, "look") == 0)
		looking_answer(session, client, asked);
	else if (op && !client->program && looking_record(session, op, asked))
		; /* no answer */
	else if (op && !client->program && strcmp(op, "usage") == 0)
		client_tell_usage(session, client);
	else if (op && !client->program && strcmp(op, "pause") == 0)
		pausing_request(session, client, json_is_true(json_object_get(asked, "paused")));
	else if (op && !client->program && strcmp(op, "workspace") == 0)
		pausing_request_workspace(session, client, asked);
	else if (op && !client->program && strcmp(op, "release") == 0)
		pausing_release_workspace(session, client, asked);
	else if (op && !client->program && strcmp(op, "hold") == 0)
		client_hold_session(session, client);
	else if (op && !client->program && strcmp(op, "stop") == 0)
		programs_end_all(session); /* the client is answered by the end of its connection */
	else
		clients_send_error(client, "bad_request", "unknown \"op\", or not now");
}

void requests_read_from_client(struct session *session, struct client *client)
{
	int stdio_fd[3];
	ssize_t got = fdpass_receive(client->fd, session->text, SESSION_MESSAGE_BYTES_MAX, stdio_fd, 3,
				     MSG_DONTWAIT | MSG_TRUNC);
	const bool fits = got > 0 && (size_t)got <= SESSION_MESSAGE_BYTES_MAX;
	json_t *asked;

	if (got == -EAGAIN)
		return;
	asked = fits ? json_loadb(session->text, (size_t)got, JSON_REJECT_DUPLICATES, NULL) : NULL;
	if (got <= 0)
		clients_drop(client); /* the client has hung up */
	else if (!asked)
		clients_send_error(client, "bad_request", "not a JSON object, or longer than 192 KiB");
	else
		client_handle_message(session, client, asked, stdio_fd);
	json_decref(asked);
	for (int i = 0; i < 3; i++)
		cleanup_close(&stdio_fd[i]);
}
