/* Kills all descendants of a process that is their subreaper. */
#ifndef CALLGATE_SUPERVISOR_LIMITS_KILLTREE_H
#define CALLGATE_SUPERVISOR_LIMITS_KILLTREE_H

#include <stdbool.h>
#include <sys/types.h>

/*
 * Kills (SIGKILL) and reaps all descendants of the caller, in rounds until none is left, because processes may fork or
 * be reparented meanwhile. 0; -ETIMEDOUT: some still live after timeout_ms, for example in uninterruptible sleep.
 * wait_flags: __WALL for a tracer; 0 spares children that do not end with SIGCHLD, such as the custodian.
 */
int killtree(unsigned timeout_ms, int wait_flags);

/*
 * Kills the descendants of root once. Only root reaps them. True: there were none. False: there were, or the processes
 * could not all be listed.
 */
bool killtree_kill_descendants_once(pid_t root);

#endif
