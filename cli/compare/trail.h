/* A log read for comparing: the steps of each process, without what differs between runs of the same program. */
#ifndef CALLGATE_CLI_COMPARE_TRAIL_H
#define CALLGATE_CLI_COMPARE_TRAIL_H

#include <stddef.h>
#include <stdint.h>

/* A step: one record of the log. Texts are owned; NULL: the record has no such field. */
struct trail_step {
	uint64_t key; /* hash of call_text */
	uint64_t seq;
	char *call_text; /* the call and its objects, such as "openat /etc/hosts" */
	char *exe;  /* the program that the process ran at that moment */
	char *verdict, *rule, *reason;
	char *error; /* name or number of the errno */
};

/* A process of a trail, and its steps. */
struct trail_process {
	uint64_t first_steps_hash; /* hash of what the process does first */
	long long pid, ppid;
	size_t parent_index; /* index in trail->processes; TRAIL_NO_PROCESS: the parent is not on record */
	struct trail_step *steps;
	size_t step_count, room;
};

#define TRAIL_NO_PROCESS SIZE_MAX /* index in place of a process that is not on record */

/* The steps of a run by process, as its log has them. */
struct trail {
	struct trail_process *processes; /* all processes, in the order of their first records */
	size_t process_count, room;
	char *workdir; /* the workdir in the program's view, from the log's header */
};

/* Reads a log. 0, or -errno with a message printed. trail_release releases it, also after a failure. */
int trail_read_log(const char *path, struct trail *ret_trail);
void trail_release(struct trail *trail);
#define _cleanup_trail_ __attribute__((cleanup(trail_release)))

struct buf;
/* Adds a path without the parts that differ from run to run: the working directory (NULL: unknown), pids in /proc. */
void trail_put_path(struct buf *out, const char *workdir, const char *path);

/*
 * Lists the children of a process by ascending pid; with TRAIL_NO_PROCESS the processes whose parent is not on record.
 * Owned by the caller; NULL: no memory.
 */
size_t *trail_list_children(const struct trail *trail, size_t parent, size_t *ret_count);

#endif
