/*
 * A rule speaks about the names below a directory in one of two ways:
 *   - the rule's literal part begins below the directory: only names on the way there matter (`pending`);
 *   - the directory is at or below the literal part: the glob has got to certain positions by then (`states`). Two
 *     directories for which these are the same positions are the same to that rule.
 * A name below is judged differently at two places only where some rule's positions differ.
 */
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/path.h"
#include "policy/model.h"
#include "policy/paths/below.h"
#include "policy/paths/move.h"

#include "base/banned.h"

#define STATE_WORDS 2
#define NAMES_MAX 3               /* of one directory: its own and a remap's aliases */
#define PENDING_MAX (NAMES_MAX * 3) /* a deny rule has three literal parts: where it leads, as written, and outside */
#define MOVE_RIGHTS (POLICY_READ | POLICY_WRITE)

_Static_assert(GLOB_PARTS_MAX + 2 <= STATE_WORDS * 64, "a bit for each part, one added by glob_compile, and the end");

/* Positions in a glob: a bit for each part that comes next, bit `parts` when all of it has matched. */
struct states {
	uint64_t word[STATE_WORDS];
};

/* A directory, by all names under which rules may mean it. */
struct side {
	const char *name[NAMES_MAX];
	size_t names;
	unsigned rights;   /* of grants of whole trees */
	size_t remap_len; /* of the innermost remap: grants above it are about other content */
	char alias[NAMES_MAX - 1][PATH_MAX];
};

/* How far one rule has got at a directory. */
struct progress {
	struct states states;
	const char *pending[PENDING_MAX]; /* what is left of its literal part */
	size_t pendings;
};

static bool move_states_has(const struct states *states, size_t at)
{
	return states->word[at / 64] >> (at % 64) & 1;
}

static void move_states_add(struct states *states, size_t at)
{
	states->word[at / 64] |= UINT64_C(1) << (at % 64);
}

/* "**" may stand for no component at all: what follows it may come next as well. */
static void move_states_close(const struct glob *glob, struct states *states)
{
	for (size_t i = 0; i < glob->parts; i++)
		if (move_states_has(states, i) && glob->part[i].kind == GLOB_DEEP)
			move_states_add(states, i + 1);
}

static struct states move_states_first(const struct glob *glob)
{
	struct states states = {0};

	move_states_add(&states, 0);
	move_states_close(glob, &states);
	return states;
}

static struct states move_states_step(const struct glob *glob, const struct states *from, const char *name, size_t len)
{
	struct states states = {0};

	for (size_t i = 0; i < glob->parts; i++) {
		if (!move_states_has(from, i))
			continue;
		if (glob->part[i].kind == GLOB_DEEP)
			move_states_add(&states, i);
		else if (glob_part_match(&glob->part[i], name, len))
			move_states_add(&states, i + 1);
	}
	move_states_close(glob, &states);
	return states;
}

/* The positions after `rest`, a path without leading slash. */
static struct states move_states_after(const struct glob *glob, const char *rest)
{
	struct states states = move_states_first(glob);

	while (*rest) {
		size_t len = strcspn(rest, "/");

		states = move_states_step(glob, &states, rest, len);
		rest += len + (rest[len] == '/');
	}
	return states;
}

/* ---- the directory ---- */

/* Another name of the remap's content. One that is too long is nobody's name: judging refuses everything there. */
static void move_add_alias(struct side *side, const char *alias, const char *rest)
{
	char *out = side->alias[side->names - 1];
	int len = snprintf(out, PATH_MAX, "%s%s", strcmp(alias, "/") == 0 && *rest ? "" : alias, rest);

	if (len > 0 && len < PATH_MAX)
		side->name[side->names++] = out;
}

/* As walk() in decide.c, for what holds for everything below. */
static void move_side_init(const struct policy *policy, const char *path, struct side *side)
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
		index = tree_child(tree, index, tree_hash(path + end + 1, len), path + end + 1, len);
		end += len + 1;
	}
	for (size_t i = 0; remap && i < NAMES_MAX - 1 && remap->alias[i]; i++)
		move_add_alias(side, remap->alias[i], path + side->remap_len);
}

/* ---- rules ---- */

static void move_states_merge(struct states *states, const struct states *other)
{
	for (size_t i = 0; i < STATE_WORDS; i++)
		states->word[i] |= other->word[i];
}

/* Takes in what a rule that begins at `anchor` has got to at the directory `name`. */
static void move_progress_add(struct progress *progress, const struct rule *rule, const char *anchor, const char *name)
{
	const char *rest = path_rest(name, anchor);

	if (rest) {
		struct states states = {0};

		/* else it is about the directory itself and all below: no difference between names there */
		if (rule->pattern)
			states = move_states_after(&rule->glob, rest);
		move_states_merge(&progress->states, &states);
		return;
	}
	rest = path_rest(anchor, name);
	for (size_t i = 0; rest && i < progress->pendings; i++)
		if (strcmp(progress->pending[i], rest) == 0)
			return;
	if (rest)
		progress->pending[progress->pendings++] = rest;
}

static struct progress move_progress_init(const struct rule *rule, const struct side *side)
{
	struct progress progress = {.pendings = 0};
	bool deny = rule->kind == RULE_DENY;

	/* A grant speaks of the name in the view alone, and not from above a remap. */
	if (!deny && (side->remap_len > strlen(rule->literal) ||
		      (side->remap_len && strncmp(rule->literal, side->name[0], side->remap_len) != 0)))
		return progress;
	for (size_t i = 0; i < (deny ? side->names : 1); i++) {
		move_progress_add(&progress, rule, rule->literal ? rule->literal : "/", side->name[i]);
		if (deny && rule->alias)
			move_progress_add(&progress, rule, rule->alias, side->name[i]);
		if (rule_outside(rule))
			move_progress_add(&progress, rule, rule_outside(rule), side->name[i]);
	}
	return progress;
}

/* Rules that tell names apart where grants of whole trees give `rights` already. */
static bool move_rule_matters(const struct rule *rule, unsigned rights)
{
	if (rule->overridden)
		return false;
	switch (rule->kind) {
	case RULE_DENY:
		return true;
	case RULE_READ:
	case RULE_EXEC:
		return rule->literal && rule->host && !(rights & POLICY_READ);
	case RULE_WRITE:
		return rule->literal && rule->host && !(rights & POLICY_WRITE);
	case RULE_EXEC_DENY: /* whoever may read a file and write beside it can copy and run the copy */
	case RULE_REDIRECT:  /* mounts, which are not moved at all */
	case RULE_PROVIDE:
	case RULE_DECOY:
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

/* Names on the way to literal parts that begin below `one` and do not begin likewise below `other`. */
static void move_add_pending(struct policy_move *move, const struct progress *one, const struct progress *other)
{
	for (size_t i = 0; i < one->pendings; i++) {
		bool both = false;

		for (size_t j = 0; j < other->pendings; j++)
			both = both || strcmp(one->pending[i], other->pending[j]) == 0;
		if (!both)
			move_add_name(move, one->pending[i], strcspn(one->pending[i], "/"));
	}
}

static void move_add_rule(struct policy_move *move, const struct rule *rule, const struct progress *from,
			  const struct progress *to)
{
	for (size_t i = 0; i < rule->glob.parts; i++) {
		const struct glob_part *part = &rule->glob.part[i];

		if (move_states_has(&from->states, i) == move_states_has(&to->states, i))
			continue;
		if (part->kind == GLOB_LITERAL)
			move_add_name(move, part->text, part->len);
		else
			move->kind = POLICY_MOVE_ANY;
	}
	move_add_pending(move, from, to);
	move_add_pending(move, to, from);
}

void policy_move_below(const struct policy *policy, const char *from, const char *to, struct policy_move *ret_move)
{
	struct side old, new;

	ret_move->kind = POLICY_MOVE_SAME;
	ret_move->count = 0;
	move_side_init(policy, from, &old);
	move_side_init(policy, to, &new);
	if ((old.rights ^ new.rights) & MOVE_RIGHTS) {
		ret_move->kind = POLICY_MOVE_ANY;
		return;
	}
	for (size_t i = 0; i < policy->rule_count && ret_move->kind != POLICY_MOVE_ANY; i++) {
		const struct rule *rule = &policy->rule[i];

		if (move_rule_matters(rule, old.rights)) {
			const struct progress was = move_progress_init(rule, &old);
			const struct progress will = move_progress_init(rule, &new);

			move_add_rule(ret_move, rule, &was, &will);
		}
	}
}

bool policy_move_differs(const struct policy *policy, const char *from, const char *to)
{
	return (policy_rights(policy, from, strlen(from)) ^ policy_rights(policy, to, strlen(to))) & MOVE_RIGHTS;
}

/* ---- symbolic links ---- */

/* Whether a rule denies names below a directory because of where it is, and not wherever they are. */
enum leading {
	LEADS_NOWHERE,
	LEADS_BY_GLOB, /* the directory is one of many */
	LEADS_BY_NAME, /* the rule spells its name */
};

static enum leading move_leads_to_denied(const struct rule *rule, const struct side *side)
{
	const struct progress progress = move_progress_init(rule, side);
	enum leading leading = LEADS_NOWHERE;
	struct states anywhere = {0};

	if (progress.pendings)
		return LEADS_BY_NAME;
	if (!rule->pattern)
		return LEADS_NOWHERE;
	if (!rule->literal)
		anywhere = move_states_first(&rule->glob);
	for (size_t i = 0; i < rule->glob.parts; i++) {
		if (!move_states_has(&progress.states, i) || move_states_has(&anywhere, i))
			continue;
		if (i > 0 && rule->glob.part[i - 1].kind == GLOB_LITERAL)
			return LEADS_BY_NAME;
		leading = LEADS_BY_GLOB;
	}
	return leading;
}

/* What other programs find there, by the host's name, may be the run's work. */
static bool move_is_writable_outside(const struct policy *policy, const char *path)
{
	for (size_t i = 0; i < policy->mount_count; i++) {
		const struct policy_mount *mount = &policy->mount[i];
		const char *rest = mount->host ? path_rest(path, mount->host) : NULL;
		char virt[PATH_MAX];

		if (mount->host && path_below(mount->host, path) && policy_may_write(policy, mount->virt))
			return true;
		if (rest &&
		    (snprintf(virt, sizeof(virt), "%s%s%s", mount->virt, *rest ? "/" : "", rest) >= (int)sizeof(virt) ||
		     policy_may_write(policy, virt)))
			return true;
	}
	return false;
}

/* What a link's text means in the directory of the link `path`. False when the text alone does not tell. */
static bool move_link_target(const char *path, const char *text, char target[PATH_MAX])
{
	char parent[PATH_MAX];
	size_t len = (size_t)(strrchr(path, '/') - path);
	bool lexical;

	(void)snprintf(parent, sizeof(parent), "%.*s", len ? (int)len : 1, path);
	return path_join(parent, text, target, PATH_MAX, &lexical) >= 0 && lexical;
}

/*
 * True when the same names are denied below the link's target. A text that leads there through ".." after a name may
 * not last.
 */
static bool move_target_denies_same(const struct policy *policy, const struct side *side, const char *text)
{
	struct policy_move move;
	char target[PATH_MAX];

	if (!move_link_target(side->name[0], text, target))
		return false;
	policy_move_below(policy, side->name[0], target, &move);
	return move.kind == POLICY_MOVE_SAME;
}

/* True when the run writes nothing at or below the link's target: not by its name in the view, nor by one outside. */
static bool move_target_is_unwritable(const struct policy *policy, const struct side *side, const char *text)
{
	char target[PATH_MAX];

	for (size_t i = 0; i < side->names; i++) {
		if (!move_link_target(side->name[i], text, target) || move_is_writable_outside(policy, target) ||
		    (i == 0 && policy_may_write(policy, target)))
			return false;
	}
	return true;
}

/* Where the workdir has another name outside, a relative text that leaves it means another place there. */
static bool move_text_stays_within(const struct side *side, const char *text)
{
	char target[PATH_MAX], remap[PATH_MAX];

	(void)snprintf(remap, sizeof(remap), "%.*s", (int)side->remap_len, side->name[0]);
	return side->names == 1 || *text == '/' ||
	       (move_link_target(side->name[0], text, target) && path_below(target, side->remap_len ? remap : "/"));
}

bool policy_link_allowed(const struct policy *policy, const char *path, const char *text, const char **ret_rule)
{
	enum leading most = LEADS_NOWHERE;
	struct side side;

	move_side_init(policy, path, &side);
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
