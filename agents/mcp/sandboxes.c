/*
 * The sandboxes of the server. A client refers to one by its handle, which cannot be guessed. Under revision 2026-07-28
 * nothing else connects two requests. A client of 2025-11-25 has one of its own, which it uses where it names none.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "agents/mcp/private.h"
#include "base/cleanup.h"

#define RANDOM_BYTES 16
#define ARGUMENTS_MAX 256

static const char *const languages[MCP_LANGUAGES] = {"python", "javascript", "bash"};

/* ---- its end ---- */

static void sandbox_remove(struct mcp_sandbox *sandbox)
{
	struct mcp *mcp = sandbox->mcp;
	struct mcp_sandbox **at = &mcp->sandboxes;

	while (*at != sandbox)
		at = &(*at)->next;
	*at = sandbox->next;
	mcp->sandbox_count--;
	if (mcp->connection_sandbox == sandbox)
		mcp->connection_sandbox = NULL;
	loop_cancel(sandbox->timer);
	for (size_t i = 0; i < MCP_LANGUAGES; i++)
		context_free(sandbox->context[i]);
	sandbox_free(sandbox->sandbox);
	free(sandbox->error);
	free(sandbox);
}

static void sandbox_on_time(void *data)
{
	struct mcp_sandbox *sandbox = data;

	sandbox->timer = NULL;
	sandbox_remove(sandbox);
}

/* Its calls fail now. It is freed a moment later, because this is called from its own callbacks. */
static void sandbox_end(struct mcp_sandbox *sandbox, const char *error)
{
	struct mcp *mcp = sandbox->mcp;

	if (sandbox->error)
		return;
	sandbox->error = strdup(error);
	if (mcp->connection_sandbox == sandbox)
		mcp->connection_sandbox = NULL;
	mcp->on_sandbox(sandbox);
	loop_cancel(sandbox->timer);
	sandbox->timer = loop_after(mcp->loop, 0, sandbox_on_time, sandbox);
}

static void sandbox_on_ready(void *data, const char *error)
{
	struct mcp_sandbox *sandbox = data;

	if (error) {
		sandbox_end(sandbox, error);
		return;
	}
	sandbox->is_ready = true;
	sandbox->mcp->on_sandbox(sandbox);
}

static void sandbox_on_end(void *data)
{
	sandbox_end(data,
		    "the sandbox has ended, by a limit of its policy or from outside; call without \"sandbox\" for a "
		    "new one");
}

void sandboxes_free_all(struct mcp *mcp)
{
	while (mcp->sandboxes)
		sandbox_remove(mcp->sandboxes);
}

/* ---- its start ---- */

static int sandbox_make_handle(char handle[MCP_HANDLE_SIZE])
{
	unsigned char bytes[RANDOM_BYTES];

	if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes))
		return -errno;
	(void)snprintf(handle, MCP_HANDLE_SIZE, "sb-");
	for (size_t i = 0; i < RANDOM_BYTES; i++)
		(void)snprintf(handle + 3 + i * 2, 3, "%02x", bytes[i]);
	return 0;
}

/* Starts the session behind it, with the options of the policy and a log of its own. 0 or -errno. */
static int sandbox_start(struct mcp_sandbox *sandbox)
{
	const struct mcp_options *options = &sandbox->mcp->options;
	_cleanup_free_ char *audit = NULL;
	const char *arguments[ARGUMENTS_MAX + 5];
	size_t count = 0;

	while (count < ARGUMENTS_MAX && options->policy[count]) {
		arguments[count] = options->policy[count];
		count++;
	}
	if (options->audit_dir) {
		/* The handle is a secret of the client: the log's name has what `status` shows, its beginning. */
		if (asprintf(&audit, "%s/%.11s.jsonl", options->audit_dir, sandbox->handle) < 0)
			return -ENOMEM;
		arguments[count++] = "--audit";
		arguments[count++] = audit;
	}
	arguments[count++] = "--idle";
	arguments[count++] = "0";
	arguments[count] = NULL;
	return sandbox_create(sandbox->mcp->loop,
			      &(struct sandbox_options){.callgate = options->callgate,
							.arguments = arguments,
							.on_ready = sandbox_on_ready,
							.on_end = sandbox_on_end,
							.data = sandbox},
			      &sandbox->sandbox);
}

static int sandboxes_add(struct mcp *mcp, struct mcp_sandbox **ret_sandbox)
{
	struct mcp_sandbox *sandbox;
	int error;

	if (mcp->sandbox_count >= mcp->options.sandboxes_max)
		return -EMFILE;
	sandbox = calloc(1, sizeof(*sandbox));
	if (!sandbox)
		return -ENOMEM;
	sandbox->mcp = mcp;
	sandbox->created_ms = sandbox->used_ms = loop_get_now_ms(mcp->loop);
	error = sandbox_make_handle(sandbox->handle);
	if (error == 0)
		error = sandbox_start(sandbox);
	if (error < 0) {
		free(sandbox);
		return error;
	}
	sandbox->next = mcp->sandboxes;
	mcp->sandboxes = sandbox;
	mcp->sandbox_count++;
	*ret_sandbox = sandbox;
	return 0;
}

/* ---- its use ---- */

struct mcp_sandbox *sandboxes_find(const struct mcp *mcp, const char *handle)
{
	struct mcp_sandbox *sandbox = mcp->sandboxes;

	while (sandbox && (strcmp(sandbox->handle, handle) != 0 || sandbox->error))
		sandbox = sandbox->next;
	return sandbox;
}

int sandboxes_use(struct mcp *mcp, const char *handle, bool is_modern, struct mcp_sandbox **ret_sandbox)
{
	struct mcp_sandbox *sandbox = handle ? sandboxes_find(mcp, handle) : NULL;
	int error = handle && !sandbox ? -ENOENT : 0;

	if (!handle && !is_modern)
		sandbox = mcp->connection_sandbox;
	if (error == 0 && !sandbox) {
		error = sandboxes_add(mcp, &sandbox);
		if (error == 0 && !is_modern)
			mcp->connection_sandbox = sandbox;
	}
	if (error < 0)
		return error;
	loop_cancel(sandbox->timer);
	sandbox->timer = NULL;
	sandbox->calls++;
	*ret_sandbox = sandbox;
	return 0;
}

void sandboxes_release(struct mcp_sandbox *sandbox)
{
	sandbox->used_ms = loop_get_now_ms(sandbox->mcp->loop);
	sandbox->calls--;
	if (sandbox->calls == 0 && !sandbox->error)
		sandbox->timer =
			loop_after(sandbox->mcp->loop, sandbox->mcp->options.idle_ms, sandbox_on_time, sandbox);
}

int sandboxes_get_context(struct mcp_sandbox *sandbox, const char *language, struct context **ret_context)
{
	size_t at = 0;
	int error = 0;

	while (at < MCP_LANGUAGES - 1 && strcmp(languages[at], language) != 0)
		at++;
	if (!sandbox->context[at])
		error = context_create(sandbox->mcp->loop, sandbox->sandbox,
				       &(struct context_options){.language = languages[at]}, &sandbox->context[at]);
	if (error == 0)
		*ret_context = sandbox->context[at];
	return error;
}
