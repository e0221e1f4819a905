/* What callgate ws apply leaves out because it runs later outside: told in few lines, with the directories for it. */
#ifndef CALLGATE_CLI_WS_LEFT_OUT_H
#define CALLGATE_CLI_WS_LEFT_OUT_H

#include "cli/ws/plan.h"

/*
 * Tells what is left out: one line a change, or one a directory when many are left out there for one reason. 0 or
 * -ENOMEM.
 */
int ws_left_out_tell(const struct plan *plan);

/* Leaves out the new directories of whose entries some are left out, and none is applied. 0 or -ENOMEM. */
int ws_left_out_hold_dirs(const struct plan *plan);

#endif
