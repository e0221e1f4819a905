/*
 * Budgets of the policy's rules: bytes, bytes a second (token bucket), requests, connections. All connections of a rule
 * share its budget. Called in the egress process by conn/ and http/.
 */
#ifndef CALLGATE_EGRESS_BUDGET_H
#define CALLGATE_EGRESS_BUDGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "policy/network/net.h"

struct budgets;

/* A connection's use of its rule's budget. Zeroed: no budget. */
struct budget_use {
	struct budgets *budgets;
	const struct net_rule *rule; /* the rule whose budget is used */
};

int budgets_create(const struct policy *policy, struct budgets **ret_budgets);
void budgets_free(struct budgets *budgets);

/* Counts a connection until budget_drop_connection. 0, or -EDQUOT: the rule allows no more (cap_connections). */
int budget_add_connection(struct budgets *budgets, const struct net_rule *rule, struct budget_use *ret_use);
void budget_drop_connection(struct budget_use *use);

/* Counts a request. NULL, or the reason why the budget refuses it: cap_requests, cap_rate. */
const char *budget_count_request(struct budgets *budgets, const struct net_rule *rule, uint64_t now_ns);

/*
 * How many bytes may be moved now, at most `want`. 0 with *ret_wait_ms: ask again after that time; 0 with UINT64_MAX:
 * the rule's bytes are spent (cap_bytes) and the connection is to be closed.
 */
size_t budget_get_allowed_bytes(const struct budget_use *use, bool up, size_t want, uint64_t now_ns,
				uint64_t *ret_wait_ms);
void budget_spend_bytes(const struct budget_use *use, bool up, size_t bytes);

#endif
