/* The two steps of sys_execve and sys_execveat behind the pin. */
#ifndef CALLGATE_SYSCALLS_EXEC_JUDGE_H
#define CALLGATE_SYSCALLS_EXEC_JUDGE_H

#include <sys/stat.h>

#include "syscalls/call.h"

/*
 * What the kernel demands of every file it executes, and one thing more: that we can read it. A 0111 binary would run
 * unseen and undumpable, so that nothing about it could be verified afterwards. Takes pin; returns a readable
 * descriptor owned by the caller, or -1 with the outcome set.
 */
int exec_open(struct call *call, int pin, struct stat *ret_st);

/*
 * Judges everything the kernel will load for the program at place 0 and sets the outcome: OUTCOME_EXEC with a plan, or the
 * error. Takes fd, the readable program; flags are execveat's.
 */
void exec_judge(struct call *call, int fd, const struct stat *st, unsigned flags);

#endif
