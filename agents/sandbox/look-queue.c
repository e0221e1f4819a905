#include "agents/sandbox/look-queue.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>

#include "agents/slist.h"

/* The looks of an owner, or of one sandbox. Exists while it has looks. */
struct look_share {
	struct look_share *next;
	const void *whose;
	struct look_share *owner;   /* of a sandbox; NULL: this is an owner */
	struct look_share *members; /* an owner's sandboxes; the one whose turn is the longest ago is the first */
	struct look_turn *waiting;  /* a sandbox' looks, in the order in which they came */
	unsigned count, running_count;
};

/* Finds a share in a list, or adds one. NULL: no memory. */
static struct look_share *share_get(struct look_share **list, const void *whose, struct look_share *owner)
{
	struct look_share *share = *list;

	while (share && share->whose != whose)
		share = share->next;
	if (share)
		return share;
	share = calloc(1, sizeof(*share));
	if (!share)
		return NULL;
	share->whose = whose;
	share->owner = owner;
	slist_append(*list, share, next);
	return share;
}

static void share_free_if_empty(struct look_share **list, struct look_share *share)
{
	if (share->count > 0 || share->members)
		return;
	slist_remove(*list, share, next);
	free(share);
}

int look_queue_add(struct look_queue *queue, const void *owner_name, const void *sandbox_name, bool is_again,
		   struct look_turn *turn)
{
	const unsigned factor = is_again ? LOOK_QUEUE_AGAIN_FACTOR : 1;
	struct look_share *owner = share_get(&queue->owners, owner_name, NULL);
	struct look_share *sandbox = owner ? share_get(&owner->members, sandbox_name, owner) : NULL;
	int r = sandbox ? 0 : -ENOMEM;

	if (r == 0 &&
	    (sandbox->count >= LOOK_QUEUE_OF_SANDBOX_MAX * factor || owner->count >= LOOK_QUEUE_OF_OWNER_MAX * factor))
		r = -EUSERS;
	if (r == 0) {
		*turn = (struct look_turn){.share = sandbox};
		slist_append(sandbox->waiting, turn, next);
		sandbox->count++;
		owner->count++;
		return 0;
	}
	if (sandbox)
		share_free_if_empty(&owner->members, sandbox);
	if (owner)
		share_free_if_empty(&queue->owners, owner);
	return r;
}

/* A sandbox of the owner that has a look to run, and room for it: of those, the one with the fewest that run. */
static struct look_share *owner_choose_sandbox(const struct look_share *owner)
{
	struct look_share *best = NULL;

	for (struct look_share *sandbox = owner->members; sandbox; sandbox = sandbox->next)
		if (sandbox->waiting && sandbox->running_count < LOOK_QUEUE_RUNNING_OF_SANDBOX_MAX &&
		    (!best || sandbox->running_count < best->running_count))
			best = sandbox;
	return best;
}

/* The same of all owners. */
static struct look_share *queue_choose_sandbox(const struct look_queue *queue)
{
	struct look_share *best = NULL;

	if (queue->running_count >= LOOK_QUEUE_RUNNING_MAX)
		return NULL;
	for (struct look_share *owner = queue->owners; owner; owner = owner->next) {
		struct look_share *sandbox =
			owner->running_count < LOOK_QUEUE_RUNNING_OF_OWNER_MAX ? owner_choose_sandbox(owner) : NULL;

		if (sandbox && (!best || owner->running_count < best->owner->running_count))
			best = sandbox;
	}
	return best;
}

struct look_turn *look_queue_take(struct look_queue *queue)
{
	struct look_share *sandbox = queue_choose_sandbox(queue), *owner;
	struct look_turn *turn;

	if (!sandbox)
		return NULL;
	owner = sandbox->owner;
	turn = sandbox->waiting;
	sandbox->waiting = turn->next;
	turn->is_running = true;
	sandbox->running_count++;
	owner->running_count++;
	queue->running_count++;
	(void)slist_remove(owner->members, sandbox, next); /* to the end: others with as many are next */
	slist_append(owner->members, sandbox, next);
	(void)slist_remove(queue->owners, owner, next);
	slist_append(queue->owners, owner, next);
	return turn;
}

void look_queue_remove(struct look_queue *queue, struct look_turn *turn)
{
	struct look_share *sandbox = turn->share, *owner;

	if (!sandbox)
		return;
	owner = sandbox->owner;
	if (turn->is_running) {
		sandbox->running_count--;
		owner->running_count--;
		queue->running_count--;
	} else {
		(void)slist_remove(sandbox->waiting, turn, next);
	}
	sandbox->count--;
	owner->count--;
	turn->share = NULL;
	share_free_if_empty(&owner->members, sandbox);
	share_free_if_empty(&queue->owners, owner);
}
