/*
 * The custodian: with --user, a process without capabilities that keeps the uid of the user who started callgate. It
 * does what the run's user may not: it stores files in the directories of --output, --metrics and --attest, and removes
 * empty control groups at the end. It receives open files, directories and names, and exits when the keeper does.
 */
#ifndef CALLGATE_KEEPER_CUSTODIAN_H
#define CALLGATE_KEEPER_CUSTODIAN_H

#include <stdbool.h>
#include <sys/types.h>

/* The directories in which the custodian stores files. */
enum custodian_dir {
	CUSTODIAN_OUTPUT_DIR,  /* of --output */
	CUSTODIAN_METRICS_FILE_DIR, /* the directory of the file of --metrics */
	CUSTODIAN_ATTESTATION_FILE_DIR,  /* the directory of the file of --attest */
	CUSTODIAN_DIR_COUNT,
};

/* The keeper's connection to the custodian process. */
struct custodian {
	/*
	 * pid of the custodian; 0: there is none. waitpid(2) reports it only with __WALL, not as a process of the run
	 */
	pid_t pid;
	int fd;
};

/*
 * Forks the custodian from a process with one thread that has not changed its uid yet. dir_fd: directories, borrowed;
 * -1: none. self_filter: install the custodian's filter (selffilter.h). 0 or -errno.
 */
int custodian_start(const int dir_fd[CUSTODIAN_DIR_COUNT], bool self_filter, struct custodian *ret_custodian);

/* Lets the custodian call store_file(). 0 or -errno; -EPIPE: the custodian died. */
int custodian_store_file(const struct custodian *custodian, enum custodian_dir dir, int from_fd, const char *rest);

/* Lets the custodian remove an empty directory of control groups at the end. `name`: at most 63 bytes. 0 or -errno. */
int custodian_remove_dir_at_end(const struct custodian *custodian, int parent_fd, const char *name);

/* Ends the custodian and waits for it. Does nothing if none was started. */
void custodian_stop(struct custodian *custodian);

#endif
