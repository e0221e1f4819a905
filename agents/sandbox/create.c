/* Makes a sandbox, watches its session, and frees it. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agents/sandbox/private.h"
#include "base/cleanup.h"
#include "keeper/session-client.h"

#define SANDBOX_OPEN_FILES 1u /* the connection that holds the session; launcher.c counts those of the launcher */

const char *sandbox_get_id(const struct sandbox *sandbox)
{
	return sandbox->id;
}

const char *sandbox_get_workdir(const struct sandbox *sandbox)
{
	return sandbox->workdir;
}

static void sandbox_cancel_start_timeout(struct sandbox *sandbox)
{
	loop_cancel_timer(sandbox->start_timeout_timer);
	sandbox->start_timeout_timer = NULL;
}

/* Reports that the sandbox could not be made, and why. */
static void sandbox_report_start_failure(struct sandbox *sandbox, const char *why)
{
	sandbox_cancel_start_timeout(sandbox);
	sandbox->options.on_ready(sandbox->options.data, why);
}

/* Closes the connection that keeps the session alive. */
static void sandbox_close_hold_connection(struct sandbox *sandbox)
{
	loop_remove_source(sandbox->hold_source);
	sandbox->hold_source = NULL;
	close_fd(&sandbox->session_hold_fd);
}

/*
 * Handles the end of the connection to the session. If the session was never ready, the launcher reports the reason
 * when it exits.
 */
static void sandbox_on_session_end(struct sandbox *sandbox)
{
	sandbox_close_hold_connection(sandbox);
	if (sandbox->id)
		sandbox->options.on_end(sandbox->options.data);
	else if (!sandbox->launcher)
		sandbox_report_start_failure(sandbox, "the session has ended at once");
}

/* Gives up a sandbox that is not ready in time, because the launcher or the session hangs. */
static void sandbox_on_start_timeout(void *data)
{
	struct sandbox *sandbox = data;

	sandbox->start_timeout_timer = NULL;
	if (sandbox->launcher)
		launcher_kill(sandbox->launcher);
	launcher_detach(sandbox->launcher);
	sandbox->launcher = NULL;
	sandbox_close_hold_connection(sandbox);
	sandbox_report_start_failure(sandbox, "callgate session create took too long");
}

/* Notes a pause or its end, for the time that does not count. */
static void sandbox_set_paused(struct sandbox *sandbox, bool paused)
{
	const uint64_t now_ms = loop_get_now_ms(sandbox->loop);

	if (sandbox->is_paused == paused)
		return;
	sandbox->is_paused = paused;
	if (paused)
		sandbox->paused_since_ms = now_ms;
	else
		sandbox->ended_pauses_ms += now_ms - sandbox->paused_since_ms;
}

/*
 * Handles a message of a session that is ready: the answer to a request for usage, pause or resume. False: another
 * message.
 */
static bool sandbox_on_usage_or_pause_answer(struct sandbox *sandbox, const json_t *answer)
{
	const json_t *cpu_ms = json_object_get(answer, "cpu_ms"), *paused = json_object_get(answer, "paused");

	if (json_is_integer(cpu_ms)) {
		if (sandbox->options.on_usage)
			sandbox->options.on_usage(sandbox->options.data, (uint64_t)json_integer_value(cpu_ms));
	} else if (json_is_boolean(paused) && sandbox->options.on_pause) {
		sandbox_set_paused(sandbox, json_is_true(paused));
		sandbox->options.on_pause(sandbox->options.data, sandbox->is_paused,
					  json_string_value(json_object_get(answer, "why")));
	} else {
		return false;
	}
	return true;
}

/* The session has answered: it is ready with an id, reports usage or a pause, or has ended. */
static void sandbox_on_session_message(void *data, uint32_t events)
{
	struct sandbox *sandbox = data;
	_cleanup_json_ json_t *answer = NULL;
	const char *id, *workdir;
	int r = session_client_receive(sandbox->session_hold_fd, &answer, NULL);

	(void)events;
	if (r == -EAGAIN)
		return;
	if (r == 0 && sandbox->id && sandbox_on_usage_or_pause_answer(sandbox, answer))
		return;
	id = json_string_value(json_object_get(answer, "session"));
	workdir = json_string_value(json_object_get(answer, "workdir"));
	if (r < 0 || !id || sandbox->id) {
		sandbox_on_session_end(sandbox);
		return;
	}
	sandbox->wants_looks = json_is_true(json_object_get(answer, "inspects"));
	sandbox->id = strdup(id);
	sandbox->workdir = strdup(workdir ? workdir : "/");
	if (!sandbox->id || !sandbox->workdir) {
		free(sandbox->id);
		sandbox->id = NULL;
		sandbox_on_session_end(sandbox);
		return;
	}
	sandbox_cancel_start_timeout(sandbox);
	sandbox->options.on_ready(sandbox->options.data, NULL);
}

void sandbox_request_usage(struct sandbox *sandbox)
{
	/* fails if the session has ended, or if its socket buffer is full */
	if (sandbox->id && sandbox->session_hold_fd >= 0)
		(void)session_client_send(sandbox->session_hold_fd, json_pack("{s:s}", "op", "usage"), NULL, 0);
}

/* Asks the session to pause or to go on; it answers later. 0 or -errno. */
static int sandbox_send_pause(struct sandbox *sandbox, bool paused)
{
	int r = sandbox->id && sandbox->session_hold_fd >= 0
			? session_client_send(sandbox->session_hold_fd,
					      json_pack("{s:s, s:b}", "op", "pause", "paused", paused), NULL, 0)
			: -ENOTCONN;

	if (r == 0 && paused)
		sandbox_set_paused(sandbox, true);
	return r;
}

int sandbox_pause(struct sandbox *sandbox)
{
	return sandbox_send_pause(sandbox, true);
}

int sandbox_resume(struct sandbox *sandbox)
{
	return sandbox_send_pause(sandbox, false);
}

bool sandbox_is_paused(const struct sandbox *sandbox)
{
	return sandbox->is_paused;
}

uint64_t sandbox_get_running_ms(const struct sandbox *sandbox)
{
	return (sandbox->is_paused ? sandbox->paused_since_ms : loop_get_now_ms(sandbox->loop)) -
	       sandbox->ended_pauses_ms;
}

static void sandbox_on_launcher_exit(void *data, const char *text)
{
	struct sandbox *sandbox = data;

	sandbox->launcher = NULL;
	if (!sandbox->id && sandbox->session_hold_fd < 0)
		sandbox_report_start_failure(sandbox, text[0] ? text : "callgate session create has failed");
}

/* Starts a session, which ends when the connection that is made here is closed. 0 or -errno. */
static int sandbox_start_session(struct sandbox *sandbox, const struct sandbox_options *options)
{
	_cleanup_close_ int session_fd = -1;
	int pair[2], r;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return -errno;
	sandbox->session_hold_fd = pair[0];
	session_fd = pair[1];
	if (fcntl(pair[0], F_SETFL, O_NONBLOCK) < 0)
		return -errno;
	r = session_client_send(pair[0], json_pack("{s:s}", "op", "hold"), NULL, 0);
	if (r < 0)
		return r;
	sandbox->hold_source = loop_add_source(sandbox->loop, pair[0], EPOLLIN, sandbox_on_session_message, sandbox);
	if (!sandbox->hold_source)
		return -errno;
	sandbox->start_timeout_timer =
		loop_add_timer(sandbox->loop,
			       options->start_timeout_ms ? options->start_timeout_ms : SANDBOX_START_TIMEOUT_MS_DEFAULT,
			       sandbox_on_start_timeout, sandbox);
	if (!sandbox->start_timeout_timer)
		return -ENOMEM;
	return launcher_start(sandbox->loop, options, session_fd, sandbox_on_launcher_exit, sandbox,
			      &sandbox->launcher);
}

int sandbox_create(struct loop *loop, const struct sandbox_options *options, struct sandbox **ret_sandbox)
{
	struct sandbox *sandbox;
	int r = open_files_take(SANDBOX_OPEN_FILES);

	if (r < 0)
		return r;
	sandbox = calloc(1, sizeof(*sandbox));
	if (!sandbox) {
		open_files_give_back(SANDBOX_OPEN_FILES);
		return -ENOMEM;
	}
	*sandbox = (struct sandbox){.loop = loop, .options = *options, .session_hold_fd = -1};
	sandbox->options.arguments = NULL;
	sandbox->options.callgate_path = NULL;
	r = sandbox_start_session(sandbox, options);
	if (r < 0)
		sandbox_free(sandbox);
	else
		*ret_sandbox = sandbox;
	return r;
}

void sandbox_free(struct sandbox *sandbox)
{
	if (!sandbox)
		return;
	while (sandbox->programs)
		sandbox_program_free(sandbox->programs);
	sandbox_cancel_start_timeout(sandbox);
	launcher_detach(sandbox->launcher);
	sandbox_close_hold_connection(sandbox);
	open_files_give_back(SANDBOX_OPEN_FILES);
	free(sandbox->id);
	free(sandbox->workdir);
	free(sandbox);
}
