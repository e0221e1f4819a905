/* Compares what two policies grant of the file system. */
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/path.h"
#include "policy/diff/diff.h"
#include "policy/diff/walk.h"
#include "policy/model.h"

/* Facts about a path that hold for everything below it, for each of the two policies. */
enum fact {
	FACT_DENIED,
	FACT_EXEC_DENIED,
	FACT_PRIVATE,
	FACT_PUBLIC,
	FACT_READ,
	FACT_WRITE,
	FACT_EXEC,
	FACT_OTHER, /* a redirect, or a provided file */
	FACT_MAX,
};

/* The patterns of both policies. */
struct paths_search {
	struct diff_search *search;
	struct walk_pattern *pattern;
	size_t patterns;
	unsigned side; /* whose patterns are being added */
};

static uint64_t paths_get_bit(const struct paths_search *paths, enum fact fact)
{
	return UINT64_C(1) << (paths->side * FACT_MAX + fact);
}

static struct arena *paths_get_arena(const struct paths_search *paths)
{
	return &paths->search->diff->arena;
}

static enum fact paths_get_fact(enum rule_kind kind)
{
	static const enum fact facts[RULE_MAX] = {
		[RULE_READ] = FACT_READ,         [RULE_WRITE] = FACT_WRITE,         [RULE_EXEC] = FACT_EXEC,
		[RULE_DENY] = FACT_DENIED,       [RULE_EXEC_DENY] = FACT_EXEC_DENIED, [RULE_PUBLIC] = FACT_PUBLIC,
		[RULE_PRIVATE] = FACT_PRIVATE,   [RULE_REDIRECT] = FACT_OTHER,      [RULE_PROVIDE] = FACT_OTHER,
		[RULE_DECOY] = FACT_OTHER,
	};

	return facts[kind];
}

/* Adds a pattern of a kind of rule. The order in which decide.c applies rules of one path: mounts, grants, denies. */
static void paths_add_pattern(struct paths_search *paths, enum fact fact, struct glob glob, bool has_glob)
{
	uint64_t denied = paths_get_bit(paths, FACT_DENIED), public = paths_get_bit(paths, FACT_PUBLIC),
		 private = paths_get_bit(paths, FACT_PRIVATE), exec_denied = paths_get_bit(paths, FACT_EXEC_DENIED);
	struct walk_pattern pattern = {glob, paths_get_bit(paths, fact), 0, denied};

	if (fact == FACT_OTHER) /* grants from further up do not count below */
		pattern.clears = public | private | paths_get_bit(paths, FACT_READ) |
				 paths_get_bit(paths, FACT_WRITE) | paths_get_bit(paths, FACT_EXEC);
	else if (fact == FACT_PUBLIC) /* the innermost of the two counts */
		pattern.clears = private;
	else if (fact == FACT_PRIVATE)
		pattern.clears = public;
	else if (fact == FACT_DENIED)
		pattern.clears = ~UINT64_C(0) >> (64 - FACT_MAX) << (paths->side * FACT_MAX);
	if (fact == FACT_PRIVATE && has_glob)
		pattern.unless |= private;
	if (fact == FACT_EXEC_DENIED)
		pattern.unless |= exec_denied;
	ARENA_APPEND(paths_get_arena(paths), paths->pattern, paths->patterns, pattern);
}

/* Adds a rule at one of its literal paths; NULL: the root, for a leading "**". */
static void paths_add_rule_at(struct paths_search *paths, const struct rule *rule, const char *literal)
{
	struct glob head = walk_split_path(paths_get_arena(paths), literal ? literal : "/", !rule->pattern);
	struct glob whole = rule->pattern ? walk_join_globs(paths_get_arena(paths), &head, &rule->glob) : head;

	paths_add_pattern(paths, paths_get_fact(rule->kind), whole, rule->pattern);
}

/* The literal paths of a deny rule; see compile_index. */
static size_t paths_get_anchors(const struct rule *rule, const char *ret_anchor[3])
{
	size_t count = 0;

	if (rule->literal || !rule->alias)
		ret_anchor[count++] = rule->literal;
	if (rule->alias)
		ret_anchor[count++] = rule->alias;
	if (rule_get_other_path(rule))
		ret_anchor[count++] = rule_get_other_path(rule);
	return count;
}

/*
 * Adds what a glob from above leads to below `virt`: the rest of the glob from each part on that has to match next when
 * the parts before have matched `path`.
 */
static void paths_add_rest_of_glob(struct paths_search *paths, const struct rule *rule, const char *path,
				   const char *virt)
{
	struct glob head = walk_split_path(paths_get_arena(paths), virt, false);

	for (size_t i = 0; i < rule->glob.parts; i++) {
		struct glob before = {rule->glob.part, i};
		size_t next = i > 0 && rule->glob.part[i - 1].kind == GLOB_DEEP ? i - 1 : i; /* "**" takes more */
		struct glob tail = {rule->glob.part + next, rule->glob.parts - next};

		if (glob_matches(&before, path, strlen(path)))
			paths_add_pattern(paths, paths_get_fact(rule->kind),
					  walk_join_globs(paths_get_arena(paths), &head, &tail), true);
	}
}

/* Adds what of a deny rule lies below `alias`, another name of the object at `virt`, as patterns below `virt`. */
static void paths_add_deny_below(struct paths_search *paths, const struct rule *rule, const char *anchor,
				 const char *alias, const char *virt)
{
	const char *rest = anchor ? path_rest_below(anchor, alias) : NULL;
	const char *above = path_rest_below(alias, anchor ? anchor : "/");
	char moved[PATH_MAX];

	if (above && rule->pattern)
		paths_add_rest_of_glob(paths, rule, above, virt);
	else if (rest && snprintf(moved, sizeof(moved), "%s%s%s", virt, *rest ? "/" : "", rest) < (int)sizeof(moved))
		paths_add_rule_at(paths, rule, arena_dup(paths_get_arena(paths), moved));
}

/* Denies hold under all names of a redirected directory. */
static void paths_add_aliases(struct paths_search *paths, const struct policy *policy, const struct tree_node *node,
			      const char *virt)
{
	for (size_t i = 0; i < policy->rule_count; i++) {
		const struct rule *rule = &policy->rule[i];
		const char *anchor[3];
		size_t anchors = paths_get_anchors(rule, anchor);

		for (unsigned name = 0; kind_is_deny(rule->kind) && name < 2 && node->alias[name]; name++)
			for (size_t j = 0; j < anchors; j++)
				paths_add_deny_below(paths, rule, anchor[j], node->alias[name], virt);
	}
}

static void paths_add_rules(struct paths_search *paths, const struct policy *policy, bool deny)
{
	for (size_t i = 0; i < policy->rule_count; i++) {
		const struct rule *rule = &policy->rule[i];
		const char *anchor[3];

		if (rule->overridden || kind_is_deny(rule->kind) != deny)
			continue;
		if (!deny && rule->literal && (rule->host || kind_is_substitute(rule->kind)))
			paths_add_rule_at(paths, rule, rule->literal);
		for (size_t j = deny ? paths_get_anchors(rule, anchor) : 0; j-- > 0;)
			paths_add_rule_at(paths, rule, anchor[j]);
	}
}

static void paths_add_policy(struct paths_search *paths, unsigned side)
{
	const struct policy *policy = paths->search->policy[side];

	paths->side = side;
	for (size_t i = 0; i < policy->mount_count; i++)
		if (tree_find_path(&policy->tree, policy->mount[i].virt)->remapped)
			paths_add_pattern(paths, FACT_OTHER,
					  walk_split_path(paths_get_arena(paths), policy->mount[i].virt, true), false);
	paths_add_rules(paths, policy, false);
	paths_add_rules(paths, policy, true);
	for (size_t i = 0; i < policy->mount_count; i++)
		paths_add_aliases(paths, policy, tree_find_path(&policy->tree, policy->mount[i].virt),
				  policy->mount[i].virt);
}

/* ---- witnesses ---- */

static struct diff_answer paths_judge(const struct policy *policy, const char *path, unsigned want)
{
	struct policy_decision decision = policy_decide_access(policy, path, strlen(path), want);

	return (struct diff_answer){diff_get_level(decision.verdict, decision.reason), decision.verdict, decision.rule,
				    decision.reason};
}

static uint64_t paths_visit(void *ctx, const char *path)
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

		(void)snprintf(text, sizeof(text), "%s%s", path, questions[i].suffix); /* fits */
		for (unsigned side = 0; side < 2; side++)
			witness.answer[side] = paths_judge(search->policy[side], path, questions[i].want);
		diff_add_witness(search, &witness);
	}
	return (uint64_t)policy_get_rights(search->policy[0], path, strlen(path)) << 32 |
	       (uint64_t)policy_get_rights(search->policy[1], path, strlen(path)) << 40;
}

void diff_compare_paths(struct diff_search *search)
{
	struct paths_search paths = {.search = search};
	struct walk walk = {.arena = paths_get_arena(&paths), .visit = paths_visit, .ctx = search};

	for (unsigned side = 0; side < 2; side++) {
		paths_add_policy(&paths, side);
		walk.stop |= paths_get_bit(&paths, FACT_DENIED);
	}
	walk.pattern = paths.pattern;
	walk.patterns = paths.patterns;
	(void)paths_visit(search, "/");
	if (!walk_visit_paths(&walk))
		search->diff->cut = true;
}
