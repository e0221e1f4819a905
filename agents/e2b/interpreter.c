/* The code interpreter's port. */
#include "agents/e2b/private.h"

void interpreter_handle(struct e2b_sandbox *box, struct http_request *request)
{
	http_answer_json(request, 502,
			 json_pack("{s:s, s:s, s:i, s:i}", "message", "The sandbox is running but port is not open",
				   "sandboxId", box->id, "port", E2B_INTERPRETER_PORT, "code", 502));
}

void contexts_release(struct e2b_sandbox *box)
{
	box->contexts = NULL;
}
