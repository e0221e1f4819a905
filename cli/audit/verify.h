/* `callgate audit verify`, which has options and exit statuses of its own. */
#ifndef CALLGATE_CLI_AUDIT_VERIFY_H
#define CALLGATE_CLI_AUDIT_VERIFY_H

#include <stdbool.h>
#include <stddef.h>

#include "cli/options.h"

/* Exit statuses. If several logs have different results, the lowest status other than 0. */
enum verify_status {
	VERIFY_STATUS_BROKEN = 1,      /* a line or a file was changed or removed, or does not belong to the log */
	VERIFY_STATUS_WRONG_KEY = 2,   /* the log was signed with another key, or its signature is wrong */
	VERIFY_STATUS_TRUNCATED = 3,   /* a checkpoint proves that the end of the log is missing */
	VERIFY_STATUS_END_UNKNOWN = 4, /* it cannot be determined whether the end of the log is missing */
};

/* Options of `callgate audit verify`. */
struct verify_options {
	const char *key; /* value of --key: the public key, or its file; NULL: the key that the log names is used */
	const char *anchor_path; /* file with checkpoints; NULL: none */
	bool json;
};

/*
 * Verifies logs, and prints the findings. ret_head: if `count` is 1, a buffer of 65 bytes for the hash of the log's
 * last line, in hexadecimal; NULL: the caller does not want it. Returns the exit status.
 */
int audit_verify_logs(char **paths, size_t count, const struct verify_options *options, char *ret_head);

#endif
