/*
 * Stays who started callgate, while the run is done as another user (--user): a process without capabilities that does
 * what that user may not. It puts files of the run into --output's directory, and removes an empty directory of control
 * groups at the end. It is handed open files, directories and names; it ends with the keeper.
 */
#ifndef CALLGATE_KEEPER_CUSTODIAN_H
#define CALLGATE_KEEPER_CUSTODIAN_H

#include <stdbool.h>
#include <sys/types.h>

struct custodian {
	pid_t pid; /* 0: none. A child that waitpid(2) reports with __WALL only, so that it is none of the run's */
	int fd;
};

/* Forks it off a process with one thread, before that becomes another user. output_fd: the directory (-1: none),
 * borrowed. self_filter: put it under selffilter.h. 0 or -errno. */
int custodian_start(int output_fd, bool self_filter, struct custodian *ret_custodian);

/* As output_store() in the custodian. 0 or -errno; -EPIPE: it died. */
int custodian_store(const struct custodian *custodian, int from_fd, const char *rest);

/*
 * Has an empty directory (a name of at most 63 bytes) removed when the run is over and the keeper may not do that
 * itself: a control group below the caller's. parent_fd is borrowed. 0 or -errno.
 */
int custodian_remove_at_end(const struct custodian *custodian, int parent_fd, const char *name);

/* Ends it. A no-op when there is none. */
void custodian_stop(struct custodian *custodian);

#endif
