/*
 * A rule can apply to names below a directory in two ways:
 *   - The rule's literal part lies below the directory. Then only names on the path to it matter (`pending`).
 *   - The directory is at or below the literal part. Then the directory's path has brought the glob, run as an
 *     automaton, to a set of `positions`.
 * Two directories with the same pending parts and the same positions are equal for that rule. Rights below them can
 * differ only through rules for which they are not equal.
 */
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/path.h"
#include "policy/model.h"
#include "policy/paths/below.h"
#include "policy/paths/explain.h"
#include "policy/paths/move.h"

#define NAMES_MAX 3                 /* of one directory: its own and the aliases of its remapped mount */
#define PENDING_MAX \
	(NAMES_MAX * 3) /* a deny rule has up to three literal parts: literal, alias, rule_get_other_path() */
#define MOVE_RIGHTS (POLICY_READ | POLICY_WRITE)

_Static_assert(GLOB_PARTS_MAX + 2 <= 128, "a bit for each part, one added by glob_compile, and the end");

/* Set of positions in a glob: bit i when part i has to match next, bit `parts` when the whole glob has matched. */
typedef unsigned __int128 move_positions;
#define POSITION(at) ((move_positions)1 << (at))

/* One directory of the comparison, with all names by which rules can mean it. */
struct side {
	const char *name[NAMES_MAX];
	size_t names;
	unsigned rights;  /* of grants of whole trees */
	size_t remap_len; /* path length of the innermost remapped mount: grants above it mean other content */
	char alias[NAMES_MAX - 1][PATH_MAX];
};

/* The state of one rule at a directory. */
struct progress {
	move_positions positions;
	const char *pending[PENDING_MAX]; /* the parts of its literal parts that lie below the directory */
	size_t pendings;
};

/* Epsilon closure: "**" matches no component as well, so the part after it may come next. */
static move_positions move_close_positions(const struct glob *glob, move_positions positions)
{
	for (size_t i = 0; i < glob->parts; i++)
		if (positions & POSITION(i) && glob->part[i].kind == GLOB_DEEP)
			positions |= POSITION(i + 1);
	return positions;
}

/* The positions after a path without leading slash. */
static move_positions move_find_positions(const struct glob *glob, const char *path)
{
	move_positions now = move_close_positions(glob, POSITION(0));

	while (*path) {
		size_t len = strcspn(path, "/");
		move_positions next = 0;

		for (size_t i = 0; i < glob->parts; i++) {
			if (now & POSITION(i) && glob->part[i].kind == GLOB_DEEP)
				next |= POSITION(i);
			else if (now & POSITION(i) && glob_part_matches(&glob->part[i], path, len))
				next |= POSITION(i + 1);
		}
		now = move_close_positions(glob, next);
		path += len + (path[len] == '/');
	}
	return now;
}

/* ---- the directory ---- */

/* Adds alias + rest as another name. One that is too long is left out: decide.c denies everything there. */
static void move_add_alias(struct side *side, const char *alias, const char *rest)
{
	char *out = side->alias[side->names - 1];
	int len = snprintf(out, PATH_MAX, "%s%s", strcmp(alias, "/") == 0 && *rest ? "" : alias, rest);

	if (len > 0 && len < PATH_MAX)
		side->name[side->names++] = out;
}

/* As decide_walk_path() in decide.c, but only for what applies to everything below the directory. */
static void move_describe_directory(const struct policy *policy, const char *path, struct side *side)
{
	const struct tree *tree = &policy->tree;
	const struct tree_node *remap = NULL;
	uint32_t index = TREE_ROOT;
	size_t end = 0, len;

	side->name[0] = path;
	side->names = 1;
	side->rights = 0;
	side->remap_len = 0;
	while (index != TREE_NONE) {
		const struct tree_node *node = &tree->node[index];

		if (node->remapped) {
			remap = node;
			side->remap_len = end;
			side->rights = 0;
		}
		side->rights |= node->rights;
		if (!path[end] || !path[end + 1])
			break;
		len = strcspn(path + end + 1, "/");
		index = tree_find_child(tree, index, tree_hash_name(path + end + 1, len), path + end + 1, len);
		end += len + 1;
	}
	for (size_t i = 0; remap && i < NAMES_MAX - 1 && remap->alias[i]; i++)
		move_add_alias(side, remap->alias[i], path + side->remap_len);
}

/* ---- rules ---- */

/* Adds the positions or the pending part of a rule whose literal part is `anchor` at the directory `name`. */
static void move_add_literal(struct progress *progress, const struct rule *rule, const char *anchor, const char *name)
{
	const char *rest = path_rest_below(name, anchor);

	if (rest) { /* a rule without a glob applies to all names below alike */
		progress->positions |= rule->pattern ? move_find_positions(&rule->glob, rest) : 0;
		return;
	}
	rest = path_rest_below(anchor, name);
	for (size_t i = 0; rest && i < progress->pendings; i++)
		if (strcmp(progress->pending[i], rest) == 0)
			return;
	if (rest)
		progress->pending[progress->pendings++] = rest;
}

static struct progress move_follow_rule(const struct rule *rule, const struct side *side)
{
	struct progress progress = {.pendings = 0};
	bool deny = rule->kind == RULE_DENY;

	/* A grant applies to the name in the view only, and not from above a remapped mount. */
	if (!deny && (side->remap_len > strlen(rule->literal) ||
		      (side->remap_len && strncmp(rule->literal, side->name[0], side->remap_len) != 0)))
		return progress;
	for (size_t i = 0; i < (deny ? side->names : 1); i++) {
		move_add_literal(&progress, rule, rule->literal ? rule->literal : "/", side->name[i]);
		if (deny && rule->alias)
			move_add_literal(&progress, rule, rule->alias, side->name[i]);
		if (rule_get_other_path(rule))
			move_add_literal(&progress, rule, rule_get_other_path(rule), side->name[i]);
	}
	return progress;
}

/* True when the rule can make rights differ between names where whole-tree grants already give `rights`. */
static bool move_rule_matters(const struct rule *rule, unsigned rights)
{
	if (rule->overridden)
		return false;
	switch (rule->kind) {
	case RULE_DENY:
		return true;
	case RULE_READ:
	case RULE_EXEC:
	case RULE_PUBLIC:
		return rule->literal && rule->host && !(rights & POLICY_READ);
	case RULE_WRITE:
		return rule->literal && rule->host && !(rights & POLICY_WRITE);
	case RULE_EXEC_DENY: /* no protection anyway: a readable file can be copied and the copy executed */
	case RULE_REDIRECT:  /* mounts cannot be renamed */
	case RULE_PROVIDE:
	case RULE_DECOY:
	case RULE_PRIVATE: /* what may be written is readable whatever is private */
	case RULE_MAX:
		break;
	}
	return false;
}

static void move_add_name(struct policy_move *move, const char *name, size_t len)
{
	for (size_t i = 0; i < move->count; i++)
		if (move->name[i].len == len && memcmp(move->name[i].name, name, len) == 0)
			return;
	if (move->kind == POLICY_MOVE_ANY || move->count == POLICY_MOVE_NAMES) {
		move->kind = POLICY_MOVE_ANY;
		return;
	}
	move->kind = POLICY_MOVE_NAMED;
	move->name[move->count].name = name;
	move->name[move->count++].len = len;
}

/* Adds the first components of the pending parts that `one` has and `other` has not. */
static void move_add_pending_names(struct policy_move *move, const struct progress *one, const struct progress *other)
{
	for (size_t i = 0; i < one->pendings; i++) {
		bool both = false;

		for (size_t j = 0; j < other->pendings; j++)
			both = both || strcmp(one->pending[i], other->pending[j]) == 0;
		if (!both)
			move_add_name(move, one->pending[i], strcspn(one->pending[i], "/"));
	}
}

static void move_add_rule_differences(struct policy_move *move, const struct rule *rule, const struct progress *from,
				      const struct progress *to)
{
	for (size_t i = 0; i < rule->glob.parts; i++) {
		const struct glob_part *part = &rule->glob.part[i];

		if (!((from->positions ^ to->positions) & POSITION(i)))
			continue;
		if (part->kind == GLOB_LITERAL)
			move_add_name(move, part->text, part->len);
		else
			move->kind = POLICY_MOVE_ANY;
	}
	move_add_pending_names(move, from, to);
	move_add_pending_names(move, to, from);
}

void policy_compare_below(const struct policy *policy, const char *from, const char *to, struct policy_move *ret_move)
{
	struct side old, new;

	ret_move->kind = POLICY_MOVE_SAME;
	ret_move->count = 0;
	move_describe_directory(policy, from, &old);
	move_describe_directory(policy, to, &new);
	if ((old.rights ^ new.rights) & MOVE_RIGHTS) {
		ret_move->kind = POLICY_MOVE_ANY;
		return;
	}
	for (size_t i = 0; i < policy->rule_count && ret_move->kind != POLICY_MOVE_ANY; i++) {
		const struct rule *rule = &policy->rule[i];

		if (move_rule_matters(rule, old.rights)) {
			const struct progress was = move_follow_rule(rule, &old);
			const struct progress will = move_follow_rule(rule, &new);

			move_add_rule_differences(ret_move, rule, &was, &will);
		}
	}
}

bool policy_rights_differ(const struct policy *policy, const char *from, const char *to)
{
	return (policy_get_rights(policy, from, strlen(from)) ^ policy_get_rights(policy, to, strlen(to))) &
	       MOVE_RIGHTS;
}

/* ---- symbolic links ---- */

/* Whether a rule denies names below a directory because of the directory's path. "**" + name does so everywhere. */
enum leading {
	LEADS_NOWHERE,
	LEADS_BY_GLOB, /* a star of the rule matches the directory's name */
	LEADS_BY_NAME, /* the rule contains the directory's name literally */
};

static enum leading move_leads_to_denied(const struct rule *rule, const struct side *side)
{
	const struct progress progress = move_follow_rule(rule, side);
	enum leading leading = LEADS_NOWHERE;
	move_positions anywhere;

	if (progress.pendings)
		return LEADS_BY_NAME;
	if (!rule->pattern)
		return LEADS_NOWHERE;
	anywhere = rule->literal ? 0 : move_find_positions(&rule->glob, "");
	for (size_t i = 0; i < rule->glob.parts; i++) {
		if (!(progress.positions & ~anywhere & POSITION(i)))
			continue;
		if (i > 0 && rule->glob.part[i - 1].kind == GLOB_LITERAL)
			return LEADS_BY_NAME;
		leading = LEADS_BY_GLOB;
	}
	return leading;
}

/* True when the run can write at or below this host path, where programs outside the run may look. */
static bool move_is_writable_outside(const struct policy *policy, const char *path)
{
	for (size_t i = 0; i < policy->mount_count; i++) {
		const struct policy_mount *mount = &policy->mount[i];
		const char *rest = mount->host ? path_rest_below(path, mount->host) : NULL;
		char virt[PATH_MAX];

		if (mount->host && path_is_below(mount->host, path) && policy_may_write(policy, mount->virt))
			return true;
		if (rest && (policy_path_concat(mount->virt, rest, virt) < 0 || policy_may_write(policy, virt)))
			return true;
	}
	return false;
}

/* The target of a link at `path`. False when the text alone does not determine it. */
static bool move_get_link_target(const char *path, const char *text, char target[PATH_MAX])
{
	char parent[PATH_MAX];
	size_t len = (size_t)(strrchr(path, '/') - path);
	bool lexical;

	(void)snprintf(parent, sizeof(parent), "%.*s", len ? (int)len : 1, path);
	return path_join(parent, text, target, PATH_MAX, &lexical) >= 0 && lexical;
}

/* True when the same names are denied below the link's target. A text with ".." after a name never qualifies. */
static bool move_target_denies_same(const struct policy *policy, const struct side *side, const char *text)
{
	struct policy_move move;
	char target[PATH_MAX];

	if (!move_get_link_target(side->name[0], text, target))
		return false;
	policy_compare_below(policy, side->name[0], target, &move);
	return move.kind == POLICY_MOVE_SAME;
}

/* True when the run cannot write at or below the link's target, neither by its virtual path nor by a host path. */
static bool move_target_is_unwritable(const struct policy *policy, const struct side *side, const char *text)
{
	char target[PATH_MAX];

	for (size_t i = 0; i < side->names; i++) {
		if (!move_get_link_target(side->name[i], text, target) || move_is_writable_outside(policy, target) ||
		    (i == 0 && policy_may_write(policy, target)))
			return false;
	}
	return true;
}

/* A relative text that leaves a workdir whose host path differs has another target outside the view: not allowed. */
static bool move_text_stays_within(const struct side *side, const char *text)
{
	char target[PATH_MAX], remap[PATH_MAX];

	(void)snprintf(remap, sizeof(remap), "%.*s", (int)side->remap_len, side->name[0]);
	return side->names == 1 || *text == '/' ||
	       (move_get_link_target(side->name[0], text, target) &&
		path_is_below(target, side->remap_len ? remap : "/"));
}

bool policy_link_is_allowed(const struct policy *policy, const char *path, const char *text, const char **ret_rule)
{
	enum leading most = LEADS_NOWHERE;
	struct side side;

	move_describe_directory(policy, path, &side);
	for (size_t i = 0; i < policy->rule_count && most != LEADS_BY_NAME; i++) {
		const struct rule *rule = &policy->rule[i];
		enum leading leading;

		if (rule->kind != RULE_DENY || rule->overridden)
			continue;
		leading = move_leads_to_denied(rule, &side);
		if (leading > most) {
			most = leading;
			*ret_rule = rule->label;
		}
	}
	return most == LEADS_NOWHERE ||
	       (move_text_stays_within(&side, text) && move_target_denies_same(policy, &side, text)) ||
	       (most == LEADS_BY_GLOB && move_target_is_unwritable(policy, &side, text));
}
