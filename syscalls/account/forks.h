/*
 * The number of tasks of a run where nothing else bounds it (no pids control group, RLIMIT_NPROC without effect):
 * clone, fork and vfork are notified, and continued while there is room. Their verdict rests on registers and on this
 * count.
 */
#ifndef CALLGATE_SYSCALLS_ACCOUNT_FORKS_H
#define CALLGATE_SYSCALLS_ACCOUNT_FORKS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct forks;

/* max: tasks, threads included, at least 1. root: the supervisor, whose descendants count. 0 or -ENOMEM. */
int forks_create(uint64_t max, pid_t root, struct forks **ret_forks);
void forks_free(struct forks *forks);

/* True when the thread may make one more task; it is then taken to be about to. */
bool forks_admit(struct forks *forks, pid_t tid, uint64_t now_ns);

/* As of the last count; the most so far; how often one was refused. */
uint64_t forks_members(const struct forks *forks);
uint64_t forks_peak(const struct forks *forks);
uint64_t forks_refused(const struct forks *forks);

#endif
