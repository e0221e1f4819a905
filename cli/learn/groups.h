/*
 * Makes one rule of several needed files that have something in common: a package, a library, numbers in their names,
 * or a suffix.
 */
#ifndef CALLGATE_CLI_LEARN_GROUPS_H
#define CALLGATE_CLI_LEARN_GROUPS_H

#include "cli/learn/rules.h"

/* Functions that merge needed files into rules. Each marks the items that its rules grant. 0 or -ENOMEM. */
int groups_merge_paths_by_directory(struct fold *fold);
int groups_merge_numbered_paths(struct fold *fold);
int groups_merge_paths_by_suffix(struct fold *fold);

#endif
