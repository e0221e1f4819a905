/* What was announced to egress and is not closed, with the requests on it that have no outcome yet. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "supervisor/gateway/client-private.h"

#include "base/banned.h"

/* Numbers are handed out in order, ours and egress' alike. */
static size_t bucket_of(uint64_t id)
{
	return (size_t)(id % BUCKETS);
}

int conns_add(struct conns *conns, const struct task *task, const struct control_connect *what, struct conn_entry **ret_conn)
{
	struct conn_entry *conn;

	if (conns->count >= CONNS_MAX)
		return -EAGAIN;
	conn = calloc(1, sizeof(*conn));
	if (!conn)
		return -ENOMEM;
	conn->exe = task ? strdup(task->exe) : strdup("");
	if (!conn->exe) {
		free(conn);
		return -ENOMEM;
	}
	conn->id = ++conns->next;
	if (task) {
		conn->pid = task->tgid;
		conn->ppid = task->ppid;
		conn->host_pid = task->host_pid;
	}
	conn->port = what->port;
	(void)snprintf(conn->host, sizeof(conn->host), "%s", what->host);
	conn->next = conns->bucket[bucket_of(conn->id)];
	conns->bucket[bucket_of(conn->id)] = conn;
	conns->count++;
	*ret_conn = conn;
	return 0;
}

struct conn_entry *conns_find(const struct conns *conns, uint64_t id)
{
	struct conn_entry *conn = conns->bucket[bucket_of(id)];

	while (conn && conn->id != id)
		conn = conn->next;
	return conn;
}

struct conn_entry *conns_any(const struct conns *conns)
{
	for (size_t i = 0; conns->count > 0 && i < BUCKETS; i++)
		if (conns->bucket[i])
			return conns->bucket[i];
	return NULL;
}

void conns_remove(struct conns *conns, struct conn_entry *conn)
{
	struct conn_entry **at = &conns->bucket[bucket_of(conn->id)];

	while (*at != conn)
		at = &(*at)->next;
	*at = conn->next;
	conns->count--;
	free(conn->exe);
	free(conn->rule);
	free(conn);
}

static void request_free(struct request_entry *request)
{
	free(request->host);
	free(request->method);
	free(request->path);
	free(request->rule);
	free(request);
}

int conns_add_request(struct conns *conns, struct conn_entry *conn, const struct control_record *record,
		      struct request_entry **ret_request)
{
	struct request_entry *request;

	if (conns->requests >= REQUESTS_MAX)
		return -EAGAIN;
	request = calloc(1, sizeof(*request));
	if (!request)
		return -ENOMEM;
	request->host = strdup(record->host);
	request->method = strdup(record->method);
	request->path = strdup(record->path);
	request->rule = strdup(record->rule);
	if (!request->host || !request->method || !request->path || !request->rule) {
		request_free(request);
		return -ENOMEM;
	}
	request->id = record->id;
	request->port = record->port;
	request->conn = conn;
	request->next = conns->request_bucket[bucket_of(request->id)];
	conns->request_bucket[bucket_of(request->id)] = request;
	request->next_of_conn = conn->requests;
	conn->requests = request;
	conns->requests++;
	*ret_request = request;
	return 0;
}

struct request_entry *conns_find_request(const struct conns *conns, uint64_t id)
{
	struct request_entry *request = conns->request_bucket[bucket_of(id)];

	while (request && request->id != id)
		request = request->next;
	return request;
}

void conns_remove_request(struct conns *conns, struct request_entry *request)
{
	struct request_entry **at = &conns->request_bucket[bucket_of(request->id)];

	while (*at != request)
		at = &(*at)->next;
	*at = request->next;
	for (at = &request->conn->requests; *at != request;)
		at = &(*at)->next_of_conn;
	*at = request->next_of_conn;
	conns->requests--;
	request_free(request);
}
