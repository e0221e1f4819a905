/* Commands of callgate's own that a tool call needs an answer of. */
#include "agents/mcp/private.h"
#include "agents/sandbox/host-command.h"

void call_stop_host_command(struct tool_call *call)
{
	host_command_free(call->host_command);
	call->host_command = NULL;
}

static void call_on_host_command_reply(void *data, const char *reply, size_t len, int status)
{
	struct tool_call *call = data;

	call->host_command = NULL;
	call->host_command_status = status;
	call->reply_or_content.len = 0;
	buf_add(&call->reply_or_content, reply, len);
	call->on_reply(call);
}

int call_start_host_command(struct tool_call *call, const char *const *argv, bool may_take_long,
			    void (*on_reply)(struct tool_call *call))
{
	const struct host_command_options options = {.argv = argv,
						     .stdin_fd = -1,
						     .limit_ms = may_take_long ? HOST_COMMAND_STALL_LIMIT_MS
									       : HOST_COMMAND_LIMIT_MS,
						     .total_limit_ms = may_take_long ? HOST_COMMAND_TOTAL_LIMIT_MS : 0,
						     .on_reply = call_on_host_command_reply,
						     .data = call};

	call->on_reply = on_reply;
	return host_command_start(call->mcp->loop, &options, &call->host_command);
}
