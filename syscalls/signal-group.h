/* kill(2) to a process group or to everyone: the members of the run among them. */
#ifndef CALLGATE_SYSCALLS_SIGNAL_GROUP_H
#define CALLGATE_SYSCALLS_SIGNAL_GROUP_H

#include "syscalls/call.h"

/* who as kill(2) takes it: 0 the caller's group, -1 all but the caller's process, below that group -who. */
void signal_group(struct call *call, pid_t who, int sig);

/* Field 5 of the text of /proc/PID/stat; the name in field 2 may hold anything, parentheses too. -ESRCH: not there. */
pid_t signal_group_of(const char *stat);

#endif
