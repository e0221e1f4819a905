/* From what the files say to rules: variables replaced, later files overriding earlier ones. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/path.h"
#include "policy/model.h"
#include "policy/parse/errors.h"
#include "policy/paths/decoy.h"

#include "base/banned.h"

void compiler_fail(struct compiler *compiler, const char *where, const char *format, ...)
{
	char message[sizeof(((struct policy_error *)NULL)->text)];
	va_list args;

	va_start(args, format);
	(void)vsnprintf(message, sizeof(message), format, args);
	va_end(args);
	policy_errors_add(compiler->errors, "%s: %s", where, message);
	compiler->failed = true;
}

const char *compiler_keep(struct compiler *compiler, const char *text)
{
	const char *copy = arena_dup(&compiler->policy->arena, text);

	if (!copy)
		compiler->no_memory = true;
	return copy;
}

/* Room for what @interpreter makes several of; when it is more, all are moved. */
#define INTERPRETER_RULES 32

static const unsigned name_flags[RULE_MAX] = {
	[RULE_READ] = VARS_GLOB | VARS_WORKDIR | VARS_MANY,
	[RULE_WRITE] = VARS_GLOB | VARS_WORKDIR | VARS_MANY,
	[RULE_EXEC] = VARS_GLOB | VARS_WORKDIR | VARS_MANY,
	[RULE_DENY] = VARS_GLOB | VARS_WORKDIR | VARS_MANY | VARS_DEEP,
	[RULE_EXEC_DENY] = VARS_GLOB | VARS_WORKDIR | VARS_MANY | VARS_DEEP,
	[RULE_REDIRECT] = VARS_WORKDIR,
	[RULE_PROVIDE] = VARS_WORKDIR,
	[RULE_DECOY] = VARS_WORKDIR,
};

/* What is expanded right now. */
struct pending {
	const struct source *source;
	const struct source_rule *from;
	size_t index; /* of the source */
};

static bool is_made(enum rule_kind kind)
{
	return kind == RULE_REDIRECT || kind == RULE_PROVIDE || kind == RULE_DECOY;
}

/* Names that are the view's own, or no name for a file at all. */
static bool check_name(struct compiler *compiler, const struct source_rule *from, const char *path)
{
	bool deny = from->kind == RULE_DENY || from->kind == RULE_EXEC_DENY;

	if (!deny && path_below(path, "/proc"))
		compiler_fail(compiler, from->path.where, "%s: the program has its own /proc; remove the rule", path);
	else if (!deny && strcmp(path, "/dev") == 0)
		compiler_fail(compiler, from->path.where, "the program has its own /dev; name the device you mean");
	else if (is_made(from->kind) && strcmp(path, "/") == 0)
		compiler_fail(compiler, from->path.where,
			      "\"/\" cannot be redirected or provided; name something below");
	else if (is_made(from->kind) && strcmp(path, compiler->policy->workdir) == 0)
		compiler_fail(compiler, from->path.where, "%s is the workdir; it cannot be redirected or provided",
			      path);
	else
		return true;
	return false;
}

static void take_target(struct compiler *compiler, void *ctx, const struct expanded *expanded)
{
	struct rule *rule = ctx;

	(void)compiler;
	rule->to = *expanded;
}

static bool make_room(struct policy *policy, size_t rules)
{
	struct rule *rule;
	size_t bytes;

	if (__builtin_mul_overflow(rules, sizeof(*rule), &bytes))
		return false;
	rule = arena_alloc(&policy->arena, bytes);
	if (!rule)
		return false;
	if (policy->rule_count)
		memcpy(rule, policy->rule, policy->rule_count * sizeof(*rule));
	policy->rule = rule;
	policy->rule_room = rules;
	return true;
}

static void take_name(struct compiler *compiler, void *ctx, const struct expanded *expanded)
{
	const struct pending *pending = ctx;
	const struct source_rule *from = pending->from;
	struct policy *policy = compiler->policy;
	struct rule *rule;

	if (!check_name(compiler, from, expanded->path))
		return;
	if (policy->rule_count == policy->rule_room && !make_room(policy, policy->rule_room * 2)) {
		compiler->no_memory = true;
		return;
	}
	rule = &policy->rule[policy->rule_count++];
	*rule = (struct rule){.kind = from->kind,
			      .source = pending->index,
			      .profile = pending->source->profile,
			      .where = from->path.where,
			      .name = *expanded,
			      .node = TREE_NONE,
			      .content = from->kind == RULE_DECOY ? decoy_text(&policy->arena, expanded->path)
								  : from->to.text};
	rule->label =
		arena_cat(&policy->arena, pending->source->label, ": ", from->key, " ", from->path.text, (char *)NULL);
	if (!rule->label || (from->kind == RULE_DECOY && !rule->content))
		compiler->no_memory = true;
	if (from->kind == RULE_REDIRECT)
		vars_expand(compiler, &from->to, VARS_WORKDIR | VARS_SCRATCH, take_target, rule);
}

static bool is_grant(enum rule_kind kind)
{
	return kind == RULE_READ || kind == RULE_WRITE || kind == RULE_EXEC;
}

/*
 * What a later file makes of a path replaces what earlier files granted or made there; a later read or write brings the
 * host's own file back. Exec alone only adds a right.
 */
static bool overrides(const struct rule *later, const struct rule *rule)
{
	if (later->source <= rule->source)
		return false;
	if (is_made(rule->kind) ? !is_made(later->kind) && later->kind != RULE_READ && later->kind != RULE_WRITE
				: !is_grant(rule->kind) || !is_made(later->kind))
		return false;
	return strcmp(later->name.path, rule->name.path) == 0;
}

/* One of two that override each other is always made: few are. */
static void override_earlier(struct policy *policy)
{
	for (size_t i = 0; i < policy->rule_count; i++) {
		struct rule *made = &policy->rule[i];

		for (size_t j = 0; is_made(made->kind) && j < policy->rule_count; j++) {
			struct rule *other = &policy->rule[j];

			if (overrides(made, other))
				other->overridden = true;
			if (overrides(other, made))
				made->overridden = true;
		}
	}
}

void compile_rules(struct compiler *compiler, struct source *const *sources, size_t count)
{
	size_t rules = INTERPRETER_RULES;

	for (size_t i = 0; i < count; i++)
		rules += sources[i]->rule_count;
	if (!make_room(compiler->policy, rules)) {
		compiler->no_memory = true;
		return;
	}
	for (size_t i = 0; i < count; i++) {
		for (size_t j = 0; j < sources[i]->rule_count && !compiler->no_memory; j++) {
			const struct source_rule *from = &sources[i]->rule[j];
			struct pending pending = {sources[i], from, i};

			vars_expand(compiler, &from->path, name_flags[from->kind], take_name, &pending);
		}
	}
	override_earlier(compiler->policy);
}
