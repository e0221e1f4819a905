/* "libraries": rules that hide what is installed and not chosen. The caller of the policy says what that is. */
#include "policy/paths/libraries.h"

#include <errno.h>
#include <string.h>

#include "policy/model.h"
#include "policy/paths/explain.h"

const char *policy_language_get_name(enum policy_language language)
{
	static const char *const names[POLICY_LANGUAGE_MAX] = {[POLICY_PYTHON] = "python", [POLICY_NODE] = "node"};

	return names[language];
}

bool policy_library_name_is_valid(const char *name)
{
	static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-@/";

	return *name && !name[strspn(name, allowed)];
}

const char *const *policy_get_libraries(const struct policy *policy, enum policy_language language)
{
	const struct source_libraries *chosen = &policy->libraries[language];

	return chosen->source_location ? chosen->name : NULL;
}

/* Adds the list of one source to that of the policy. *ret_label: the name of the source, if it has a list. */
static void libraries_add_list(struct compiler *compiler, enum policy_language language,
			       const struct policy_source *source, const char **ret_label)
{
	struct source_libraries *all = &compiler->policy->libraries[language];
	const struct source_libraries *more = &source->libraries[language];

	if (!more->source_location)
		return;
	all->source_location = more->source_location;
	*ret_label = source->label;
	for (size_t i = 0; i < more->count; i++)
		ARENA_APPEND(&compiler->policy->arena, all->name, all->count, more->name[i]);
}

/* Adds the rule that hides one path. A path with a "*" would be a pattern, so it stays visible. */
static void libraries_hide_path(struct compiler *compiler, enum policy_language language, const char *source_label,
				const struct policy_hidden_path_of_library *hidden)
{
	struct policy *policy = compiler->policy;
	const char *path = arena_dup(&policy->arena, hidden->path);

	if (strchr(path, '*'))
		return;
	ARENA_APPEND(&policy->arena, policy->rule, policy->rule_count,
		     ((struct rule){.kind = RULE_DENY,
				    .hides_name = true,
				    .is_listed = hidden->is_listed,
				    .source_location = policy->libraries[language].source_location,
				    .expanded_path = {.path = path, .text_shown_to_user = path},
				    .tree_node_index = PATH_TREE_NO_NODE,
				    .label = arena_concat_texts(&policy->arena, source_label, ": libraries.",
								policy_language_get_name(language),
								hidden->library ? " lacks " : NULL, hidden->library,
								(char *)NULL)}));
}

/* Asks which packages of a language are to be hidden, and hides them. */
static void libraries_compile_language(struct compiler *compiler, enum policy_language language,
				       const char *source_label)
{
	struct source_libraries *chosen = &compiler->policy->libraries[language];
	const struct policy_host *host = compiler->host;
	struct policy_library_answer answer = {0};
	int ret;

	ARENA_APPEND(&compiler->policy->arena, chosen->name, chosen->count, NULL); /* the end of the list */
	chosen->count--;
	ret = host->libraries ? host->libraries(host->ctx, language, chosen->name, &answer) : 0;
	if (ret == -ENOMEM)
		(void)arena_fail_no_memory(&compiler->policy->arena);
	if (ret < 0)
		compiler_add_error(compiler, chosen->source_location, "cannot find what is installed: %s",
				   ret == -E2BIG ? "there are too many files" : strerror(-ret));
	for (size_t i = 0; ret == 0 && i < answer.hidden_count; i++)
		libraries_hide_path(compiler, language, source_label, &answer.hidden[i]);
	for (const char *const *name = answer.unknown_sets; ret == 0 && name && *name; name++)
		compiler_add_error(compiler, chosen->source_location,
				   "there is no set \"%s\"; those that exist: callgate libraries", *name);
	for (const char *const *name = answer.missing; ret == 0 && name && *name; name++)
		compiler_add_warning(compiler, "%s: warning: \"%s\" is not installed", chosen->source_location, *name);
}

bool policy_hides_names(const struct policy *policy)
{
	for (size_t i = 0; i < policy->rule_count; i++)
		if (policy->rule[i].hides_name)
			return true;
	return false;
}

bool policy_hides_names_in(const struct policy *policy, const char *path)
{
	const struct path_tree_node *node = path_tree_find_path(&policy->tree, path);
	const struct policy_mount *mount = node && node->has_unlisted_names ? NULL : policy_find_mount(policy, path);
	char host[PATH_MAX];

	/* rules are for paths of the host, which a redirect or the workdir can show under another name */
	if (mount && mount->host_path && strcmp(mount->virt, mount->host_path) != 0 &&
	    policy_map_to_host(policy, path, host) >= 0)
		node = path_tree_find_path(&policy->tree, host);
	return node && node->has_unlisted_names;
}

bool policy_lists_hidden_name(const struct policy *policy, const char *path, size_t len)
{
	const struct rule *rule = policy_find_rules(policy, path, len).deny_rule;

	return rule && rule->hides_name && rule->is_listed;
}

void compile_libraries(struct compiler *compiler, struct policy_source *const *sources, size_t count)
{
	/* an observing policy denies nothing: the judged policy has these rules */
	for (enum policy_language language = 0;
	     language < POLICY_LANGUAGE_MAX && !policy_is_observing(compiler->policy); language++) {
		const char *label = NULL;

		for (size_t i = 0; i < count; i++)
			libraries_add_list(compiler, language, sources[i], &label);
		if (label)
			libraries_compile_language(compiler, language, label);
	}
}
