/*
 * Which look (look.h) runs next. Owners get turns alike, and so do the sandboxes of one owner: a client that asks for
 * many looks waits for its own, and others do not wait for them. Pure: no process is started here.
 */
#ifndef CALLGATE_AGENTS_SANDBOX_LOOK_QUEUE_H
#define CALLGATE_AGENTS_SANDBOX_LOOK_QUEUE_H

#include <stdbool.h>

/* Looks at a time. Each runs parsers, whose processor time and memory are not those of the sandbox. */
#define LOOK_QUEUE_RUNNING_MAX 16u
#define LOOK_QUEUE_RUNNING_OF_OWNER_MAX 12u /* so that the first look of another owner need not wait */
#define LOOK_QUEUE_RUNNING_OF_SANDBOX_MAX 8u
/* Looks that run or wait. Each has a copy of its request. */
#define LOOK_QUEUE_OF_OWNER_MAX 256u
#define LOOK_QUEUE_OF_SANDBOX_MAX 64u
/* At the end of a program, more may wait: what they tell would be lost. Programs are fewer than that. */
#define LOOK_QUEUE_AGAIN_FACTOR 8u

struct look_share;

/* A look in the queue. Members are those of look-queue.c. */
struct look_turn {
	struct look_turn *next;
	struct look_share *share; /* of its sandbox; NULL: not in the queue */
	bool is_running;
};

struct look_queue {
	struct look_share *owners; /* list; the one whose turn is the longest ago is the first */
	unsigned running_count;
};

/*
 * Lets a look wait. owner, sandbox: only compared. is_again: at the end of a program. 0; -EUSERS: too many of the
 * sandbox, or of the owner, wait; -ENOMEM.
 */
int look_queue_add(struct look_queue *queue, const void *owner, const void *sandbox, bool is_again,
		   struct look_turn *turn);
/* Returns the look that is to run now, which counts as running. NULL: none waits, or there is no room. */
struct look_turn *look_queue_take(struct look_queue *queue);
/* Removes a look, whether it waits or runs. */
void look_queue_remove(struct look_queue *queue, struct look_turn *turn);

#endif
