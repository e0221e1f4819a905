/* The end of every process below one, which must be their subreaper. */
#ifndef CALLGATE_SUPERVISOR_LIMITS_KILLTREE_H
#define CALLGATE_SUPERVISOR_LIMITS_KILLTREE_H

#include <sys/types.h>

/*
 * Kills every descendant of the caller's with SIGKILL and reaps, again and again until none is left: what is forked
 * meanwhile, or handed to us by a dying parent, is met in the next round. 0, or -ETIMEDOUT when some still live after
 * timeout_ms (a task in uninterruptible sleep). Also reaps children that ended by themselves.
 * wait_flags: __WALL for who traces; 0 leaves alone what does not end with SIGCHLD, such as the custodian.
 */
int killtree(unsigned timeout_ms, int wait_flags);

/* Once over all that are below another, who reaps them. */
void killtree_below(pid_t root);

#endif
