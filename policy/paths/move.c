/*
 * A rule can apply to names below a directory in two ways:
 *   - The literal part of the rule lies below the directory. Then only the names on the path to it matter (`pending`).
 *   - The directory is at or below the literal part. Then the rule's glob, run as an automaton over the rest of the
 *     directory's path, is in a set of `positions`.
 * Two directories with the same pending parts and the same positions are equal for the rule. Rights below them can
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

#define PATHS_OF_ONE_DIR_MAX 3 /* names of one directory: its own, and the aliases of its remapped mount */
/* Most pending parts of a deny rule, which has up to three literal parts: literal, alias, rule_get_denied_path(). */
#define RULE_PATHS_BELOW_DIR_MAX (PATHS_OF_ONE_DIR_MAX * 3)
/* the rights that are compared between the two directories of a move: not POLICY_EXEC */
#define MOVE_COMPARED_RIGHTS (POLICY_READ | POLICY_WRITE)

_Static_assert(GLOB_PARTS_MAX + 2 <= 128, "a bit for each part, one added by glob_compile, and the end");

/* A set of positions in a glob: bit i means that part i must match next, bit part_count that the glob has matched. */
typedef unsigned __int128 move_positions;
#define POSITION_BIT(at) ((move_positions)1 << (at)) /* the set with this position only */

/* One of the two directories that are compared, with all paths that rules may have for it. */
struct compared_dir {
	const char *path_or_alias[PATHS_OF_ONE_DIR_MAX]; /* the path, then aliases that deny rules may name */
	size_t path_and_alias_count;
	unsigned rights;  /* the rights from grants of whole trees */
	/* length of the path of the innermost remapped mount: grants above it do not apply */
	size_t remapped_mount_len;
	char alias[PATHS_OF_ONE_DIR_MAX - 1][PATH_MAX];
};

/* How far one rule matches the path of a directory. */
struct rule_match_below_dir {
	move_positions positions;
	const char *pending[RULE_PATHS_BELOW_DIR_MAX]; /* the rest of each literal part that lies below the directory */
	size_t pending_count;                          /* number of pending[] */
};

/* Epsilon closure: a "**" also matches no component, so the part after it may match next. */
static move_positions move_add_positions_after_double_stars(const struct glob *glob, move_positions positions)
{
	for (size_t i = 0; i < glob->part_count; i++)
		if (positions & POSITION_BIT(i) && glob->part[i].kind == GLOB_ANY_NAMES)
			positions |= POSITION_BIT(i + 1);
	return positions;
}

/* The positions of a glob after it has matched a path, which has no leading slash. */
static move_positions move_find_positions(const struct glob *glob, const char *path)
{
	move_positions now = move_add_positions_after_double_stars(glob, POSITION_BIT(0));

	while (*path) {
		size_t len = strcspn(path, "/");
		move_positions next = 0;

		for (size_t i = 0; i < glob->part_count; i++) {
			if (now & POSITION_BIT(i) && glob->part[i].kind == GLOB_ANY_NAMES)
				next |= POSITION_BIT(i);
			else if (now & POSITION_BIT(i) && glob_part_matches(&glob->part[i], path, len))
				next |= POSITION_BIT(i + 1);
		}
		now = move_add_positions_after_double_stars(glob, next);
		path += len + (path[len] == '/');
	}
	return now;
}

/* ---- what applies to everything below a directory ---- */

/* Adds alias + rest as another path of the directory, unless it is too long: decide.c denies everything there. */
static void move_add_alias(struct compared_dir *side, const char *alias, const char *rest)
{
	char *out = side->alias[side->path_and_alias_count - 1];
	int len = snprintf(out, PATH_MAX, "%s%s", strcmp(alias, "/") == 0 && *rest ? "" : alias, rest);

	if (len > 0 && len < PATH_MAX)
		side->path_or_alias[side->path_and_alias_count++] = out;
}

/* Collects what applies to everything below a directory; decide_collect_rules_of_path() does so for one path. */
static void move_describe_directory(const struct policy *policy, const char *path, struct compared_dir *side)
{
	const struct path_tree *tree = &policy->tree;
	const struct path_tree_node *remap = NULL;
	uint32_t index = PATH_TREE_ROOT;
	size_t end = 0, len;

	side->path_or_alias[0] = path;
	side->path_and_alias_count = 1;
	side->rights = 0;
	side->remapped_mount_len = 0;
	while (index != PATH_TREE_NO_NODE) {
		const struct path_tree_node *node = &tree->node[index];

		if (node->is_remapped) {
			remap = node;
			side->remapped_mount_len = end;
			side->rights = 0;
		}
		side->rights |= node->rights;
		if (!path[end] || !path[end + 1])
			break;
		len = strcspn(path + end + 1, "/");
		index = path_tree_find_child(tree, index, path_tree_hash_name(path + end + 1, len), path + end + 1,
					     len);
		end += len + 1;
	}
	for (size_t i = 0; remap && i < PATHS_OF_ONE_DIR_MAX - 1 && remap->alias_path[i]; i++)
		move_add_alias(side, remap->alias_path[i], path + side->remapped_mount_len);
}

/* ---- rules ---- */

/* Matches a literal part of a rule with a directory's path. Adds positions in the rule's glob, or a pending part. */
static void move_match_literal_part(struct rule_match_below_dir *progress, const struct rule *rule,
				    const char *literal_part, const char *dir_path)
{
	const char *rest = path_get_rest_below(dir_path, literal_part);

	if (rest) { /* without a glob the rule applies to all names below alike */
		progress->positions |= rule->pattern ? move_find_positions(&rule->glob, rest) : 0;
		return;
	}
	rest = path_get_rest_below(literal_part, dir_path);
	for (size_t i = 0; rest && i < progress->pending_count; i++)
		if (strcmp(progress->pending[i], rest) == 0)
			return;
	if (rest)
		progress->pending[progress->pending_count++] = rest;
}

/* Finds how far the rule has matched at a directory, so that the rest of it applies to names below. */
static struct rule_match_below_dir move_match_rule_with_directory(const struct rule *rule,
								  const struct compared_dir *side)
{
	struct rule_match_below_dir progress = {.pending_count = 0};
	bool deny = rule->kind == RULE_DENY;

	/* A grant applies to the path in the view only. A grant from above a remapped mount does not apply below it. */
	if (!deny && (side->remapped_mount_len > strlen(rule->literal_path) ||
		      (side->remapped_mount_len &&
		       strncmp(rule->literal_path, side->path_or_alias[0], side->remapped_mount_len) != 0)))
		return progress;
	for (size_t i = 0; i < (deny ? side->path_and_alias_count : 1); i++) {
		move_match_literal_part(&progress, rule, rule->literal_path ? rule->literal_path : "/",
					side->path_or_alias[i]);
		if (deny && rule->literal_alias)
			move_match_literal_part(&progress, rule, rule->literal_alias, side->path_or_alias[i]);
		if (rule_get_denied_path(rule))
			move_match_literal_part(&progress, rule, rule_get_denied_path(rule), side->path_or_alias[i]);
	}
	return progress;
}

/* True when the rule can make rights differ between names that already have `rights` by grants of whole trees. */
static bool move_rule_affects_rights(const struct rule *rule, unsigned rights)
{
	if (rule->is_overridden)
		return false;
	switch (rule->kind) {
	case RULE_DENY:
		return true;
	case RULE_READ:
	case RULE_EXEC:
	case RULE_PUBLIC:
		return rule->literal_path && rule->host_path && !(rights & POLICY_READ);
	case RULE_WRITE:
		return rule->literal_path && rule->host_path && !(rights & POLICY_WRITE);
	case RULE_EXEC_DENY: /* protects nothing: a readable file can be copied and the copy executed */
	case RULE_REDIRECT:  /* redirects, provided files and decoys are mounts, which cannot be renamed */
	case RULE_PROVIDE:
	case RULE_DECOY:
	case RULE_PRIVATE: /* what may be written may also be read, private or not */
	case RULE_AFTER_READ: /* a rename counts as reading: policy_find_entries_fired_by_read_below() */
	case RULE_AFTER_WRITE:
	case RULE_MAX:
		break;
	}
	return false;
}

/* Adds a name below the directories whose rights differ. If there are too many, any name may differ. */
static void move_add_name(struct policy_move *move, const char *name, size_t len)
{
	for (size_t i = 0; i < move->differing_name_count; i++)
		if (move->name[i].len == len && memcmp(move->name[i].name, name, len) == 0)
			return;
	if (move->kind == POLICY_MOVE_DIFFERS_ANYWHERE ||
	    move->differing_name_count == POLICY_MOVE_DIFFERING_NAMES_MAX) {
		move->kind = POLICY_MOVE_DIFFERS_ANYWHERE;
		return;
	}
	move->kind = POLICY_MOVE_DIFFERS_AT_NAMES;
	move->name[move->differing_name_count].name = name;
	move->name[move->differing_name_count++].len = len;
}

/* Adds the first component of each pending part that `one` has and `other` has not. */
static void move_add_names_of_paths_below(struct policy_move *move, const struct rule_match_below_dir *one,
					  const struct rule_match_below_dir *other)
{
	for (size_t i = 0; i < one->pending_count; i++) {
		bool both = false;

		for (size_t j = 0; j < other->pending_count; j++)
			both = both || strcmp(one->pending[i], other->pending[j]) == 0;
		if (!both)
			move_add_name(move, one->pending[i], strcspn(one->pending[i], "/"));
	}
}

/* Adds the names at which a rule that matches one directory further than the other grants or denies. */
static void move_add_rule_differences(struct policy_move *move, const struct rule *rule,
				      const struct rule_match_below_dir *from, const struct rule_match_below_dir *to)
{
	for (size_t i = 0; i < rule->glob.part_count; i++) {
		const struct glob_part *part = &rule->glob.part[i];

		if (!((from->positions ^ to->positions) & POSITION_BIT(i)))
			continue;
		if (part->kind == GLOB_LITERAL)
			move_add_name(move, part->text, part->len);
		else
			move->kind = POLICY_MOVE_DIFFERS_ANYWHERE;
	}
	move_add_names_of_paths_below(move, from, to);
	move_add_names_of_paths_below(move, to, from);
}

void policy_compare_rights(const struct policy *policy, const char *from, const char *to, struct policy_move *ret_move)
{
	struct compared_dir old, new;

	ret_move->kind = POLICY_MOVE_RIGHTS_SAME;
	ret_move->differing_name_count = 0;
	move_describe_directory(policy, from, &old);
	move_describe_directory(policy, to, &new);
	if ((old.rights ^ new.rights) & MOVE_COMPARED_RIGHTS) {
		ret_move->kind = POLICY_MOVE_DIFFERS_ANYWHERE;
		return;
	}
	for (size_t i = 0; i < policy->rule_count && ret_move->kind != POLICY_MOVE_DIFFERS_ANYWHERE; i++) {
		const struct rule *rule = &policy->rule[i];

		if (move_rule_affects_rights(rule, old.rights)) {
			const struct rule_match_below_dir was = move_match_rule_with_directory(rule, &old);
			const struct rule_match_below_dir will = move_match_rule_with_directory(rule, &new);

			move_add_rule_differences(ret_move, rule, &was, &will);
		}
	}
}

bool policy_rights_differ(const struct policy *policy, const char *from, const char *to)
{
	return (policy_get_rights(policy, from, strlen(from)) ^ policy_get_rights(policy, to, strlen(to))) &
	       MOVE_COMPARED_RIGHTS;
}

/* ---- symbolic links ---- */

/*
 * How a deny rule matches the path of a directory, so that it denies names below it. A rule that begins with "**"
 * denies names in every directory, whatever its path.
 */
enum denial_basis {
	DENIAL_NOT_BY_THIS_PATH, /* the rule denies nothing below by this path */
	DENIAL_BY_STAR_IN_RULE,  /* a "*" of the rule matches a name of the path */
	DENIAL_BY_LITERAL_PATH,  /* the rule contains the path literally */
};

/* Finds by what a rule denies names below the directory, if the directory's path has to do with it. */
static enum denial_basis move_find_denial_basis(const struct rule *rule, const struct compared_dir *side)
{
	const struct rule_match_below_dir progress = move_match_rule_with_directory(rule, side);
	enum denial_basis basis = DENIAL_NOT_BY_THIS_PATH;
	move_positions anywhere;

	if (progress.pending_count)
		return DENIAL_BY_LITERAL_PATH;
	if (!rule->pattern)
		return DENIAL_NOT_BY_THIS_PATH;
	anywhere = rule->literal_path ? 0 : move_find_positions(&rule->glob, "");
	for (size_t i = 0; i < rule->glob.part_count; i++) {
		if (!(progress.positions & ~anywhere & POSITION_BIT(i)))
			continue;
		if (i > 0 && rule->glob.part[i - 1].kind == GLOB_LITERAL)
			return DENIAL_BY_LITERAL_PATH;
		basis = DENIAL_BY_STAR_IN_RULE;
	}
	return basis;
}

bool policy_has_deny_below(const struct policy *policy, const char *dir, enum policy_on_deny mode)
{
	struct compared_dir side;

	move_describe_directory(policy, dir, &side);
	for (size_t i = 0; i < policy->rule_count; i++) {
		const struct rule *rule = &policy->rule[i];

		if (rule->kind == RULE_DENY && !rule->hides_name && !rule->is_overridden &&
		    policy_find_on_deny(policy, rule->label) != mode &&
		    move_find_denial_basis(rule, &side) != DENIAL_NOT_BY_THIS_PATH)
			return true;
	}
	return false;
}

/* True when the run can write at or below this host path, where a program outside the run would follow the link. */
static bool move_run_can_write_host_path(const struct policy *policy, const char *path)
{
	for (size_t i = 0; i < policy->mount_count; i++) {
		const struct policy_mount *mount = &policy->mount[i];
		const char *rest = mount->host_path ? path_get_rest_below(path, mount->host_path) : NULL;
		char virt[PATH_MAX];

		if (mount->host_path && path_is_below(mount->host_path, path) && policy_may_write(policy, mount->virt))
			return true;
		if (rest && (policy_path_concat(mount->virt, rest, virt) < 0 || policy_may_write(policy, virt)))
			return true;
	}
	return false;
}

/* Makes the path of the target of a link at `path`. False when only the kernel could resolve it. */
static bool move_get_link_target(const char *path, const char *text, char target[PATH_MAX])
{
	char parent[PATH_MAX];
	size_t len = (size_t)(strrchr(path, '/') - path);
	bool lexical;

	(void)snprintf(parent, sizeof(parent), "%.*s", len ? (int)len : 1, path);
	return path_join(parent, text, target, PATH_MAX, &lexical) >= 0 && lexical;
}

/* True when the same names are denied below the target of the link. False when its text has ".." after a name. */
static bool move_target_denies_same_names(const struct policy *policy, const struct compared_dir *side,
					  const char *text)
{
	struct policy_move move;
	char target[PATH_MAX];

	if (!move_get_link_target(side->path_or_alias[0], text, target))
		return false;
	policy_compare_rights(policy, side->path_or_alias[0], target, &move);
	return move.kind == POLICY_MOVE_RIGHTS_SAME;
}

/* True when the run cannot write at or below the target of the link, by its virtual path or by a host path. */
static bool move_target_is_unwritable(const struct policy *policy, const struct compared_dir *side, const char *text)
{
	char target[PATH_MAX];

	for (size_t i = 0; i < side->path_and_alias_count; i++) {
		if (!move_get_link_target(side->path_or_alias[i], text, target) ||
		    move_run_can_write_host_path(policy, target) || (i == 0 && policy_may_write(policy, target)))
			return false;
	}
	return true;
}

/* True unless the link leads out of a remapped mount: outside the view, its relative text has another target. */
static bool move_link_text_stays_within_remap(const struct compared_dir *side, const char *text)
{
	char target[PATH_MAX], remap[PATH_MAX];

	(void)snprintf(remap, sizeof(remap), "%.*s", (int)side->remapped_mount_len, side->path_or_alias[0]);
	return side->path_and_alias_count == 1 || *text == '/' ||
	       (move_get_link_target(side->path_or_alias[0], text, target) &&
		path_is_below(target, side->remapped_mount_len ? remap : "/"));
}

bool policy_link_is_allowed(const struct policy *policy, const char *path, const char *text, const char **ret_rule)
{
	enum denial_basis most = DENIAL_NOT_BY_THIS_PATH;
	struct compared_dir side;

	move_describe_directory(policy, path, &side);
	for (size_t i = 0; i < policy->rule_count && most != DENIAL_BY_LITERAL_PATH; i++) {
		const struct rule *rule = &policy->rule[i];
		enum denial_basis basis;

		if (rule->kind != RULE_DENY || rule->is_overridden)
			continue;
		basis = move_find_denial_basis(rule, &side);
		if (basis > most) {
			most = basis;
			*ret_rule = rule->label;
		}
	}
	return most == DENIAL_NOT_BY_THIS_PATH ||
	       (move_link_text_stays_within_remap(&side, text) && move_target_denies_same_names(policy, &side, text)) ||
	       (most == DENIAL_BY_STAR_IN_RULE && move_target_is_unwritable(policy, &side, text));
}
