/* Adds a rule for each item that no rule for a group grants. */
#ifndef CALLGATE_CLI_LEARN_SINGLES_H
#define CALLGATE_CLI_LEARN_SINGLES_H

#include "cli/learn/rules.h"

/* Adds a rule for one item. directories: also for a directory in which nothing is granted. 0 or -ENOMEM. */
int singles_add_rule(const struct fold *fold, const struct fold_item *item, bool directories);

#endif
