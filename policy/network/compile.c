/* Merges the network sections of all files: rules are united; of a single value the last file's is used. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "policy/model.h"
#include "policy/network/compile.h"

#include "base/banned.h"

/* Appends an item to a list in the policy's arena. Returns the list; NULL when memory ran out. */
static void *net_compile_append(struct compiler *compiler, void *list, size_t *count, const void *item, size_t size)
{
	unsigned char *grown = arena_grow(&compiler->policy->arena, list, *count, size);

	if (grown)
		memcpy(grown + (*count)++ * size, item, size);
	else
		compiler->no_memory = true;
	return grown;
}

/* The canonical path of a file named relative to its policy file, in the arena; NULL with a message. */
static const char *net_compile_find_file(struct compiler *compiler, const struct source *source, const char *name,
					 const char *where)
{
	const char *slash = name[0] == '/' ? NULL : strrchr(source->path, '/');
	const struct policy_host *host = compiler->host;
	_cleanup_free_ char *path = NULL, *real = NULL;

	if (asprintf(&path, "%.*s%s", slash ? (int)(slash - source->path + 1) : 0, slash ? source->path : "", name) <
	    0) {
		path = NULL; /* undefined after a failure */
		compiler->no_memory = true;
		return NULL;
	}
	compiler_add_way(compiler, POLICY_WAY_CONTENT, where, compiler_keep(compiler, path));
	real = host->realpath ? host->realpath(host->ctx, path) : NULL;
	if (!real)
		compiler_fail(compiler, where, "there is no file %s; name one that exists", path);
	else if (!text_is_utf8(real, strlen(real)))
		compiler_fail(compiler, where, "%s has a name that is not UTF-8, which a policy cannot hold", name);
	else
		return compiler_keep(compiler, real);
	return NULL;
}

/* ---- one file's sections ---- */

static void net_compile_add_lists(struct compiler *compiler, struct net_collected *collected,
				  const struct source_network *from)
{
	struct policy_network *network = &compiler->policy->network;

	for (size_t i = 0; i < from->rules && !compiler->no_memory; i++) {
		const struct net_written_rule *rule = &from->rule[i];

		collected->rule =
			net_compile_append(compiler, collected->rule, &collected->rules, &rule, sizeof(rule));
	}
	for (size_t i = 0; i < from->denies && !compiler->no_memory; i++)
		network->deny = net_compile_append(compiler, network->deny, &network->denies, &from->deny[i],
						   sizeof(*network->deny));
	for (size_t i = 0; i < from->listens && !compiler->no_memory; i++)
		network->listen = net_compile_append(compiler, network->listen, &network->listens, &from->listen[i],
						     sizeof(*network->listen));
	for (size_t i = 0; i < from->fixeds && !compiler->no_memory; i++) {
		size_t at = 0;

		while (at < network->fixeds && strcmp(network->fixed[at].host, from->fixed[i].host) != 0)
			at++;
		if (at < network->fixeds)
			network->fixed[at] = from->fixed[i];
		else
			network->fixed = net_compile_append(compiler, network->fixed, &network->fixeds,
							    &from->fixed[i], sizeof(*network->fixed));
	}
}

static void net_compile_add_secrets(struct compiler *compiler, struct net_collected *collected,
				    const struct source *source)
{
	const struct source_network *from = &source->network;

	for (size_t i = 0; i < from->secrets && !compiler->no_memory; i++) {
		struct net_written_secret secret = from->secret[i];
		const char *text = secret.secret.from;
		size_t at = 0;

		if (strncmp(text, "file:", 5) == 0) {
			text = net_compile_find_file(compiler, source, text + 5, secret.where);
			secret.secret.from = text ? arena_printf(&compiler->policy->arena, "file:%s", text) : NULL;
			if (!secret.secret.from)
				continue; /* a message or no memory: the load fails */
		}
		if (strncmp(text, "command:", 8) == 0)
			compiler_add_way(compiler, POLICY_WAY_COMMAND, secret.where, text + 8);
		while (at < collected->secrets && strcmp(collected->secret[at].secret.name, secret.secret.name) != 0)
			at++;
		if (at < collected->secrets)
			collected->secret[at] = secret;
		else
			collected->secret = net_compile_append(compiler, collected->secret, &collected->secrets,
							       &secret, sizeof(secret));
	}
}

static void net_compile_set_values(struct compiler *compiler, const struct source *source)
{
	struct policy_network *network = &compiler->policy->network;
	const struct source_network *from = &source->network;

	if (from->upstream_ca)
		network->upstream_ca =
			net_compile_find_file(compiler, source, from->upstream_ca, from->upstream_ca_where);
	if (from->proxy != NET_PROXY_UNSAID)
		network->proxy = from->proxy;
	if (from->has_pool_v4) {
		network->pool.v4 = from->pool.v4;
		network->pool.v4_bits = from->pool.v4_bits;
		network->has_pool_v4 = true;
	}
	if (from->has_pool_v6) {
		network->pool.v6 = from->pool.v6;
		network->pool.v6_bits = from->pool.v6_bits;
		network->has_pool_v6 = true;
	}
}

/* "none": discards what earlier files said, except denies and secrets. */
static void net_compile_reset(struct compiler *compiler, struct net_collected *collected)
{
	struct policy_network *network = &compiler->policy->network;

	*network = (struct policy_network){.deny = network->deny, .denies = network->denies};
	collected->rule = NULL;
	collected->rules = 0;
}

/* ---- the compiled network ---- */

static unsigned net_compile_rank(const char *host)
{
	return !net_is_wildcard(host) ? 0 : host[1] != '*' ? 1 : 2;
}

/* Exact names first, then "*.", then "**."; longer wildcards first; else in the order of the files. */
static bool net_compile_is_before(const struct net_rule *a, const struct net_rule *b)
{
	unsigned rank_a = net_compile_rank(a->host), rank_b = net_compile_rank(b->host);

	if (rank_a != rank_b)
		return rank_a < rank_b;
	return rank_a > 0 && strlen(a->host) > strlen(b->host);
}

static void net_compile_sort(struct net_collected *collected)
{
	for (size_t i = 1; i < collected->rules; i++) {
		const struct net_written_rule *rule = collected->rule[i];
		size_t at = i;

		for (; at > 0 && net_compile_is_before(&rule->rule, &collected->rule[at - 1]->rule); at--)
			collected->rule[at] = collected->rule[at - 1];
		collected->rule[at] = rule;
	}
}

static bool net_compile_share_port(const struct net_rule *a, const struct net_rule *b)
{
	for (size_t i = 0; i < a->ports; i++)
		for (size_t j = 0; j < b->ports; j++)
			if (a->port[i] == b->port[j])
				return true;
	return false;
}

/* --allow-private: the policy's own rules of that endpoint, which may be found first, are private as well. */
static void net_compile_lift(struct compiler *compiler, struct net_collected *collected)
{
	for (size_t i = 0; i < collected->rules; i++) {
		const struct net_written_rule *lifting = collected->rule[i];

		for (size_t j = 0; lifting->lifts && j < collected->rules; j++) {
			const struct net_written_rule *rule = collected->rule[j];
			struct net_written_rule *lifted;

			if (rule->rule.private_addresses || strcmp(rule->rule.host, lifting->rule.host) != 0 ||
			    !net_compile_share_port(&rule->rule, &lifting->rule))
				continue;
			lifted = arena_alloc(&compiler->policy->arena, sizeof(*lifted));
			if (!lifted) {
				compiler->no_memory = true;
				return;
			}
			*lifted = *rule;
			lifted->rule.private_addresses = true;
			collected->rule[j] = lifted;
		}
	}
}

static void net_compile_copy(struct compiler *compiler, const struct net_collected *collected)
{
	struct policy_network *network = &compiler->policy->network;
	struct arena *arena = &compiler->policy->arena;

	network->rule = arena_alloc(arena, (collected->rules + 1) * sizeof(*network->rule));
	network->secret = arena_alloc(arena, (collected->secrets + 1) * sizeof(*network->secret));
	if (!network->rule || !network->secret) {
		compiler->no_memory = true;
		return;
	}
	for (size_t i = 0; i < collected->rules; i++) {
		network->rule[i] = collected->rule[i]->rule;
		network->rule[i].index = i;
	}
	for (size_t i = 0; i < collected->secrets; i++)
		network->secret[i] = collected->secret[i].secret;
	network->rules = collected->rules;
	network->secrets = collected->secrets;
}

static void net_compile_set_pool(struct policy_network *network)
{
	static const struct net_pool usual = {
		.v4.s_addr = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? 0x000012c6 : 0xc6120000, /* 198.18.0.0 */
		.v4_bits = 15,
		.v6.s6_addr = {0xfd, 0x00, 0x00, 0x5a},
		.v6_bits = 32,
	};

	if (!network->has_pool_v4) {
		network->pool.v4 = usual.v4;
		network->pool.v4_bits = usual.v4_bits;
	}
	if (!network->has_pool_v6) {
		network->pool.v6 = usual.v6;
		network->pool.v6_bits = usual.v6_bits;
	}
}

void compile_network(struct compiler *compiler, struct source *const *sources, size_t count)
{
	struct policy_network *network = &compiler->policy->network;
	struct net_collected collected = {0};

	for (size_t i = 0; i < count && !compiler->no_memory; i++) {
		const struct source_network *from = &sources[i]->network;

		if (from->said == NET_NOTHING)
			net_compile_reset(compiler, &collected);
		if (from->said != NET_UNSAID)
			network->said = from->said;
		net_compile_add_lists(compiler, &collected, from);
		net_compile_set_values(compiler, sources[i]);
		net_compile_add_secrets(compiler, &collected, sources[i]);
	}
	if (compiler->no_memory)
		return;
	net_compile_set_pool(network);
	net_compile_sort(&collected);
	net_compile_lift(compiler, &collected);
	if (collected.rules > NET_RULES_MAX)
		compiler_fail(compiler, "network.allow", "more than %d rules in all files together; use wildcards",
			      NET_RULES_MAX);
	else
		net_check(compiler, &collected);
	if (!compiler->no_memory)
		net_compile_copy(compiler, &collected);
	if (!compiler->no_memory && !compiler->failed)
		net_warn(compiler, &collected);
}
