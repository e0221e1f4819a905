/* Compiles the entries of after_read. compile_rules() makes rules of their paths, index.c puts these into the tree. */
#include "base/path.h"
#include "policy/model.h"
#include "policy/paths/after.h"
#include "policy/paths/below.h"

#define AFTER_ENTRY_BIT(index) (UINT32_C(1) << (index))

/* Adds an entry of "after_read" to the policy, or an error if there are too many. */
static void after_add_entry(struct compiler *compiler, const struct source_after_entry *from)
{
	struct policy *policy = compiler->policy;

	if (policy->after_entry_count == POLICY_AFTER_ENTRIES_MAX) {
		compiler_add_error(compiler, from->source_location,
				   "more than %d entries in all files; name more paths in one",
				   POLICY_AFTER_ENTRIES_MAX);
		return;
	}
	policy->after_entries_closing_network |= from->closes_network ? AFTER_ENTRY_BIT(policy->after_entry_count) : 0;
	policy->after_entries_closing_writing |= from->closes_writing ? AFTER_ENTRY_BIT(policy->after_entry_count) : 0;
	ARENA_APPEND(&policy->arena, policy->after_entry, policy->after_entry_count, (struct policy_after_entry){from});
}

void compile_after_entries(struct compiler *compiler, struct policy_source *const *sources, size_t count)
{
	struct policy *policy = compiler->policy;

	if (policy_is_observing(policy)) /* nothing to do: the judged policy has the entries */
		return;
	for (size_t i = 0; i < count; i++)
		for (size_t j = 0; j < sources[i]->after_entry_count; j++)
			after_add_entry(compiler, sources[i]->after_entry[j]);
	if (policy->after_entry_count)
		policy->fired_after_entries = arena_alloc(&policy->arena, sizeof(*policy->fired_after_entries));
}

/*
 * Adds to the rule's after entry those names of the view that are redirected to the rule's path below @scratch. Returns
 * how many there are.
 */
static size_t after_add_rule_of_scratch(struct policy *policy, const struct rule *rule)
{
	size_t found = 0;

	for (size_t i = 0; i < policy->mount_count; i++) {
		const struct policy_mount *mount = &policy->mount[i];
		const char *rest =
			mount->is_redirect ? path_get_rest_below(rule->expanded_path.path, mount->host_path) : NULL;
		const char *virt = mount->virt;

		if (!mount->is_redirect || (!rest && !path_is_below(mount->host_path, rule->expanded_path.path)))
			continue;
		if (rest && *rest)
			virt = arena_concat_texts(&policy->arena, mount->virt, "/", rest, (char *)NULL);
		policy->tree.node[path_tree_add_path(&policy->tree, &policy->arena, virt)].after_write_entries |=
			AFTER_ENTRY_BIT(rule->after_entry_index);
		found++;
	}
	return found;
}

/* True when some file at or below the rule's path may be written before the entry fires. */
static bool after_rule_path_may_be_written(const struct policy *policy, const struct rule *rule)
{
	const char *path = rule->literal_path ? rule->literal_path : "/";

	return policy_may_write(policy, path);
}

void compile_paths_of_after_entries(struct compiler *compiler)
{
	struct policy *policy = compiler->policy;

	for (size_t i = 0; i < policy->rule_count; i++) {
		const struct rule *rule = &policy->rule[i];

		if (rule->kind != RULE_AFTER_WRITE || rule->is_overridden)
			continue;
		if (rule->expanded_path.place == PATH_BASE_SCRATCH && rule->pattern) {
			compiler_add_error(compiler, rule->source_location,
					   "\"%s\" is a glob; below @scratch name a directory",
					   rule->expanded_path.text_shown_to_user);
		} else if (rule->expanded_path.place == PATH_BASE_SCRATCH) {
			if (after_add_rule_of_scratch(policy, rule) == 0)
				compiler_add_warning(compiler,
						     "%s: warning: no redirect leads to %s, so it permits no "
						     "writing",
						     rule->source_location, rule->expanded_path.text_shown_to_user);
		} else if (!after_rule_path_may_be_written(policy, rule)) {
			compiler_add_warning(compiler,
					     "%s: warning: %s permits no writing: filesystem.write does not "
					     "grant it",
					     rule->source_location, rule->expanded_path.text_shown_to_user);
		}
	}
}
