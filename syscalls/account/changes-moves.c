/*
 * A renamed directory moves everything below it. Nothing is listed for that while the program runs: it is remembered
 * from where to where the directory went, so that the first state of a name is looked for where its object is by now.
 * The report lists what was moved, once, when the program has ended (changes-tree.c).
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "syscalls/account/changes-private.h"

#include "base/banned.h"

#define MOVES_MAX 1024 /* every touch goes through them: with more, what was moved so far is listed at once */

static struct spot *spot_new(const struct mount *mount, size_t rest, const char *head, size_t head_len, const char *tail)
{
	size_t tail_len = strlen(tail);
	struct spot *spot = malloc(sizeof(*spot) + head_len + tail_len + 1);

	if (!spot)
		return NULL;
	spot->mount = mount;
	spot->rest = rest;
	spot->len = head_len + tail_len;
	memcpy(spot->path, head, head_len);
	memcpy(spot->path + head_len, tail, tail_len + 1);
	return spot;
}

/* A renamed directory is no mount's root, so the rest of its place lies in the path. */
static struct spot *spot_of(const struct place *place)
{
	return spot_new(place->mount, (size_t)(place->rest - place->virt), place->virt, place->virt_len, "");
}

/* What follows the spot's path in this one ("" or "/…"), or NULL when the path is not at or below it. */
static const char *spot_tail(const struct spot *spot, const char *path)
{
	if (!spot || strncmp(path, spot->path, spot->len) != 0 || (path[spot->len] && path[spot->len] != '/'))
		return NULL;
	return path + spot->len;
}

/* True when the spot is the place or below it. */
static bool spot_below(const struct spot *spot, const struct place *place)
{
	return spot && spot->len >= place->virt_len && memcmp(spot->path, place->virt, place->virt_len) == 0 &&
	       (spot->path[place->virt_len] == '/' || !spot->path[place->virt_len]);
}

bool changes_spot_place(const struct spot *spot, const char *tail, struct place *ret_place)
{
	size_t tail_len = strlen(tail);

	if (spot->len + tail_len >= sizeof(ret_place->virt))
		return false;
	ret_place->mount = spot->mount;
	ret_place->magic = false;
	memcpy(ret_place->virt, spot->path, spot->len);
	memcpy(ret_place->virt + spot->len, tail, tail_len + 1);
	ret_place->virt_len = spot->len + tail_len;
	ret_place->rest = ret_place->virt + spot->rest;
	return true;
}

struct move *changes_find_move(const struct changes *changes, const char *path, bool by_to)
{
	struct move *found = NULL;
	size_t longest = 0;

	for (size_t i = 0; i < changes->moves; i++) {
		const struct spot *spot = by_to ? changes->move[i].to : changes->move[i].from;

		if (spot_tail(spot, path) && spot->len >= longest) {
			longest = spot->len;
			found = &changes->move[i];
		}
	}
	return found;
}

/*
 * The name that the object at `path` had when the run began. False when it is this very name, or when there was no
 * object.
 */
static bool first_place(const struct changes *changes, const char *path, struct place *ret_place)
{
	const struct move *move = changes_find_move(changes, path, true);

	return move && move->from && changes_spot_place(move->from, path + move->to->len, ret_place) &&
	       changes_find_move(changes, ret_place->virt, false) == move;
}

enum whereabouts { HERE, ELSEWHERE, NOWHERE };

/* Where the object is now that was at the path when the run began. */
static enum whereabouts present_place(const struct changes *changes, const char *path, struct place *ret_place)
{
	const struct move *move = changes_find_move(changes, path, false);

	if (!move)
		return changes_find_move(changes, path, true) ? NOWHERE : HERE; /* below a directory that has come here */
	if (!move->to || !changes_spot_place(move->to, path + move->from->len, ret_place) ||
	    changes_find_move(changes, ret_place->virt, true) != move)
		return NOWHERE;
	return ELSEWHERE;
}

static int touch_name(struct changes *changes, const struct place *place)
{
	struct place other;
	struct touched *entry;

	if (!changes_reported(place->mount))
		return 0;
	switch (present_place(changes, place->virt, &other)) {
	case HERE:
		return changes_entry(changes, place, place, &entry);
	case ELSEWHERE:
		return changes_entry(changes, place, &other, &entry);
	case NOWHERE:
		break;
	}
	return changes_entry(changes, place, NULL, &entry);
}

int changes_touch_moved(struct changes *changes, const struct place *place)
{
	struct place first;
	int r = touch_name(changes, place);

	return r == 0 && first_place(changes, place->virt, &first) ? touch_name(changes, &first) : r;
}

/* ---- after a rename ---- */

static void move_done(struct move *move)
{
	free(move->from);
	free(move->to);
}

void changes_forget_moves(struct changes *changes)
{
	for (size_t i = 0; i < changes->moves; i++)
		move_done(&changes->move[i]);
	free(changes->move);
	changes->move = NULL;
	changes->moves = changes->move_room = 0;
}

/* The directory at `place`, about to go: which one it was when the run began. NULL, with 0, when the run made it. */
static int first_spot(const struct changes *changes, const struct place *place, struct spot **ret_spot)
{
	struct place first;

	*ret_spot = NULL;
	if (first_place(changes, place->virt, &first))
		*ret_spot = spot_of(&first);
	else if (!changes_find_move(changes, place->virt, true) && !changes_find_move(changes, place->virt, false))
		*ret_spot = spot_of(place);
	else
		return 0;
	return *ret_spot ? 0 : -ENOMEM;
}

/* Moves of what is below `from` go on to `to`. */
static int relocate(struct move *move, const struct place *from, const struct place *to)
{
	struct spot *now;

	if (!spot_below(move->to, from))
		return 0;
	now = spot_new(to->mount, (size_t)(to->rest - to->virt), to->virt, to->virt_len, move->to->path + from->virt_len);
	if (!now)
		return -ENOMEM;
	free(move->to);
	move->to = now;
	return 1;
}

static bool is_known(const struct changes *changes, const struct place *place)
{
	const struct move *move = changes_find_move(changes, place->virt, true);

	return move && move->to->len == place->virt_len;
}

/*
 * Makes a move of the directory that was at `from` a moment ago, without a `to` yet; unless there is one that ends
 * there.
 */
static int prepare_move(struct changes *changes, const struct place *from, struct move *ret_move, bool *ret_add)
{
	*ret_add = !is_known(changes, from);
	return *ret_add ? first_spot(changes, from, &ret_move->from) : 0;
}

static int add_move(struct changes *changes, struct move *move, const struct place *to)
{
	if (changes->moves == changes->move_room) {
		size_t room = changes->move_room ? changes->move_room * 2 : 16;
		struct move *grown = realloc(changes->move, room * sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		changes->move = grown;
		changes->move_room = room;
	}
	move->to = spot_of(to);
	if (!move->to)
		return -ENOMEM;
	changes->move[changes->moves++] = *move;
	*move = (struct move){0};
	return 0;
}

/* Nothing was left at or below a name that a directory gets: at most an empty directory, or a file. */
static void forget_replaced(struct changes *changes, const struct place *place)
{
	for (size_t i = 0; i < changes->moves; i++) {
		struct move *move = &changes->move[i];

		if (spot_below(move->to, place)) {
			free(move->to);
			move->to = NULL;
		}
	}
}

static int record(struct changes *changes, const struct place *from, const struct place *to, bool from_dir, bool to_dir)
{
	struct move there = {0}, back = {0};
	bool add_there = false, add_back = false;
	int r = from_dir ? prepare_move(changes, from, &there, &add_there) : 0;

	if (r == 0 && to_dir)
		r = prepare_move(changes, to, &back, &add_back);
	if (!to_dir)
		forget_replaced(changes, to);
	if (!from_dir)
		forget_replaced(changes, from);
	for (size_t i = 0; r >= 0 && i < changes->moves; i++) {
		r = from_dir ? relocate(&changes->move[i], from, to) : 0;
		if (r == 0 && to_dir)
			r = relocate(&changes->move[i], to, from);
	}
	if (r >= 0 && add_there)
		r = add_move(changes, &there, to);
	if (r >= 0 && add_back)
		r = add_move(changes, &back, from);
	move_done(&there);
	move_done(&back);
	return r < 0 ? r : 0;
}

void changes_moved(struct changes *changes, const struct place *from, const struct place *to, bool from_dir, bool to_dir)
{
	bool reported = changes_reported(from->mount) || changes_reported(to->mount);

	if ((!from_dir && !to_dir) || (!reported && !changes->moves))
		return;
	if (record(changes, from, to, from_dir, to_dir) < 0)
		changes->unlisted++;
	else if (changes->moves >= MOVES_MAX && changes_list_moved(changes) < 0)
		changes->unlisted++;
}
