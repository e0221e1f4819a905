/*
 * The sandboxes of the MCP server. A client refers to a sandbox by its handle, which cannot be guessed. In revision
 * 2026-07-28, requests of a client share nothing but handles. In revision 2025-11-25, a client has a default sandbox
 * for requests without a handle.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "agents/mcp/private.h"
#include "agents/slist.h"
#include "base/cleanup.h"
#include "base/text.h"

#define MCP_HANDLE_RANDOM_BYTES 16
#define MCP_POLICY_ARGUMENTS_MAX 256 /* most policy options that are passed on to `callgate session create` */

static const char *const context_languages[MCP_LANGUAGE_COUNT] = {"python", "javascript", "bash"};

/* ---- end of a sandbox ---- */

static void mcp_sandbox_free(struct mcp_sandbox *sandbox)
{
	struct mcp *mcp = sandbox->mcp;

	slist_remove(mcp->sandboxes, sandbox, next);
	mcp->sandbox_count--;
	if (mcp->connection_sandbox == sandbox)
		mcp->connection_sandbox = NULL;
	loop_cancel_timer(sandbox->end_timer);
	approvals_forget_sandbox(sandbox);
	for (size_t i = 0; i < MCP_LANGUAGE_COUNT; i++)
		context_free(sandbox->contexts[i]);
	sandbox_free(sandbox->sandbox);
	free(sandbox->end_reason);
	free(sandbox);
}

/* The sandbox was idle too long, or has ended: frees it. */
static void mcp_sandbox_on_end_timer(void *data)
{
	struct mcp_sandbox *sandbox = data;

	sandbox->end_timer = NULL;
	mcp_sandbox_free(sandbox);
}

/* Sets the time until the sandbox is ended; UINT64_MAX: never. Cannot fail: sandboxes_add() has made the timer. */
static void mcp_sandbox_set_end_timer(struct mcp_sandbox *sandbox, uint64_t delay_ms)
{
	loop_cancel_timer(sandbox->end_timer);
	sandbox->end_timer = loop_add_timer(sandbox->mcp->loop, delay_ms, mcp_sandbox_on_end_timer, sandbox);
}

/*
 * Ends a sandbox: its calls fail now. The sandbox is freed in a later turn of the loop, because this function is called
 * from the sandbox' callbacks.
 */
static void mcp_sandbox_end(struct mcp_sandbox *sandbox, const char *error)
{
	struct mcp *mcp = sandbox->mcp;

	if (sandbox->end_reason)
		return;
	sandbox->end_reason = strdup(error);
	if (mcp->connection_sandbox == sandbox)
		mcp->connection_sandbox = NULL;
	mcp->on_sandbox_change(sandbox);
	mcp_sandbox_set_end_timer(sandbox, 0);
}

static void mcp_sandbox_on_ready(void *data, const char *error)
{
	struct mcp_sandbox *sandbox = data;

	if (error) {
		mcp_sandbox_end(sandbox, error);
		return;
	}
	sandbox->is_ready = true;
	sandbox->mcp->on_sandbox_change(sandbox);
}

static void mcp_sandbox_on_session_end(void *data)
{
	mcp_sandbox_end(
		data, "the sandbox has ended, by a limit of its policy or from outside; call without \"sandbox\" for a "
		      "new one");
}

void sandboxes_free_all(struct mcp *mcp)
{
	while (mcp->sandboxes)
		mcp_sandbox_free(mcp->sandboxes);
}

/* ---- start of a sandbox ---- */

int sandboxes_make_handle(const char *prefix, char ret_handle[MCP_HANDLE_SIZE])
{
	unsigned char bytes[MCP_HANDLE_RANDOM_BYTES];

	if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes))
		return -errno;
	(void)snprintf(ret_handle, MCP_HANDLE_SIZE, "%.3s", prefix);
	for (size_t i = 0; i < MCP_HANDLE_RANDOM_BYTES; i++)
		(void)snprintf(ret_handle + 3 + i * 2, 3, "%02x", bytes[i]);
	return 0;
}

/* Starts the session of a sandbox, with the options of the policy and an audit log of its own. 0 or -errno. */
static int mcp_sandbox_start_session(struct mcp_sandbox *sandbox)
{
	const struct mcp_options *options = &sandbox->mcp->options;
	_cleanup_free_ char *audit = NULL;
	_cleanup_close_ int approver_fd = -1;
	const char *arguments[MCP_POLICY_ARGUMENTS_MAX + MCP_SESSION_ARGUMENTS_MAX + 5];
	size_t count = 0;
	int error = options->asks_client ? approvals_open_channel(sandbox, &approver_fd) : 0;

	if (error < 0)
		return error;

	while (count < MCP_POLICY_ARGUMENTS_MAX && options->policy_arguments[count]) {
		arguments[count] = options->policy_arguments[count];
		count++;
	}
	for (const char *const *argument = options->session_arguments; *argument; argument++)
		arguments[count++] = *argument;
	if (options->audit_dir) {
		/* The handle is a secret of the client, so the log's file name has only its beginning. */
		audit = text_format("%s/%.11s.jsonl", options->audit_dir, sandbox->handle);
		if (!audit)
			return -ENOMEM;
		arguments[count++] = "--audit";
		arguments[count++] = audit;
	}
	arguments[count++] = "--idle";
	arguments[count++] = "0";
	arguments[count] = NULL;
	return sandbox_create(sandbox->mcp->loop,
			      &(struct sandbox_options){.callgate_path = options->callgate_path,
							.arguments = arguments,
							.approver_fd = approver_fd,
							.looks_at_programs = true,
							.on_ready = mcp_sandbox_on_ready,
							.on_end = mcp_sandbox_on_session_end,
							.data = sandbox},
			      &sandbox->sandbox);
}

/* Makes a sandbox with a handle, and starts its session. 0; -EUSERS: there are too many; or -errno. */
static int sandboxes_add(struct mcp *mcp, struct mcp_sandbox **ret_sandbox)
{
	struct mcp_sandbox *sandbox;
	int error;

	if (mcp->sandbox_count >= mcp->options.sandboxes_max)
		return -EUSERS;
	sandbox = calloc(1, sizeof(*sandbox));
	if (!sandbox)
		return -ENOMEM;
	sandbox->mcp = mcp;
	sandbox->approver_fd = -1;
	sandbox->creation_time_ms = sandbox->last_use_ms = loop_get_now_ms(mcp->loop);
	sandbox->end_timer = loop_add_timer(mcp->loop, UINT64_MAX, mcp_sandbox_on_end_timer, sandbox);
	error = sandbox->end_timer ? sandboxes_make_handle("sb-", sandbox->handle) : -ENOMEM;
	if (error == 0)
		error = mcp_sandbox_start_session(sandbox);
	if (error < 0) {
		loop_cancel_timer(sandbox->end_timer);
		approvals_forget_sandbox(sandbox);
		free(sandbox);
		return error;
	}
	sandbox->next = mcp->sandboxes;
	mcp->sandboxes = sandbox;
	mcp->sandbox_count++;
	*ret_sandbox = sandbox;
	return 0;
}

/* ---- use of a sandbox ---- */

struct mcp_sandbox *sandboxes_find(const struct mcp *mcp, const char *handle)
{
	struct mcp_sandbox *sandbox = mcp->sandboxes;

	while (sandbox && (strcmp(sandbox->handle, handle) != 0 || sandbox->end_reason))
		sandbox = sandbox->next;
	return sandbox;
}

int sandboxes_acquire(struct mcp *mcp, const char *handle, bool is_of_revision_2026, struct mcp_sandbox **ret_sandbox)
{
	struct mcp_sandbox *sandbox = handle ? sandboxes_find(mcp, handle) : NULL;
	int error = handle && !sandbox ? -ENOENT : 0;

	if (!handle && !is_of_revision_2026)
		sandbox = mcp->connection_sandbox;
	if (error == 0 && !sandbox) {
		error = sandboxes_add(mcp, &sandbox);
		if (error == 0 && !is_of_revision_2026)
			mcp->connection_sandbox = sandbox;
	}
	if (error < 0)
		return error;
	mcp_sandbox_set_end_timer(sandbox, UINT64_MAX);
	sandbox->active_call_count++;
	*ret_sandbox = sandbox;
	return 0;
}

/* A call ends its use of the sandbox. After the last one, the time begins after which an idle sandbox ends. */
void sandboxes_release(struct mcp_sandbox *sandbox)
{
	sandbox->last_use_ms = loop_get_now_ms(sandbox->mcp->loop);
	sandbox->active_call_count--;
	if (sandbox->active_call_count == 0 && !sandbox->end_reason)
		mcp_sandbox_set_end_timer(sandbox, sandbox->mcp->options.idle_timeout_ms);
}

int sandboxes_get_context(struct mcp_sandbox *sandbox, const char *language, struct context **ret_context)
{
	size_t at = 0;
	int error = 0;

	while (at < MCP_LANGUAGE_COUNT - 1 && strcmp(context_languages[at], language) != 0)
		at++;
	if (!sandbox->contexts[at])
		error = context_create(sandbox->mcp->loop, sandbox->sandbox,
				       &(struct context_options){.language = context_languages[at]},
				       &sandbox->contexts[at]);
	if (error == 0)
		*ret_context = sandbox->contexts[at];
	return error;
}
