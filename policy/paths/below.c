#include "policy/paths/below.h"

#include <limits.h>
#include <string.h>

#include "base/path.h"
#include "policy/model.h"

/* True when the node grants writing. *ret_glob: only a rule with a glob does, for some names below the node. */
static bool below_grants_writing(const struct path_tree_node *node, bool *ret_glob)
{
	*ret_glob = false;
	if (node->rights & POLICY_WRITE)
		return true;
	for (size_t i = 0; i < node->glob_rule_count; i++)
		if (node->glob[i]->kind == RULE_WRITE)
			return *ret_glob = true;
	return false;
}

/*
 * Writes the path of a node. False when it has none (PATH_TREE_ANY_DIR: denied in every directory) or out is too small.
 */
static bool below_get_node_path(const struct path_tree *tree, uint32_t index, char out[PATH_MAX])
{
	size_t at = PATH_MAX - 1;

	out[at] = '\0';
	for (; index != PATH_TREE_ROOT; index = tree->node[index].parent_index) {
		const struct path_tree_node *node = &tree->node[index];

		if (node->parent_index == PATH_TREE_ANY_DIR || node->name_len + 1 > at)
			return false;
		at -= node->name_len;
		memcpy(out + at, node->name, node->name_len);
		out[--at] = '/';
	}
	if (out[at] == '\0')
		out[--at] = '/';
	memmove(out, out + at, PATH_MAX - at);
	return true;
}

/* Whether a path may be written, by a right of its own or by a glob above it or, with `below`, by a grant below it. */
static bool below_may_write(const struct policy *policy, const char *path, bool below)
{
	const struct path_tree *tree = &policy->tree;
	char name[PATH_MAX];
	bool glob;

	if (policy_get_rights(policy, path, strlen(path)) & POLICY_WRITE)
		return true;
	for (uint32_t i = 0; i < tree->node_count; i++)
		if (below_grants_writing(&tree->node[i], &glob) && (below || glob) &&
		    below_get_node_path(tree, i, name) &&
		    ((below && path_is_below(name, path)) || (glob && path_is_below(path, name))))
			return true;
	return false;
}

bool policy_may_write(const struct policy *policy, const char *path)
{
	return below_may_write(policy, path, true);
}

bool policy_may_write_in_dir(const struct policy *policy, const char *path)
{
	return below_may_write(policy, path, false);
}

int policy_visit_writable_below(const struct policy *policy, const char *path,
				int (*visit)(void *ctx, const char *path), void *ctx)
{
	const struct path_tree *tree = &policy->tree;
	char name[PATH_MAX];
	bool glob;
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < tree->node_count; i++)
		if (below_grants_writing(&tree->node[i], &glob) && below_get_node_path(tree, i, name) &&
		    path_is_below(name, path) && strcmp(name, path) != 0)
			r = visit(ctx, name);
	return r;
}

bool policy_grants_only_whole_trees(const struct policy *policy)
{
	if (policy_is_observing(policy)) /* each call must be recorded, with the verdict of the judged policy */
		return false;
	for (size_t i = 0; i < policy->rule_count; i++) {
		const struct rule *rule = &policy->rule[i];

		if (!rule->is_overridden && (rule->kind == RULE_DENY || rule->kind == RULE_PUBLIC ||
					     (rule->pattern && !kind_is_deny(rule->kind))))
			return false;
	}
	return true;
}

/* True for a rule that hides a name: a deny, or a RULE_PRIVATE where no other rule grants anything. */
static bool rule_hides_name(const struct policy *policy, const struct rule *rule, const char *path)
{
	size_t len = strlen(path);

	if (rule->kind == RULE_PRIVATE)
		return policy_get_rights(policy, path, len) == 0 && !policy_may_grant_below(policy, path, len);
	/* what "libraries" hides is no secret, and can be thousands of names: the supervisor alone hides it */
	return rule->kind == RULE_DENY && !rule->hides_name;
}

int policy_visit_denied_paths(const struct policy *policy, int (*visit)(void *ctx, const char *path), void *ctx)
{
	for (size_t i = 0; i < policy->rule_count; i++) {
		const struct rule *rule = &policy->rule[i];
		const char *path[] = {rule->literal_path, rule_get_denied_path(rule)};
		bool applies = !rule->is_overridden && !rule->pattern;
		int r = 0;

		for (size_t p = 0; r >= 0 && applies && p < sizeof(path) / sizeof(path[0]); p++)
			if (path[p] && rule_hides_name(policy, rule, path[p]))
				r = visit(ctx, path[p]);
		if (r < 0)
			return r;
	}
	return 0;
}

int policy_visit_hidden_paths(const struct policy *policy,
			      int (*visit)(void *ctx, const struct policy_hidden_path *hidden), void *ctx)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < policy->rule_count; i++) {
		const struct rule *rule = &policy->rule[i];
		const char *path[] = {rule->pattern && !rule->literal_path ? "/" : rule->literal_path,
				      rule->literal_alias, rule_get_denied_path(rule)};

		if (rule->is_overridden || (rule->kind != RULE_DENY && rule->kind != RULE_PRIVATE))
			continue;
		for (size_t p = 0; r == 0 && p < sizeof(path) / sizeof(path[0]); p++) {
			const struct policy_hidden_path hidden = {.path = path[p],
							     .glob = rule->pattern ? &rule->glob : NULL,
							     .is_private = rule->kind == RULE_PRIVATE,
							     .rule = rule->label};

			r = path[p] ? visit(ctx, &hidden) : 0;
		}
	}
	return r;
}
