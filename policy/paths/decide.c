/* Judging: one walk over the path's components, no allocation, no I/O. */
#include <errno.h>
#include <limits.h>
#include <string.h>

#include "policy/model.h"

#include "base/banned.h"

/* Takes in what a directory or file on the way says. `rest` is the path below it. */
static void visit(const struct tree_node *node, const char *rest, size_t rest_len, struct finding *finding)
{
	if (node->border) { /* what was granted further up is about other content */
		finding->rights = 0;
		memset(finding->grant, 0, sizeof(finding->grant));
		finding->border = node;
	}
	finding->rights |= node->rights;
	for (unsigned i = 0; i < 3; i++)
		if (node->grant[i])
			finding->grant[i] = node->grant[i];
	if (node->deny)
		finding->deny = node->deny;
	if (node->exec_deny)
		finding->exec_deny = node->exec_deny;
	for (size_t i = 0; i < node->globs; i++) {
		const struct rule *rule = node->glob[i];

		if (!glob_match(&rule->glob, rest, rest_len))
			continue;
		if (rule->kind == RULE_DENY) {
			finding->deny = rule;
		} else if (rule->kind == RULE_EXEC_DENY) {
			finding->exec_deny = rule;
		} else {
			finding->rights |= POLICY_READ;
			finding->grant[0] = rule;
			if (rule->kind == RULE_WRITE) {
				finding->rights |= POLICY_WRITE;
				finding->grant[1] = rule;
			} else if (rule->kind == RULE_EXEC) {
				finding->rights |= POLICY_EXEC;
				finding->grant[2] = rule;
			}
		}
	}
}

/* Takes in what holds for a name wherever it appears. */
static void visit_name(const struct tree *tree, uint64_t hash, const char *name, size_t len, struct finding *finding)
{
	uint32_t index = tree_child(tree, TREE_NAMES, hash, name, len);

	if (index == TREE_NONE)
		return;
	if (tree->node[index].deny)
		finding->deny = tree->node[index].deny;
	if (tree->node[index].exec_deny)
		finding->exec_deny = tree->node[index].exec_deny;
}

/* Walks the path; *ret_border_end is where the border's own path ends in it. */
static struct finding walk(const struct tree *tree, const char *path, size_t len, size_t *ret_border_end)
{
	struct finding finding = {0};
	uint32_t index = TREE_ROOT;
	size_t next;

	*ret_border_end = 0;
	if (tree->count == 0 || len == 0 || path[0] != '/')
		return finding;
	visit(&tree->node[TREE_ROOT], path + 1, len - 1, &finding);
	for (size_t at = 1; at < len; at = next) {
		const char *slash = memchr(path + at, '/', len - at);
		size_t end = slash ? (size_t)(slash - path) : len;
		uint64_t hash = tree_hash(path + at, end - at);

		next = end + 1;
		if (tree->names >> (hash >> 58) & 1)
			visit_name(tree, hash, path + at, end - at, &finding);
		if (index != TREE_NONE) {
			index = tree_child(tree, index, hash, path + at, end - at);
			if (index != TREE_NONE) {
				const struct tree_node *node = &tree->node[index];

				visit(node, end < len ? path + next : "", end < len ? len - next : 0, &finding);
				if (finding.border == node)
					*ret_border_end = end;
			}
		}
		if (index == TREE_NONE && !tree->names)
			break;
	}
	return finding;
}

/* Denies on another name of the same object. A name too long to be checked counts as denied. */
static void visit_alias(const struct tree *tree, const char *alias, const char *rest, size_t rest_len,
			struct finding *finding)
{
	size_t alias_len = strlen(alias), unused;
	struct finding other;
	char name[PATH_MAX];

	if (alias_len == 1)
		alias_len = 0; /* the root: rest brings its slash */
	if (alias_len + rest_len >= sizeof(name)) {
		finding->rights = 0;
		return;
	}
	memcpy(name, alias, alias_len);
	memcpy(name + alias_len, rest, rest_len);
	if (alias_len + rest_len == 0)
		name[alias_len++] = '/';
	other = walk(tree, name, alias_len + rest_len, &unused);
	if (other.deny)
		finding->deny = other.deny;
	if (other.exec_deny)
		finding->exec_deny = other.exec_deny;
}

struct finding policy_find(const struct policy *policy, const char *path, size_t len)
{
	size_t end;
	struct finding finding = walk(&policy->tree, path, len, &end);

	for (unsigned i = 0; finding.border && i < 2 && finding.border->alias[i]; i++)
		visit_alias(&policy->tree, finding.border->alias[i], path + end, len - end, &finding);
	if (finding.deny)
		finding.rights = 0;
	if (finding.exec_deny)
		finding.rights &= ~(unsigned)POLICY_EXEC;
	return finding;
}

unsigned policy_rights(const struct policy *policy, const char *path, size_t len)
{
	return policy_find(policy, path, len).rights;
}

static const char *label(const struct rule *rule)
{
	return rule ? rule->label : NULL;
}

static struct policy_decision refuse(int error, const struct rule *rule, const char *reason)
{
	return (struct policy_decision){VERDICT_DENY, error, label(rule), reason};
}

struct policy_decision policy_decide(const struct policy *policy, const char *path, size_t len, unsigned want)
{
	struct finding finding = policy_find(policy, path, len);
	unsigned bit = want & POLICY_EXEC ? 2 : want & POLICY_WRITE ? 1 : 0;
	enum verdict verdict = finding.border ? finding.border->verdict : VERDICT_ALLOW;
	const char *reason = verdict == VERDICT_ALLOW      ? "granted"
			     : verdict == VERDICT_REDIRECT ? "redirected"
							   : "provided";

	if (finding.deny)
		return refuse(EACCES, finding.deny, "denied_by_rule");
	if (!finding.rights)
		return refuse(ENOENT, NULL, "not_granted");
	if (want & POLICY_WRITE && !(finding.rights & POLICY_WRITE))
		return refuse(EROFS, finding.grant[0], "read_only");
	if (want & POLICY_EXEC && finding.exec_deny)
		return refuse(EACCES, finding.exec_deny, "exec_denied_by_rule");
	if (want & POLICY_EXEC && !(finding.rights & POLICY_EXEC))
		return refuse(EACCES, finding.grant[0], "not_executable");
	return (struct policy_decision){verdict, 0, label(finding.grant[bit]), reason};
}

static bool globs_may_hold(const struct tree_node *node, const char *rest, size_t rest_len)
{
	for (size_t i = 0; i < node->globs; i++) {
		const struct rule *rule = node->glob[i];

		if (rule->kind != RULE_DENY && rule->kind != RULE_EXEC_DENY &&
		    glob_may_match_below(&rule->glob, rest, rest_len))
			return true;
	}
	return false;
}

bool policy_may_hold(const struct policy *policy, const char *path, size_t len)
{
	const struct tree *tree = &policy->tree;
	struct finding finding = policy_find(policy, path, len);
	uint32_t index = TREE_ROOT;
	size_t at = 1;

	if (finding.deny || tree->count == 0 || len == 0 || path[0] != '/')
		return false;
	if (finding.rights)
		return true;
	for (;;) {
		const char *slash;
		size_t end;

		if (globs_may_hold(&tree->node[index], path + at, len - at))
			return true;
		if (at >= len)
			return tree->node[index].holds;
		slash = memchr(path + at, '/', len - at);
		end = slash ? (size_t)(slash - path) : len;
		index = tree_child(tree, index, tree_hash(path + at, end - at), path + at, end - at);
		if (index == TREE_NONE)
			return false;
		at = end < len ? end + 1 : len;
	}
}
