/*
 * Whether a program's table of descriptors is full. An open natively fails for that before anything else, so whoever
 * refuses one for another reason, or makes or cuts a file, has to know.
 */
#ifndef CALLGATE_SYSCALLS_FILE_ROOM_H
#define CALLGATE_SYSCALLS_FILE_ROOM_H

#include <stdbool.h>

#include "syscalls/call/call.h"

/* True when it is full, the outcome then set to EMFILE. False also when nobody can tell: the injection fails likewise. */
bool room_full(struct call *call);

/* To be called for a call that is continued and sets RLIMIT_NOFILE, whoever's. */
void room_limit_set(struct call *call);

#endif
