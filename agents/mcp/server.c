/*
 * The Model Context Protocol on stdin and stdout, in two revisions: 2025-11-25 (a client begins with "initialize") and
 * 2026-07-28 (each request names its version; basic/versioning, "Backward Compatibility"). Both have the same tools.
 */
#include <errno.h>
#include <string.h>

#include "agents/mcp/mcp.h"
#include "agents/mcp/private.h"
#include "config.h"

#define PROTOCOL_VERSION_2026 "2026-07-28"
#define META_KEY_PROTOCOL_VERSION "io.modelcontextprotocol/protocolVersion"
#define META_KEY_SUBSCRIPTION_ID "io.modelcontextprotocol/subscriptionId"
/* After the end of the input, calls in progress get this time to end. Clients wait as long before they send SIGTERM. */
#define MCP_EXIT_WAIT_FOR_CALLS_MS 2000
#define MCP_EXIT_CHECK_INTERVAL_MS 5 /* after the end of input: between two looks whether all calls are answered */
/* how long clients may keep the list of tools, which does not change while the server runs */
#define TOOL_LIST_TTL_MS 3600000

static const char instructions[] =
	"Runs code, programs and file operations in a sandbox whose policy decides each access. What the policy "
	"refuses "
	"is listed in \"denials\" with its reason and with what a person would have to add to the policy: do not retry "
	"it, "
	"and do not guess; say what is missing. Pass the \"sandbox\" handle of an earlier result to go on with its "
	"variables, files and installed packages.";

/* Revisions in which a client begins with "initialize", and whose tools are the same; the newest first. */
static const char *const versions_with_initialize[] = {"2025-11-25", "2025-06-18", NULL};

/* ---- methods ---- */

/* A request of the client, as its method gets it. */
struct mcp_request {
	const json_t *id, *params;
	bool is_of_revision_2026; /* of revision 2026-07-28, not 2025-11-25 */
};

static void method_initialize(struct mcp *mcp, const struct mcp_request *request)
{
	const char *asked = json_string_value(json_object_get(request->params, "protocolVersion"));
	const char *version = versions_with_initialize[0];

	for (size_t i = 0; asked && versions_with_initialize[i]; i++)
		if (strcmp(asked, versions_with_initialize[i]) == 0)
			version = versions_with_initialize[i];
	mcp->is_initialized = true;
	mcp->client_takes_forms = approvals_client_takes_forms(json_object_get(request->params, "capabilities"));
	rpc_send_result(mcp->rpc, request->id,
			json_pack("{s:s, s:{s:{}}, s:o, s:s}", "protocolVersion", version, "capabilities", "tools",
				  "serverInfo", respond_make_server_info(), "instructions", instructions));
}

static void method_ping(struct mcp *mcp, const struct mcp_request *request)
{
	rpc_send_result(mcp->rpc, request->id, json_object());
}

static void method_describe_server(struct mcp *mcp, const struct mcp_request *request)
{
	respond_with_result(mcp->rpc, request->id, true,
			    json_pack("{s:[s], s:{s:{}}, s:s, s:i, s:s}", "supportedVersions", PROTOCOL_VERSION_2026,
				      "capabilities", "tools", "instructions", instructions, "ttlMs", TOOL_LIST_TTL_MS,
				      "cacheScope", "public"));
}

static void method_list_tools(struct mcp *mcp, const struct mcp_request *request)
{
	json_t *result = json_pack("{s:o}", "tools", tools_make_list(mcp));

	if (request->is_of_revision_2026) {
		(void)json_object_set_new(result, "ttlMs", json_integer(TOOL_LIST_TTL_MS));
		(void)json_object_set_new(result, "cacheScope", json_string("public"));
	}
	respond_with_result(mcp->rpc, request->id, request->is_of_revision_2026, result);
}

static void method_call_tool(struct mcp *mcp, const struct mcp_request *request)
{
	const char *name = json_string_value(json_object_get(request->params, "name"));
	const struct tool *tool = name ? tools_find(mcp, name) : NULL;
	const json_t *arguments = json_object_get(request->params, "arguments");
	_cleanup_buf_ struct buf why = {0};
	struct tool_call *call;

	if (!tool) {
		rpc_send_error(mcp->rpc, request->id, RPC_INVALID_PARAMS, "unknown tool; see tools/list", NULL);
		return;
	}
	if (request->is_of_revision_2026 && json_object_get(request->params, "requestState")) {
		if (!calls_resume(mcp, tool, request->id, request->params))
			rpc_send_error(mcp->rpc, request->id, RPC_INVALID_PARAMS,
				       "\"requestState\" is of no call with these arguments that waits for an answer",
				       NULL);
		return;
	}
	call = calls_add(mcp, tool, request->id, request->params, request->is_of_revision_2026);
	if (!call)
		rpc_send_error(mcp->rpc, request->id, RPC_INTERNAL_ERROR, "too many calls are in progress", NULL);
	else if (!tools_check_arguments(tool, arguments, &why))
		call_fail(call, "%s", why.data ? why.data : "invalid arguments");
	else
		call_start(call);
}

/* Serves a subscription to changes. The acknowledgement has an empty list: this server has no changes to report. */
static void method_subscribe(struct mcp *mcp, const struct mcp_request *request)
{
	rpc_send_notification(mcp->rpc, "notifications/subscriptions/acknowledged",
			      json_pack("{s:{}, s:{s:O}}", "notifications", "_meta", META_KEY_SUBSCRIPTION_ID,
					(json_t *)(uintptr_t)request->id));
}

enum revision { REVISION_2025 = 1, REVISION_2026 = 2 };

/* The methods that clients may call, and in which revisions of the protocol. */
static const struct mcp_method {
	const char *name;
	unsigned revision_mask; /* bits of the protocol's revisions that have the method */
	void (*serve)(struct mcp *mcp, const struct mcp_request *request);
} methods[] = {
	{"initialize", REVISION_2025, method_initialize},
	{"ping", REVISION_2025, method_ping},
	{"server/discover", REVISION_2026, method_describe_server},
	{"subscriptions/listen", REVISION_2026, method_subscribe},
	{"tools/list", REVISION_2025 | REVISION_2026, method_list_tools},
	{"tools/call", REVISION_2025 | REVISION_2026, method_call_tool},
};

static const struct mcp_method *methods_find(const char *name, unsigned revision)
{
	for (size_t i = 0; i < sizeof(methods) / sizeof(methods[0]); i++)
		if (strcmp(methods[i].name, name) == 0 && methods[i].revision_mask & revision)
			return &methods[i];
	return NULL;
}

/* ---- requests ---- */

/* Answers a request that names an unknown version of the protocol. */
static void server_refuse_version(struct mcp *mcp, const json_t *id, const char *asked)
{
	rpc_send_error(mcp->rpc, id, RPC_UNSUPPORTED_VERSION, "unsupported protocol version",
		       json_pack("{s:[s], s:s}", "supported", PROTOCOL_VERSION_2026, "requested", asked));
}

/* True when the request may be served. Otherwise sends an error. */
static bool server_check_request(struct mcp *mcp, const struct mcp_request *request, const char *method)
{
	const json_t *meta = json_object_get(request->params, "_meta");
	const json_t *version = json_object_get(meta, META_KEY_PROTOCOL_VERSION);

	if (!request->is_of_revision_2026 && !mcp->is_initialized && strcmp(method, "initialize") != 0 &&
	    strcmp(method, "ping") != 0) {
		rpc_send_error(mcp->rpc, request->id, RPC_INVALID_PARAMS,
			       "\"params\"._meta lacks \"" META_KEY_PROTOCOL_VERSION
			       "\" and \"" MCP_META_KEY_CLIENT_CAPABILITIES "\" (revision " PROTOCOL_VERSION_2026
			       "); or begin with \"initialize\" (2025-11-25)",
			       NULL);
		return false;
	}
	if (request->is_of_revision_2026 &&
	    (!json_is_string(version) || !json_is_object(json_object_get(meta, MCP_META_KEY_CLIENT_CAPABILITIES)))) {
		rpc_send_error(mcp->rpc, request->id, RPC_INVALID_PARAMS,
			       "\"" META_KEY_PROTOCOL_VERSION
			       "\" must be a string, and \"" MCP_META_KEY_CLIENT_CAPABILITIES "\" an object",
			       NULL);
		return false;
	}
	if (request->is_of_revision_2026 && strcmp(json_string_value(version), PROTOCOL_VERSION_2026) != 0) {
		server_refuse_version(mcp, request->id, json_string_value(version));
		return false;
	}
	return true;
}

static void server_on_request(void *data, const json_t *id, const char *method, const json_t *params)
{
	struct mcp *mcp = data;
	const json_t *meta = json_object_get(params, "_meta");
	const struct mcp_request request = {.id = id,
					    .params = params,
					    .is_of_revision_2026 =
						    json_object_get(meta, META_KEY_PROTOCOL_VERSION) != NULL};
	const struct mcp_method *known =
		methods_find(method, request.is_of_revision_2026 ? REVISION_2026 : REVISION_2025);

	if (!known && (request.is_of_revision_2026 || mcp->is_initialized))
		rpc_send_error(mcp->rpc, id, RPC_METHOD_NOT_FOUND, "method not found", NULL);
	else if (server_check_request(mcp, &request, method) && known)
		known->serve(mcp, &request);
}

static void server_on_notification(void *data, const char *method, const json_t *params)
{
	if (strcmp(method, "notifications/cancelled") == 0)
		calls_cancel(data, json_object_get(params, "requestId"));
}

static void server_on_response(void *data, const char *id, const json_t *result)
{
	approvals_take_response(data, id, result);
}

/* ---- life ---- */

/* Called after the end of the input: stops the loop once all calls are answered, at exit_deadline_ms at the latest. */
static void server_stop_when_calls_end(void *data)
{
	struct mcp *mcp = data;

	if ((mcp->call_count == 0 && rpc_is_flushed(mcp->rpc)) || loop_get_now_ms(mcp->loop) >= mcp->exit_deadline_ms ||
	    !loop_add_timer(mcp->loop, MCP_EXIT_CHECK_INTERVAL_MS, server_stop_when_calls_end, mcp))
		loop_stop(mcp->loop);
}

static void server_on_input_end(void *data)
{
	struct mcp *mcp = data;

	mcp->exit_deadline_ms = loop_get_now_ms(mcp->loop) + MCP_EXIT_WAIT_FOR_CALLS_MS;
	server_stop_when_calls_end(mcp);
}

int mcp_serve(struct loop *loop, int input_fd, int output_fd, const struct mcp_options *options)
{
	struct mcp mcp = {.options = *options,
			  .loop = loop,
			  .on_sandbox_change = calls_continue_with_sandbox,
			  .suspend_call = call_suspend};
	const struct rpc_handler handler = {.on_request = server_on_request,
					    .on_notification = server_on_notification,
					    .on_response = server_on_response,
					    .on_end = server_on_input_end,
					    .data = &mcp};
	int error = rpc_create(loop, input_fd, output_fd, &handler, &mcp.rpc);

	if (error == 0)
		error = loop_run(loop);
	calls_free_all(&mcp);
	sandboxes_free_all(&mcp);
	rpc_free(mcp.rpc);
	return error;
}
