/* Merges the network sections of all files: lists are joined; a single value comes from the last file with it. */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "policy/model.h"

/* Returns the canonical path of a file that is named relative to its policy file. In the arena; NULL with a message. */
static const char *net_compile_find_file(struct compiler *compiler, const struct policy_source *source,
					 const char *name, const char *source_location)
{
	const char *slash = name[0] == '/' ? NULL : strrchr(source->path, '/');
	const struct policy_host *host = compiler->host;
	struct arena *arena = &compiler->policy->arena;
	int dir_len = slash ? (int)(slash - source->path + 1) : 0;
	const char *path = arena_printf(arena, "%.*s%s", dir_len, source->path, name);
	_cleanup_free_ char *real = host->realpath(host->ctx, path);

	compiler_add_host_path(compiler, POLICY_HOST_PATH_CONTENT, source_location, path);
	if (!real)
		compiler_add_error(compiler, source_location, "there is no file %s; name one that exists", path);
	else if (!text_is_utf8(real, strlen(real)))
		compiler_add_error(compiler, source_location,
				   "%s has a name that is not UTF-8, which a policy cannot hold", name);
	else
		return arena_dup(arena, real);
	return NULL;
}

/* Adds the addresses of a name, or replaces those of an earlier source. */
static void net_compile_add_fixed_host(struct compiler *compiler, const struct net_fixed_host *fixed)
{
	struct policy_network *network = &compiler->policy->network;
	size_t at = 0;

	while (at < network->fixed_host_count && strcmp(network->fixed_host[at].host, fixed->host) != 0)
		at++;
	if (at == network->fixed_host_count)
		ARENA_APPEND(&compiler->policy->arena, network->fixed_host, network->fixed_host_count, *fixed);
	network->fixed_host[at] = *fixed;
}

/* Adds a rule for an endpoint. In an observing policy it allows the requests that it asks about. */
static void net_compile_add_rule(struct compiler *compiler, struct net_rule rule)
{
	struct policy_network *network = &compiler->policy->network;

	if (policy_is_observing(compiler->policy))
		rule.asks_about_requests = false;
	ARENA_APPEND(&compiler->policy->arena, network->rule, network->rule_count, rule);
}

/* Adds a rule of "deny" with the mode that counts for its source. */
static void net_compile_add_deny(struct compiler *compiler, const struct policy_source *source, struct net_deny deny)
{
	struct policy_network *network = &compiler->policy->network;

	if (!deny.on_deny)
		deny.on_deny = source_find_on_deny_of_denies(source, compiler->policy->settings.on_deny);
	ARENA_APPEND(&compiler->policy->arena, network->deny, network->deny_count, deny);
}

/* Adds the lists of a source's "network". In an observing policy, "deny" is not enforced. */
static void net_compile_add_lists(struct compiler *compiler, const struct policy_source *source)
{
	const struct policy_network *from = &source->network;
	struct policy_network *network = &compiler->policy->network;
	struct arena *arena = &compiler->policy->arena;

	for (size_t i = 0; i < from->rule_count; i++)
		net_compile_add_rule(compiler, from->rule[i]);
	for (size_t i = 0; i < from->deny_count && !policy_is_observing(compiler->policy); i++)
		net_compile_add_deny(compiler, source, from->deny[i]);
	for (size_t i = 0; i < from->listen_range_count; i++)
		ARENA_APPEND(arena, network->listen_range, network->listen_range_count, from->listen_range[i]);
	for (size_t i = 0; i < from->fixed_host_count; i++)
		net_compile_add_fixed_host(compiler, &from->fixed_host[i]);
}

/* Adds a secret, or replaces one of an earlier source with the same name. */
static void net_compile_add_secret(struct compiler *compiler, const struct policy_source *source,
				   struct net_secret secret)
{
	struct policy_network *network = &compiler->policy->network;
	struct arena *arena = &compiler->policy->arena;
	size_t at = 0;

	if (strncmp(secret.value_source, "file:", 5) == 0) {
		const char *path =
			net_compile_find_file(compiler, source, secret.value_source + 5, secret.source_location);

		if (!path) {
			compiler->is_incomplete = true;
			return;
		}
		secret.value_source = arena_concat_texts(arena, "file:", path, (char *)NULL);
	}
	if (strncmp(secret.value_source, "command:", 8) == 0)
		compiler_add_host_path(compiler, POLICY_HOST_PATH_COMMAND, secret.source_location,
				       secret.value_source + 8);
	while (at < network->secret_count && strcmp(network->secret[at].name, secret.name) != 0)
		at++;
	if (at == network->secret_count)
		ARENA_APPEND(arena, network->secret, network->secret_count, secret);
	network->secret[at] = secret;
}

/* Sets the values of "network" that are no lists, where this source gives them. */
static void net_compile_copy_single_values(struct compiler *compiler, const struct policy_source *source)
{
	struct policy_network *network = &compiler->policy->network;
	const struct policy_network *from = &source->network;

	if (from->upstream_ca)
		network->upstream_ca =
			net_compile_find_file(compiler, source, from->upstream_ca, from->upstream_ca_source_location);
	if (from->proxy != NET_PROXY_NOT_GIVEN)
		network->proxy = from->proxy;
	if (from->pool.v4_bits) {
		network->pool.v4 = from->pool.v4;
		network->pool.v4_bits = from->pool.v4_bits;
	}
	if (from->pool.v6_bits) {
		network->pool.v6 = from->pool.v6;
		network->pool.v6_bits = from->pool.v6_bits;
	}
}

/* The place of a host pattern among rules, most specific first: a name, "*.name", "**.name". */
static unsigned net_compile_rank_host(const char *host)
{
	return !net_is_wildcard(host) ? 0 : host[1] != '*' ? 1 : 2;
}

/*
 * True when a comes before b: rules of "allow", then of "ask", because the first one counts for a connection; exact
 * names, then "*.", then "**."; longer wildcards first; then the order of files.
 */
static bool net_compile_rule_is_before(const struct net_rule *a, const struct net_rule *b)
{
	unsigned rank_a = net_compile_rank_host(a->host), rank_b = net_compile_rank_host(b->host);

	if (a->asks_about_requests != b->asks_about_requests)
		return b->asks_about_requests;
	if (rank_a != rank_b)
		return rank_a < rank_b;
	return rank_a > 0 && strlen(a->host) > strlen(b->host);
}

/* Sorts the rules by net_compile_rule_is_before(), the first match first, and numbers them. */
static void net_compile_sort_rules(struct policy_network *network)
{
	for (size_t i = 1; i < network->rule_count; i++) {
		struct net_rule rule = network->rule[i];
		size_t at = i;

		for (; at > 0 && net_compile_rule_is_before(&rule, &network->rule[at - 1]); at--)
			network->rule[at] = network->rule[at - 1];
		network->rule[at] = rule;
	}
	for (size_t i = 0; i < network->rule_count; i++)
		network->rule[i].index = i;
}

static bool net_compile_rules_share_port(const struct net_rule *a, const struct net_rule *b)
{
	for (size_t i = 0; i < a->port_count; i++)
		for (size_t j = 0; j < b->port_count; j++)
			if (a->port[i] == b->port[j])
				return true;
	return false;
}

/*
 * For --allow-private: also sets allows_private_addresses in other rules of the same endpoint, which may be found
 * first.
 */
static void net_compile_apply_allow_private(struct policy_network *network)
{
	for (size_t i = 0; i < network->rule_count; i++) {
		const struct net_rule *lifting = &network->rule[i];

		for (size_t j = 0; lifting->is_from_allow_private && j < network->rule_count; j++) {
			struct net_rule *rule = &network->rule[j];

			if (strcmp(rule->host, lifting->host) == 0 && net_compile_rules_share_port(rule, lifting))
				rule->allows_private_addresses = true;
		}
	}
}

void compile_network(struct compiler *compiler, struct policy_source *const *sources, size_t count)
{
	struct policy_network *network = &compiler->policy->network;

	for (size_t i = 0; i < count; i++) {
		const struct policy_network *from = &sources[i]->network;

		/* "none" discards what earlier files have, except denies and secrets */
		if (from->said == NET_SECTION_NONE)
			*network = (struct policy_network){.deny = network->deny,
							   .deny_count = network->deny_count,
							   .secret = network->secret,
							   .secret_count = network->secret_count};
		if (from->said != NET_SECTION_ABSENT)
			network->said = from->said;
		net_compile_add_lists(compiler, sources[i]);
		net_compile_copy_single_values(compiler, sources[i]);
		for (size_t j = 0; j < from->secret_count; j++)
			net_compile_add_secret(compiler, sources[i], from->secret[j]);
	}
	net_compile_sort_rules(network);
	net_compile_apply_allow_private(network);
	if (network->rule_count > NET_RULES_MAX)
		compiler_add_error(compiler, "network.allow", "more than %d rules in all files together; use wildcards",
			      NET_RULES_MAX);
	else
		net_check_contradictions(compiler);
	if (!compiler->has_failed)
		net_warn_of_mistakes(compiler);
	if (policy_is_observing(compiler->policy))
		compile_observing_network(compiler);
}
