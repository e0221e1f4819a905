/* Compiles the rules of all sources: expands variables; rules of later files override rules of earlier files. */
#include <string.h>

#include "base/path.h"
#include "policy/model.h"

static const unsigned rules_vars_flags[RULE_MAX] = {
	[RULE_READ] = VARS_ALLOW_GLOB | VARS_ALLOW_WORKDIR | VARS_ALLOW_INTERPRETER,
	[RULE_WRITE] = VARS_ALLOW_GLOB | VARS_ALLOW_WORKDIR | VARS_ALLOW_INTERPRETER,
	[RULE_EXEC] = VARS_ALLOW_GLOB | VARS_ALLOW_WORKDIR | VARS_ALLOW_INTERPRETER,
	[RULE_DENY] = VARS_ALLOW_GLOB | VARS_ALLOW_WORKDIR | VARS_ALLOW_INTERPRETER | VARS_ALLOW_NAME_ANYWHERE,
	[RULE_EXEC_DENY] = VARS_ALLOW_GLOB | VARS_ALLOW_WORKDIR | VARS_ALLOW_INTERPRETER | VARS_ALLOW_NAME_ANYWHERE,
	[RULE_PUBLIC] = 0,
	[RULE_PRIVATE] = VARS_ALLOW_GLOB | VARS_ALLOW_WORKDIR | VARS_ALLOW_INTERPRETER | VARS_ALLOW_NAME_ANYWHERE,
	[RULE_REDIRECT] = VARS_ALLOW_WORKDIR,
	[RULE_PROVIDE] = VARS_ALLOW_WORKDIR,
	[RULE_DECOY] = VARS_ALLOW_WORKDIR,
	[RULE_AFTER_READ] = VARS_ALLOW_GLOB | VARS_ALLOW_WORKDIR | VARS_ALLOW_INTERPRETER | VARS_ALLOW_NAME_ANYWHERE,
	[RULE_AFTER_WRITE] = VARS_ALLOW_GLOB | VARS_ALLOW_WORKDIR | VARS_ALLOW_SCRATCH,
};

/* The rule whose path vars_expand_path is expanding. */
struct rule_expansion {
	const struct policy_source *source;
	const struct source_rule *source_rule;
	size_t source_index; /* index of the source that has the rule */
	enum policy_on_deny on_deny;
	bool denial_asks;
};

/* False with a message when a rule of this kind may not change the path: "/", /proc, /dev or the workdir. */
static bool rules_check_path_for_kind(struct compiler *compiler, const struct source_rule *from, const char *path)
{
	bool deny = kind_is_deny(from->kind) && from->kind != RULE_AFTER_READ;

	if (!deny && path_is_below(path, "/proc"))
		compiler_add_error(compiler, from->path.source_location,
				   "%s: the program has its own /proc; remove the rule", path);
	else if (!deny && strcmp(path, "/dev") == 0)
		compiler_add_error(compiler, from->path.source_location,
				   "the program has its own /dev; name the device you mean");
	else if (kind_is_substitute(from->kind) && strcmp(path, "/") == 0)
		compiler_add_error(compiler, from->path.source_location,
			      "\"/\" cannot be redirected or provided; name a path below it");
	else if (kind_is_substitute(from->kind) && strcmp(path, compiler->policy->settings.workdir) == 0)
		compiler_add_error(compiler, from->path.source_location,
				   "%s is the workdir; it cannot be redirected or provided", path);
	else
		return true;
	return false;
}

/* Callback for an expanded path: sets the target of a redirect. */
static void rules_set_target(struct compiler *compiler, void *ctx, const struct expanded_path *expanded)
{
	struct rule *rule = ctx;

	(void)compiler;
	rule->to = *expanded;
}

/*
 * The index of the compiled after_read entry; of the last one, if `after` was one too many and has its error already.
 */
static unsigned rules_find_after_entry_index(const struct policy *policy, const struct source_after_entry *after)
{
	unsigned index = 0;

	while (index + 1 < policy->after_entry_count && policy->after_entry[index].source_entry != after)
		index++;
	return index;
}

/* Callback for an expanded path: adds the rule to the policy. */
static void rules_add_rule(struct compiler *compiler, void *ctx, const struct expanded_path *expanded)
{
	const struct rule_expansion *pending = ctx;
	const struct source_rule *from = pending->source_rule;
	struct policy *policy = compiler->policy;
	struct rule *rule;

	if (!rules_check_path_for_kind(compiler, from, expanded->path))
		return;
	ARENA_APPEND(&policy->arena, policy->rule, policy->rule_count, (struct rule){.kind = from->kind});
	rule = &policy->rule[policy->rule_count - 1];
	rule->source_index = pending->source_index;
	rule->is_from_profile = pending->source->is_profile;
	rule->is_of_observing_policy = pending->source->is_observing;
	rule->source_location = from->path.source_location;
	rule->because_text = from->because_text;
	rule->on_deny = pending->on_deny;
	rule->denial_asks = pending->denial_asks && (from->kind == RULE_DENY || from->kind == RULE_EXEC_DENY);
	rule->decoy_read_ends_run = from->decoy_read_ends_run;
	rule->after_entry_index = from->after_entry ? rules_find_after_entry_index(policy, from->after_entry) : 0;
	rule->expanded_path = *expanded;
	rule->tree_node_index = PATH_TREE_NO_NODE;
	rule->file_content = from->kind == RULE_DECOY ? decoy_make_text(&policy->arena, expanded->path) : from->to.text;
	rule->label = arena_concat_texts(&policy->arena, pending->source->label, ": ", from->key, " ", from->path.text,
					 (char *)NULL);
	if (from->kind == RULE_REDIRECT)
		vars_expand_path(compiler, &from->to, VARS_ALLOW_WORKDIR | VARS_ALLOW_SCRATCH, rules_set_target, rule);
}

/*
 * True when a rule of a later file overrides a rule for the same path. A later redirect, provide or decoy replaces
 * grants and substitutes. A later read or write replaces a substitute by the file of the host. Exec only adds a right.
 */
static bool rules_later_rule_overrides(const struct rule *later, const struct rule *rule)
{
	if (later->source_index <= rule->source_index)
		return false;
	if (kind_is_substitute(rule->kind)
		    ? !kind_is_substitute(later->kind) && later->kind != RULE_READ && later->kind != RULE_WRITE
		    : !kind_is_grant(rule->kind) || !kind_is_substitute(later->kind))
		return false;
	return strcmp(later->expanded_path.path, rule->expanded_path.path) == 0;
}

/*
 * Marks overridden rules. Of an overridden and an overriding rule, at least one is a substitute. Substitutes are few,
 * so only they are compared with all rules.
 */
static void rules_override_earlier(struct policy *policy)
{
	for (size_t i = 0; i < policy->rule_count; i++) {
		struct rule *rule = &policy->rule[i];

		for (size_t j = 0; kind_is_substitute(rule->kind) && j < policy->rule_count; j++) {
			struct rule *other = &policy->rule[j];

			if (rules_later_rule_overrides(rule, other))
				other->is_overridden = true;
			if (rules_later_rule_overrides(other, rule))
				rule->is_overridden = true;
		}
	}
}

/* The mode of a rule; ON_DENY_UNSET: that of the policy. */
static enum policy_on_deny rules_find_on_deny(const struct policy_source *source, const struct source_rule *rule,
					      enum policy_on_deny of_policy)
{
	if (rule->on_deny || (rule->kind != RULE_DENY && rule->kind != RULE_EXEC_DENY))
		return rule->on_deny;
	return source_find_on_deny_of_denies(source, of_policy);
}

/* Whether the policy that is compiled has this rule. */
static bool rules_has_rule(const struct compiler *compiler, const struct policy_source *source,
			   const struct source_rule *rule, bool asks_about_exec)
{
	if (rule->is_excluded_from_policy || (compiler->permits_asked_execs && asks_about_exec))
		return false;
	/* In an observing policy other deny rules do not apply: the judged policy has them. */
	return !policy_is_observing(compiler->policy) || source->is_observing || !kind_is_deny(rule->kind);
}

void compile_rules(struct compiler *compiler, struct policy_source *const *sources, size_t count)
{
	const enum policy_on_deny of_policy = source_find_on_deny(sources, count);

	for (size_t i = 0; i < count; i++) {
		for (size_t j = 0; j < sources[i]->rule_count; j++) {
			const struct source_rule *from = &sources[i]->rule[j];
			const enum policy_on_deny mode = rules_find_on_deny(sources[i], from, of_policy);
			const bool asks = policy_on_deny_asks(mode ? mode : of_policy);
			const bool asks_about_exec = from->kind == RULE_EXEC_DENY && asks;
			struct rule_expansion pending = {sources[i], from, i, mode, asks};

			if (!rules_has_rule(compiler, sources[i], from, asks_about_exec))
				continue;
			compiler->asks_about_execs = compiler->asks_about_execs || asks_about_exec;
			vars_expand_path(compiler, &from->path, rules_vars_flags[from->kind], rules_add_rule,
					 &pending);
		}
	}
	rules_override_earlier(compiler->policy);
}
