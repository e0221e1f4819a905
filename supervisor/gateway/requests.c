/* HTTP requests that were recorded as granted, until egress reports their outcome. */
#include <errno.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "base/times.h"
#include "supervisor/gateway/private.h"

int requests_add(struct connections *connections, struct connection *conn, const struct control_record *record,
		       struct request **ret_request)
{
	struct request *request;
	struct summary_item *item;

	if (connections->requests >= HTTP_REQUESTS_WITHOUT_OUTCOME_MAX)
		return -EAGAIN;
	request = calloc(1, sizeof(*request));
	if (!request)
		return -ENOMEM;
	request->id = record->id;
	request->texts = text_format("%s%c%s%c%s%c%s", record->host, '\0', record->method, '\0', record->path, '\0',
				     record->rule);
	if (!request->texts || !tsearch(request, &connections->request_tree, connections_compare_ids)) {
		free(request->texts);
		free(request);
		return -ENOMEM;
	}
	item = &request->item;
	*item = (struct summary_item){.host = request->texts, .port = record->port, .is_allowed = true, .count = 1};
	item->method = item->host + strlen(item->host) + 1;
	item->path = item->method + strlen(item->method) + 1;
	item->rule = item->path + strlen(item->path) + 1;
	request->conn = conn;
	request->next_of_conn = conn->requests;
	conn->requests = request;
	connections->requests++;
	*ret_request = request;
	return 0;
}

static void request_remove(struct connections *connections, struct request *request)
{
	struct request **at = &request->conn->requests;

	while (*at != request)
		at = &(*at)->next_of_conn;
	*at = request->next_of_conn;
	(void)tdelete(request, &connections->request_tree, connections_compare_ids);
	connections->requests--;
	free(request->texts);
	free(request);
}

void requests_end_with_outcome(struct egress_client *client, struct request *request,
				     const struct control_request_done *done)
{
	struct summary_item item = request->item;

	item.reason = done->result < 0 ? "no_response" : "granted";
	item.status = done->result > 0 ? (unsigned)done->result : 0;
	item.bytes_up = done->bytes_up;
	item.bytes_down = done->bytes_down;
	audit_end_record(client->sandbox->audit, request->outcome_location, done->result,
			 done->duration_us * NS_PER_US);
	summary_add_entry(&client->summary, &item);
	request_remove(&client->connections, request);
}

int requests_end(struct egress_client *client, const struct control_request_done *done)
{
	struct request *const *found = tfind(&done->id, &client->connections.request_tree, connections_compare_ids);

	if (!found || done->result < -ERRNO_MAX || done->result > 999)
		return -EBADMSG;
	requests_end_with_outcome(client, *found, done);
	return 0;
}
