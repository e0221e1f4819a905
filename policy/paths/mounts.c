/* Makes the mounts and links of the view from the rules: one mount a path, parents first, none redundant. */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "policy/model.h"

/* The path of a rule up to its first glob, before symbolic links were resolved. */
static const char *mounts_get_unresolved_name(struct compiler *compiler, const struct rule *rule)
{
	size_t len =
		rule->pattern ? (size_t)(rule->pattern - rule->expanded_path.path) : strlen(rule->expanded_path.path);
	if (rule->expanded_path.place == PATH_BASE_WORKDIR)
		return rule->literal_path; /* needs no link of the view: the workdir's own links are visible in it */
	if (!rule->pattern && len > 3 && strcmp(rule->expanded_path.path + len - 3, "/**") == 0)
		len -= 2; /* leaves out a final "**", which adds nothing */
	if (len > 1 && rule->expanded_path.path[len - 1] == '/')
		len--;
	if (!rule->expanded_path.path[len])
		return rule->expanded_path.path;
	return arena_dupn(&compiler->policy->arena, rule->expanded_path.path, len);
}

/* The mount that a rule makes at its literal path. */
static struct policy_mount mounts_make_from_rule(const struct rule *rule)
{
	bool provide = rule->kind == RULE_PROVIDE || rule->kind == RULE_DECOY;
	enum path_base place = rule->kind == RULE_REDIRECT ? rule->to.place : rule->expanded_path.place;

	return (struct policy_mount){
		.kind = provide ? POLICY_MOUNT_PROVIDE : POLICY_MOUNT_TREE,
		.virt = rule->literal_path,
		.host_path = provide ? NULL : rule->host_path,
		.provided_text = provide ? rule->file_content : NULL,
		.provided_text_len = provide ? strlen(rule->file_content) : 0,
		.is_granted_by_globs_only = rule->pattern != NULL,
		.is_interpreter = rule->expanded_path.is_of_interpreter,
		.is_redirect = rule->kind == RULE_REDIRECT,
		.creates_host_path = !provide && place != PATH_BASE_ROOT,
		.rule = rule->label,
	};
}

/* Merges a second rule for the same name into its mount. */
static void mounts_merge_rule(struct compiler *compiler, struct policy_mount *mount, const struct rule *rule)
{
	struct policy_mount other = mounts_make_from_rule(rule);

	/* Two files redirect or provide the path, by different names for it: the later rule wins. */
	if (kind_is_substitute(rule->kind)) {
		*mount = other;
	} else if (mount->kind == POLICY_MOUNT_PROVIDE) {
		compiler_add_error(compiler, rule->source_location,
				   "%s is provided by the policy (%s); keep one of the two rules", mount->virt,
				   mount->rule);
	} else if (mount->is_redirect) {
		return; /* the grant adds rights to the redirected path, which keeps its target */
	} else if (strcmp(mount->host_path, other.host_path) != 0) {
		compiler_add_error(
			compiler, rule->source_location,
			"%s is the workdir's name in the view and cannot be the host's %s as well; give the workdir "
			"another name by \"workdir\"",
			mount->virt, mount->virt);
	} else {
		mount->is_granted_by_globs_only = mount->is_granted_by_globs_only && other.is_granted_by_globs_only;
		mount->is_interpreter = mount->is_interpreter && other.is_interpreter;
	}
}

/* Adds the mount for a rule, or merges the rule into the mount at its path. */
static void mounts_add_mount(struct compiler *compiler, const struct rule *rule)
{
	struct policy *policy = compiler->policy;
	struct path_tree_node *node = &policy->tree.node[rule->tree_node_index];

	if (node->mount_index_plus_1) {
		mounts_merge_rule(compiler, &policy->mount[node->mount_index_plus_1 - 1], rule);
		return;
	}
	policy->mount[policy->mount_count++] = mounts_make_from_rule(rule);
	node->mount_index_plus_1 = (uint32_t)policy->mount_count;
}

/* Sorts each path directly before the paths below it: "/" counts as lower than any other byte. */
static int mounts_compare_names(const void *left, const void *right)
{
	const char *a = ((const struct policy_mount *)left)->virt, *b = ((const struct policy_mount *)right)->virt;

	while (*a && *a == *b) {
		a++;
		b++;
	}
	return (*a == '/' ? 1 : (unsigned char)*a * 2) - (*b == '/' ? 1 : (unsigned char)*b * 2);
}

/* True when the outer mount already shows the host path of the inner mount at the same virtual path. */
static bool mounts_have_same_content(const struct policy_mount *outer, const struct policy_mount *inner)
{
	const char *virt = path_get_rest_below(inner->virt, outer->virt), *host;

	if (outer->kind != POLICY_MOUNT_TREE || inner->kind != POLICY_MOUNT_TREE || !virt)
		return false;
	host = path_get_rest_below(inner->host_path, outer->host_path);
	return host && strcmp(virt, host) == 0;
}

/*
 * Returns the index + 1 of the innermost mount, of the first `count`, that contains `virt`; 0: none. outer[i]: the
 * index + 1 of the innermost mount that contains mount i; 0: none. `virt` sorts after these mounts, so only the last of
 * them, or a mount that contains the last, can contain `virt`.
 */
static size_t mounts_find_parent(const struct policy_mount *mounts, const size_t *outer, size_t count, const char *virt)
{
	while (count > 0) {
		const char *rest = path_get_rest_below(virt, mounts[count - 1].virt);

		if (rest && *rest)
			break;
		count = outer[count - 1];
	}
	return count;
}

/* True for a directory that stays as it is, as with --cow. */
static bool mounts_is_workspace(const struct policy *policy, const struct policy_mount *mount)
{
	if (policy->settings.workspace == POLICY_WORKSPACE_COW && strcmp(mount->virt, policy->settings.workdir) == 0)
		return true;
	for (size_t i = 0; mount->host_path && i < policy->settings.workspace_dir_count; i++)
		if (strcmp(mount->host_path, policy->settings.workspace_dir[i]) == 0)
			return true;
	return false;
}

/* Removes redundant mounts, and fills outer[] for mounts_find_parent(). */
static void mounts_drop_redundant(struct policy *policy, size_t *outer)
{
	size_t kept = 0;

	for (size_t i = 0; i < policy->mount_count; i++) {
		const struct policy_mount *mount = &policy->mount[i];
		size_t in = mounts_find_parent(policy->mount, outer, kept, mount->virt);
		const struct policy_mount *holder = in ? &policy->mount[in - 1] : NULL;

		/*
		 * With an observing policy, writes in the workdir change the host's files, and writes around it go to
		 * the scratch directory: the workdir keeps its own mount.
		 */
		if (policy_is_observing(policy) && strcmp(mount->virt, policy->settings.workdir) == 0)
			holder = NULL;
		/* A directory that stays as it is has a layer, and so a mount of its own. */
		if (mounts_is_workspace(policy, mount))
			holder = NULL;
		if (holder && !holder->is_granted_by_globs_only && !mount->is_redirect &&
		    mounts_have_same_content(holder, mount))
			continue;
		outer[kept] = in;
		policy->mount[kept++] = *mount;
	}
	policy->mount_count = kept;
}

/* Shortens the link "/lib/x" -> "/usr/lib/x" to "/lib" -> "/usr/lib", as long as the host resolves both alike. */
static void mounts_shorten_link(struct compiler *compiler, char *path, char *target)
{
	for (;;) {
		char *slash = strrchr(path, '/'), *target_slash = strrchr(target, '/');
		_cleanup_free_ char *found = NULL;

		if (slash == path || target_slash == target || strcmp(slash, target_slash) != 0)
			return;
		*slash = *target_slash = '\0';
		found = compiler->host->realpath(compiler->host->ctx, path);
		if (found && strcmp(found, target) == 0)
			continue;
		*slash = *target_slash = '/';
		return;
	}
}

/* Adds a link of the view from the rule's path as written to where it leads, if they differ. */
static void mounts_add_link(struct compiler *compiler, const struct rule *rule, const char *from)
{
	struct policy *policy = compiler->policy;
	char *path, *target;

	if (strcmp(from, rule->literal_path) == 0)
		return;
	path = arena_dup(&policy->arena, from);
	target = arena_dup(&policy->arena, rule->literal_path);
	mounts_shorten_link(compiler, path, target);
	for (size_t i = 0; i < policy->link_count; i++)
		if (strcmp(policy->link[i].path, path) == 0)
			return;
	ARENA_APPEND(&policy->arena, policy->link, policy->link_count, ((struct policy_link){path, target}));
}

/* Adds the mounts of substitutes (redirects, provided files, decoys), or those of grants. */
static void mounts_add_substitutes_or_grants(struct compiler *compiler, bool substitutes)
{
	for (size_t i = 0; i < compiler->policy->rule_count; i++) {
		const struct rule *rule = &compiler->policy->rule[i];
		bool content = rule->host_path || rule->kind == RULE_PROVIDE || rule->kind == RULE_DECOY;

		if (rule->is_overridden || kind_is_deny(rule->kind) || !rule->literal_path || !content ||
		    kind_is_substitute(rule->kind) != substitutes)
			continue;
		mounts_add_mount(compiler, rule);
		mounts_add_link(compiler, rule, mounts_get_unresolved_name(compiler, rule));
	}
}

/* Sets the fields of tree nodes that depend on mounts. */
static void mounts_set_mount_fields_of_nodes(struct policy *policy, const size_t *outer)
{
	for (size_t i = 0; i < policy->mount_count; i++) {
		const struct policy_mount *mount = &policy->mount[i];
		const struct policy_mount *holder = outer[i] ? &policy->mount[outer[i] - 1] : NULL;
		struct path_tree_node *node = path_tree_find_path(&policy->tree, mount->virt);

		node->mount_index_plus_1 = (uint32_t)i + 1;
		node->is_remapped =
			holder ? !mounts_have_same_content(holder, mount)
			       : mount->kind == POLICY_MOUNT_PROVIDE || strcmp(mount->virt, mount->host_path) != 0;
		node->verdict = mount->kind == POLICY_MOUNT_PROVIDE ? VERDICT_PROVIDE
				: mount->is_redirect                ? VERDICT_REDIRECT
								    : VERDICT_ALLOW;
	}
}

void compile_mounts(struct compiler *compiler)
{
	struct policy *policy = compiler->policy;
	size_t *outer = arena_alloc(&policy->arena, policy->rule_count * sizeof(*outer));

	policy->mount = arena_alloc(&policy->arena, policy->rule_count * sizeof(*policy->mount));
	mounts_add_substitutes_or_grants(compiler, true);
	mounts_add_substitutes_or_grants(compiler, false);
	if (policy->mount_count)
		qsort(policy->mount, policy->mount_count, sizeof(*policy->mount), mounts_compare_names);
	mounts_drop_redundant(policy, outer);
	for (size_t i = 0; i < policy->tree.node_count; i++)
		policy->tree.node[i].mount_index_plus_1 = 0;
	mounts_set_mount_fields_of_nodes(policy, outer);
}
