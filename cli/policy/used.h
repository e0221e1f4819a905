/*
 * The accesses that recorded runs used, each once, for callgate policy minimise. A changed policy loses an access in
 * three cases. It denies the access. Or the access opened a directory of which the changed policy shows only the names
 * that lead to grants. Or one of the policies is certain of its answer and the other is not, because the name leads to
 * another object.
 */
#ifndef CALLGATE_CLI_POLICY_USED_H
#define CALLGATE_CLI_POLICY_USED_H

#include "replay/query.h"

/* A set: the accesses that recorded runs made, each once, with the answer of the policy. Zero-initialise. */
struct used_accesses {
	void *tree;    /* the set of serialized accesses: tsearch(3); owned */
	size_t access_count;
	struct query *deserialized_query; /* room for the access that is being deserialized; owned */
};

/* Adds an access with the answer of the policy that is to be minimised. 0 or -ENOMEM. */
int used_accesses_add(struct used_accesses *used, const struct query *query, const struct query_answer *answer);
void used_accesses_release(struct used_accesses *used);

/*
 * Calls `each` with the answer for every access that the policy of `judge` loses, until `each` does not return 0.
 * Returns the last result of `each`, or 0.
 */
int used_find_lost_accesses(const struct used_accesses *used, const struct query_judge *judge,
		     int (*each)(void *ctx, const struct query *query, const struct query_answer *answer), void *ctx);

#endif
