/* Puts the rules into the tree that decide.c walks. */
#include <string.h>

#include "policy/model.h"

#include "base/banned.h"

static void index_set_deny(struct tree_node *node, const struct rule *rule)
{
	const struct rule **slot = rule->kind == RULE_DENY      ? &node->deny
				   : rule->kind == RULE_PRIVATE ? &node->withhold
								: &node->exec_deny;

	if (!*slot)
		*slot = rule;
}

static void index_add_grant(struct tree_node *node, const struct rule *rule)
{
	static const unsigned rights[RULE_MAX] = {
		[RULE_READ] = POLICY_READ,
		[RULE_WRITE] = POLICY_READ | POLICY_WRITE,
		[RULE_EXEC] = POLICY_READ | POLICY_EXEC,
	};

	if (rule->kind == RULE_PUBLIC && !node->publish)
		node->publish = rule;
	node->rights |= rights[rule->kind];
	for (unsigned i = 0; i < 3; i++)
		if (rights[rule->kind] & 1u << i && !node->grant[i])
			node->grant[i] = rule;
}

/* Finds or adds a node; NULL when memory ran out. */
static struct tree_node *index_node(struct compiler *compiler, const char *path)
{
	struct policy *policy = compiler->policy;
	uint32_t index = tree_add_path(&policy->tree, &policy->arena, path);

	if (index != TREE_NONE)
		return &policy->tree.node[index];
	compiler->no_memory = true;
	return NULL;
}

/* Adds a rule to the node of a path and returns the node; NULL when memory ran out. */
static struct tree_node *index_add_at(struct compiler *compiler, const char *path, const struct rule *rule)
{
	struct tree_node *node = index_node(compiler, path);

	if (!node)
		return NULL;
	if (rule->pattern) {
		node->glob = arena_grow(&compiler->policy->arena, node->glob, node->globs, sizeof(*node->glob));
		if (!node->glob) {
			node->globs = 0;
			compiler->no_memory = true;
			return NULL;
		}
		node->glob[node->globs++] = rule;
	} else if (kind_is_deny(rule->kind)) {
		index_set_deny(node, rule);
	} else {
		index_add_grant(node, rule);
	}
	return node;
}

/* Denies of one name in any directory go below TREE_NAMES: a hash look-up instead of a pattern. False: another rule. */
static bool index_add_name(struct compiler *compiler, const struct rule *rule)
{
	struct policy *policy = compiler->policy;
	const struct glob *glob = &rule->glob;
	uint32_t index;

	if (glob->parts != 3 || glob->part[0].kind != GLOB_DEEP || glob->part[1].kind != GLOB_LITERAL ||
	    glob->part[2].kind != GLOB_DEEP)
		return false;
	index = tree_add(&policy->tree, &policy->arena, TREE_NAMES, glob->part[1].text, glob->part[1].len);
	if (index == TREE_NONE)
		compiler->no_memory = true;
	else
		index_set_deny(&policy->tree.node[index], rule);
	return true;
}

static void index_mark_grant(struct compiler *compiler, struct tree_node *node)
{
	while (node && !node->has_grant) {
		node->has_grant = true;
		node = node->parent == TREE_NONE ? NULL : &compiler->policy->tree.node[node->parent];
	}
}

static size_t index_count_components(const char *path)
{
	size_t count = 0;

	for (; path; path = strchr(path + 1, '/'))
		count++;
	return count;
}

/* Upper bound of the nodes: as if no two rules had a directory in common. */
static size_t index_max_nodes(const struct policy *policy)
{
	size_t nodes = 1;

	for (size_t i = 0; i < policy->rule_count; i++)
		nodes += index_count_components(policy->rule[i].literal) +
			 index_count_components(policy->rule[i].alias) +
			 index_count_components(policy->rule[i].host) + 1;
	return nodes;
}

const char *rule_outside(const struct rule *rule)
{
	bool other = kind_is_deny(rule->kind) && rule->name.place == PLACE_WORKDIR && rule->literal && rule->host;

	return other && strcmp(rule->host, rule->literal) != 0 ? rule->host : NULL;
}

void compile_index(struct compiler *compiler)
{
	struct policy *policy = compiler->policy;

	if (!tree_reserve(&policy->tree, &policy->arena, index_max_nodes(policy)))
		compiler->no_memory = true;
	else
		(void)index_node(compiler, "/"); /* the root exists even when nothing is granted */
	for (size_t i = 0; i < policy->rule_count && !compiler->no_memory; i++) {
		struct rule *rule = &policy->rule[i];
		struct tree_node *node;

		if (rule->overridden)
			continue;
		if (kind_is_deny(rule->kind)) {
			if (!rule->literal && !index_add_name(compiler, rule))
				(void)index_add_at(compiler, "/", rule);
			if (rule->literal)
				(void)index_add_at(compiler, rule->literal, rule);
			if (rule->alias)
				(void)index_add_at(compiler, rule->alias, rule);
			if (rule_outside(rule))
				(void)index_add_at(compiler, rule_outside(rule), rule);
		} else if (rule->literal && (rule->host || kind_is_made(rule->kind))) {
			node = kind_is_made(rule->kind) ? index_node(compiler, rule->literal)
						  : index_add_at(compiler, rule->literal, rule);
			index_mark_grant(compiler, node);
			rule->node = node ? (uint32_t)(node - policy->tree.node) : TREE_NONE;
		}
	}
}
