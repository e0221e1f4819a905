/* May a path be granted? The answer is that of policy/paths/suggest.h, and so never contradicts `callgate why`. */
#ifndef CALLGATE_CLI_LEARN_TIER_H
#define CALLGATE_CLI_LEARN_TIER_H

#include "policy/policy.h"

enum tier {
	TIER_GRANTED,
	TIER_RISKY, /* only with --allow-risky */
	TIER_NEVER,
};

/* The tier of a right on a host path. *ret_why: the reason, static; NULL for TIER_GRANTED. */
enum tier tier_find(const char *home, const char *path, unsigned right, const char **ret_why);

#endif
