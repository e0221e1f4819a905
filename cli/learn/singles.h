/* Rules for names of their own, which no group holds. */
#ifndef CALLGATE_CLI_LEARN_SINGLES_H
#define CALLGATE_CLI_LEARN_SINGLES_H

#include "cli/learn/rules.h"

/* directories: as of fold_add_rules_for_unmet. 0 or -ENOMEM. */
int singles_add(const struct fold *fold, const struct fold_item *item, bool directories);

#endif
