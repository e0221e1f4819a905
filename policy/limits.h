/* The limits of a run: their values, names and units. */
#ifndef CALLGATE_POLICY_LIMITS_H
#define CALLGATE_POLICY_LIMITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define POLICY_DISK_BYTES_PER_NAME 1024      /* limits.disk: counted for an inode and its name */
#define POLICY_DISK_BYTES_PER_DIRECTORY 4096 /* counted for a directory's first block, in addition to its name */

/* The limits of a run. 0: no limit; for stdout_bytes and stderr_bytes 0 means that the policy does not set them. */
struct policy_limits {
	uint64_t wall_ns;      /* time that the run may take */
	uint64_t stdout_bytes; /* output that is shown; the rest is written to a file and counted */
	uint64_t stderr_bytes;
	uint64_t cpu_ns;          /* user and system time of the whole run */
	uint64_t memory_bytes;    /* memory of the whole run, with tmpfs and memfds */
	uint64_t pids;            /* processes and threads that exist at a time */
	uint64_t open_files;      /* open descriptors of one process */
	uint64_t file_size_bytes; /* size of the largest file */
	uint64_t disk_bytes;      /* what the run adds to all granted trees and its scratch directory */
	uint64_t audit_log_bytes; /* size of the audit log */
};

enum policy_limit {
	POLICY_LIMIT_WALL,
	POLICY_LIMIT_CPU,
	POLICY_LIMIT_MEMORY,
	POLICY_LIMIT_PIDS,
	POLICY_LIMIT_OPEN_FILES,
	POLICY_LIMIT_FILE_SIZE,
	POLICY_LIMIT_DISK,
	POLICY_LIMIT_STDOUT,
	POLICY_LIMIT_STDERR,
	POLICY_LIMIT_AUDIT,
	POLICY_LIMIT_MAX,
};

#define POLICY_LIMIT_BIT(which) (1u << (which))

/* The name of a limit: the key in "limits" of policies and results. Static. */
const char *policy_limit_get_name(enum policy_limit which);

/* True for a limit in nanoseconds, false for one in bytes or a count. */
bool policy_limit_is_time(enum policy_limit which);

/* The field of a limit in `limits`. Borrowed. */
uint64_t *policy_limit_get_field(struct policy_limits *limits, enum policy_limit which);

/*
 * Parses the value of a limit: "10s", "512M", "64" or "none" (0; not for stdout and stderr). 0, or -EINVAL with the end
 * of a message in `why` (`cap` bytes): "is no size; write …".
 */
int policy_limit_parse_value(enum policy_limit which, const char *text, uint64_t *ret_value, char *why, size_t cap);

#endif
