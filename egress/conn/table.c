#include "egress/conn/table.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/banned.h"

#define BUCKETS 2048u

struct conn_table {
	struct conn *id[BUCKETS], *port[BUCKETS];
	size_t count;
};

int conn_table_create(struct conn_table **ret_table)
{
	struct conn_table *table = calloc(1, sizeof(*table));

	if (!table)
		return -ENOMEM;
	*ret_table = table;
	return 0;
}

void conn_table_free(struct conn_table *table)
{
	free(table);
}

void conn_table_add(struct conn_table *table, struct conn *conn)
{
	struct conn **bucket = &table->id[conn->id % BUCKETS];

	conn->next_id = *bucket;
	*bucket = conn;
	table->count++;
}

void conn_table_remove(struct conn_table *table, struct conn *conn)
{
	struct conn **slot = &table->id[conn->id % BUCKETS];

	conn_table_arrived(table, conn);
	while (*slot && *slot != conn)
		slot = &(*slot)->next_id;
	if (!*slot)
		return;
	*slot = conn->next_id;
	table->count--;
}

size_t conn_table_count(const struct conn_table *table)
{
	return table->count;
}

struct conn *conn_table_find(const struct conn_table *table, uint64_t id)
{
	struct conn *conn = table->id[id % BUCKETS];

	while (conn && conn->id != id)
		conn = conn->next_id;
	return conn;
}

void conn_table_expect(struct conn_table *table, struct conn *conn)
{
	struct conn **bucket = &table->port[conn->source_port % BUCKETS];

	conn->next_port = *bucket;
	*bucket = conn;
}

struct conn *conn_table_expected(const struct conn_table *table, uint16_t port)
{
	struct conn *conn = table->port[port % BUCKETS];

	while (conn && conn->source_port != port)
		conn = conn->next_port;
	return conn;
}

void conn_table_arrived(struct conn_table *table, struct conn *conn)
{
	struct conn **slot = &table->port[conn->source_port % BUCKETS];

	while (*slot && *slot != conn)
		slot = &(*slot)->next_port;
	if (*slot)
		*slot = conn->next_port;
}

void conn_table_each(struct conn_table *table, void (*call)(struct conn *conn, void *ctx), void *ctx)
{
	for (size_t i = 0; i < BUCKETS; i++) {
		struct conn *next;

		for (struct conn *conn = table->id[i]; conn; conn = next) {
			next = conn->next_id;
			call(conn, ctx);
		}
	}
}
