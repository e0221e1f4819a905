/* Compiles the rules of all sources: expands their variables; rules of later files override those of earlier ones. */
#include <string.h>

#include "base/path.h"
#include "policy/model.h"

static const unsigned rules_vars_flags[RULE_MAX] = {
	[RULE_READ] = VARS_GLOB | VARS_WORKDIR | VARS_MANY,
	[RULE_WRITE] = VARS_GLOB | VARS_WORKDIR | VARS_MANY,
	[RULE_EXEC] = VARS_GLOB | VARS_WORKDIR | VARS_MANY,
	[RULE_DENY] = VARS_GLOB | VARS_WORKDIR | VARS_MANY | VARS_DEEP,
	[RULE_EXEC_DENY] = VARS_GLOB | VARS_WORKDIR | VARS_MANY | VARS_DEEP,
	[RULE_PUBLIC] = 0,
	[RULE_PRIVATE] = VARS_GLOB | VARS_WORKDIR | VARS_MANY | VARS_DEEP,
	[RULE_REDIRECT] = VARS_WORKDIR,
	[RULE_PROVIDE] = VARS_WORKDIR,
	[RULE_DECOY] = VARS_WORKDIR,
};

/* The rule whose path is being expanded. */
struct rules_pending {
	const struct source *source;
	const struct source_rule *from;
	size_t index; /* of the source */
};

/* False with a message: /proc, /dev, "/" and the workdir cannot be changed by rules of this kind. */
static bool rules_check_path(struct compiler *compiler, const struct source_rule *from, const char *path)
{
	bool deny = kind_is_deny(from->kind);

	if (!deny && path_is_below(path, "/proc"))
		compiler_add_error(compiler, from->path.where, "%s: the program has its own /proc; remove the rule",
				   path);
	else if (!deny && strcmp(path, "/dev") == 0)
		compiler_add_error(compiler, from->path.where,
				   "the program has its own /dev; name the device you mean");
	else if (kind_is_made(from->kind) && strcmp(path, "/") == 0)
		compiler_add_error(compiler, from->path.where,
			      "\"/\" cannot be redirected or provided; name a path below it");
	else if (kind_is_made(from->kind) && strcmp(path, compiler->policy->settings.workdir) == 0)
		compiler_add_error(compiler, from->path.where, "%s is the workdir; it cannot be redirected or provided",
			      path);
	else
		return true;
	return false;
}

static void rules_take_target(struct compiler *compiler, void *ctx, const struct expanded *expanded)
{
	struct rule *rule = ctx;

	(void)compiler;
	rule->to = *expanded;
}

static void rules_take_path(struct compiler *compiler, void *ctx, const struct expanded *expanded)
{
	const struct rules_pending *pending = ctx;
	const struct source_rule *from = pending->from;
	struct policy *policy = compiler->policy;
	struct rule *rule;

	if (!rules_check_path(compiler, from, expanded->path))
		return;
	ARENA_APPEND(&policy->arena, policy->rule, policy->rule_count, (struct rule){.kind = from->kind});
	rule = &policy->rule[policy->rule_count - 1];
	rule->source = pending->index;
	rule->profile = pending->source->profile;
	rule->where = from->path.where;
	rule->because = from->because;
	rule->name = *expanded;
	rule->node = TREE_NONE;
	rule->content = from->kind == RULE_DECOY ? decoy_make_text(&policy->arena, expanded->path) : from->to.text;
	rule->label = arena_concat_texts(&policy->arena, pending->source->label, ": ", from->key, " ", from->path.text,
					 (char *)NULL);
	if (from->kind == RULE_REDIRECT)
		vars_expand_path(compiler, &from->to, VARS_WORKDIR | VARS_SCRATCH, rules_take_target, rule);
}

/*
 * A later redirect, provide or decoy replaces earlier grants and substitutes of the same path. A later read or write
 * replaces an earlier substitute by the host's file. Exec only adds a right.
 */
static bool rules_later_overrides(const struct rule *later, const struct rule *rule)
{
	if (later->source <= rule->source)
		return false;
	if (kind_is_made(rule->kind)
		    ? !kind_is_made(later->kind) && later->kind != RULE_READ && later->kind != RULE_WRITE
		    : !kind_is_grant(rule->kind) || !kind_is_made(later->kind))
		return false;
	return strcmp(later->name.path, rule->name.path) == 0;
}

/* One rule of each overriding pair is a substitute; these are few, so only they are compared with all others. */
static void rules_override_earlier(struct policy *policy)
{
	for (size_t i = 0; i < policy->rule_count; i++) {
		struct rule *rule = &policy->rule[i];

		for (size_t j = 0; kind_is_made(rule->kind) && j < policy->rule_count; j++) {
			struct rule *other = &policy->rule[j];

			if (rules_later_overrides(rule, other))
				other->overridden = true;
			if (rules_later_overrides(other, rule))
				rule->overridden = true;
		}
	}
}

void compile_rules(struct compiler *compiler, struct source *const *sources, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		for (size_t j = 0; j < sources[i]->rule_count; j++) {
			const struct source_rule *from = &sources[i]->rule[j];
			struct rules_pending pending = {sources[i], from, i};

			vars_expand_path(compiler, &from->path, rules_vars_flags[from->kind], rules_take_path,
					 &pending);
		}
	}
	rules_override_earlier(compiler->policy);
}
