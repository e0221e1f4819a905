/*
 * The custodian: with --user, a process that keeps the uid of who started callgate, without capabilities. It does what
 * the run's user may not: it stores files in --output's directory, and removes an empty control group directory at the
 * end. It receives open files, directories and names, and exits with the keeper.
 */
#ifndef CALLGATE_KEEPER_CUSTODIAN_H
#define CALLGATE_KEEPER_CUSTODIAN_H

#include <stdbool.h>
#include <sys/types.h>

struct custodian {
	pid_t pid; /* 0: none. Only waitpid(2) with __WALL reports it, so it is not taken for a process of the run */
	int fd;
};

/*
 * Forks the custodian from a process with one thread, before that changes its uid. output_fd: --output's directory,
 * borrowed; -1: none. self_filter: install the filter of selffilter.h. 0 or -errno.
 */
int custodian_start(int output_fd, bool self_filter, struct custodian *ret_custodian);

/* store_file() in the custodian. 0 or -errno; -EPIPE: it died. */
int custodian_store_file(const struct custodian *custodian, int from_fd, const char *rest);

/* Lets the custodian remove an empty directory of control groups (name of at most 63 bytes) at the end. 0 or -errno. */
int custodian_remove_dir_at_end(const struct custodian *custodian, int parent_fd, const char *name);

/* Ends the custodian and waits for it. Does nothing when there is none. */
void custodian_stop(struct custodian *custodian);

#endif
