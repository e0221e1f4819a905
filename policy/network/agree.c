/* Rejects contradictions in the network: between rules, secrets and fixed addresses, even of different files. */
#include <string.h>

#include "policy/model.h"

/* Returns a port that both rules name, or 0. */
static uint16_t net_check_find_shared_port(const struct net_rule *a, const struct net_rule *b)
{
	for (size_t i = 0; i < a->port_count; i++)
		for (size_t j = 0; j < b->port_count; j++)
			if (a->port[i] == b->port[j])
				return a->port[i];
	return 0;
}

/* Two rules for the same endpoint must have the same protocol. Otherwise their order would decide. */
static void net_check_protocol(struct compiler *compiler, const struct net_rule *a, const struct net_rule *b)
{
	uint16_t port;

	if (a->proto == b->proto || a->proto == NET_UDP || b->proto == NET_UDP ||
	    !net_patterns_overlap(a->host, b->host))
		return;
	port = net_check_find_shared_port(a, b);
	if (port)
		compiler_add_error(compiler, b->source_location,
				   "port %u of %s is %s here and %s in %s; make it one protocol", port, b->host,
				   net_proto_get_name(b->proto), net_proto_get_name(a->proto), a->label);
}

/* Finds the secret with this name, which is not NUL-terminated. NULL: none. */
static const struct net_secret *net_check_find_secret(const struct policy_network *network, const char *name,
						      size_t len)
{
	for (size_t i = 0; i < network->secret_count; i++)
		if (strlen(network->secret[i].name) == len && memcmp(network->secret[i].name, name, len) == 0)
			return &network->secret[i];
	return NULL;
}

/* Whether one of the secret's host patterns covers all that `host`, itself a pattern, matches. */
static bool net_check_secret_covers_host(const struct net_secret *secret, const char *host)
{
	for (const char *const *pattern = secret->hosts; *pattern; pattern++)
		if (net_pattern_covers(*pattern, host))
			return true;
	return false;
}

/* Every secret in the credential of a rule must exist, and its hosts must include the host of the rule. */
static void net_check_credential(struct compiler *compiler, const struct net_rule *rule)
{
	const char *open = rule->credential_value;

	while (open && (open = strchr(open, '{'))) {
		size_t len = strcspn(++open, "}");
		const struct net_secret *secret = net_check_find_secret(&compiler->policy->network, open, len);

		if (compiler->is_incomplete)
			continue; /* the secret or its host may be in a part that was left out as wrong */
		if (!secret)
			compiler_add_error(
				compiler, rule->source_location,
				"the credential needs the secret %.*s, which \"secrets\" does not have; add it there",
				(int)len, open);
		else if (!net_check_secret_covers_host(secret, rule->host))
			compiler_add_error(compiler, rule->source_location,
				      "the secret %.*s may not be sent to %s; add it to secrets.%.*s.hosts", (int)len,
				      open, rule->host, (int)len, open);
	}
}

/* A secret is never sent without TLS: refuses a secret of which no host has a rule with TLS. */
static void net_check_secret(struct compiler *compiler, const struct net_secret *secret)
{
	const struct policy_network *network = &compiler->policy->network;

	for (const char *const *pattern = secret->hosts; *pattern; pattern++) {
		const struct net_rule *plain = NULL, *safe = NULL;

		for (size_t i = 0; i < network->rule_count; i++)
			if (net_patterns_overlap(*pattern, network->rule[i].host))
				*(network->rule[i].proto == NET_HTTPS ? &safe : &plain) = &network->rule[i];
		if (plain && !safe)
			compiler_add_error(compiler, secret->source_location,
				      "%s is reached by %s only, without TLS to protect the secret; see %s", *pattern,
				      net_proto_get_name(plain->proto), plain->label);
	}
}

/* Adds errors for addresses of "resolve" to which the rule allows no connection. */
static void net_check_addresses(struct compiler *compiler, const struct net_fixed_host *fixed,
				  const struct net_rule *rule)
{
	bool lifts = false;

	if (!net_host_matches(rule->host, fixed->host))
		return;
	for (size_t i = 0; i < fixed->address_count; i++) {
		const struct sockaddr *address = (const struct sockaddr *)&fixed->address[i];
		const char *refused = net_address_get_refusal_reason(
			address, rule->allows_private_addresses ? NET_LIFT_PRIVATE_AND_LOOPBACK : NET_LIFT_NONE);
		char text[NET_ADDRESS_TEXT_SIZE];

		lifts = lifts || net_address_get_nonpublic_class(address);
		net_address_format(address, text);
		if (refused && net_address_get_refusal_reason(address, NET_LIFT_PRIVATE_AND_LOOPBACK))
			compiler_add_error(compiler, fixed->source_location, "%s is never connected to (%s); remove it",
					   text, refused);
		else if (refused)
			compiler_add_error(compiler, fixed->source_location,
				      "%s is not public (%s); if it is meant, add \"private\": true to %s", text,
				      refused, rule->label);
	}
	if (rule->allows_private_addresses && !lifts && !net_is_wildcard(rule->host) && !compiler->is_incomplete)
		compiler_add_error(compiler, rule->source_location,
			      "has \"private\" without effect: all addresses that \"resolve\" gives it are public; "
			      "remove it");
}

void net_check_contradictions(struct compiler *compiler)
{
	const struct policy_network *network = &compiler->policy->network;

	for (size_t i = 0; i < network->rule_count; i++) {
		for (size_t j = 0; j < i; j++)
			net_check_protocol(compiler, &network->rule[j], &network->rule[i]);
		net_check_credential(compiler, &network->rule[i]);
		for (size_t j = 0; j < network->fixed_host_count; j++)
			net_check_addresses(compiler, &network->fixed_host[j], &network->rule[i]);
	}
	/* In an incomplete policy a rule with TLS may have been left out as wrong: reports nothing. */
	for (size_t i = 0; i < network->secret_count && !compiler->is_incomplete; i++)
		net_check_secret(compiler, &network->secret[i]);
}
