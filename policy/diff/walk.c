#include "policy/diff/walk.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#define NAME_BYTES_MAX 255
/* slots of the hash table of states: a power of two, at least twice WALK_STATES_MAX */
#define WALK_HASH_TABLE_SLOTS 65536
#define WALK_STARS_TRIED_IN_ALL_SUBSETS_MAX 4 /* with more, not each star is tried both empty and as "x" */
#define WALK_STAR_PARTS_TRIED_IN_PAIRS_MAX 64 /* most names with "*" at one state of which all pairs are tried */

_Static_assert(WALK_HASH_TABLE_SLOTS >= 2 * WALK_STATES_MAX, "the table is never full");

/* A position in a pattern: its part that must match the next name. */
struct walk_position {
	uint32_t pattern, part;
};

/* A path of the walk, and what patterns may still match below it. Paths with equal states are searched once. */
struct pattern_walk_state {
	uint64_t facts; /* what is true of the path: struct walk_pattern */
	size_t position_count;
	struct pattern_walk_state *next; /* next state of the queue */
	const char *path;                /* one path that leads to this state */
	struct walk_position place[]; /* in ascending order */
};

/* The state of a search: struct pattern_walk says what is searched. */
struct pattern_walk_search {
	const struct pattern_walk *walk;
	struct pattern_walk_state **slot;
	struct pattern_walk_state *last_queued; /* last state of the queue */
	size_t state_count;
	struct pattern_walk_state *draft_state; /* the state that is being made; has room for all positions */
	const char *name_in_no_pattern;         /* stands for all names that no pattern has literally */
	const char **name; /* the names to try at the current state */
	size_t name_count;
};

/* ---- patterns ---- */

/* Finds what kind a pattern's component is. */
static struct glob_part walk_make_part(const char *name, size_t len)
{
	struct glob_part part = {GLOB_LITERAL, name, len};

	if (len == 2 && memcmp(name, "**", 2) == 0)
		part.kind = GLOB_ANY_NAMES;
	else if (glob_is_wild(name, len))
		part.kind = len == 1 ? GLOB_ONE_ANY_NAME : GLOB_NAME_WITH_STAR;
	return part;
}

struct glob walk_split_path(struct arena *arena, const char *path, bool below)
{
	struct glob_part *part = NULL;
	size_t parts = 0;

	for (const char *at = path; *at == '/' && strcmp(path, "/") != 0;) {
		size_t len = strcspn(++at, "/");

		ARENA_APPEND(arena, part, parts, walk_make_part(at, len));
		at += len;
	}
	if (below && (parts == 0 || part[parts - 1].kind != GLOB_ANY_NAMES))
		ARENA_APPEND(arena, part, parts, walk_make_part("**", 2));
	return (struct glob){part, parts};
}

struct glob walk_join_globs(struct arena *arena, const struct glob *a, const struct glob *b)
{
	struct glob_part *part = arena_alloc(arena, (a->part_count + b->part_count + 1) * sizeof(*part));

	if (a->part_count)
		memcpy(part, a->part, a->part_count * sizeof(*part));
	if (b->part_count)
		memcpy(part + a->part_count, b->part, b->part_count * sizeof(*part));
	return (struct glob){part, a->part_count + b->part_count};
}

/* ---- states ---- */

/*
 * Adds a position to the draft state. When its part is "**", which can also match no name, adds the next position, too.
 * When a pattern has matched everything below, changes the draft's facts as the pattern says.
 */
static void walk_add_position(struct pattern_walk_search *search, uint32_t pattern, uint32_t part)
{
	const struct walk_pattern *of = &search->walk->pattern[pattern];
	struct pattern_walk_state *draft = search->draft_state;

	for (; part < of->glob.part_count; part++) {
		struct walk_position place = {pattern, part};
		bool deep = of->glob.part[part].kind == GLOB_ANY_NAMES, last = part + 1 == of->glob.part_count;

		if (deep && last) { /* everything below matches: keep the facts, not the position */
			draft->facts = (draft->facts & ~of->clears) | of->sets;
			return;
		}
		for (size_t i = draft->position_count; i > 0 && draft->place[i - 1].pattern == pattern; i--)
			if (draft->place[i - 1].part == part)
				return;
		draft->place[draft->position_count++] = place;
		if (!deep)
			return;
	}
}

/* Removes the positions of patterns that cannot make a difference any more. */
static void walk_drop_disabled_positions(struct pattern_walk_search *search)
{
	struct pattern_walk_state *draft = search->draft_state;
	size_t kept = 0;

	for (size_t i = 0; i < draft->position_count; i++)
		if (!(search->walk->pattern[draft->place[i].pattern].facts_that_disable_pattern & draft->facts))
			draft->place[kept++] = draft->place[i];
	draft->position_count = kept;
}

static uint64_t walk_hash_state(const struct pattern_walk_state *state)
{
	uint64_t hash = state->facts * UINT64_C(0x9e3779b97f4a7c15);

	for (size_t i = 0; i < state->position_count; i++) {
		hash = (hash ^ state->place[i].pattern) * UINT64_C(0x100000001b3);
		hash = (hash ^ state->place[i].part) * UINT64_C(0x100000001b3);
	}
	return hash ^ hash >> 29;
}

/* Whether two paths of the walk have the same facts and positions, so that what is below them is judged alike. */
static bool walk_states_are_equal(const struct pattern_walk_state *a, const struct pattern_walk_state *b)
{
	return a->facts == b->facts && a->position_count == b->position_count &&
	       (a->position_count == 0 || memcmp(a->place, b->place, a->position_count * sizeof(a->place[0])) == 0);
}

static size_t walk_get_state_bytes(size_t places)
{
	return sizeof(struct pattern_walk_state) + places * sizeof(struct walk_position);
}

/* Queues the draft with its path, unless an equal state is known or nothing below can differ. False: too many. */
static bool walk_queue_draft_state(struct pattern_walk_search *search, const char *path)
{
	const struct pattern_walk_state *draft = search->draft_state;
	uint64_t stop = search->walk->facts_that_end_search;
	size_t at = walk_hash_state(draft) % WALK_HASH_TABLE_SLOTS, bytes = walk_get_state_bytes(draft->position_count);
	struct pattern_walk_state *state;

	if (stop && (draft->facts & stop) == stop)
		return true;
	for (; search->slot[at]; at = (at + 1) % WALK_HASH_TABLE_SLOTS)
		if (walk_states_are_equal(search->slot[at], draft))
			return true;
	if (search->state_count == WALK_STATES_MAX)
		return false;
	search->state_count++;
	state = arena_alloc(search->walk->arena, bytes);
	memcpy(state, draft, bytes);
	state->path = arena_dup(search->walk->arena, path);
	state->next = NULL;
	if (search->last_queued)
		search->last_queued->next = state;
	search->last_queued = search->slot[at] = state;
	return true;
}

/* Makes the draft the state that follows `state` after `name`. */
static void walk_compute_state_after_name(struct pattern_walk_search *search, const struct pattern_walk_state *state,
					  const char *name)
{
	search->draft_state->facts = state->facts & UINT32_MAX;
	search->draft_state->position_count = 0;
	for (size_t i = 0; i < state->position_count; i++) {
		uint32_t pattern = state->place[i].pattern, part = state->place[i].part;
		const struct glob_part *of = &search->walk->pattern[pattern].glob.part[part];

		if (of->kind == GLOB_ANY_NAMES)
			walk_add_position(search, pattern, part);
		else if (glob_part_matches(of, name, strlen(name)))
			walk_add_position(search, pattern, part + 1);
	}
	walk_drop_disabled_positions(search);
}

/* ---- names ---- */

/* Adds a name to those to be tried at the present state, once. */
static void walk_add_name(struct pattern_walk_search *search, const char *name, size_t len)
{
	struct arena *arena = search->walk->arena;

	if (len > NAME_BYTES_MAX || (len == 1 && name[0] == '.') || (len == 2 && memcmp(name, "..", 2) == 0))
		return;
	for (size_t i = 0; i < search->name_count; i++)
		if (strlen(search->name[i]) == len && memcmp(search->name[i], name, len) == 0)
			return;
	ARENA_APPEND(arena, search->name, search->name_count, arena_dupn(arena, name, len));
}

/* Adds a name made from a part with "*": star number i becomes "x" if bit i of `filled` is set, else "". */
static void walk_add_name_with_filled_stars(struct pattern_walk_search *search, const struct glob_part *part,
					    unsigned filled)
{
	char name[NAME_BYTES_MAX + 1];
	size_t len = 0;
	unsigned star = 0;

	for (size_t i = 0; i < part->len && len < sizeof(name) - 1; i++) {
		if (part->text[i] != '*')
			name[len++] = part->text[i];
		else if (filled >> (star++ % 32) & 1)
			name[len++] = 'x';
	}
	if (len)
		walk_add_name(search, name, len);
}

/* Adds names that the pattern matches, with its stars empty or filled, because other patterns may tell these apart. */
static void walk_add_names_matching_part(struct pattern_walk_search *search, const struct glob_part *part)
{
	unsigned stars = 0;

	for (size_t i = 0; i < part->len; i++)
		stars += part->text[i] == '*';
	walk_add_name_with_filled_stars(search, part, 0);
	walk_add_name_with_filled_stars(search, part, ~0U);
	for (unsigned filled = 1; stars <= WALK_STARS_TRIED_IN_ALL_SUBSETS_MAX && filled + 1 < 1U << stars; filled++)
		walk_add_name_with_filled_stars(search, part, filled);
}

/* Sets can[i][j] when the rest of a from i and the rest of b from j can match the same text. */
static void walk_match_two_parts(const struct glob_part *a, const struct glob_part *b, bool can[][NAME_BYTES_MAX + 2])
{
	can[0][0] = false; /* needless, but the static analyser does not see that the loops set it */
	for (size_t i = a->len + 1; i-- > 0;)
		for (size_t j = b->len + 1; j-- > 0;) {
			bool in_a = i < a->len, in_b = j < b->len;

			can[i][j] = !in_a && !in_b;
			if (in_a && a->text[i] == '*')
				can[i][j] |= can[i + 1][j] || (in_b && can[i][j + 1]);
			if (in_b && b->text[j] == '*')
				can[i][j] |= can[i][j + 1] || (in_a && can[i + 1][j]);
			if (in_a && in_b && a->text[i] == b->text[j])
				can[i][j] |= can[i + 1][j + 1];
		}
}

/* Adds the shortest name that matches two parts with "*", if one does; `filled`: with "x" where both have a star. */
static void walk_add_name_matching_both(struct pattern_walk_search *search, const struct glob_part *a,
				  const struct glob_part *b, bool filled)
{
	bool can[NAME_BYTES_MAX + 2][NAME_BYTES_MAX + 2];
	char name[3 * NAME_BYTES_MAX];
	size_t len = 0, i = 0, j = 0;

	walk_match_two_parts(a, b, can);
	while (can[0][0] && (i < a->len || j < b->len)) {
		bool star_a = i < a->len && a->text[i] == '*', star_b = j < b->len && b->text[j] == '*';

		if (star_a && can[i + 1][j]) {
			if (star_b && filled)
				name[len++] = 'x';
			i++;
		} else if (star_b && can[i][j + 1]) {
			j++;
		} else if (star_a) {
			name[len++] = b->text[j++];
		} else {
			name[len++] = a->text[i++];
			j += !star_b;
		}
	}
	if (len)
		walk_add_name(search, name, len);
}

/*
 * Collects the names to try at a state. The name that no pattern has is first, so that the simplest witnesses are found
 * first.
 */
static void walk_collect_names(struct pattern_walk_search *search, const struct pattern_walk_state *state)
{
	const struct glob_part *wild[WALK_STAR_PARTS_TRIED_IN_PAIRS_MAX];
	size_t wilds = 0;

	search->name_count = 0;
	search->name = NULL;
	walk_add_name(search, search->name_in_no_pattern, strlen(search->name_in_no_pattern));
	for (size_t i = 0; i < state->position_count; i++) {
		const struct walk_position *place = &state->place[i];
		const struct glob_part *part = &search->walk->pattern[place->pattern].glob.part[place->part];

		if (part->kind == GLOB_LITERAL)
			walk_add_name(search, part->text, part->len);
		if (part->kind != GLOB_NAME_WITH_STAR || part->len > NAME_BYTES_MAX)
			continue;
		walk_add_names_matching_part(search, part);
		for (size_t j = 0; j < wilds; j++) {
			walk_add_name_matching_both(search, part, wild[j], false);
			walk_add_name_matching_both(search, part, wild[j], true);
		}
		if (wilds < WALK_STAR_PARTS_TRIED_IN_PAIRS_MAX)
			wild[wilds++] = part;
	}
}

/* Finds a name that no part of a pattern equals and, if possible, no part with a star within a name matches. */
static const char *walk_find_name_in_no_pattern(const struct pattern_walk *walk)
{
	static const char *const names[] = {"x", "y", "new", "x1", "other", "zq0", "unnamed-7"};
	size_t at = 0;

	for (size_t i = 0; i < walk->pattern_count && at + 1 < sizeof(names) / sizeof(names[0]); i++) {
		for (size_t j = 0; j < walk->pattern[i].glob.part_count; j++) {
			const struct glob_part *part = &walk->pattern[i].glob.part[j];

			if ((part->kind == GLOB_LITERAL || part->kind == GLOB_NAME_WITH_STAR) &&
			    glob_part_matches(part, names[at], strlen(names[at]))) {
				at++;
				i = (size_t)-1; /* start again with the first pattern */
				break;
			}
		}
	}
	return names[at];
}

/* ---- the search through all states ---- */

/*
 * Visits each name that can matter below a state's path, and queues the state after it. Returns false: too many states.
 */
static bool walk_queue_states_after(struct pattern_walk_search *search, const struct pattern_walk_state *state)
{
	char path[PATH_MAX];

	walk_collect_names(search, state);
	for (size_t i = 0; i < search->name_count; i++) {
		int len = snprintf(path, sizeof(path), "%s/%s", state->path, search->name[i]);

		if (len < 0 || (size_t)len >= sizeof(path))
			continue;
		walk_compute_state_after_name(search, state, search->name[i]);
		search->draft_state->facts |= search->walk->visit(search->walk->ctx, path);
		if (!walk_queue_draft_state(search, path))
			return false;
	}
	return true;
}

bool walk_visit_paths(const struct pattern_walk *walk)
{
	struct pattern_walk_search search = {.walk = walk, .name_in_no_pattern = walk_find_name_in_no_pattern(walk)};
	size_t most = 0;

	for (size_t i = 0; i < walk->pattern_count; i++)
		most += walk->pattern[i].glob.part_count;
	search.slot = arena_alloc(walk->arena, WALK_HASH_TABLE_SLOTS * sizeof(*search.slot));
	search.draft_state = arena_alloc(walk->arena, walk_get_state_bytes(most));
	for (size_t i = 0; i < walk->pattern_count; i++)
		walk_add_position(&search, (uint32_t)i, 0);
	walk_drop_disabled_positions(&search);
	if (!walk_queue_draft_state(&search, ""))
		return false;
	for (const struct pattern_walk_state *state = search.last_queued; state; state = state->next)
		if (!walk_queue_states_after(&search, state))
			return false;
	return true;
}
