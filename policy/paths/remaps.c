/*
 * Sets the rights and aliases of remapped mounts. These show other content than the mount around them has at that name:
 * redirects, provided files, a workdir under another name.
 */
#include <string.h>

#include "base/path.h"
#include "policy/model.h"

/* Replaces all grants of a tree node by the grants of one rule. */
static void remap_set_rights(struct path_tree_node *node, const struct rule *rule, unsigned rights)
{
	if (rights & POLICY_PUBLIC) { /* the target of the redirect is public */
		rights &= ~(unsigned)(POLICY_READ | POLICY_PUBLIC);
		node->public_rule = rule;
	}
	node->rights = rights;
	for (unsigned i = 0; i < 3; i++)
		node->grant_rules[i] = rights & 1u << i ? rule : NULL;
}

/* Sets the rights of a redirect to @scratch or @workdir: read, write, and exec if a rule grants exec on this path. */
static void remap_grant_scratch_or_workdir(struct path_tree_node *node, const struct rule *rule)
{
	const struct rule *exec = node->grant_rules[2];

	remap_set_rights(node, rule, POLICY_READ | POLICY_WRITE);
	if (exec) {
		node->rights |= POLICY_EXEC;
		node->grant_rules[2] = exec;
	}
}

/* Sets the rights of a redirect to a host path: those that are granted on the target. False with a message. */
static bool remap_set_rights_of_host_target(struct compiler *compiler, struct path_tree_node *node,
					    const struct rule *rule)
{
	struct path_rules target = policy_find_rules(compiler->policy, rule->host_path, strlen(rule->host_path));

	if (node->rights || node->glob_rule_count || node->public_rule)
		compiler_add_error(compiler, rule->source_location,
				   "%s is granted as well; grant the target %s instead", rule->literal_path,
				   rule->host_path);
	else if (target.deny_rule)
		compiler_add_error(compiler, rule->source_location,
				   "leads to %s, which %s denies; deny beats everything", rule->host_path,
				   target.deny_rule->label);
	else if (target.innermost_remap)
		compiler_add_error(compiler, rule->source_location,
			      "leads to %s, which is redirected or provided itself; name its target", rule->host_path);
	else if (!target.rights && !compiler->is_incomplete)
		compiler_add_error(compiler, rule->source_location,
			      "leads to %s, which nothing grants; add it to filesystem.read or write", rule->host_path);
	else if (target.rights) {
		remap_set_rights(node, rule, target.rights);
		return true;
	}
	return false;
}

/* Sets the other paths by which a deny rule can mean this object. The scratch directory has no other path. */
static void remap_set_aliases(struct compiler *compiler, struct path_tree_node *node, const struct policy_mount *mount,
			      const char *name)
{
	unsigned count = 0;

	if (name && strcmp(name, mount->virt) != 0)
		node->alias_path[count++] = name;
	if (mount->host_path && strcmp(mount->host_path, mount->virt) != 0 &&
	    !path_is_below(mount->host_path, compiler->host->scratch_path) &&
	    !(name && strcmp(name, mount->host_path) == 0))
		node->alias_path[count] = mount->host_path;
}

/* Adds an error if a rule denies the path at which this rule puts something. */
static void remap_refuse_denied_target(struct compiler *compiler, const struct rule *rule)
{
	struct path_rules finding = policy_find_rules(compiler->policy, rule->literal_path, strlen(rule->literal_path));

	if (finding.deny_rule)
		compiler_add_error(compiler, rule->source_location,
				   "%s is denied by %s; deny beats everything, so remove that rule, or %s",
				   rule->literal_path, finding.deny_rule->label, rule->label);
}

void compile_remaps(struct compiler *compiler)
{
	struct policy *policy = compiler->policy;

	for (size_t i = 0; i < policy->mount_count; i++) {
		struct path_tree_node *node = path_tree_find_path(&policy->tree, policy->mount[i].virt);

		if (node->is_remapped)
			remap_set_aliases(compiler, node, &policy->mount[i], NULL);
	}
	for (size_t i = 0; i < policy->rule_count; i++) {
		const struct rule *rule = &policy->rule[i];
		struct path_tree_node *node;
		bool good = true;

		if (rule->is_overridden || !rule->literal_path)
			continue;
		if (rule->kind == RULE_REDIRECT) {
			node = path_tree_find_path(&policy->tree, rule->literal_path);
			if (rule->to.place == PATH_BASE_ROOT)
				good = remap_set_rights_of_host_target(compiler, node, rule);
			else
				remap_grant_scratch_or_workdir(node, rule);
			remap_set_aliases(compiler, node, &policy->mount[node->mount_index_plus_1 - 1],
					  rule->literal_alias);
		} else if (rule->kind == RULE_PROVIDE || rule->kind == RULE_DECOY) {
			remap_set_rights(path_tree_find_path(&policy->tree, rule->literal_path), rule, POLICY_READ);
		} else {
			continue;
		}
		if (good) /* otherwise this rule has a message already */
			remap_refuse_denied_target(compiler, rule);
	}
}
