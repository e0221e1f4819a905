/*
 * Which directories those are that the program of an overlay's workspace (--cow) has changed something in. Something
 * outside may put another one in the place of one, with all that is in it: then "callgate ws apply" must not write to
 * it. The inode number tells, times do not: anything that is changed outside sets those. In a workspace by copying,
 * the copy notes all directories. Called by handlers, in the supervisor thread.
 */
#ifndef CALLGATE_SYSCALLS_ACCOUNT_WORKSPACE_DIRS_H
#define CALLGATE_SYSCALLS_ACCOUNT_WORKSPACE_DIRS_H

#include "syscalls/call/call.h"

#define DIRS_MAX 100000u /* most directories that are noted, of all workspaces of a run */

struct dirs;

/*
 * To be called before the first effect on a place: notes the directories that it is in, in the file VIEW_DIRS_NAME.
 * That cannot fail: of those that are not noted, times have to tell.
 */
void dirs_note(struct call *call, const struct place *place);
void dirs_free(struct dirs *dirs);

#endif
