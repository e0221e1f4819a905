/* The tools explain_denial and status. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agents/mcp/private.h"
#include "base/cleanup.h"

#define POLICY_QUESTION_ARGUMENTS_MAX 300 /* most policy options that are passed on to `callgate why` */
#define POLICY_QUESTION_REPLY_BYTES_MAX (256u << 10)
#define POLICY_QUESTION_TIMEOUT_MS 10000

/* A process `callgate why`, which judges one access by the server's policy and changes nothing. */
struct policy_question_process {
	pid_t pid;
	int fd; /* reading end of its stdout and stderr */
	struct loop_source *source;
};

/* ---- explain_denial ---- */

static void question_free(struct policy_question_process *question)
{
	if (!question)
		return;
	loop_remove_source(question->source);
	if (question->pid > 0) {
		(void)kill(question->pid, SIGKILL);
		(void)waitpid(question->pid, NULL, 0);
	}
	close_fd(&question->fd);
	free(question);
}

/* The tool's `stop`: ends the question of a call. */
void tool_stop_question(struct tool_call *call)
{
	question_free(call->question);
	call->question = NULL;
}

/* Adds the answer of `callgate why` to the tool's result, a line for each member that a model can use. */
static void explain_add_answer_text(struct tool_call *call, const json_t *answer)
{
	static const char *const shown[] = {"verdict", "op",     "path",  "host",    "port",
					    "rule",    "reason", "errno", "suggest", "suggest_reason"};
	_cleanup_buf_ struct buf text = {0};

	for (size_t i = 0; i < sizeof(shown) / sizeof(shown[0]); i++) {
		const json_t *value = json_object_get(answer, shown[i]);

		if (json_is_string(value))
			buf_printf(&text, "%s: %s\n", shown[i], json_string_value(value));
		else if (json_is_integer(value))
			buf_printf(&text, "%s: %lld\n", shown[i], (long long)json_integer_value(value));
	}
	if (text.len > 0)
		call_add_text(call, text.data, text.len);
}

/* Finishes the tool call with the answer of `callgate why`. */
static void question_finish_call(struct tool_call *call)
{
	json_t *answer = json_loadb(call->reply_or_content.data ? call->reply_or_content.data : "",
				    call->reply_or_content.len, 0, NULL);

	if (!json_is_string(json_object_get(answer, "verdict"))) {
		json_decref(answer);
		call_fail(call, "the question cannot be judged: %.*s", (int)call->reply_or_content.len,
			  call->reply_or_content.data ? call->reply_or_content.data : "");
		return;
	}
	explain_add_answer_text(call, answer);
	call_finish(call, answer, false);
}

static void question_on_readable(void *data, uint32_t events)
{
	struct tool_call *call = data;
	char bytes[4096];
	ssize_t got = read(call->question->fd, bytes, sizeof(bytes));

	(void)events;
	if (got < 0 && (errno == EINTR || errno == EAGAIN))
		return;
	if (got > 0 && call->reply_or_content.len + (size_t)got <= POLICY_QUESTION_REPLY_BYTES_MAX)
		buf_add(&call->reply_or_content, bytes, (size_t)got);
	else
		question_finish_call(call);
}

static void question_on_timeout(void *data)
{
	struct tool_call *call = data;

	call->question_timeout_timer = NULL;
	call_fail(call, "the policy gives no answer in time");
}

/* Starts a process. *ret_fd: the reading end of a pipe for its stdout and stderr. 0 or -errno. */
static int question_spawn_process(const char *const *argv, pid_t *ret_pid, int *ret_fd)
{
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes; /* the child neither blocks nor ignores signals, unlike this process */
	sigset_t none, all;
	int pipe_fd[2], error;

	if (pipe2(pipe_fd, O_CLOEXEC) < 0)
		return -errno;
	(void)sigemptyset(&none);
	(void)sigfillset(&all);
	error = posix_spawnattr_init(&attributes);
	if (error == 0) {
		(void)posix_spawnattr_setsigmask(&attributes, &none);
		(void)posix_spawnattr_setsigdefault(&attributes, &all);
		(void)posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
		error = posix_spawn_file_actions_init(&actions);
		if (error != 0)
			(void)posix_spawnattr_destroy(&attributes);
	}
	if (error == 0) {
		(void)posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
		(void)posix_spawn_file_actions_adddup2(&actions, pipe_fd[1], STDOUT_FILENO);
		(void)posix_spawn_file_actions_adddup2(&actions, pipe_fd[1], STDERR_FILENO);
		error = posix_spawn(ret_pid, argv[0], &actions, &attributes, (char *const *)(uintptr_t)argv, environ);
		(void)posix_spawn_file_actions_destroy(&actions);
		(void)posix_spawnattr_destroy(&attributes);
	}
	(void)close(pipe_fd[1]);
	if (error == 0)
		*ret_fd = steal_fd(&pipe_fd[0]);
	cleanup_close(&pipe_fd[0]);
	return -error;
}

/* Asks the policy by `callgate why OPTION TEXT --json`, and watches its output. 0 or -errno. */
static int question_start(struct tool_call *call, const char *question_option, const char *question_text)
{
	const struct mcp_options *options = &call->mcp->options;
	const char *argv[POLICY_QUESTION_ARGUMENTS_MAX + 8] = {options->callgate_path, "why"};
	struct policy_question_process *question = calloc(1, sizeof(*question));
	size_t count = 2;
	int error;

	if (!question)
		return -ENOMEM;
	question->fd = -1;
	call->question = question;
	for (size_t i = 0; options->policy_arguments[i] && count < POLICY_QUESTION_ARGUMENTS_MAX; i++)
		argv[count++] = options->policy_arguments[i];
	argv[count++] = question_option;
	argv[count++] = question_text;
	argv[count++] = "--json";
	argv[count] = NULL;
	error = question_spawn_process(argv, &question->pid, &question->fd);
	if (error < 0)
		return error;
	question->source = loop_add_source(call->mcp->loop, question->fd, EPOLLIN, question_on_readable, call);
	call->question_timeout_timer =
		loop_add_timer(call->mcp->loop, POLICY_QUESTION_TIMEOUT_MS, question_on_timeout, call);
	return question->source && call->question_timeout_timer ? 0 : -ENOMEM;
}

/*
 * Writes the question for `callgate why`. Returns the option that comes before it, such as "--open". NULL: the call
 * does not give exactly one of path, host and url.
 */
static const char *explain_format_question(const struct tool_call *call, struct buf *question_text)
{
	const char *path = call_get_text(call, "path"), *host = call_get_text(call, "host");
	const char *url = call_get_text(call, "url"), *access = call_get_text(call, "access");
	const char *method = call_get_text(call, "method");

	if (!!path + !!host + !!url != 1)
		return NULL;
	if (host) {
		buf_printf(question_text, strchr(host, ':') ? "[%s]:%d" : "%s:%d", host,
			   (int)call_get_number(call, "port", 443));
		return "--connect";
	}
	if (url) {
		buf_printf(question_text, "%s %s", method ? method : "GET", url);
		return "--url";
	}
	buf_printf(question_text, "%s:%c", path,
		   access && strcmp(access, "write") == 0     ? 'w'
		   : access && strcmp(access, "execute") == 0 ? 'x'
							      : 'r');
	return "--open";
}

void tool_explain_denial(struct tool_call *call)
{
	_cleanup_buf_ struct buf question_text = {0};
	const char *question_option = explain_format_question(call, &question_text);
	int error =
		question_option && question_text.data ? question_start(call, question_option, question_text.data) : 0;

	if (!question_option)
		call_fail(call, "give one of \"path\", \"host\" and \"url\"");
	else if (error < 0)
		call_fail(call, "the policy cannot be asked: %s", strerror(-error));
}

/* ---- status ---- */

/* What a client may know of its sandbox: state, age and calls. */
static json_t *status_describe_sandbox(const struct mcp_sandbox *sandbox, uint64_t now_ms)
{
	return json_pack("{s:s, s:s?, s:I, s:I, s:i}", "state", sandbox->is_ready ? "ready" : "starting", "session",
			 sandbox_get_id(sandbox->sandbox), "age_seconds",
			 (json_int_t)((now_ms - sandbox->creation_time_ms) / 1000), "idle_seconds",
			 (json_int_t)(sandbox->active_call_count > 0 ? 0 : (now_ms - sandbox->last_use_ms) / 1000),
			 "calls", (int)sandbox->active_call_count);
}

/* Describes one sandbox only if the client gives its handle, or if it is the client's default. */
void tool_report_status(struct tool_call *call)
{
	const struct mcp *mcp = call->mcp;
	const char *handle = call_get_text(call, "sandbox");
	const struct mcp_sandbox *sandbox = handle ? sandboxes_find(mcp, handle) : mcp->connection_sandbox;
	json_t *structured;
	_cleanup_free_ char *text = NULL;

	if (handle && !sandbox) {
		call_fail(call, "no such sandbox: it has ended, or the handle is wrong");
		return;
	}
	structured =
		json_pack("{s:i, s:i, s:I, s:i, s:o}", "sandboxes", (int)mcp->sandbox_count, "sandboxes_max",
			  (int)mcp->options.sandboxes_max, "idle_seconds_max",
			  (json_int_t)(mcp->options.idle_timeout_ms / 1000), "calls", (int)mcp->call_count, "sandbox",
			  sandbox ? status_describe_sandbox(sandbox, loop_get_now_ms(mcp->loop)) : json_null());
	text = json_dumps(structured, JSON_INDENT(1));
	call_add_text(call, text ? text : "", text ? strlen(text) : 0);
	call_finish(call, structured, false);
}
