/* filesystem.Filesystem, and files by GET and POST. */
#include "agents/e2b/private.h"

const struct connect_method filesystem_methods[] = {{0}};

void watchers_release(struct e2b_sandbox *box)
{
	box->watchers = NULL;
}

void files_handle(struct e2b_sandbox *box, struct http_request *request)
{
	(void)box;
	e2b_fail(request, 501, "this server does not transfer files");
}

void files_handle_signed(struct e2b *e2b, struct http_request *request)
{
	(void)e2b;
	e2b_fail(request, 501, "this server does not transfer files");
}
