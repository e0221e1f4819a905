/* What the rules' budgets still allow: bytes, bytes a second (token bucket), requests, connections; for all of a rule's. */
#ifndef CALLGATE_EGRESS_BUDGET_H
#define CALLGATE_EGRESS_BUDGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "policy/network/net.h"

struct budgets;

/* A connection's share: which rule counts. Zeroed: none. */
struct budget_use {
	struct budgets *budgets;
	const struct net_rule *rule;
};

int budgets_create(const struct policy *policy, struct budgets **ret_budgets);
void budgets_free(struct budgets *budgets);

/* One more connection: 0, or -EDQUOT (reason cap_connections). Released by budget_leave. */
int budget_join(struct budgets *budgets, const struct net_rule *rule, struct budget_use *ret_use);
void budget_leave(struct budget_use *use);

/* One more request of this rule: NULL, or the reason: cap_requests, cap_rate. */
const char *budget_request(struct budgets *budgets, const struct net_rule *rule, uint64_t now_ns);

/*
 * How many bytes may be moved now, at most want. 0 with *ret_wait_ms: later; 0 with *ret_wait_ms UINT64_MAX: never again
 * (cap_bytes: the connection is to be closed).
 */
size_t budget_room(const struct budget_use *use, bool up, size_t want, uint64_t now_ns, uint64_t *ret_wait_ms);
void budget_spend(const struct budget_use *use, bool up, size_t bytes);

#endif
