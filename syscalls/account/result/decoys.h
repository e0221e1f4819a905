/* The decoys of the policy that the program has read, for the result. For the supervisor thread only. */
#ifndef CALLGATE_SYSCALLS_ACCOUNT_RESULT_DECOYS_H
#define CALLGATE_SYSCALLS_ACCOUNT_RESULT_DECOYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct call;
struct decoys;

#define DECOY_READS_MAX 200 /* distinct reads that are kept; only the log has further ones */

/* The reads of one decoy by one process. */
struct decoy_read {
	uint64_t seq; /* number of the first record */
	char *path;   /* canonical virtual path of the decoy */
	char *exe;
	char *rule; /* label of the decoy rule; owned */
	pid_t pid;
	pid_t host_pid;  /* the pid outside the run's pid namespace; 0: the same pid, or unknown */
	uint64_t count;  /* how often it was read */
	bool was_killed; /* the read ended the run */
};

/* NULL: no memory. */
struct decoys *decoys_create(void);
void decoys_free(struct decoys *decoys);
/* Adds the reading of a decoy, after it was recorded. Without memory only the log has it. */
void decoys_add(struct decoys *decoys, const struct call *call);
/* The reads, borrowed, in the order of their first records. */
const struct decoy_read *decoys_get_list(const struct decoys *decoys, size_t *ret_count);

#endif
