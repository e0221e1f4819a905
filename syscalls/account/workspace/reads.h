/*
 * What the program has read of a workspace (--cow), so that "callgate ws diff" can tell of what was changed outside
 * since. Each regular file of the directory is noted once, when it is first opened for reading or executed, in the file
 * "reads" of the layer. Called by handlers and by supervisor/, in the supervisor thread.
 */
#ifndef CALLGATE_SYSCALLS_ACCOUNT_WORKSPACE_READS_H
#define CALLGATE_SYSCALLS_ACCOUNT_WORKSPACE_READS_H

#include <stdint.h>

#include "syscalls/call/call.h"

#define READS_NAME "reads"
#define READS_FILES_MAX 100000u /* most files of a run that are noted */

/* A file as it was when it was first read; in the layer of a copy, zeros. After it comes its path. */
struct read_record {
	uint64_t inode, size;
	int64_t mtime_s, ctime_s;
	uint32_t mtime_ns, ctime_ns;
	uint32_t path_len; /* 0: more files were read, which are not noted */
	uint32_t unused;   /* 0 */
};

struct reads;

/* To be called when the program gets to read what is at call->resolved_place[i]. That cannot fail. */
void reads_note(struct call *call, unsigned i);

/* Writes what was noted so far to its file. */
void reads_flush(struct reads *reads);
void reads_free(struct reads *reads);

#endif
