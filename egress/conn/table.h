/*
 * All connections, by id and, until their socket arrives, by source port. Called in the egress process. Borrows them.
 */
#ifndef CALLGATE_EGRESS_CONN_TABLE_H
#define CALLGATE_EGRESS_CONN_TABLE_H

#include <stddef.h>
#include <stdint.h>

#include "egress/conn/conn.h"

struct conn_table;

/* 0 or -ENOMEM. */
int conn_table_create(struct conn_table **ret_table);
void conn_table_free(struct conn_table *table); /* must be empty */

void conn_table_add(struct conn_table *table, struct conn *conn);
void conn_table_remove(struct conn_table *table, struct conn *conn);
size_t conn_table_count(const struct conn_table *table);
struct conn *conn_table_find(const struct conn_table *table, uint64_t id);

/* Expects a socket from conn->source_port; at most one connection does. */
void conn_table_expect(struct conn_table *table, struct conn *conn);
struct conn *conn_table_expected(const struct conn_table *table, uint16_t port);
void conn_table_arrived(struct conn_table *table, struct conn *conn);

/* call may remove the connection it gets, no other. */
void conn_table_each(struct conn_table *table, void (*call)(struct conn *conn, void *ctx), void *ctx);

#endif
