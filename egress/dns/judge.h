/*
 * The verdict on a DNS query, as far as it needs no real lookup. Pure but for the pool. Called in the egress process by
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

#define DNS_TTL 60 /* seconds; addresses stand for a name during the whole run */

struct dns_verdict {
	struct dns_answer answer;
	const char *reason;          /* static: reason code for the record of a refusal; NULL: no record */
	const char *label;           /* label of the deciding rule; may be NULL */
	char host[NET_HOST_MAX];     /* canonical; "": none */
	const struct net_rule *rule; /* the rule that allows the name */
	/* the answer has the addresses of index; the supervisor has to be told of them first */
	bool named;
	uint32_t index;
	bool real;                   /* no answer yet: the rule asks for real addresses (dns_judge_addresses) */
};

void dns_judge_query(const struct policy *policy, struct pool *pool, const struct dns_query *query,
		     struct dns_verdict *ret_verdict);
/*
 * Answers with real addresses, filtered by the caller, which from now on stand for verdict->host. Addresses of another
 * name are left out; if none is left the answer is synthetic.
 */
void dns_judge_addresses(struct pool *pool, const struct dns_query *query, const struct sockaddr_storage *list,
			 size_t count, struct dns_verdict *verdict);

#endif
