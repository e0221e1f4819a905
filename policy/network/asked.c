/*
 * What an answer to a question may permit: "on_deny": "ask" at the policy or at a rule. Pure, as judge.c. An
 * answer never beats a rule of "deny" that does not ask, nor reaches addresses that no rule can grant.
 */
#include <string.h>

#include "policy/model.h"
#include "policy/network/network.h"

#define ASKED_RULE_LABEL "the answer to a question"
#define HTTPS_PORT 443u

/*
 * The rules for endpoints that no rule of the policy names. They have no budget, no credential and no "http": no secret
 * goes there. Behind port 443 the server's name must be the one that was asked about, as with a rule of the policy.
 */
#define ASKED_RULE(protocol, private)                                                                      \
	{                                                                                                  \
		.index = SIZE_MAX, .label = ASKED_RULE_LABEL, .host = NET_EVERY_HOST, .proto = (protocol), \
		.allows_private_addresses = (private)                                                      \
	}
static const struct net_rule asked_rules[2][NET_PROTO_MAX] = {
	{[NET_TCP] = ASKED_RULE(NET_TCP, false),
	 [NET_HTTPS] = ASKED_RULE(NET_HTTPS, false),
	 [NET_UDP] = ASKED_RULE(NET_UDP, false)},
	{[NET_TCP] = ASKED_RULE(NET_TCP, true),
	 [NET_HTTPS] = ASKED_RULE(NET_HTTPS, true),
	 [NET_UDP] = ASKED_RULE(NET_UDP, true)},
};

/* Whether a denial by this rule is asked about; deny NULL: a denial without a rule. */
static bool asked_denial_asks(const struct policy *policy, const struct net_deny *deny)
{
	return deny && deny->on_deny != ON_DENY_UNSET ? deny->on_deny == ON_DENY_ASK
						      : policy->network.asks_about_denials;
}

/*
 * Judges what rules of "deny" say. True: an answer may permit the endpoint. Else *ret_verdict is the denial, if a rule
 * denies the endpoint without asking. *ret_deny: a rule that asks; NULL: none.
 */
static bool asked_judge_denials(const struct policy *policy, const char *host, unsigned port,
				const struct net_deny **ret_deny, struct net_verdict *ret_verdict)
{
	*ret_deny = NULL;
	for (size_t i = 0; i < policy->network.deny_count; i++) {
		const struct net_deny *deny = &policy->network.deny[i];

		if (!net_deny_matches(deny, host, port))
			continue;
		if (!asked_denial_asks(policy, deny)) {
			*ret_verdict = (struct net_verdict){.label = deny->label, .reason = "denied_by_rule"};
			return false;
		}
		*ret_deny = deny;
	}
	return true;
}

/* Whether an address may be asked about that no rule names. *ret_private: it is not public. */
static bool asked_address_may_be_granted(const char *host, bool *ret_private)
{
	struct sockaddr_storage address;

	*ret_private = false;
	if (!net_address_parse(host, &address))
		return true;
	*ret_private = net_address_get_nonpublic_class((const struct sockaddr *)&address) != NULL;
	return !net_address_get_refusal_reason((const struct sockaddr *)&address, NET_LIFT_PRIVATE);
}

struct net_verdict policy_net_judge_answered_connect(const struct policy *policy, const char *host, unsigned port,
						     bool udp)
{
	const enum net_proto proto = udp ? NET_UDP : port == HTTPS_PORT ? NET_HTTPS : NET_TCP;
	struct net_verdict verdict = {.reason = "no_rule"};
	const struct net_deny *deny;
	const struct net_rule *rule;
	size_t at = 0;
	bool is_private;

	if (!asked_judge_denials(policy, host, port, &deny, &verdict))
		return verdict;
	rule = net_find_next_rule(policy, &at, host, port, udp, &verdict.reason);
	if (!rule && (deny || asked_denial_asks(policy, NULL)) && asked_address_may_be_granted(host, &is_private))
		rule = &asked_rules[is_private][proto];
	if (rule)
		return (struct net_verdict){
			.is_allowed = true, .rule = rule, .label = rule->label, .reason = "granted"};
	if (deny)
		verdict = (struct net_verdict){.label = deny->label, .reason = "denied_by_rule"};
	return verdict;
}

struct net_verdict policy_net_judge_answered_request(const struct policy *policy, const char *host, unsigned port,
						     const char *method, const char *path, bool upgrade)
{
	struct net_verdict verdict = {0};
	const struct net_rule *asking;
	const struct net_deny *deny;

	if (!asked_judge_denials(policy, host, port, &deny, &verdict))
		return verdict;
	verdict = net_judge_request_by_rules(policy, host, port, method, path, upgrade, &asking);
	return asking ? net_make_denial_by_asking_rule(asking) : verdict;
}

/* Whether requests to the rule's endpoint are asked about that no rule permits. */
static bool asked_rule_asks_about_requests(const struct policy *policy, const struct net_rule *rule)
{
	if (rule->proto != NET_HTTPS && rule->proto != NET_HTTP)
		return false;
	if (rule->asks_about_requests || rule->on_deny == ON_DENY_UNSET)
		return policy->network.asks_about_denials;
	return rule->on_deny == ON_DENY_ASK;
}

struct net_verdict policy_net_judge_asked_request(const struct policy *policy, const char *host, unsigned port,
						  const char *method, const char *path, bool upgrade)
{
	const struct net_rule *rule, *asking;
	struct net_verdict verdict = {0};
	const char *reason = "no_rule";
	const struct net_deny *deny;
	size_t at = 0;

	if (!asked_judge_denials(policy, host, port, &deny, &verdict))
		return verdict;
	verdict = net_judge_request_by_rules(policy, host, port, method, path, upgrade, &asking);
	if (verdict.is_allowed || strcmp(method, "CONNECT") == 0 || strcmp(method, "TRACE") == 0)
		return verdict;
	while (!asking && (rule = net_find_next_rule(policy, &at, host, port, false, &reason)))
		asking = asked_rule_asks_about_requests(policy, rule) ? rule : NULL;
	if (!asking)
		return verdict;
	return (struct net_verdict){.is_allowed = true, .rule = asking, .label = asking->label, .reason = "granted"};
}

bool policy_net_may_ask_about_name(const struct policy *policy, const char *host)
{
	bool asks = asked_denial_asks(policy, NULL);

	for (size_t i = 0; i < policy->network.deny_count; i++) {
		const struct net_deny *deny = &policy->network.deny[i];

		if (!net_host_matches(deny->host, host))
			continue;
		if (asked_denial_asks(policy, deny))
			asks = true;
		else if (!deny->port_count)
			return false;
	}
	return asks;
}
