/* Sends results, with the members that their revision of the protocol requires. */
#include "agents/mcp/private.h"
#include "config.h"

#define META_KEY_SERVER_INFO "io.modelcontextprotocol/serverInfo"

json_t *respond_make_server_info(void)
{
	return json_pack("{s:s, s:s, s:s}", "name", "callgate", "title", "callgate sandbox", "version",
			 PACKAGE_VERSION);
}

void respond_with_result(struct rpc *rpc, const json_t *id, bool is_of_revision_2026, json_t *result)
{
	if (is_of_revision_2026) {
		if (!json_object_get(result, "resultType"))
			(void)json_object_set_new(result, "resultType", json_string("complete"));
		(void)json_object_set_new(result, "_meta",
					  json_pack("{s:o}", META_KEY_SERVER_INFO, respond_make_server_info()));
	}
	rpc_send_result(rpc, id, result);
}
