/*
 * Makes one rule of several needed files that have something in common: a package, a library, numbers in their names,
 * or a suffix.
 */
#ifndef CALLGATE_CLI_LEARN_GROUPS_H
#define CALLGATE_CLI_LEARN_GROUPS_H

#include "cli/learn/rules.h"

/* Each of these functions marks the items that its rules grant. 0 or -ENOMEM. */
int groups_fold_units(struct fold *fold);
int groups_fold_numbers(struct fold *fold);
int groups_fold_suffixes(struct fold *fold);

#endif
