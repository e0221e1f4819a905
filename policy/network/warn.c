/* Warns about network rules that are valid but probably a mistake. */
#include <string.h>

#include "policy/model.h"

/*
 * True for hosting services that serve many customers' sites at one address. Without TLS interception only the SNI is
 * checked: the Host header inside may name another customer's site (domain fronting).
 */
static bool net_warn_host_is_shared_hosting(const char *host)
{
	static const char *const shared[] = {
		"**.akamai.net", "**.akamaiedge.net", "**.akamaihd.net", "**.akamaized.net", "**.amplifyapp.com",
		"**.appspot.com", "**.azureedge.net", "**.azurefd.net", "**.azurewebsites.net", "**.b-cdn.net",
		"**.cdn.cloudflare.net", "**.cdn77.org", "**.cloudfront.net", "**.edgekey.net", "**.edgesuite.net",
		"**.fastly.net", "**.fastlylb.net", "**.firebaseapp.com", "**.github.io", "**.gitlab.io",
		"**.herokuapp.com", "**.jsdelivr.net", "**.netlify.app", "**.onrender.com", "**.pages.dev",
		"**.r2.dev", "**.run.app", "**.s3.amazonaws.com", "**.storage.googleapis.com",
		"**.trafficmanager.net", "**.vercel.app", "**.web.app", "**.workers.dev"};

	for (size_t i = 0; i < sizeof(shared) / sizeof(shared[0]); i++)
		if (net_patterns_overlap(shared[i], host))
			return true;
	return false;
}

/* Whether a deny rule for all ports covers every host of the allowing rule, which then has no effect. */
static bool net_warn_rule_is_denied(const struct policy_network *network, const struct net_rule *rule)
{
	for (size_t i = 0; i < network->deny_count; i++)
		if (!network->deny[i].port_count && net_pattern_covers(network->deny[i].host, rule->host))
			return true;
	return false;
}

/* Warns of rules of "ask" without effect: another rule denies every endpoint of theirs without asking. */
static void net_warn_of_questions_never_asked(struct compiler *compiler)
{
	const struct policy_network *network = &compiler->policy->network;
	const bool others_ask = compiler->policy->settings.on_deny == ON_DENY_ASK;

	for (size_t i = 0; i < network->deny_count; i++) {
		const struct net_deny *asking = &network->deny[i];

		for (size_t j = 0; asking->on_deny == ON_DENY_ASK && j < network->deny_count; j++) {
			const struct net_deny *other = &network->deny[j];
			const bool asks = other->on_deny ? other->on_deny == ON_DENY_ASK : others_ask;

			if (asks || other->port_count || !net_pattern_covers(other->host, asking->host))
				continue;
			compiler_add_warning(compiler, "%s: warning: asks about nothing: no answer beats %s",
					     asking->label, other->label);
			break;
		}
	}
}

/* Whether an allowing rule could match a host that the pattern matches, too. */
static bool net_warn_has_rule(const struct policy_network *network, const char *pattern)
{
	for (size_t i = 0; i < network->rule_count; i++)
		if (net_patterns_overlap(network->rule[i].host, pattern))
			return true;
	return false;
}

void net_warn_of_mistakes(struct compiler *compiler)
{
	const struct policy_network *network = &compiler->policy->network;

	for (size_t i = 0; i < network->rule_count && network->said == NET_SECTION_GIVEN; i++) {
		const struct net_rule *rule = &network->rule[i];

		if (rule->proto == NET_HTTPS && rule->http_rule_count == 0 &&
		    net_warn_host_is_shared_hosting(rule->host))
			compiler_add_warning(compiler,
				       "%s: warning: %s is served together with other customers' sites, which TLS "
				       "pass-through can reach; add \"http\" rules, so that the requests are judged",
				       rule->source_location, rule->host);
		if (net_warn_rule_is_denied(network, rule))
			compiler_add_warning(compiler, "%s: warning: allows nothing: a deny rule beats it",
					     rule->source_location);
	}
	net_warn_of_questions_never_asked(compiler);
	for (size_t i = 0; i < network->fixed_host_count && network->said == NET_SECTION_GIVEN; i++)
		if (!net_warn_has_rule(network, network->fixed_host[i].host))
			compiler_add_warning(compiler, "%s: warning: no rule allows %s",
					     network->fixed_host[i].source_location, network->fixed_host[i].host);
	for (size_t i = 0; i < network->secret_count && network->said == NET_SECTION_ABSENT; i++)
		compiler_add_warning(compiler,
				     "%s: warning: nothing allows a connection, so the program gets no placeholder",
				     network->secret[i].source_location);
	for (size_t i = 0; i < network->secret_count && network->said == NET_SECTION_GIVEN; i++)
		for (const char *const *host = network->secret[i].hosts; *host; host++)
			if (!net_warn_has_rule(network, *host))
				compiler_add_warning(compiler,
					       "%s: warning: no rule allows %s, to which the secret might be sent",
					       network->secret[i].source_location, *host);
}
