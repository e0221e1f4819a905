/* Compares what two policies grant of the file system. */
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/path.h"
#include "policy/diff/diff.h"
#include "policy/diff/walk.h"
#include "policy/model.h"

/* Facts about a path that hold for everything below it. Each policy has its own set of them. */
enum path_fact {
	FACT_DENIED,
	FACT_EXEC_DENIED,
	FACT_PRIVATE,
	FACT_PRIVATE_BY_GLOB, /* private by a rule with a glob, which public does not override */
	FACT_PUBLIC,
	FACT_READ,
	FACT_WRITE,
	FACT_EXEC,
	FACT_SUBSTITUTED, /* the path is redirected or provided */
	FACT_MAX,
};

/* The patterns of the rules of both policies. */
struct paths_search {
	struct diff_search *search;
	struct walk_pattern *pattern;
	size_t pattern_count;
	unsigned policy_index; /* 0 or 1: the policy whose patterns are being added */
};

/* The bit of a fact about paths, of the policy whose rules are being added. */
static uint64_t paths_get_fact_bit(const struct paths_search *paths, enum path_fact fact)
{
	return UINT64_C(1) << (paths->policy_index * FACT_MAX + fact);
}

static struct arena *paths_get_arena(const struct paths_search *paths)
{
	return &paths->search->diff->arena;
}

/* What a rule of this kind says about a path, as a fact of the walk. */
static enum path_fact paths_get_fact(enum rule_kind kind)
{
	static const enum path_fact facts[RULE_MAX] = {
		[RULE_READ] = FACT_READ,         [RULE_WRITE] = FACT_WRITE,           [RULE_EXEC] = FACT_EXEC,
		[RULE_DENY] = FACT_DENIED,       [RULE_EXEC_DENY] = FACT_EXEC_DENIED, [RULE_PUBLIC] = FACT_PUBLIC,
		[RULE_PRIVATE] = FACT_PRIVATE,   [RULE_REDIRECT] = FACT_SUBSTITUTED,  [RULE_PROVIDE] = FACT_SUBSTITUTED,
		[RULE_DECOY] = FACT_SUBSTITUTED,
	};

	return facts[kind];
}

/* Adds the pattern of a rule. Rules at one path must be added in the order of decide.c: mounts, grants, denies. */
static void paths_add_pattern(struct paths_search *paths, enum rule_kind kind, struct glob glob, bool has_glob)
{
	enum path_fact fact = kind == RULE_PRIVATE && has_glob ? FACT_PRIVATE_BY_GLOB : paths_get_fact(kind);
	uint64_t denied = paths_get_fact_bit(paths, FACT_DENIED), public = paths_get_fact_bit(paths, FACT_PUBLIC),
		 private = paths_get_fact_bit(paths, FACT_PRIVATE),
		 exec_denied = paths_get_fact_bit(paths, FACT_EXEC_DENIED),
		 withheld = paths_get_fact_bit(paths, FACT_PRIVATE_BY_GLOB);
	struct walk_pattern pattern = {glob, paths_get_fact_bit(paths, fact), 0, denied};

	if (fact == FACT_SUBSTITUTED) /* grants above a redirect do not apply below it */
		pattern.clears = public | private | paths_get_fact_bit(paths, FACT_READ) |
				 paths_get_fact_bit(paths, FACT_WRITE) | paths_get_fact_bit(paths, FACT_EXEC);
	else if (fact == FACT_PUBLIC) /* the innermost of public and private applies */
		pattern.clears = private;
	else if (fact == FACT_PRIVATE || fact == FACT_PRIVATE_BY_GLOB)
		pattern.clears = public;
	else if (fact == FACT_DENIED)
		pattern.clears = ~UINT64_C(0) >> (64 - FACT_MAX) << (paths->policy_index * FACT_MAX);
	if (fact == FACT_PRIVATE_BY_GLOB || fact == FACT_PUBLIC)
		pattern.facts_that_disable_pattern |= withheld;
	if (fact == FACT_EXEC_DENIED)
		pattern.facts_that_disable_pattern |= exec_denied;
	ARENA_APPEND(paths_get_arena(paths), paths->pattern, paths->pattern_count, pattern);
}

/* Adds a rule at one of its literal paths. NULL: a rule with a leading "**", which begins at "/". */
static void paths_add_rule_at_literal_path(struct paths_search *paths, const struct rule *rule, const char *literal)
{
	struct glob head = walk_split_path(paths_get_arena(paths), literal ? literal : "/", !rule->pattern);
	struct glob whole = rule->pattern ? walk_join_globs(paths_get_arena(paths), &head, &rule->glob) : head;

	paths_add_pattern(paths, rule->kind, whole, rule->pattern);
}

/* Gets the literal paths of a deny rule, as compile_rule_tree uses them. */
static size_t paths_get_literal_paths_of_deny(const struct rule *rule, const char *ret_anchor[3])
{
	size_t count = 0;

	if (rule->literal_path || !rule->literal_alias)
		ret_anchor[count++] = rule->literal_path;
	if (rule->literal_alias)
		ret_anchor[count++] = rule->literal_alias;
	if (rule_get_denied_path(rule))
		ret_anchor[count++] = rule_get_denied_path(rule);
	return count;
}

/*
 * Adds patterns below `virt` for a rule whose glob begins above it. `path` is the path between the start of the glob
 * and `virt`: where the first parts of the glob match `path`, the remaining parts become a pattern below `virt`.
 */
static void paths_add_rest_of_glob(struct paths_search *paths, const struct rule *rule, const char *path,
				   const char *virt)
{
	struct glob head = walk_split_path(paths_get_arena(paths), virt, false);

	for (size_t i = 0; i < rule->glob.part_count; i++) {
		struct glob before = {rule->glob.part, i};
		/* a "**" at the end of `before` also begins the tail, because it can match further names */
		size_t next = i > 0 && rule->glob.part[i - 1].kind == GLOB_ANY_NAMES ? i - 1 : i;
		struct glob tail = {rule->glob.part + next, rule->glob.part_count - next};

		if (glob_matches(&before, path, strlen(path)))
			paths_add_pattern(paths, rule->kind,
					  walk_join_globs(paths_get_arena(paths), &head, &tail), true);
	}
}

/*
 * Adds the part of a deny rule that lies below `alias`, which is another path of the object at `virt`: the rule denies
 * the same names below `virt`. anchor: the literal path of the rule.
 */
static void paths_add_deny_below(struct paths_search *paths, const struct rule *rule, const char *anchor,
				 const char *alias, const char *virt)
{
	const char *rest = anchor ? path_get_rest_below(anchor, alias) : NULL;
	const char *above = path_get_rest_below(alias, anchor ? anchor : "/");
	char moved[PATH_MAX];

	if (above && rule->pattern)
		paths_add_rest_of_glob(paths, rule, above, virt);
	else if (rest && snprintf(moved, sizeof(moved), "%s%s%s", virt, *rest ? "/" : "", rest) < (int)sizeof(moved))
		paths_add_rule_at_literal_path(paths, rule, arena_dup(paths_get_arena(paths), moved));
}

/* Adds the deny rules for other paths of a redirected directory: these also apply under its virtual path. */
static void paths_add_aliases(struct paths_search *paths, const struct policy *policy,
			      const struct path_tree_node *node, const char *virt)
{
	for (size_t i = 0; i < policy->rule_count; i++) {
		const struct rule *rule = &policy->rule[i];
		const char *anchor[3];
		size_t anchors = paths_get_literal_paths_of_deny(rule, anchor);

		for (unsigned name = 0; kind_is_deny(rule->kind) && !kind_is_after(rule->kind) && name < 2 &&
				        node->alias_path[name]; name++)
			for (size_t j = 0; j < anchors; j++)
				paths_add_deny_below(paths, rule, anchor[j], node->alias_path[name], virt);
	}
}

/* Adds the patterns of all granting, or all denying, rules. */
static void paths_add_rules(struct paths_search *paths, const struct policy *policy, bool deny)
{
	for (size_t i = 0; i < policy->rule_count; i++) {
		const struct rule *rule = &policy->rule[i];
		const char *anchor[3];

		if (rule->is_overridden || kind_is_deny(rule->kind) != deny || kind_is_after(rule->kind))
			continue; /* after_read is compared with the settings */
		if (!deny && rule->literal_path && (rule->host_path || kind_is_substitute(rule->kind)))
			paths_add_rule_at_literal_path(paths, rule, rule->literal_path);
		for (size_t j = deny ? paths_get_literal_paths_of_deny(rule, anchor) : 0; j-- > 0;)
			paths_add_rule_at_literal_path(paths, rule, anchor[j]);
	}
}

/* Adds the patterns of a policy's rules and mounts, whose paths are to be compared. */
static void paths_add_policy(struct paths_search *paths, unsigned side)
{
	const struct policy *policy = paths->search->policy[side];

	paths->policy_index = side;
	for (size_t i = 0; i < policy->mount_count; i++)
		if (path_tree_find_path(&policy->tree, policy->mount[i].virt)->is_remapped)
			paths_add_pattern(paths, RULE_REDIRECT,
					  walk_split_path(paths_get_arena(paths), policy->mount[i].virt, true), false);
	paths_add_rules(paths, policy, false);
	paths_add_rules(paths, policy, true);
	for (size_t i = 0; i < policy->mount_count; i++)
		paths_add_aliases(paths, policy, path_tree_find_path(&policy->tree, policy->mount[i].virt),
				  policy->mount[i].virt);
}

/* ---- witnesses ---- */

/* One policy's answer about a right on a path. */
static struct diff_answer paths_judge_right_on_path(const struct policy *policy, const char *path, unsigned want)
{
	struct policy_decision decision = policy_decide_access(policy, path, strlen(path), want);

	return (struct diff_answer){diff_get_access(decision.verdict, decision.reason), decision.verdict, decision.rule,
				    decision.reason};
}

/* Asks both policies about reading, writing and executing the path. Returns the rights that each grants, as facts. */
static uint64_t paths_compare_rights_on_path(void *ctx, const char *path)
{
	static const struct {
		unsigned want;
		const char *option, *op, *suffix;
	} questions[] = {{POLICY_READ, "open", "read", ":r"},
			 {POLICY_WRITE, "open", "write", ":w"},
			 {POLICY_EXEC, "exec", "exec", ""}};
	struct diff_search *search = ctx;
	char text[PATH_MAX + 2];

	for (size_t i = 0; i < sizeof(questions) / sizeof(questions[0]); i++) {
		struct diff_witness witness = {questions[i].option, text, questions[i].op, {{0}}};

		(void)snprintf(text, sizeof(text), "%s%s", path, questions[i].suffix); /* cannot overflow */
		for (unsigned side = 0; side < 2; side++)
			witness.answer[side] = paths_judge_right_on_path(search->policy[side], path, questions[i].want);
		diff_add_witness(search, &witness);
	}
	return (uint64_t)policy_get_rights(search->policy[0], path, strlen(path)) << 32 |
	       (uint64_t)policy_get_rights(search->policy[1], path, strlen(path)) << 40;
}

/* Asks both policies about paths that their rules can tell apart. */
void diff_compare_paths(struct diff_search *search)
{
	struct paths_search paths = {.search = search};
	struct pattern_walk walk = {
		.arena = paths_get_arena(&paths), .visit = paths_compare_rights_on_path, .ctx = search};

	for (unsigned side = 0; side < 2; side++) {
		paths_add_policy(&paths, side);
		walk.facts_that_end_search |= paths_get_fact_bit(&paths, FACT_DENIED);
	}
	walk.pattern = paths.pattern;
	walk.pattern_count = paths.pattern_count;
	(void)paths_compare_rights_on_path(search, "/");
	if (!walk_visit_paths(&walk))
		search->diff->cut = true;
}
