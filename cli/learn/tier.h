/*
 * Decides which tier a path is of: whether a rule may grant it. A path that policy/paths/suggest.h would not suggest is
 * never granted, so no rule contradicts `callgate why`. Writing a file that other programs run or obey needs
 * --allow-risky.
 */
#ifndef CALLGATE_CLI_LEARN_TIER_H
#define CALLGATE_CLI_LEARN_TIER_H

#include <stdbool.h>
#include <sys/stat.h>

#include "policy/policy.h"

enum tier {
	TIER_GRANTED,
	TIER_RISKY, /* only with --allow-risky */
	TIER_NEVER_GRANTED,
};

/* The tier of a right on a host path. *ret_why: the reason, static; NULL for TIER_GRANTED. */
enum tier tier_find(const char *home, const char *path, unsigned right, const char **ret_why);

/* True for a file of another user than root that is not readable for everybody, or that would be written. */
bool tier_is_private_file(const struct stat *status, unsigned right);

#endif
