/*
 * The accesses that recorded runs used, each once, for callgate policy minimise: a policy loses one when it denies it,
 * or when it is no longer certain that it allows it.
 */
#ifndef CALLGATE_CLI_POLICY_USED_H
#define CALLGATE_CLI_POLICY_USED_H

#include "replay/query.h"

/* Zero-initialise. */
struct used {
	void *tree;    /* of distinct questions, as bytes; owned */
	size_t count;
	struct query *query; /* owned; for questions that are unpacked */
};

/* Adds a question with the answer of the policy that is to be minimised. 0 or -ENOMEM. */
int used_add(struct used *used, const struct query *query, const struct query_answer *answer);
void used_release(struct used *used);

/*
 * Calls `each` for every access that the policy of `judge` loses, with the answer, until it returns not 0. Returns
 * that, or 0.
 */
int used_find_losses(const struct used *used, const struct query_judge *judge,
		     int (*each)(void *ctx, const struct query *query, const struct query_answer *answer), void *ctx);

#endif
