/*
 * Limits the number of a run's tasks if neither a pids control group nor RLIMIT_NPROC does. clone, fork and vfork are
 * notified, and continued while the number is below the limit. Used by the supervisor thread alone.
 */
#ifndef CALLGATE_SYSCALLS_ACCOUNT_LIMITS_FORKS_H
#define CALLGATE_SYSCALLS_ACCOUNT_LIMITS_FORKS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct forks;

/* max: most tasks, including threads, at least 1. root: the supervisor, whose descendants are counted. 0 or -ENOMEM. */
int forks_create(uint64_t max, pid_t root, struct forks **ret_forks);
void forks_free(struct forks *forks);

/* True: the thread may make one more task, for which room is reserved. */
bool forks_admit_fork_of_thread(struct forks *forks, pid_t tid, uint64_t now_ns);

/* The number of tasks of the run when they were last counted. */
uint64_t forks_get_task_count(const struct forks *forks);
/* The highest number of tasks that was counted so far. */
uint64_t forks_get_peak_task_count(const struct forks *forks);
uint64_t forks_get_refused_count(const struct forks *forks);

#endif
