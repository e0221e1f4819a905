#include "egress/dns/judge.h"

#include <stdio.h>
#include <string.h>

#include "egress/conn/sockaddr.h"

/* Makes the verdict a refusal. label: of the rule; NULL: none. */
static void verdict_refuse_name(struct dns_verdict *verdict, enum dns_code code, const char *reason, const char *label)
{
	verdict->answer.code = code;
	verdict->refusal_reason = reason;
	verdict->rule_label = label;
}

/* Whether the query asks for addresses of the family. */
static bool query_asks_for_family(const struct dns_query *query, int family)
{
	return query->type == DNS_ANY || query->type == (family == AF_INET ? DNS_A : DNS_AAAA);
}

/* Adds an address to the answer, if the query asks for its family and there is room. */
static void answer_add_address(const struct dns_query *query, struct dns_answer *answer,
			       const struct sockaddr_storage *address)
{
	if (query_asks_for_family(query, address->ss_family) && answer->address_count < DNS_ANSWERS_MAX)
		answer->address[answer->address_count++] = *address;
}

static bool ends_with(const char *text, const char *end)
{
	size_t len = strlen(text), end_len = strlen(end);

	return len >= end_len && strcmp(text + len - end_len, end) == 0;
}

/* Judges PTR queries: only addresses that this name server gave out have a name. */
static bool judge_reverse_name(const struct pool *pool, const struct dns_query *query, struct dns_verdict *verdict)
{
	struct sockaddr_storage address;
	const char *name;

	if (!ends_with(query->name, ".in-addr.arpa") && !ends_with(query->name, ".ip6.arpa"))
		return false;
	name = dns_parse_reverse_name(query->name, &address) ? pool_find_name(pool,
									 (const struct sockaddr *)(void *)&address)
										 : NULL;
	if (!name)
		verdict_refuse_name(verdict, DNS_NXDOMAIN, "no_rule", NULL);
	else if (query->type == DNS_PTR || query->type == DNS_ANY)
		(void)snprintf(verdict->answer.ptr_name, sizeof(verdict->answer.ptr_name), "%s", name);
	return true;
}

/* Answers queries for both address families, whichever the real name has, because egress chooses the family to dial. */
static void judge_synthetic_name(struct pool *pool, const struct dns_query *query, struct dns_verdict *verdict)
{
	struct sockaddr_storage address;

	if (pool_add_name(pool, verdict->host, &verdict->pool_index) < 0) {
		verdict_refuse_name(verdict, DNS_SERVFAIL, "pool_exhausted",
				    verdict->rule ? verdict->rule->label : NULL);
		return;
	}
	verdict->has_pool_addresses = true;
	pool_make_address(pool, verdict->pool_index, AF_INET, 0, &address);
	answer_add_address(query, &verdict->answer, &address);
	pool_make_address(pool, verdict->pool_index, AF_INET6, 0, &address);
	answer_add_address(query, &verdict->answer, &address);
}

/* Judges a query for addresses of a name. */
static void dns_judge_name(const struct policy *policy, struct pool *pool, const struct dns_query *query,
		       struct dns_verdict *verdict)
{
	struct sockaddr_storage address;
	struct net_verdict name;

	if (!query->name_is_hostname || net_host_canonicalise(query->name, strlen(query->name), verdict->host) < 0 ||
	    sockaddr_parse(verdict->host, &address)) {
		verdict->host[0] = '\0';
		verdict_refuse_name(verdict, DNS_NXDOMAIN, "bad_name", NULL);
		return;
	}
	name = policy_net_judge_name(policy, verdict->host);
	verdict->rule = name.rule;
	if (!name.is_allowed && !policy_net_may_ask_about_name(policy, verdict->host))
		verdict_refuse_name(verdict, DNS_NXDOMAIN, name.reason, name.label);
	else if (!query_asks_for_family(query, AF_INET) && !query_asks_for_family(query, AF_INET6))
		return; /* NODATA; also for type HTTPS, whose answer could carry keys for Encrypted ClientHello */
	else if (name.is_allowed && name.rule->uses_real_dns)
		verdict->uses_real_addresses = true;
	else
		judge_synthetic_name(pool, query, verdict);
}

void dns_judge_query(const struct policy *policy, struct pool *pool, const struct dns_query *query,
		     struct dns_verdict *ret_verdict)
{
	struct sockaddr_storage address;

	memset(ret_verdict, 0, sizeof(*ret_verdict));
	ret_verdict->answer.ttl = DNS_TTL_SECONDS;
	if (query->edns && query->edns_version > 0) {
		ret_verdict->answer.code = DNS_BADVERS;
	} else if (query->klass != DNS_IN && query->klass != DNS_CLASS_ANY) {
		ret_verdict->answer.code = DNS_REFUSED;
	} else if (strcmp(query->name, "localhost") == 0) { /* special name: RFC 6761, 6.3 */
		sockaddr_set_address(&address, AF_INET, &(struct in_addr){htonl(INADDR_LOOPBACK)});
		answer_add_address(query, &ret_verdict->answer, &address);
		sockaddr_set_address(&address, AF_INET6, &in6addr_loopback);
		answer_add_address(query, &ret_verdict->answer, &address);
	} else if (!judge_reverse_name(pool, query, ret_verdict)) {
		dns_judge_name(policy, pool, query, ret_verdict);
	}
}

void dns_judge_addresses(struct pool *pool, const struct dns_query *query, const struct sockaddr_storage *list,
			 size_t count, struct dns_verdict *verdict)
{
	bool others = false;

	verdict->uses_real_addresses = false;
	for (size_t i = 0; i < count; i++) {
		int error;

		if (!query_asks_for_family(query, list[i].ss_family) ||
		    verdict->answer.address_count >= DNS_ANSWERS_MAX)
			continue;
		error = pool_add_real_address(pool, (const struct sockaddr *)(const void *)&list[i], verdict->host);
		if (error == 0)
			answer_add_address(query, &verdict->answer, &list[i]);
		else
			others = true; /* the address is left out: it stands for another name, or the table is full */
	}
	if (others && verdict->answer.address_count == 0)
		judge_synthetic_name(pool, query, verdict);
}
