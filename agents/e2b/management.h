/* What the files of the management API share. */
#ifndef CALLGATE_AGENTS_E2B_MANAGEMENT_H
#define CALLGATE_AGENTS_E2B_MANAGEMENT_H

#include "agents/e2b/private.h"

/* A request of the management API: the client's API key, and the components of the path that the route has as {}. */
struct management_call {
	struct e2b *e2b;
	struct e2b_key *key;
	struct http_request *request;
	char path_parts[HTTP_PATH_WILDCARDS_MAX][HTTP_PATH_WILDCARD_SIZE];
};

/* ---- management-list.c ---- */

/* Answers with the key's sandboxes, those that the query selects. */
void management_list_sandboxes(const struct management_call *call);

#endif
