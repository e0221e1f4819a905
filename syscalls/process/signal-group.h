/* kill(2) to a process group or to everyone: the members of the run among them. */
#ifndef CALLGATE_SYSCALLS_PROCESS_SIGNAL_GROUP_H
#define CALLGATE_SYSCALLS_PROCESS_SIGNAL_GROUP_H

#include "syscalls/call/call.h"

/* who as kill(2) takes it: 0 the caller's group, -1 all but the caller's process, below that group -who. */
void signal_group(struct call *call, pid_t who, int sig);

#endif
