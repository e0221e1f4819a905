/*
 * Judges a DNS query, as far as that needs no real lookup. Pure except for the pool. Called in the egress process by
 * server.c.
 */
#ifndef CALLGATE_EGRESS_DNS_JUDGE_H
#define CALLGATE_EGRESS_DNS_JUDGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "egress/conn/pool.h"
#include "egress/dns/message.h"
#include "policy/network/net.h"

#define DNS_TTL_SECONDS 60 /* in seconds; an address stands for its name during the whole run */

/* What a query is answered with, and why. */
struct dns_verdict {
	struct dns_answer answer;
	const char *refusal_reason;          /* static code for the record of a refusal; NULL: no record */
	const char *rule_label;           /* label of the deciding rule; may be NULL */
	char host[NET_HOST_SIZE];         /* canonical name; "": none */
	const struct net_rule *rule;      /* the rule that allows the name; NULL: a connection to it is asked about */
	/* the answer has the addresses of `pool_index`. The supervisor must know them before the program does. */
	bool has_pool_addresses;
	uint32_t pool_index;      /* the name's index in the pool, if has_pool_addresses */
	bool uses_real_addresses; /* there is no answer yet: the rule asks for real addresses (dns_judge_addresses) */
};

void dns_judge_query(const struct policy *policy, struct pool *pool, const struct dns_query *query,
		     struct dns_verdict *ret_verdict);
/*
 * Answers with real addresses, which the caller has filtered and which stand for verdict->host from now on. Leaves out
 * addresses of another name. If no address is left, the answer is a synthetic address.
 */
void dns_judge_addresses(struct pool *pool, const struct dns_query *query, const struct sockaddr_storage *list,
			 size_t count, struct dns_verdict *verdict);

#endif
