/*
 * Which names in an overlay's workspace (--cow) may be names of one file of the directory, so that "callgate ws apply"
 * removes no old name of a file whose new name it leaves out. An overlay itself does not tell: of a file that was
 * copied, a user namespace has not its origin. Each rename or link of what the directory has is noted, before it is
 * made, in the file VIEW_MOVES_NAME of the layer. In a workspace by copying, inode numbers tell. Called by handlers, in
 * the supervisor thread.
 */
#ifndef CALLGATE_SYSCALLS_ACCOUNT_WORKSPACE_MOVES_H
#define CALLGATE_SYSCALLS_ACCOUNT_WORKSPACE_MOVES_H

#include "syscalls/call/call.h"

struct moves;

/*
 * To be called before what is at call->resolved_place[0] gets the name resolved_place[1], or both change their names.
 * from_dir, to_dir: what gets another name there is a directory, with the names in it. That cannot fail: the file says
 * then that it is not complete.
 */
void moves_note(struct call *call, bool is_exchange, bool from_dir, bool to_dir);
void moves_free(struct moves *moves);

#endif
