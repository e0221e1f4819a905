/* What a query is answered with, as far as that is known without asking anybody. */
#ifndef CALLGATE_EGRESS_DNS_JUDGE_H
#define CALLGATE_EGRESS_DNS_JUDGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "egress/conn/pool.h"
#include "egress/dns/message.h"
#include "policy/network/net.h"

#define DNS_TTL 60 /* seconds: addresses stand for a name as long as the run lives */

struct dns_verdict {
	struct dns_answer answer;
	const char *reason;          /* static: a code for the record of a refusal; NULL: none is due */
	const char *label;           /* of the rule behind it; may be NULL */
	char host[NET_HOST_MAX];     /* canonical; "": it is about no name */
	const struct net_rule *rule; /* that allows the name */
	bool named;                  /* the answer has the addresses of index, which the supervisor must know first */
	uint32_t index;
	bool real;                   /* not answered: the rule asks for real addresses (dns_judge_real) */
};

void dns_judge(const struct policy *policy, struct pool *pool, const struct dns_query *query,
	       struct dns_verdict *ret_verdict);
/* The synthetic addresses of verdict->host, or why there are none. */
void dns_judge_synthetic(struct pool *pool, const struct dns_query *query, struct dns_verdict *verdict);
/*
 * Real ones, vetted by the caller, which from now on stand for verdict->host; those that are another name's already are left
 * out, and when nothing else is left the answer is synthetic.
 */
void dns_judge_real(struct pool *pool, const struct dns_query *query, const struct sockaddr_storage *list, size_t count,
		    struct dns_verdict *verdict);

#endif
