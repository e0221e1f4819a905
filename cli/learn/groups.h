/* Folds what several names have in common into one rule: a package, a library, numbers, a suffix. */
#ifndef CALLGATE_CLI_LEARN_GROUPS_H
#define CALLGATE_CLI_LEARN_GROUPS_H

#include "cli/learn/rules.h"

/* Each marks the items that a rule was added for as done. 0 or -ENOMEM. */
int groups_fold_units(struct fold *fold);
int groups_fold_numbers(struct fold *fold);
int groups_fold_suffixes(struct fold *fold);

#endif
