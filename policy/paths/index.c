/* Puts the rules into the tree that decide.c walks. */
#include <string.h>

#include "policy/model.h"

/* Adds a denying rule to the node of its path. Of several of a kind, the first that does not ask counts. */
static void index_set_deny(struct path_tree_node *node, const struct rule *rule)
{
	const struct rule **slot = rule->kind == RULE_DENY      ? &node->deny_rule
				   : rule->kind == RULE_PRIVATE ? &node->private_rule
								: &node->exec_deny_rule;

	if (rule->kind == RULE_AFTER_READ)
		node->after_read_entries |= UINT32_C(1) << rule->after_entry_index;
	else if (rule->kind == RULE_AFTER_WRITE)
		node->after_write_entries |= UINT32_C(1) << rule->after_entry_index;
	else if (!*slot || ((*slot)->denial_asks && !rule->denial_asks))
		*slot = rule;
}

/* Adds the rule's rights to the node of its path. The first rule for a right is the one that records name. */
static void index_add_grant(struct path_tree_node *node, const struct rule *rule)
{
	static const unsigned rights[RULE_MAX] = {
		[RULE_READ] = POLICY_READ,
		[RULE_WRITE] = POLICY_READ | POLICY_WRITE,
		[RULE_EXEC] = POLICY_READ | POLICY_EXEC,
	};

	if (rule->kind == RULE_PUBLIC && !node->public_rule)
		node->public_rule = rule;
	node->rights |= rights[rule->kind];
	for (unsigned i = 0; i < 3; i++)
		if (rights[rule->kind] & 1u << i && !node->grant_rules[i])
			node->grant_rules[i] = rule;
}

/* Finds the tree node of a path, or adds it. */
static struct path_tree_node *index_get_node(struct policy *policy, const char *path)
{
	uint32_t index = path_tree_add_path(&policy->tree, &policy->arena, path); /* may reallocate node[] */

	return &policy->tree.node[index];
}

/* Adds a rule to the node of a path and returns the node. */
static struct path_tree_node *index_add_rule(struct policy *policy, const char *path, const struct rule *rule)
{
	struct path_tree_node *node = index_get_node(policy, path);

	if (rule->pattern)
		ARENA_APPEND(&policy->arena, node->glob, node->glob_rule_count, rule);
	else if (kind_is_deny(rule->kind))
		index_set_deny(node, rule);
	else
		index_add_grant(node, rule);
	if (rule->hides_name && !rule->is_listed && node->parent_index != PATH_TREE_NO_NODE)
		policy->tree.node[node->parent_index].has_unlisted_names = true;
	return node;
}

/*
 * Adds a rule that denies a name in every directory as a node below PATH_TREE_ANY_DIR. False: the rule has another
 * form.
 */
static bool index_add_rule_denying_name(struct policy *policy, const struct rule *rule)
{
	const struct glob *glob = &rule->glob;
	uint32_t index;

	if (glob->part_count != 3 || glob->part[0].kind != GLOB_ANY_NAMES || glob->part[1].kind != GLOB_LITERAL ||
	    glob->part[2].kind != GLOB_ANY_NAMES)
		return false;
	index = path_tree_add_child(&policy->tree, &policy->arena, PATH_TREE_ANY_DIR, glob->part[1].text,
				    glob->part[1].len);
	index_set_deny(&policy->tree.node[index], rule);
	return true;
}

const char *rule_get_denied_path(const struct rule *rule)
{
	bool other = kind_is_deny(rule->kind) && rule->expanded_path.place == PATH_BASE_WORKDIR && rule->literal_path &&
		     rule->host_path;

	return other && strcmp(rule->host_path, rule->literal_path) != 0 ? rule->host_path : NULL;
}

void compile_rule_tree(struct compiler *compiler)
{
	struct policy *policy = compiler->policy;

	(void)index_get_node(policy, "/"); /* the root exists even when nothing is granted */
	for (size_t i = 0; i < policy->rule_count; i++) {
		struct rule *rule = &policy->rule[i];
		struct path_tree_node *node;

		if (rule->is_overridden)
			continue;
		if (rule->expanded_path.place == PATH_BASE_SCRATCH) /* compile_paths_of_after_entries() */
			continue;
		if (kind_is_deny(rule->kind)) {
			if (!rule->literal_path && !index_add_rule_denying_name(policy, rule))
				(void)index_add_rule(policy, "/", rule);
			if (rule->literal_path)
				(void)index_add_rule(policy, rule->literal_path, rule);
			/* RULE_AFTER_WRITE names what stays writable: the target of a link in its path does not */
			if (rule->literal_alias && rule->kind != RULE_AFTER_WRITE)
				(void)index_add_rule(policy, rule->literal_alias, rule);
			if (rule_get_denied_path(rule))
				(void)index_add_rule(policy, rule_get_denied_path(rule), rule);
		} else if (rule->literal_path && (rule->host_path || kind_is_substitute(rule->kind))) {
			node = kind_is_substitute(rule->kind) ? index_get_node(policy, rule->literal_path)
							: index_add_rule(policy, rule->literal_path, rule);
			rule->tree_node_index = (uint32_t)(node - policy->tree.node);
			for (uint32_t at = rule->tree_node_index;
			     at != PATH_TREE_NO_NODE && !policy->tree.node[at].has_grant;
			     at = policy->tree.node[at].parent_index)
				policy->tree.node[at].has_grant = true;
		}
	}
}
