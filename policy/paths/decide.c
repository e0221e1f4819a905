/* Judges a path by one walk over its components. No allocation, no I/O. */
#include <errno.h>
#include <limits.h>
#include <string.h>

#include "policy/model.h"
#include "policy/paths/shown.h"

/* The rule that counts of two that deny, each of which may be NULL: one that does not ask, else the later one. */
static const struct rule *decide_choose_deny(const struct rule *earlier, const struct rule *later)
{
	if (!later || (earlier && later->denial_asks && !earlier->denial_asks))
		return earlier;
	return later;
}

/* Adds deny rules to those of a finding; NULL: there is none. */
static void decide_add_denies(struct path_rules *finding, const struct rule *deny, const struct rule *exec_deny)
{
	finding->deny_rule = decide_choose_deny(finding->deny_rule, deny);
	finding->exec_deny_rule = decide_choose_deny(finding->exec_deny_rule, exec_deny);
}

/*
 * True when a private rule with a glob matches. No public rule overrides it, because it is not known at which component
 * the glob matched.
 */
static bool decide_is_private_by_glob(const struct path_rules *finding)
{
	return finding->private_rule && finding->private_rule->pattern;
}

/* A public rule ends the effect of private ones that were applied before it, but not of a private pattern. */
static void decide_apply_public_rule(struct path_rules *finding, const struct rule *rule)
{
	if (decide_is_private_by_glob(finding))
		return;
	finding->public_rule = rule;
	finding->private_rule = NULL;
}

/* A private rule ends the effect of public ones that were applied before it. */
static void decide_apply_private_rule(struct path_rules *finding, const struct rule *rule)
{
	if (!decide_is_private_by_glob(finding))
		finding->private_rule = rule;
	finding->public_rule = NULL;
}

/* True when the policy shows something else in place of a secret: reading is then allowed, since no secret is read. */
static bool decide_shows_substitute(const struct path_tree_node *node)
{
	return node->is_remapped && node->verdict != VERDICT_ALLOW && node->deny_rule &&
	       node->deny_rule->is_of_observing_policy;
}

/* Notes in `finding` the entry of after_read to which a matching rule of kind RULE_AFTER_READ or _WRITE belongs. */
static void decide_add_after_entry_of_rule(struct path_rules *finding, const struct rule *rule)
{
	uint32_t bit = UINT32_C(1) << rule->after_entry_index;

	if (rule->kind == RULE_AFTER_READ)
		finding->after_read_entries |= bit;
	else
		finding->after_write_entries |= bit;
}

/* Applies the rules of one tree node on the path. `rest` is the part of the path below the node. */
static void decide_apply_node(const struct path_tree_node *node, const char *rest, size_t rest_len,
			      struct path_rules *finding)
{
	if (node->is_remapped) { /* a mount with other content: grants of the directories above do not apply to it */
		finding->rights = 0;
		finding->after_write_entries = 0;
		memset(finding->grant_rules, 0, sizeof(finding->grant_rules));
		finding->public_rule = NULL;
		if (!decide_is_private_by_glob(finding))
			finding->private_rule = NULL;
		if (finding->deny_rule && finding->deny_rule->is_of_observing_policy && node->verdict != VERDICT_ALLOW)
			finding->deny_rule = NULL;
		finding->innermost_remap = node;
	}
	finding->rights |= node->rights;
	finding->after_read_entries |= node->after_read_entries;
	finding->after_write_entries |= node->after_write_entries;
	for (unsigned i = 0; i < 3; i++)
		if (node->grant_rules[i])
			finding->grant_rules[i] = node->grant_rules[i];
	if (node->deny_rule || node->exec_deny_rule) /* few nodes have one, and each path meets many nodes */
		decide_add_denies(finding, decide_shows_substitute(node) ? NULL : node->deny_rule,
				  node->exec_deny_rule);
	if (node->public_rule)
		decide_apply_public_rule(finding, node->public_rule);
	if (node->private_rule)
		decide_apply_private_rule(finding, node->private_rule);
	for (size_t i = 0; i < node->glob_rule_count; i++) {
		const struct rule *rule = node->glob[i];

		if (!glob_matches(&rule->glob, rest, rest_len))
			continue;
		if (kind_is_after(rule->kind)) {
			decide_add_after_entry_of_rule(finding, rule);
		} else if (rule->kind == RULE_DENY) {
			decide_add_denies(finding, rule, NULL);
		} else if (rule->kind == RULE_EXEC_DENY) {
			decide_add_denies(finding, NULL, rule);
		} else if (rule->kind == RULE_PRIVATE) {
			decide_apply_private_rule(finding, rule);
		} else {
			unsigned more = rule->kind == RULE_WRITE ? 1 : rule->kind == RULE_EXEC ? 2 : 0;

			finding->rights |= POLICY_READ | 1u << more;
			finding->grant_rules[0] = finding->grant_rules[more] = rule;
		}
	}
}

/* Applies the rules that deny this name in every directory. */
static void decide_apply_name_denies(const struct path_tree *tree, uint64_t hash, const char *name, size_t len,
				     struct path_rules *finding)
{
	uint32_t index = path_tree_find_child(tree, PATH_TREE_ANY_DIR, hash, name, len);

	if (index == PATH_TREE_NO_NODE)
		return;
	decide_add_denies(finding, tree->node[index].deny_rule, tree->node[index].exec_deny_rule);
	if (tree->node[index].private_rule)
		decide_apply_private_rule(finding, tree->node[index].private_rule);
	finding->after_read_entries |= tree->node[index].after_read_entries;
	finding->after_write_entries |= tree->node[index].after_write_entries;
}

/* Applies the rules of all nodes on the path. *ret_remap_end: length of the path of the innermost remapped mount. */
static struct path_rules decide_collect_rules_of_path(const struct path_tree *tree, const char *path, size_t len,
					  size_t *ret_remap_end)
{
	struct path_rules finding = {0};
	uint32_t index = PATH_TREE_ROOT;
	size_t next;

	*ret_remap_end = 0;
	if (tree->node_count == 0 || len == 0 || path[0] != '/')
		return finding;
	decide_apply_node(&tree->node[PATH_TREE_ROOT], path + 1, len - 1, &finding);
	for (size_t at = 1; at < len; at = next) {
		const char *slash = memchr(path + at, '/', len - at);
		size_t end = slash ? (size_t)(slash - path) : len;
		uint64_t hash = path_tree_hash_name(path + at, end - at);

		next = end + 1;
		if (tree->any_dir_name_bloom_bits >> (hash >> 58) & 1)
			decide_apply_name_denies(tree, hash, path + at, end - at, &finding);
		if (index != PATH_TREE_NO_NODE) {
			index = path_tree_find_child(tree, index, hash, path + at, end - at);
			if (index != PATH_TREE_NO_NODE) {
				const struct path_tree_node *node = &tree->node[index];

				decide_apply_node(node, end < len ? path + next : "", end < len ? len - next : 0,
						  &finding);
				if (finding.innermost_remap == node)
					*ret_remap_end = end;
			}
		}
		if (index == PATH_TREE_NO_NODE && !tree->any_dir_name_bloom_bits)
			break;
	}
	return finding;
}

/*
 * Applies the deny rules and after_read for alias + rest, another path of the same object. If that is too long, denies
 * everything.
 */
static void decide_apply_alias_denies(const struct path_tree *tree, const char *alias, const char *rest,
				      size_t rest_len, struct path_rules *finding)
{
	size_t alias_len = strlen(alias), unused;
	struct path_rules other;
	char name[PATH_MAX];

	if (alias_len == 1)
		alias_len = 0; /* the alias is "/", and `rest` begins with a slash */
	if (alias_len + rest_len >= sizeof(name)) {
		finding->rights = 0;
		return;
	}
	memcpy(name, alias, alias_len);
	memcpy(name + alias_len, rest, rest_len);
	if (alias_len + rest_len == 0)
		name[alias_len++] = '/';
	other = decide_collect_rules_of_path(tree, name, alias_len + rest_len, &unused);
	decide_add_denies(finding, other.deny_rule, other.exec_deny_rule);
	if (other.private_rule)
		decide_apply_private_rule(finding, other.private_rule);
	finding->after_read_entries |= other.after_read_entries;
	finding->after_write_entries |= other.after_write_entries;
}

/* Collects all that the rules say about a path. A denial takes all rights away. */
struct path_rules policy_find_rules(const struct policy *policy, const char *path, size_t len)
{
	size_t end;
	struct path_rules finding = decide_collect_rules_of_path(&policy->tree, path, len, &end);

	for (unsigned i = 0; finding.innermost_remap && i < 2 && finding.innermost_remap->alias_path[i]; i++)
		decide_apply_alias_denies(&policy->tree, finding.innermost_remap->alias_path[i], path + end, len - end,
					  &finding);
	if (finding.public_rule && !(finding.rights & POLICY_READ)) {
		finding.rights |= POLICY_READ | POLICY_PUBLIC;
		finding.grant_rules[0] = finding.public_rule;
	}
	if (finding.deny_rule)
		finding.rights = 0;
	if (finding.exec_deny_rule)
		finding.rights &= ~(unsigned)POLICY_EXEC;
	return finding;
}

unsigned policy_get_rights(const struct policy *policy, const char *path, size_t len)
{
	return policy_find_rules(policy, path, len).rights;
}

/* A denial with the errno for the program, and the rule that it comes from (NULL: none). */
static struct policy_decision decide_make_refusal(unsigned want, int error, const struct rule *rule,
						  const char *reason)
{
	return (struct policy_decision){.verdict = VERDICT_DENY, .error = error, .rule = rule ? rule->label : NULL,
					.reason = reason, .wanted_rights = want};
}

/* The label of the first fired entry of after_read that closes a path to writing; NULL: none does. */
static const char *decide_find_closing_entry(const struct policy *policy, const struct path_rules *finding)
{
	uint32_t closed = policy->fired_after_entries
				  ? *policy->fired_after_entries & policy->after_entries_closing_writing &
					    ~finding->after_write_entries
				  : 0;

	return closed ? policy->after_entry[__builtin_ctz(closed)].source_entry->label : NULL;
}

/* Judges rights on a path by the rules for it, without regard to what is granted below it. */
static struct policy_decision decide_access(const struct policy *policy, const char *path, size_t len, unsigned want)
{
	struct path_rules finding = policy_find_rules(policy, path, len);
	unsigned bit = want & POLICY_EXEC ? 2 : want & POLICY_WRITE ? 1 : 0;
	const char *closed;
	enum verdict verdict = finding.innermost_remap ? finding.innermost_remap->verdict : VERDICT_ALLOW;
	const char *reason = finding.rights & POLICY_PUBLIC                                         ? "public"
			     : verdict == VERDICT_ALLOW                                             ? "granted"
			     : verdict == VERDICT_REDIRECT                                          ? "redirected"
			     : finding.grant_rules[0] && finding.grant_rules[0]->kind == RULE_DECOY ? "decoy"
												    : "provided";

	if (finding.deny_rule && finding.deny_rule->hides_name)
		return decide_make_refusal(want, ENOENT, finding.deny_rule, "not_in_libraries");
	if (finding.deny_rule)
		return decide_make_refusal(want, EACCES, finding.deny_rule,
					   finding.deny_rule->is_of_observing_policy ? "not_observed"
										     : "denied_by_rule");
	if (!finding.rights)
		return decide_make_refusal(want, ENOENT, finding.private_rule,
					   finding.private_rule ? "private" : "not_granted");
	if (want & POLICY_WRITE && !(finding.rights & POLICY_WRITE))
		return decide_make_refusal(want, EROFS, finding.grant_rules[0], "read_only");
	closed = want & POLICY_WRITE ? decide_find_closing_entry(policy, &finding) : NULL;
	if (closed)
		return (struct policy_decision){.verdict = VERDICT_DENY, .error = EROFS, .rule = closed,
						.reason = "after_read", .wanted_rights = want};
	if (want & POLICY_EXEC && finding.exec_deny_rule)
		return decide_make_refusal(want, EACCES, finding.exec_deny_rule, "exec_denied_by_rule");
	if (want & POLICY_EXEC && !(finding.rights & POLICY_EXEC))
		return decide_make_refusal(want, EACCES, finding.grant_rules[0], "not_executable");
	return (struct policy_decision){.verdict = verdict,
					.rule = finding.grant_rules[bit] ? finding.grant_rules[bit]->label : NULL,
					.reason = reason, .wanted_rights = want};
}

/* Whether a pattern that does not deny could match a path below the node's path and `rest`. */
static bool decide_globs_grant_below(const struct path_tree_node *node, const char *rest, size_t rest_len)
{
	for (size_t i = 0; i < node->glob_rule_count; i++) {
		const struct rule *rule = node->glob[i];

		if (!kind_is_deny(rule->kind) &&
		    glob_may_match_below(&rule->glob, rest, rest_len))
			return true;
	}
	return false;
}

bool policy_may_grant_below(const struct policy *policy, const char *path, size_t len)
{
	const struct path_tree *tree = &policy->tree;
	struct path_rules finding = policy_find_rules(policy, path, len);
	uint32_t index = PATH_TREE_ROOT;
	size_t at = 1;

	if (finding.deny_rule || tree->node_count == 0 || len == 0 || path[0] != '/')
		return false;
	if (finding.rights)
		return true;
	for (;;) {
		const char *slash;
		size_t end;

		if (decide_globs_grant_below(&tree->node[index], path + at, len - at))
			return true;
		if (at >= len)
			return tree->node[index].has_grant;
		slash = memchr(path + at, '/', len - at);
		end = slash ? (size_t)(slash - path) : len;
		index = path_tree_find_child(tree, index, path_tree_hash_name(path + at, end - at), path + at,
					     end - at);
		if (index == PATH_TREE_NO_NODE)
			return false;
		at = end < len ? end + 1 : len;
	}
}

/* Judges rights on a path. A directory above a grant, or one that is `shown`, can be seen, though no rule grants it. */
static struct policy_decision decide_place(const struct policy *policy, const char *path, size_t len, unsigned want,
					   bool shown)
{
	struct policy_decision decision = decide_access(policy, path, len, want);

	/* A path that no rule mentions can still be an ancestor of a granted path. */
	if (decision.verdict != VERDICT_DENY || decision.error == EACCES || policy_get_rights(policy, path, len) != 0 ||
	    !(shown || policy_may_grant_below(policy, path, len)))
		return decision;
	return policy_decide_dir_above_grant(want);
}

/* True for directories that every view has. */
static bool decide_path_is_always_shown(const char *path, size_t len)
{
	return len == 1 || (len == 4 && memcmp(path, "/dev", 4) == 0);
}

/* Adds the verdict of the judged policy, if that denies what the observing policy allows. */
static struct policy_decision decide_add_observed_denial(const struct policy *policy, struct policy_decision decision,
						   const char *path, size_t len, unsigned want)
{
	struct policy_decision judged;

	if (!policy_is_observing(policy) || decision.verdict == VERDICT_DENY)
		return decision;
	judged = decide_place(policy->judged_policy, path, len, want, decide_path_is_always_shown(path, len));
	if (judged.verdict == VERDICT_DENY)
		decision.observed_denial = (struct policy_observed_denial){judged.error, judged.rule, judged.reason};
	return decision;
}

struct policy_decision policy_decide_access(const struct policy *policy, const char *path, size_t len, unsigned want)
{
	return decide_add_observed_denial(policy, decide_access(policy, path, len, want), path, len, want);
}

struct policy_decision policy_decide_place(const struct policy *policy, const char *path, size_t len, unsigned want,
					      bool shown)
{
	return decide_add_observed_denial(policy, decide_place(policy, path, len, want, shown), path, len, want);
}
